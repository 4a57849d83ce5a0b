/* SPDX-License-Identifier: Apache-2.0 */

#include "base/config_tree.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/attack.h"

struct settings {
	char *name;
	uint64_t number;
	bool wanted;
};

static const struct config_key keys[] = {
	{ "name", CONFIG_TEXT, offsetof(struct settings, name), 0, 0, "A name." },
	{ "number", CONFIG_UINT, offsetof(struct settings, number), 0, 0, "A number." },
	{ "wanted", CONFIG_BOOL, offsetof(struct settings, wanted), 0, 0, "Or not." },
	{ NULL },
};

static char directory[] = "/tmp/morph-config-XXXXXX";

static char *in(const char *name)
{
	static char path[4][256];
	static unsigned n;
	char *ret = path[n++ % 4];

	snprintf(ret, sizeof(path[0]), "%s/%s", directory, name);
	return ret;
}

static void file_make(const char *name, const char *text)
{
	FILE *file = fopen(in(name), "w");

	CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static int read_all(struct settings *settings, struct config_origins *origins, struct fault *fault)
{
	*settings = (struct settings){ 0 };
	*origins = (struct config_origins){ 0 };
	return config_tree_read(in("x.conf"), keys, settings, origins, fault);
}

static void all_done(struct settings *settings, struct config_origins *origins)
{
	config_done(keys, settings);
	config_origins_done(origins);
}

TEST(without_any_file_there_is_none)
{
	struct config_origins origins;
	struct settings s;
	struct fault fault;

	CHECK(mkdtemp(directory));
	CHECK_INT(read_all(&s, &origins, &fault), -ENOENT);
	CHECK(!origins.at[0].file);
	all_done(&s, &origins);
}

TEST(drop_ins_count_without_the_file_itself)
{
	struct config_origins origins;
	struct settings s;
	struct fault fault;

	CHECK_INT(mkdir(in("x.conf.d"), 0755), 0);
	file_make("x.conf.d/50-b.conf", "number = 5\n");
	CHECK_INT(read_all(&s, &origins, &fault), 0);
	CHECK_INT(s.number, 5);
	CHECK_STR(origins.at[1].file, in("x.conf.d/50-b.conf"));
	CHECK_INT(origins.at[1].line, 1);
	all_done(&s, &origins);
}

TEST(later_names_win_and_every_value_knows_its_line)
{
	struct config_origins origins;
	struct settings s;
	struct fault fault;

	file_make("x.conf", "# first\nname = file\nnumber = 1\nwanted = yes\n");
	file_make("x.conf.d/10-a.conf", "\nnumber = 4\nname = a\n");
	file_make("x.conf.d/.hidden.conf", "number = 99\n");
	file_make("x.conf.d/60-c.conf.dpkg-old", "number = 98\n");
	CHECK_INT(read_all(&s, &origins, &fault), 0);
	CHECK_STR(s.name, "a");
	CHECK_INT(s.number, 5);
	CHECK(s.wanted);
	CHECK_STR(origins.at[0].file, in("x.conf.d/10-a.conf"));
	CHECK_INT(origins.at[0].line, 3);
	CHECK_STR(origins.at[1].file, in("x.conf.d/50-b.conf"));
	CHECK_STR(origins.at[2].file, in("x.conf"));
	CHECK_INT(origins.at[2].line, 4);
	all_done(&s, &origins);
}

TEST(a_mistake_in_a_drop_in_names_it)
{
	struct config_origins origins;
	struct settings s;
	struct fault fault;

	file_make("x.conf.d/70-d.conf", "number = 7\nnumber = many\n");
	CHECK_INT(read_all(&s, &origins, &fault), -EINVAL);
	CHECK(strstr(fault.text, "x.conf.d/70-d.conf:2: number = many: must be a whole number"));
	all_done(&s, &origins);
}

TEST(a_link_that_leads_nowhere_hides_nothing)
{
	struct config_origins origins;
	struct settings s;
	struct fault fault = { "" };

	CHECK_INT(unlink(in("x.conf.d/70-d.conf")), 0);
	CHECK_INT(symlink("/nowhere/at/all", in("x.conf.d/40-link.conf")), 0);
	ATTACK("gate-drop-in-that-leads-nowhere", read_all(&s, &origins, &fault) == -EBADMSG);
	CHECK(strstr(fault.text, "x.conf.d/40-link.conf: leads to a file that is not there"));
	all_done(&s, &origins);
	CHECK_INT(unlink(in("x.conf.d/40-link.conf")), 0);
	CHECK_INT(read_all(&s, &origins, &fault), 0);
	CHECK_INT(s.number, 5);
	all_done(&s, &origins);
}

TEST(a_directory_that_cannot_be_read_is_an_error)
{
	struct config_origins origins;
	struct settings s;
	struct fault fault;

	CHECK_INT(mkdir(in("x.conf.d/80-e.conf"), 0755), 0);
	CHECK(read_all(&s, &origins, &fault) < 0);
	all_done(&s, &origins);
	CHECK_INT(system("rm -r /tmp/morph-config-??????"), 0);
}
TEST_MAIN()
