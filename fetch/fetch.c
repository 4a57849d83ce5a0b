/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "fetch/fetch.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/config.h"

#define HEADER_BYTES (64u << 10) /* of one answer */
#define CONNECT_MS 10000l
#define SLOW_BYTES_PER_S 512l
#define SLOW_S 20l

/* What one server has sent. */
struct answer {
	struct buffer *bytes; /* borrowed */
	uint64_t max_bytes;
	size_t header_bytes;
	int error; /* why we stopped listening; 0 */
};

static size_t on_bytes(char *bytes, size_t one, size_t n, void *userdata)
{
	struct answer *answer = userdata;

	if (n > answer->max_bytes - answer->bytes->size) {
		answer->error = -EFBIG;
		return 0;
	}
	buffer_bytes(answer->bytes, bytes, one * n);
	answer->error = answer->bytes->bad ? -ENOMEM : 0;
	return answer->error ? 0 : n;
}

static size_t on_header(_unused_ char *bytes, size_t one, size_t n, void *userdata)
{
	struct answer *answer = userdata;

	answer->header_bytes += one * n;
	if (answer->header_bytes <= HEADER_BYTES)
		return n;
	answer->error = -EFBIG;
	return 0;
}

/* How a transfer may go; what is not set here is as libcurl has it: no cookies, no netrc, certificates are checked. */
static int limits_set(CURL *curl, const struct fetch_request *request, long left_ms)
{
	CURLcode code = curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");

	if (code == CURLE_OK)
		code = curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
	if (code == CURLE_OK)
		code = curl_easy_setopt(curl, CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)request->max_bytes);
	if (code == CURLE_OK)
		code = curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, left_ms);
	if (code == CURLE_OK)
		code = curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, MIN(CONNECT_MS, left_ms));
	if (code == CURLE_OK)
		code = curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, SLOW_BYTES_PER_S);
	if (code == CURLE_OK)
		code = curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, SLOW_S);
	if (code == CURLE_OK)
		code = curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	if (code == CURLE_OK)
		code = curl_easy_setopt(curl, CURLOPT_HTTP09_ALLOWED, 0L);
	return code == CURLE_OK ? 0 : -ENOSYS;
}

static int receiver_set(CURL *curl, const char *url, struct answer *answer)
{
	CURLcode code = curl_easy_setopt(curl, CURLOPT_URL, url);

	if (code == CURLE_OK)
		code = curl_easy_setopt(curl, CURLOPT_USERAGENT, "morph/" MORPH_VERSION);
	if (code == CURLE_OK)
		code = curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_bytes);
	if (code == CURLE_OK)
		code = curl_easy_setopt(curl, CURLOPT_WRITEDATA, answer);
	if (code == CURLE_OK)
		code = curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
	if (code == CURLE_OK)
		code = curl_easy_setopt(curl, CURLOPT_HEADERDATA, answer);
	return code == CURLE_OK ? 0 : -ENOMEM;
}

static int refuse(const char *url, const struct fetch_request *request, const struct answer *answer,
		  CURLcode code, struct fault *reterr)
{
	if (answer->error == -EFBIG || code == CURLE_FILESIZE_EXCEEDED)
		return fault_set(reterr, -EFBIG, "%s: sends more than the %llu bytes that are allowed", url,
				 (unsigned long long)request->max_bytes);
	if (answer->error)
		return fault_errno(reterr, answer->error, "%s", url);
	if (code == CURLE_OPERATION_TIMEDOUT)
		return fault_set(reterr, -ETIMEDOUT, "%s: takes too long", url);
	return fault_set(reterr, -EIO, "%s: %s", url, curl_easy_strerror(code));
}

/* What came, against what the program names. */
static int check(const char *url, const struct fetch_request *request, const struct buffer *bytes,
		 struct fault *reterr)
{
	uint8_t hash[SHA256_BYTES];

	if (sha256_of(bytes->data, bytes->size, hash) < 0)
		return fault_errno(reterr, -ENOMEM, "%s", url);
	if (memcmp(hash, request->sha256, sizeof(hash)) == 0)
		return 0;
	return fault_set(reterr, -EBADMSG,
			 "%s: sends %zu bytes that are not the sidecar which the program names", url,
			 bytes->size);
}

static int ask(CURL *curl, const char *url, const struct fetch_request *request, long left_ms,
	       struct buffer *ret, struct fault *reterr)
{
	struct answer answer = { .bytes = ret, .max_bytes = request->max_bytes };
	CURLcode code;
	long status = 0;

	curl_easy_reset(curl);
	if (limits_set(curl, request, left_ms) < 0 || receiver_set(curl, url, &answer) < 0)
		return fault_set(reterr, -ENOSYS,
				 "%s: this libcurl cannot be told our limits; it must be 7.85 or newer", url);
	code = curl_easy_perform(curl);
	if (code != CURLE_OK)
		return refuse(url, request, &answer, code, reterr);
	curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	if (status == 404)
		return fault_set(reterr, -ENODATA, "%s: does not have it", url);
	if (status >= 300 && status < 400)
		return fault_set(reterr, -EIO,
				 "%s: answers that it is elsewhere (HTTP %ld), which is not followed; name "
				 "that server",
				 url, status);
	if (status != 200)
		return fault_set(reterr, -EIO, "%s: answers with HTTP status %ld", url, status);
	return check(url, request, ret, reterr);
}

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static int ask_all(CURL *curl, const struct fetch_request *request, struct buffer *ret, struct fault *reterr)
{
	const int64_t end_ms = now_ms() + 1000ll * request->timeout_s;
	struct fault fault = { "no server is named" };
	int worst = -ENODATA;
	size_t at = 0;

	for (size_t i = 0; request->urls[i]; i++) {
		_clean_(freep) char *url = NULL;
		int64_t left_ms = end_ms - now_ms();
		int r;

		if (asprintf(&url, "%s/buildid/%s/section/.morph", request->urls[i], request->build_id) < 0)
			return fault_errno(reterr, -ENOMEM, "%s", request->urls[i]);
		buffer_done(ret);
		*ret = (struct buffer){ 0 };
		r = left_ms > 0 ? ask(curl, url, request, (long)left_ms, ret, &fault) :
				  fault_set(&fault, -ETIMEDOUT, "%s: there is no time left to ask", url);
		if (r == 0)
			return 0;
		worst = r == -ENODATA ? worst : r;
		if (at < sizeof(reterr->text))
			at += (size_t)snprintf(reterr->text + at, sizeof(reterr->text) - at, "%s%s",
					       at ? "; " : "", fault.text);
	}
	buffer_done(ret);
	*ret = (struct buffer){ 0 };
	return at ? worst : fault_set(reterr, -EINVAL, "%s", fault.text);
}

int fetch_sidecar(const struct fetch_request *request, struct buffer *ret, struct fault *reterr)
{
	CURL *curl;
	int r;

	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK || !(curl = curl_easy_init()))
		return fault_set(reterr, -EIO, "libcurl cannot be set up");
	r = ask_all(curl, request, ret, reterr);
	curl_easy_cleanup(curl);
	curl_global_cleanup();
	return r;
}
