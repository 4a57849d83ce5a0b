/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/job/command.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/macro.h"

#define LAST_LINE_BYTES 4096

static int words_add(char ***words, size_t *n, char *word)
{
	char **more = word ? reallocarray(*words, *n + 2, sizeof(**words)) : NULL;

	if (!more) {
		free(word);
		return -ENOMEM;
	}
	more[(*n)++] = word;
	more[*n] = NULL;
	*words = more;
	return 0;
}

static int variable_find(const char *text, size_t size, const char *const names[])
{
	for (int i = 0; names[i]; i++)
		if (strlen(names[i]) == size && strncmp(names[i], text, size) == 0)
			return i;
	return -1;
}

/* One word with its variables replaced; NULL with *reterror: -EINVAL or -ENOMEM. */
static char *word_expand(const char *word, size_t size, const char *const names[],
			 char *const *const values[], int *reterror)
{
	_clean_(freep) char *copy = strndup(word, size);
	char *ret = NULL;
	size_t ret_size;
	FILE *out = copy ? open_memstream(&ret, &ret_size) : NULL;

	*reterror = out ? 0 : -ENOMEM;
	for (const char *p = copy; out && *p;) {
		const char *close = *p == '{' ? strchr(p, '}') : NULL;
		int i = close ? variable_find(p, (size_t)(close + 1 - p), names) : -1;

		if (!close) {
			fputc(*p++, out);
			continue;
		}
		if (i < 0 || !values[i][0] || values[i][1]) {
			*reterror = -EINVAL;
			break;
		}
		fputs(values[i][0], out);
		p = close + 1;
	}
	if (out && fclose(out) != 0 && *reterror == 0)
		*reterror = -ENOMEM;
	if (*reterror < 0) {
		free(ret);
		return NULL;
	}
	return ret;
}

int command_words(const char *command, const char *const names[], char *const *const values[], char ***ret,
		  struct fault *reterr)
{
	char **words = NULL;
	size_t n = 0;
	int r = 0;

	for (const char *p = command; r == 0 && *(p += strspn(p, " \t"));) {
		size_t size = strcspn(p, " \t");
		int list = variable_find(p, size, names);

		if (list >= 0) {
			for (char *const *value = values[list]; r == 0 && *value; value++)
				r = words_add(&words, &n, strdup(*value));
		} else {
			char *word = word_expand(p, size, names, values, &r);

			if (r == -EINVAL)
				fault_set(reterr, r, "\"%.*s\": unknown variable in the command \"%s\"",
					  (int)size, p, command);
			else if (r == 0)
				r = words_add(&words, &n, word);
		}
		p += size;
	}
	if (r == 0 && !n)
		r = fault_set(reterr, -EINVAL, "the command is empty");
	if (r == -ENOMEM)
		fault_errno(reterr, r, "%s", command);
	if (r < 0) {
		for (size_t i = 0; i < n; i++)
			free(words[i]);
		free(words);
		return r;
	}
	*ret = words;
	return 0;
}

void command_last_line(const char *log, char *ret, size_t size)
{
	_clean_(fd_closep) int fd = open(log, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	char text[LAST_LINE_BYTES + 1];
	off_t end = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
	ssize_t n = fd < 0 ? 0 : pread(fd, text, LAST_LINE_BYTES, MAX(0, end - LAST_LINE_BYTES));
	char *line;

	ret[0] = '\0';
	while (n > 0 && isspace((unsigned char)text[n - 1]))
		n--;
	if (n <= 0)
		return;
	text[n] = '\0';
	line = memrchr(text, '\n', (size_t)n);
	snprintf(ret, size, "%s", line ? line + 1 : text);
	for (char *p = ret; *p; p++)
		if ((unsigned char)*p < 0x20)
			*p = ' ';
}

char *command_directory(const char *word, char ret[PATH_MAX])
{
	char *slash;

	snprintf(ret, PATH_MAX, "%s", word);
	slash = strrchr(ret, '/');
	if (ret[0] != '/' || slash == ret)
		return NULL;
	*slash = '\0';
	return ret;
}
