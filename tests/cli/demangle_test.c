/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "cli/shared/demangle.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/shared/demangle_child.h"
#include "tests/test.h"

#define CHECK_NAME(symbol, name)                                                \
	do {                                                                    \
		const char *n_ = demangled(symbol);                             \
		if (strcmp(n_, name) != 0)                                      \
			FAIL("%s became \"%s\", not \"%s\"", symbol, n_, name); \
	} while (0)

/* The one child of this process: a number, and 0 when there is none. */
static int child(void)
{
	char path[64], text[64] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", gettid());
	file = fopen(path, "re");
	CHECK(file != NULL);
	if (!fgets(text, sizeof(text), file))
		text[0] = 0;
	fclose(file);
	return atoi(text);
}

TEST(names_are_as_they_were_written)
{
	CHECK_NAME("_ZN3geo4areaERKNS_5shapeE", "geo::area(geo::shape const&)");
	CHECK_NAME("_ZN3geo4areaERKNS_5shapeE#2", "geo::area(geo::shape const&)#2");
	CHECK_NAME("_ZNSt6vectorIiSaIiEED2Ev", "std::vector<int, std::allocator<int> >::~vector()");
	CHECK_NAME("_ZL3onemRm", "one(unsigned long, unsigned long&)");
	CHECK_NAME("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad");
	CHECK_NAME("_RNvC6_123foo3bar", "123foo::bar");
}

TEST(other_symbols_stay)
{
	const char *symbols[] = { "main", "_start", "",		 "_",	"_Z", "_Znope",
				  "_R",	  "0x1234", "__ZN3fooE", "_ZN", "?" };

	for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++)
		CHECK(demangled(symbols[i]) == symbols[i] || strcmp(demangled(symbols[i]), symbols[i]) == 0);
}

/* What an attacker would have, had he taken over the process by a name: one socket, and the two calls. */
TEST(who_reads_names_can_do_nothing_else)
{
	char path[64], line[256];
	bool is_filtered = false;
	FILE *status;

	CHECK_NAME("_Z3onev", "one()");
	CHECK(child() > 0);
	snprintf(path, sizeof(path), "/proc/%d/status", child());
	status = fopen(path, "re");
	CHECK(status != NULL);
	while (fgets(line, sizeof(line), status))
		is_filtered |= strcmp(line, "Seccomp:\t1\n") == 0;
	fclose(status);
	CHECK(is_filtered);
	for (int fd = 0; fd < 64; fd++) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", child(), fd);
		CHECK_INT(readlink(path, line, sizeof(line)) > 0, fd == 0);
	}
}

/* pair<pair<...>, pair<...>>: each level doubles what is printed. */
static void bomb_write(char ret[256], unsigned depth)
{
	strcpy(ret, "_Z1fSt4pairIccE");
	for (unsigned i = 0; i < depth; i++) {
		char digit = (char)(i < 10 ? '0' + i : 'A' + i - 10);

		snprintf(ret + strlen(ret), 256 - strlen(ret), "S_IS%c_S%c_E", digit, digit);
	}
}

TEST(a_name_that_explodes_stays_and_the_next_is_read)
{
	char bomb[256];

	bomb_write(bomb, 2);
	CHECK(strncmp(demangled(bomb), "f(std::pair<char, char>, std::pair<std::pair<char", 49) == 0);
	for (unsigned depth = 8; depth < 22; depth++) {
		bomb_write(bomb, depth);
		CHECK_NAME(bomb, bomb);
	}
	CHECK_NAME("_Z3twov", "two()");
}

TEST(long_names_stay)
{
	char *symbol = malloc(2 * DEMANGLE_BYTES);

	for (size_t size = DEMANGLE_BYTES - 16; size < DEMANGLE_BYTES + 16; size++) {
		int n = sprintf(symbol, "_Z%zu", size);

		memset(symbol + n, 'a', size);
		strcpy(symbol + n + size, "v");
		CHECK(strlen(demangled(symbol)) >= size);
	}
	for (size_t n = 1; n < DEMANGLE_BYTES - 3; n = 2 * n + 1) {
		strcpy(symbol, "_Z1f");
		memset(symbol + 4, 'P', n); /* pointers to pointers to ... */
		strcpy(symbol + 4 + n, "i");
		CHECK(demangled(symbol) != NULL);
	}
	CHECK_NAME("_Z5threev", "three()");
	free(symbol);
}

TEST(when_it_is_killed_another_one_reads_on)
{
	CHECK_NAME("_Z4fourv", "four()");
	CHECK(child() > 0);
	CHECK_INT(kill(child(), SIGKILL), 0);
	CHECK(demangled("_Z4lostv") != NULL);
	CHECK_NAME("_Z4fivev", "five()");
}

TEST(people_may_type_either_with_or_without_parameters)
{
	const char *symbol = "_ZN3geo4areaERKNS_5shapeE";

	CHECK(demangled_is(symbol, symbol));
	CHECK(demangled_is(symbol, "geo::area(geo::shape const&)"));
	CHECK(demangled_is(symbol, "geo::area"));
	CHECK(!demangled_is(symbol, "area"));
	CHECK(!demangled_is(symbol, "geo::are"));
	CHECK(!demangled_is(symbol, "geo::area("));
	CHECK(!demangled_is(symbol, "_ZN3geo4area"));
	CHECK(!demangled_is(symbol, ""));
	CHECK(demangled_is("main", "main"));
	CHECK(!demangled_is("main", "mai"));
	CHECK(demangled_is("_ZN3geolsEi", "geo::operator<<"));
	CHECK(demangled_is("_ZNSt6vectorIiSaIiEED2Ev", "std::vector<int, std::allocator<int> >::~vector()"));
}

/* In silence: stopped, it neither answers nor ends. */
TEST(who_does_not_answer_is_given_up)
{
	char symbol[32];

	CHECK_NAME("_Z3sixv", "six()");
	for (unsigned i = 0; i < DEMANGLE_SILENT; i++) {
		CHECK(child() > 0);
		CHECK_INT(kill(child(), SIGSTOP), 0);
		snprintf(symbol, sizeof(symbol), "_Z6quiet%uv", i);
		CHECK_NAME(symbol, symbol);
		snprintf(symbol, sizeof(symbol), "_Z5after%.*sv", (int)i, "iiiiiii");
		CHECK_INT(strcmp(demangled(symbol), symbol) != 0, i + 1 < DEMANGLE_SILENT);
	}
	CHECK_INT(child(), 0);
}

TEST_MAIN()
