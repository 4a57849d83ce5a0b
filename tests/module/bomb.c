/* SPDX-License-Identifier: Apache-2.0 */

/*
 * `bomb make FILE`: a .morph container of some 190 KB that inflates to 190 MB.
 * `bomb measure MEBIBYTES COMMAND...`: fails when the command used more memory than that.
 */

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/container.h"
#include "base/file.h"
#include "module/morph_data.h"

#define PAYLOAD_BYTES (190u << 20)

static int make(const char *path)
{
	_clean_(buffer_donep) struct buffer bytes = { 0 };
	_clean_(freep) uint8_t *payload = calloc(1, PAYLOAD_BYTES);
	struct fault fault = { "" };

	if (!payload ||
	    container_pack(CONTAINER_MORPH, MORPH_DATA_VERSION, payload, PAYLOAD_BYTES, 9, &bytes) < 0)
		return 1;
	if (file_write(path, bytes.data, bytes.size, 0644, &fault) == 0)
		return 0;
	fprintf(stderr, "%s\n", fault.text);
	return 1;
}

static int measure(long limit_mib, char **argv)
{
	struct rusage usage;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		execvp(argv[0], argv);
		_exit(127);
	}
	if (waitpid(pid, &status, 0) != pid || getrusage(RUSAGE_CHILDREN, &usage) < 0)
		return 1;
	printf("%s: exit status %d, %ld MiB\n", argv[0], WIFEXITED(status) ? WEXITSTATUS(status) : -1,
	       usage.ru_maxrss >> 10);
	/* A refusal is as good as an answer; a crash is not. */
	return !WIFEXITED(status) || WEXITSTATUS(status) > 1 || usage.ru_maxrss >> 10 > limit_mib;
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "make") == 0)
		return make(argv[2]);
	if (argc > 3 && strcmp(argv[1], "measure") == 0)
		return measure(strtol(argv[2], NULL, 10), argv + 3);
	return 2;
}
