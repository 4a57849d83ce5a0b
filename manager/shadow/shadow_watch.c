/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/shadow/shadow_watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>

#include "manager/keep/catalog.h"
#include "manager/shadow/search.h"
#include "manager/shadow/shadow.h"

#define WATCHED                                                                                            \
	(IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB | IN_CLOSE_WRITE | IN_MOVE_SELF | \
	 IN_DELETE_SELF | IN_ONLYDIR)

struct shadow_watch {
	struct manager *manager; /* borrowed */
	shadow_changed *changed;
	void *userdata;
	sd_event_source *work; /* owned; when all that inotify had to say was read */
	char **paths;	       /* owned, with their sources: what is watched */
	sd_event_source **sources;
	size_t n;
};

static int on_work(sd_event_source *source, void *userdata)
{
	struct shadow_watch *w = userdata;

	sd_event_source_set_enabled(source, SD_EVENT_OFF);
	w->changed(w->userdata);
	return 0;
}

/* An upgrade is thousands of these, and one look when they are read. Another directory of that path is not watched yet. */
static int on_event(sd_event_source *source, const struct inotify_event *event, void *userdata)
{
	struct shadow_watch *w = userdata;

	for (size_t i = 0; i < w->n; i++)
		if (w->sources[i] == source &&
		    (event->mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED)))
			w->paths[i][0] = '\0';
	return sd_event_source_set_enabled(w->work, SD_EVENT_ON);
}

struct shadow_watch *shadow_watch_new(struct manager *m, shadow_changed *changed, void *userdata)
{
	_clean_(shadow_watch_freep) struct shadow_watch *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->manager = m;
	w->changed = changed;
	w->userdata = userdata;
	if (sd_event_add_defer(m->event, &w->work, on_work, w) < 0 ||
	    sd_event_source_set_priority(w->work, SD_EVENT_PRIORITY_NORMAL + 1) < 0 ||
	    sd_event_source_set_enabled(w->work, SD_EVENT_OFF) < 0)
		return NULL;
	return TAKE(w);
}

static void forget(struct shadow_watch *w, size_t i)
{
	sd_event_source_disable_unref(w->sources[i]);
	free(w->paths[i]);
	w->n--;
	w->sources[i] = w->sources[w->n];
	w->paths[i] = w->paths[w->n];
}

void shadow_watch_free(struct shadow_watch *w)
{
	if (!w)
		return;
	while (w->n)
		forget(w, w->n - 1);
	free(w->paths);
	free(w->sources);
	sd_event_source_disable_unref(w->work);
	free(w);
}

static bool is_watched(const struct shadow_watch *w, const char *path)
{
	for (size_t i = 0; i < w->n; i++)
		if (strcmp(w->paths[i], path) == 0)
			return true;
	return false;
}

static int watch(struct shadow_watch *w, const char *path)
{
	char **paths = reallocarray(w->paths, w->n + 1, sizeof(*paths));
	sd_event_source **sources;
	int r;

	if (paths)
		w->paths = paths;
	sources = reallocarray(w->sources, w->n + 1, sizeof(sd_event_source *));
	if (sources)
		w->sources = sources;
	if (!paths || !sources || !(paths[w->n] = strdup(path)))
		return -ENOMEM;
	sources[w->n] = NULL;
	r = sd_event_add_inotify(w->manager->event, &sources[w->n], path, WATCHED, on_event, w);
	if (r < 0)
		free(paths[w->n]);
	else
		w->n++;
	return r == -ENOENT || r == -ENOTDIR || r == -EACCES ? 0 : r;
}

struct places {
	char **at; /* owned; NULL-terminated, if there is one */
	size_t n;
};

static void places_done(struct places *places)
{
	paths_free(places->at);
}

static int place_add(struct places *places, const char *path, size_t length)
{
	char **more = reallocarray(places->at, places->n + 2, sizeof(*more));

	if (!more)
		return -ENOMEM;
	places->at = more;
	more[places->n] = strndup(path, length);
	more[places->n + 1] = NULL;
	return more[places->n++] ? 0 : -ENOMEM;
}

static int places_find(const struct manager *m, struct places *ret, struct fault *reterr)
{
	_clean_(paths_freep) char **paths = NULL;
	struct search search;
	int r = search_open(&m->settings, &search, reterr);

	if (r < 0)
		return r;
	for (size_t i = 0; r == 0 && i < search.n; i++)
		r = place_add(ret, search.directories[i].path, strlen(search.directories[i].path));
	search_done(&search);
	if (r < 0)
		return fault_errno(reterr, r, "shadow_path");
	r = target_paths(m->state, 0, &paths, reterr);
	for (char **path = paths; r == 0 && *path; path++) {
		struct target_row row = { 0 };

		if (target_get(m->state, *path, &row, NULL) == 0 && shadow_has(m, *path, row.generation))
			r = place_add(ret, *path, (size_t)(strrchr(*path, '/') - *path) ?: 1);
		target_row_done(&row);
	}
	return r;
}

static bool has(const struct places *places, const char *path)
{
	for (size_t i = 0; i < places->n; i++)
		if (strcmp(places->at[i], path) == 0)
			return true;
	return false;
}

int shadow_watch_renew(struct shadow_watch *w, struct fault *reterr)
{
	_clean_(places_done) struct places places = { NULL };
	int r = places_find(w->manager, &places, reterr);

	if (r < 0)
		return r;
	for (size_t i = w->n; i-- > 0;)
		if (!has(&places, w->paths[i]))
			forget(w, i);
	for (size_t i = 0; r >= 0 && i < places.n; i++)
		if (!is_watched(w, places.at[i]))
			r = watch(w, places.at[i]);
	return r < 0 ? fault_errno(reterr, r, "shadow_path cannot be watched") : 0;
}
