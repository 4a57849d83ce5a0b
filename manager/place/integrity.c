/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/place/integrity.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/macro.h"
#include "manager/place/mount_table.h"

#define TEXT_MAX 65536

struct look {
	const char *root;
	struct integrity *found;
};

static void _printf_(4, 5)
	found(struct look *l, const char *name, enum integrity_weight weight, const char *fmt, ...)
{
	struct integrity_finding *f = &l->found->findings[l->found->n_findings];
	va_list ap;

	if (l->found->n_findings == INTEGRITY_FINDINGS_MAX)
		return;
	l->found->n_findings++;
	f->name = name;
	f->weight = weight;
	va_start(ap, fmt);
	vsnprintf(f->text, sizeof(f->text), fmt, ap);
	va_end(ap);
}

/* The first TEXT_MAX bytes as text, owned by the caller; NULL with errno. */
static char *text_of(const struct look *l, const char *path)
{
	char full[PATH_MAX], *text;
	_clean_(fd_closep) int fd = -1;
	size_t n = 0;
	ssize_t got;

	if (snprintf(full, sizeof(full), "%s%s", l->root, path) >= (int)sizeof(full))
		return NULL;
	fd = open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	text = fd < 0 ? NULL : malloc(TEXT_MAX + 1);
	if (!text)
		return NULL;
	while (n < TEXT_MAX && (got = read(fd, text + n, TEXT_MAX - n)) > 0)
		n += (size_t)got;
	text[n] = '\0';
	return text;
}

static bool is_there(const struct look *l, const char *path)
{
	char full[PATH_MAX];

	return snprintf(full, sizeof(full), "%s%s", l->root, path) < (int)sizeof(full) &&
	       access(full, F_OK) == 0;
}

/* The first path that @pattern matches, without the root; NULL, or owned by the caller. */
static char *match(const struct look *l, const char *pattern)
{
	char full[PATH_MAX], *ret = NULL;
	glob_t paths;

	if (snprintf(full, sizeof(full), "%s%s", l->root, pattern) >= (int)sizeof(full))
		return NULL;
	if (glob(full, GLOB_NOSORT, NULL, &paths) == 0 && paths.gl_pathc)
		ret = strdup(paths.gl_pathv[0] + strlen(l->root));
	globfree(&paths);
	return ret;
}

/* Is @word one of the words of @text? "key=" matches any value, and *retvalue is where it starts. */
static bool has_word(const char *text, const char *word, const char **retvalue)
{
	size_t n = strlen(word);

	for (const char *p = text; p && *p; p += strcspn(p, " \t\n")) {
		p += strspn(p, " \t\n");
		if (strncmp(p, word, n) == 0 && (word[n - 1] == '=' || !p[n] || strchr(" \t\n", p[n]))) {
			if (retvalue)
				*retvalue = p + n;
			return true;
		}
	}
	return false;
}

/* ---- IMA, EVM, IPE ---- */

/* Of programs and libraries: rules for firmware, modules, keys and the like are nothing to us. */
static bool rule_is_of_programs(const char *rule)
{
	static const char *const others[] = { "MODULE_CHECK",  "FIRMWARE_CHECK", "KEXEC_",
					      "POLICY_CHECK",  "KEY_CHECK",	 "CRITICAL_DATA",
					      "SETXATTR_CHECK" };
	const char *value;

	if (!has_word(rule, "func=", &value))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (strncmp(value, others[i], strlen(others[i])) == 0)
			return false;
	return true;
}

static bool policy_has(char *policy, const char *action)
{
	bool has = false;

	for (char *line = policy; !has && line && *line;) {
		char *end = strchr(line, '\n');

		if (end)
			*end = '\0';
		line += strspn(line, " \t");
		has = strncmp(line, action, strlen(action)) == 0 && strchr(" \t", line[strlen(action)]) &&
		      rule_is_of_programs(line);
		if (end)
			*end = '\n';
		line = end ? end + 1 : NULL;
	}
	return has;
}

static void ima_look(struct look *l)
{
	_clean_(freep) char *policy = text_of(l, "/sys/kernel/security/ima/policy");
	_clean_(freep) char *cmdline = text_of(l, "/proc/cmdline");
	const char *mode = "", *named = "";
	bool appraises, enforces;

	if (!is_there(l, "/sys/kernel/security/ima"))
		return;
	has_word(cmdline, "ima_appraise=", &mode);
	has_word(cmdline, "ima_policy=", &named);
	appraises = policy ?
			    policy_has(policy, "appraise") :
			    has_word(cmdline, "ima_appraise_tcb", NULL) ||
				    strncmp(named, "appraise_tcb", 12) == 0 || strstr(named, "|appraise_tcb");
	enforces = appraises && strncmp(mode, "log", 3) != 0 && strncmp(mode, "fix", 3) != 0 &&
		   strncmp(mode, "off", 3) != 0;
	if (enforces)
		found(l, "IMA", INTEGRITY_REFUSES,
		      "it appraises programs: one without a valid signature or hash does not run, and "
		      "generations have none; let its policy except the store and programs that you want "
		      "optimized "
		      "(dont_appraise), or leave Morph off");
	else if (appraises)
		found(l, "IMA", INTEGRITY_REPORTS,
		      "it appraises programs and only logs what does not fit (ima_appraise=%.3s); "
		      "generations will be in its log",
		      mode);
	else
		found(l, "IMA", INTEGRITY_REPORTS,
		      "it %s; generations are measured as what they are, so a remote verifier sees "
		      "digests that no package has; `morph verify --all --json` lists them",
		      policy && policy_has(policy, "measure") ?
			      "measures" :
			      "is there and appraises nothing that can be seen");
}

static void evm_look(struct look *l)
{
	_clean_(freep) char *text = text_of(l, "/sys/kernel/security/evm");
	long state = text ? strtol(text, NULL, 0) : 0;

	if (state & 3)
		found(l, "EVM", INTEGRITY_PREFERS_MOUNT,
		      "it guards the attributes of files (state %ld): what Morph puts in a "
		      "file's place has no valid security.evm; set activation = mount",
		      state);
}

static void ipe_look(struct look *l)
{
	_clean_(freep) char *enforce = text_of(l, "/sys/kernel/security/ipe/enforce");
	_clean_(freep) char *policy = match(l, "/sys/kernel/security/ipe/policies/*");

	if (enforce && enforce[0] == '1' && policy)
		found(l, "IPE", INTEGRITY_REFUSES,
		      "it executes only what comes from a trusted image or has a trusted seal, and "
		      "generations are made here; leave Morph off, or let the policy allow the store");
}

/* ---- file systems ---- */

struct places {
	struct look *look;
	struct mount_entry root, usr; /* topmost ones; point[0] == '\0': none */
};

static int place_visit(void *userdata, const struct mount_entry *entry)
{
	struct places *p = userdata;

	if (strcmp(entry->point, "/") == 0)
		p->root = *entry;
	else if (strcmp(entry->point, "/usr") == 0)
		p->usr = *entry;
	return 0;
}

/* The device-mapper name of a source: dm-0 of /dev/dm-0, and by its link that of /dev/mapper/root. */
static bool is_verity(const struct look *l, const char *source)
{
	_clean_(freep) char *uuid = NULL;
	char path[PATH_MAX], link[PATH_MAX];
	const char *name = strrchr(source, '/');
	ssize_t n;

	if (strncmp(source, "/dev/", 5) != 0 || !name)
		return false;
	if (snprintf(path, sizeof(path), "%s%s", l->root, source) < (int)sizeof(path) &&
	    (n = readlink(path, link, sizeof(link) - 1)) > 0) {
		link[n] = '\0';
		name = strrchr(link, '/') ? strrchr(link, '/') : source;
	}
	if (snprintf(path, sizeof(path), "/sys/block%s/dm/uuid", name) >= (int)sizeof(path))
		return false;
	uuid = text_of(l, path);
	return uuid && strncmp(uuid, "CRYPT-VERITY-", 13) == 0;
}

static void image_look(struct look *l)
{
	_clean_(freep) struct places *p = calloc(1, sizeof(*p));
	const struct mount_entry *usr;
	char table[PATH_MAX];

	if (!p || snprintf(table, sizeof(table), "%s/proc/self/mountinfo", l->root) >= (int)sizeof(table) ||
	    mount_table_walk(table, place_visit, p, NULL) < 0)
		return;
	usr = p->usr.point[0] ? &p->usr : &p->root;
	if (is_verity(l, usr->source))
		found(l, "dm-verity", INTEGRITY_PREFERS_MOUNT,
		      "%s is an image that the kernel verifies block by block (%s); its "
		      "files cannot be replaced: set activation = mount, which lays generations over them",
		      usr->point, usr->source);
	else if (is_there(l, "/run/ostree-booted"))
		found(l, "OSTree", INTEGRITY_PREFERS_MOUNT,
		      "this system is an OSTree deployment; its files are shared between "
		      "deployments and read-only: set activation = mount");
	else if (strcmp(usr->type, "overlay") == 0 && strcmp(usr->source, "sysext") == 0)
		found(l, "systemd-sysext", INTEGRITY_PREFERS_MOUNT,
		      "%s is merged from extension images and read-only: set "
		      "activation = mount",
		      usr->point);
	else if (usr->read_only)
		found(l, "read-only /usr", INTEGRITY_PREFERS_MOUNT,
		      "%s is mounted read-only: set activation = mount", usr->point);
}

static void verity_look(struct look *l)
{
	static const char *const features[] = { "/sys/fs/ext4/features/verity",
						"/sys/fs/f2fs/features/verity",
						"/sys/fs/btrfs/features/verity" };
	_clean_(freep) char *required = text_of(l, "/proc/sys/fs/verity/require_signatures");
	bool able = false;

	for (size_t i = 0; i < ARRAY_SIZE(features); i++)
		able = able || is_there(l, features[i]);
	if (required && required[0] == '1')
		found(l, "fs-verity", INTEGRITY_REPORTS,
		      "files are sealed only with a signature (fs.verity.require_signatures); "
		      "generations have none and stay unsealed, known by their SHA-256 alone");
	else if (able)
		found(l, "fs-verity", INTEGRITY_ABSENT,
		      "this kernel can seal files; generations in the store are sealed where their "
		      "file system has it, and packaged files that are sealed are left as they are");
	else
		found(l, "fs-verity", INTEGRITY_ABSENT,
		      "this kernel cannot seal files (no CONFIG_FS_VERITY); generations in the store "
		      "are known by their SHA-256 alone");
}

/* ---- daemons and tools ---- */

static void fapolicyd_look(struct look *l)
{
	_clean_(freep) char *config = text_of(l, "/etc/fapolicyd/fapolicyd.conf");
	const char *integrity = "none", *permissive = "0";
	bool runs = is_there(l, "/run/fapolicyd.pid") || is_there(l, "/run/fapolicyd/fapolicyd.fifo");

	if (!runs && !config)
		return;
	for (char *p = config; p && *p; p++) /* "key = value" */
		if (*p == '=')
			*p = ' ';
	has_word(config, "integrity", &integrity);
	has_word(config, "permissive", &permissive);
	integrity += strspn(integrity, " \t");
	permissive += strspn(permissive, " \t");
	if (!runs)
		found(l, "fapolicyd", INTEGRITY_ABSENT, "it is installed and does not run");
	else if (permissive[0] == '1')
		found(l, "fapolicyd", INTEGRITY_REPORTS, "it runs and only reports (permissive = 1)");
	else if (strncmp(integrity, "none", 4) != 0)
		found(l, "fapolicyd", INTEGRITY_REFUSES,
		      "it executes only files of the size or hash that its trust database has "
		      "(integrity = %.*s); name optimized programs in its trust files (fapolicyd-cli --file "
		      "add), or pin them",
		      (int)strcspn(integrity, " \t\n"), integrity);
	else
		found(l, "fapolicyd", INTEGRITY_REPORTS,
		      "it decides by path (integrity = none), so generations run where the "
		      "packaged file does");
}

static void monitors_look(struct look *l)
{
	static const char *const databases[][2] = { { "AIDE", "/var/lib/aide/aide.db*" },
						    { "Tripwire", "/var/lib/tripwire/*.twd" },
						    { "Samhain", "/var/lib/samhain/samhain_file*" } };

	for (size_t i = 0; i < ARRAY_SIZE(databases); i++) {
		_clean_(freep) char *path = match(l, databases[i][1]);

		if (path)
			found(l, databases[i][0], INTEGRITY_REPORTS,
			      "%s: it will report every optimized program; `morph verify` tells "
			      "which of its reports are Morph's. With activation = mount nothing on disk "
			      "changes, only what "
			      "it reads through the path",
			      path);
	}
}

static void packages_look(struct look *l)
{
	bool dpkg = is_there(l, "/var/lib/dpkg/status");
	bool rpm = is_there(l, "/usr/lib/sysimage/rpm") || is_there(l, "/var/lib/rpm/rpmdb.sqlite") ||
		   is_there(l, "/var/lib/rpm/Packages");

	if (dpkg)
		found(l, is_there(l, "/usr/bin/debsums") ? "debsums" : "dpkg --verify", INTEGRITY_REPORTS,
		      "it names optimized "
		      "programs as changed; `morph verify --all` explains each");
	if (rpm)
		found(l, "rpm -V", INTEGRITY_REPORTS,
		      "it names optimized programs as changed; `morph verify --all` explains each. "
		      "RPM has no hook before files are replaced: with activation = mount run `morph-mount "
		      "suspend` before "
		      "and `morph-mount resume` after an upgrade, or set activation = replace");
}

void integrity_look(const char *root, struct integrity *ret)
{
	struct look look = { .root = root, .found = ret };

	ret->n_findings = 0;
	ima_look(&look);
	evm_look(&look);
	ipe_look(&look);
	verity_look(&look);
	image_look(&look);
	fapolicyd_look(&look);
	monitors_look(&look);
	packages_look(&look);
}

int integrity_obstacle(const char *root, const char *path, enum integrity_policy policy, struct fault *reterr)
{
	enum integrity_weight least = policy == INTEGRITY_MOUNT ? INTEGRITY_REFUSES : INTEGRITY_PREFERS_MOUNT;
	_clean_(freep) struct integrity *found = calloc(1, sizeof(*found));

	if (!found)
		return fault_errno(reterr, -ENOMEM, "%s", path);
	integrity_look(root, found);
	for (size_t i = 0; i < found->n_findings; i++)
		if (found->findings[i].weight >= least)
			return fault_set(reterr, -EPERM, "%s: %s: %s", path, found->findings[i].name,
					 found->findings[i].text);
	return 0;
}
