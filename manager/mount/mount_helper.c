/* SPDX-License-Identifier: Apache-2.0 */

/*
 * morph-mount [OPTION...] serve | sync [PATH] | suspend | resume | list: the only part of Morph that mounts. Runs in the
 * mount namespace of the system, for one request, and reads nothing but its configuration and what root alone can write.
 * See morph-mount(8).
 */

#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>

#include "base/config.h"
#include "base/log.h"
#include "base/prefix.h"
#include "manager/mount/mount_record.h"
#include "manager/mount/mount_request.h"
#include "manager/place/mount_table.h"

enum { OPTION_CONFIG = 256, OPTION_LISTEN, OPTION_VERSION };

struct helper {
	const char *config, *listen;
	struct settings settings;
	struct mount_place place;
};

static int fail(const struct fault *fault)
{
	log_error("%s", fault->text);
	return 1;
}

static int settings_load(struct helper *h, struct fault *reterr)
{
	char config[PATH_MAX];
	int r = settings_init(&h->settings);

	if (r < 0)
		return fault_errno(reterr, r, "settings");
	prefix_config(SETTINGS_NAME, config);
	r = config_tree_read(h->config ? h->config : config, settings_keys, &h->settings, NULL, reterr);
	if (r == -ENOENT && !h->config)
		r = 0;
	return r < 0 ? r : mount_place_init(&h->place, &h->settings, reterr);
}

/* ---- serve ---- */

static int serve_one(const struct helper *h, int fd)
{
	struct fault fault = { "" };
	int r = mount_request_serve(&h->place, fd, &fault);

	close(fd);
	return r < 0 ? fail(&fault) : 0;
}

/* Where there is no systemd to listen for us. */
static int serve_all(const struct helper *h)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct fault fault = { "" };
	int fd;

	if (strlen(h->listen) >= sizeof(address.sun_path)) {
		fault_set(&fault, -ENAMETOOLONG, "%s: too long for a socket", h->listen);
		return fail(&fault);
	}
	strcpy(address.sun_path, h->listen);
	unlink(h->listen);
	umask(0177);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, 16) < 0) {
		fault_errno(&fault, -errno, "%s: cannot listen", h->listen);
		return fail(&fault);
	}
	umask(077);
	for (;;) {
		int client = accept4(fd, NULL, NULL, SOCK_CLOEXEC);

		if (client >= 0)
			serve_one(h, client);
		else if (errno != EINTR && errno != ECONNABORTED)
			return 1;
	}
}

static int serve(const struct helper *h)
{
	if (sd_listen_fds(1) == 1)
		return serve_one(h, SD_LISTEN_FDS_START);
	if (h->listen)
		return serve_all(h);
	log_error("serve: there is no socket; systemd passes one, or use --listen=PATH");
	return 2;
}

/* ---- the other commands ---- */

static int list_visit(_unused_ void *userdata, const struct mount_record *record)
{
	int at = mount_table_at("/proc/self/mountinfo", record->path, NULL);

	printf("%s: generation %llu %s\n", record->path, (unsigned long long)record->number,
	       at == 1 ? "is mounted" : "is not mounted; the packaged file stands there");
	return 0;
}

static void list_damaged(_unused_ void *userdata, const struct fault *why)
{
	log_warning("%s", why->text);
}

static int command_run(struct helper *h, const char *command, const char *path, struct fault *reterr)
{
	unsigned n = 0;
	int r;

	if (strcmp(command, "list") == 0)
		return mount_record_walk(h->place.mounts, list_visit, list_damaged, NULL, reterr);
	if (strcmp(command, "sync") == 0 && path)
		r = mount_place_sync(&h->place, path, reterr);
	else if (strcmp(command, "sync") == 0)
		r = mount_place_sync_all(&h->place, &n, reterr);
	else if (strcmp(command, "suspend") == 0)
		r = mount_place_suspend(&h->place, reterr);
	else
		r = mount_place_resume(&h->place, &n, reterr);
	return r < 0 ? r : 0;
}

static void help(void)
{
	puts("usage: morph-mount [OPTION...] serve | sync [PATH] | suspend | resume | list\n\n"
	     "Mounts generations over packaged files, as morphd's records say.\n\n"
	     "  serve           answer the request on the socket that systemd passes\n"
	     "  sync [PATH]     make what is mounted (at PATH) what the records say\n"
	     "  suspend         take all generations away until `resume`: packages are about to be "
	     "installed\n"
	     "  resume          put them back, but for those whose packaged file has changed\n"
	     "  list            what the records say, and whether it is so\n\n"
	     "  --config=FILE   instead of /etc/morph/" SETTINGS_NAME "\n"
	     "  --listen=PATH   with serve: make the socket, and answer until killed\n"
	     "  --help\n  --version\n\nSee morph-mount(8).");
}

static int usage(void)
{
	fputs("usage: morph-mount [OPTION...] serve | sync [PATH] | suspend | resume | list\n", stderr);
	return 2;
}

/* -1: go on; else the exit code. */
static int options_parse(struct helper *h, int argc, char **argv)
{
	static const struct option options[] = {
		{ "config", required_argument, NULL, OPTION_CONFIG },
		{ "listen", required_argument, NULL, OPTION_LISTEN },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, OPTION_VERSION },
		{ NULL },
	};
	int option;

	while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (option) {
		case OPTION_CONFIG: h->config = optarg; break;
		case OPTION_LISTEN: h->listen = optarg; break;
		case OPTION_VERSION: puts("morph-mount " MORPH_VERSION); return 0;
		case 'h': help(); return 0;
		default: return usage();
		}
	}
	return -1;
}

static int run(struct helper *h, int argc, char **argv)
{
	static const char *const commands[] = { "serve", "sync", "suspend", "resume", "list" };
	const char *command = optind < argc ? argv[optind] : "";
	const char *path = optind + 1 < argc ? argv[optind + 1] : NULL;
	struct fault fault = { "" };
	bool known = false;

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		known = known || strcmp(command, commands[i]) == 0;
	if (!known || argc > optind + 2 || (path && strcmp(command, "sync") != 0))
		return usage();
	if (settings_load(h, &fault) < 0)
		return fail(&fault);
	if (strcmp(command, "serve") == 0)
		return serve(h);
	return command_run(h, command, path, &fault) < 0 ? fail(&fault) : 0;
}

int main(int argc, char **argv)
{
	struct helper h = { 0 };
	int code;

	log_init("morph-mount", LOG_LEVEL_INFO);
	umask(077);
	code = options_parse(&h, argc, argv);
	if (code < 0)
		code = run(&h, argc, argv);
	settings_done(&h.settings);
	return code;
}
