/* SPDX-License-Identifier: Apache-2.0 */

#include <stdio.h>
#include <string.h>

#include "bench/measure/commands.h"

int commands_main(const struct command *commands, size_t n, int argc, char **argv)
{
	struct fault fault;

	for (size_t i = 0; argc > 1 && i < n; i++)
		if (strcmp(argv[1], commands[i].name) == 0) {
			int r = commands[i].run(argc, argv, &fault);

			if (r < 0)
				fprintf(stderr, "%s: %s\n", argv[0], fault.text);
			return r < 0;
		}
	fprintf(stderr, "usage: %s COMMAND [ARGUMENT]..., where COMMAND is", argv[0]);
	for (size_t i = 0; i < n; i++)
		fprintf(stderr, "%s %s", i ? "," : "", commands[i].name);
	fputc('\n', stderr);
	return 2;
}
