/* SPDX-License-Identifier: Apache-2.0
 *
 * modules - three sources show which file lies at an address, and when. "The
 * map" is /proc/PID/maps, "the log" the map log (map_log.h).
 *
 *   the map at hello  all files mapped then, from generation 0 on
 *   the log           files loaded and unloaded later
 *   the map later     read for an address unknown to the others, perhaps of
 *                     a library that the log does not have yet
 *
 * The log wins over the map. The map is read between two readings of the log,
 * and discarded if the log got an entry of this process meanwhile. A line of
 * the map counts only where no file is known. The reason: the log has each
 * unload, and the map may be ahead of the log. load_map.c keeps the results.
 *
 * The main thread reads the map at hello. It asks no file system and reads no
 * long map. If that is not enough, a job reads the whole map; until then
 * nothing is known.
 *
 * A file of the log is opened by path and must have the build-id that it had in
 * memory. A file of the map is opened by mapped_file.c. The folder of the
 * process in /proc and its root stay open. So a later process with the same pid
 * is never confused with it, and files of an ended program can be opened.
 *
 * A forked child inherits the files of its parent at the generation of the
 * fork, and adds files that the log has under its pid. (These are inner pids.
 * If two children had the same pid one after the other, the second inherits the
 * files of the first.)
 *
 * Any thread may call these functions. refresh_lock serializes reading the log
 * and the map, and opening files. lock guards the results, and is held briefly.
 * Lock order: refresh_lock, then lock or the parent's refresh_lock.
 */
#include "collector/names/modules.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "collector/base/grow.h"
#include "collector/base/lock.h"
#include "collector/base/log.h"
#include "collector/base/path.h"
#include "collector/names/elf_functions.h"
#include "collector/names/jit_files.h"
#include "collector/names/load_map.h"
#include "collector/names/map_log.h"
#include "collector/names/mapped_file.h"
#include "collector/names/maps.h"
#include "collector/names/memory_image.h"
#include "collector/names/nowait.h"
#include "collector/names/opener.h"
#include "collector/names/reader.h"
#include "collector/names/sites.h"
#include "collector/names/symbol_name.h"
#include "collector/names/symbols.h"
#include "collector/names/vdso.h"
#include "shared/compiler.h"
#include "shared/ring_shm.h"

/* Share of time for reading the map again for unknown addresses. Charged in CPU
 * time, as a busy machine adds waiting. Unused time is saved up to
 * CREDIT_NS. */
#define CREDIT_SHARE 10
#define CREDIT_NS 100000000
/* Tries while the log keeps growing. */
#define READ_TRIES 3

/* Most ranges of executable memory without a file. */
#define ANONYMOUS_MAX 4096

static const char g_unknown[] = "[unknown]";
static const char g_jit[] = "[JIT]";

struct span { /* [start, end) */
	uint64_t start, end;
};

struct modules {
	struct symbol_cache *cache;
	struct map_log *log; /* a reference; or NULL */
	struct sites *sites; /* a reference; or NULL */
	pid_t pid, inner_pid;
	uid_t uid;
	int proc_fd; /* O_PATH of /proc/PID; or the -errno of opening it */
	int root_fd; /* O_PATH of its root at the start; -1: none */
	struct jit_files *jit; /* may be NULL */

	struct lock refresh_lock; /* see the top; parent changes under both */
	struct modules *parent; /* until inherit_places() */
	uint32_t claimed; /* see modules_fork() */

	struct lock lock; /* guards everything below, unless noted */
	unsigned int refs;
	struct load_map map;
	struct span *anonymous; /* executable, without a file */
	size_t anonymous_count;
	size_t events;
	size_t own_events; /* of this process; under refresh_lock */
	uint64_t vdso; /* 0: unknown; under refresh_lock */
	bool was_read;
	bool is_behind; /* see modules_new() */
	int64_t credit_ns; /* for unknown addresses */
	uint64_t credited_ns;
	bool is_gone; /* ended or called exec() */
};

static uint64_t thread_cpu_ns(void)
{
	return clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* Returns the root at the start if the process has ended. */
static int open_root_of_modules(const struct modules *modules)
{
	int fd = openat(modules->proc_fd, "root",
			O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd >= 0 ? fd : fcntl(modules->root_fd, F_DUPFD_CLOEXEC, 0);
}

/* Returns "" if the cache is full. */
static const char *keep_string(struct modules *modules, const char *text)
{
	const char *kept = symbol_cache_string(modules->cache, text);

	return kept ? kept : "";
}

/* --- reading the map ------------------------------------------------------ */

struct reading {
	struct place *list;
	size_t count, room;
	struct span *anonymous;
	size_t anonymous_count;
	bool nowait; /* no file systems, no long maps: modules_new() */
	bool is_behind; /* incomplete because of nowait */
};

static void reading_release(struct reading *reading)
{
	for (size_t i = 0; i < reading->count; i++)
		symbol_file_put(&reading->list[i].file);
	free(reading->list);
	free(reading->anonymous);
	*reading = (struct reading){ .nowait = reading->nowait };
}

/* Generated code may lie in such memory. */
static void note_anonymous(const struct maps_line *line,
			   struct reading *reading)
{
	bool is_anonymous = !line->inode && (!line->path[0] ||
					     !strncmp(line->path, "[anon", 5));

	if (!line->is_executable || !is_anonymous ||
	    reading->anonymous_count == ANONYMOUS_MAX)
		return;
	if (!reading->anonymous)
		reading->anonymous =
			calloc(ANONYMOUS_MAX, sizeof(*reading->anonymous));
	if (reading->anonymous)
		reading->anonymous[reading->anonymous_count++] =
			(struct span){ line->start, line->end };
}

/* Only exec() moves the vdso, and it nearly always does unless address
 * randomization is off. The new map does not apply to old addresses. */
static bool is_new_image(struct modules *modules, const struct maps_line *line)
{
	if (strcmp(line->path, "[vdso]") != 0)
		return false;
	if (!modules->vdso)
		modules->vdso = line->start;
	return modules->vdso != line->start;
}

static bool is_line_covered(struct modules *modules,
			    const struct maps_line *line)
{
	return LOCKED(&modules->lock,
		      load_map_open(&modules->map, line->start, line->end));
}

static bool is_descriptor_lack(int err)
{
	return err == EMFILE || err == ENFILE;
}

/* Returns NULL if out of memory. @path is below @root_fd (-1: unknown). */
static struct symbol_file *open_symbols(struct modules *modules, int root_fd,
					int fd, const char *path)
{
	struct symbol_file *file =
		symbol_cache_file(modules->cache, modules->uid, fd, path);

	if (file && root_fd >= 0)
		symbol_file_set_root(file, root_fd);
	return file;
}

static struct openers *openers_of(const struct modules *modules)
{
	return readers_openers(symbol_cache_readers(modules->cache));
}

static int open_module_mapping(struct modules *modules, int root_fd,
			       struct maps_line *line,
			       const struct reading *reading)
{
	if (!line->inode && !strcmp(line->path, "[vdso]"))
		return vdso_open(line->end - line->start);
	if (!line->inode)
		return -1;
	if (reading->nowait)
		return mapped_file_open_nowait(modules->proc_fd, root_fd, line);
	return mapped_file_open(openers_of(modules), modules->proc_fd, root_fd,
				line);
}

/* Appends an unknown mapping, whose file may be NULL. Returns 0 or -ENOMEM. */
static int identify_mapping(struct modules *modules, int root_fd,
			    struct maps_line *line, struct reading *reading)
{
	struct place place = {
		.start = line->start,
		.end = line->end,
		.map_offset = line->offset,
		.inode = line->inode,
		.build_id = "",
		.is_transient = modules->was_read,
	};
	int fd;

	if (grow_array(reading->list, reading->room, reading->count + 1))
		return -ENOMEM;
	fd = open_module_mapping(modules, root_fd, line, reading);
	if (fd < 0 && line->inode && reading->nowait) {
		reading->is_behind = true;
		return 0;
	}
	if (fd >= 0 && modules->jit && jit_files_is_dump(line->path))
		jit_files_set_dump(modules->jit, fd);
	if (line->inode && fd < 0 && is_descriptor_lack(errno))
		symbol_cache_note_lack(modules->cache);
	if (fd >= 0) {
		place.file = open_symbols(modules, root_fd, fd, line->path);
		close(fd);
	}
	symbol_name_clean(line->path);
	place.path = keep_string(modules, line->path);
	reading->list[reading->count++] = place;
	return 0;
}

static FILE *open_maps(const struct modules *modules)
{
	int fd = openat(modules->proc_fd, "maps", O_RDONLY | O_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");

	if (fd >= 0 && !file)
		close(fd);
	return file;
}

static int read_map(struct modules *modules, struct reading *reading)
{
	FILE *file = open_maps(modules);
	struct maps_turn turn = { 0 };
	struct maps_line line;
	char *text = NULL;
	size_t size = 0, count = 0;
	int err = -ESRCH; /* the map of an ended process is empty */
	int root_fd;

	if (!file)
		return -errno;
	root_fd = open_root_of_modules(modules);
	while (getline(&text, &size, file) > 0 &&
	       count++ < LOAD_MAP_PLACES_MAX) {
		err = 0;
		if (reading->nowait && count > MAPS_LINES_SOON) {
			reading->is_behind = true;
			break;
		}
		if (!maps_turn_line(&turn)) {
			err = -ECANCELED;
			break;
		}
		if (!maps_parse(text, &line))
			continue;
		note_anonymous(&line, reading);
		if (!line.is_executable ||
		    (line.inode ? !line.path[0] : line.path[0] != '['))
			continue;
		if (is_new_image(modules, &line))
			err = -ESRCH;
		else if (!is_line_covered(modules, &line))
			err = identify_mapping(modules, root_fd, &line,
					       reading);
		if (err)
			break;
	}
	maps_turn_end(&turn);
	free(text);
	if (root_fd >= 0)
		close(root_fd);
	fclose(file);
	return err;
}

/* --- reading the log ------------------------------------------------------ */

/* Drops a file of another build-id, and sets place->found_id. */
static struct symbol_file *check_told_file(struct place *place,
					   struct symbol_file *file)
{
	const char *build_id = file ? symbol_file_build_id(file) : NULL;

	if (file && strcmp(build_id, place->build_id) != 0) {
		place->found_id = build_id;
		symbol_file_put(&file);
	}
	return file;
}

/* Opens @path in the process's root; without access in our own root, if a
 * build-id can verify it. Returns a reference or NULL. */
static struct symbol_file *file_at_path(struct modules *modules,
					const char *path, bool has_build_id)
{
	struct symbol_file *file = NULL;
	int root_fd = open_root_of_modules(modules), fd = -1;

	if (root_fd < 0 && has_build_id)
		root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd >= 0)
		fd = mapped_file_at(openers_of(modules), root_fd, path, 0);
	if (fd < 0 && is_descriptor_lack(errno))
		symbol_cache_note_lack(modules->cache);
	if (fd >= 0) {
		file = open_symbols(modules, root_fd, fd, path);
		close(fd);
	}
	if (root_fd >= 0)
		close(root_fd);
	return file;
}

/* Plugins in a memfd are loaded by such paths. */
static bool is_descriptor(const char *path)
{
	return !strncmp(path, "/proc/", 6) || !strncmp(path, "/dev/fd/", 8);
}

/* Opens the file mapped at @place, for files without a path or no longer at
 * their path. Sets an empty or descriptor path from the map. Returns a
 * reference or NULL. */
static struct symbol_file *file_mapped_there(struct modules *modules,
					     struct place *place)
{
	struct symbol_file *file = NULL;
	FILE *maps = open_maps(modules);
	int root_fd = open_root_of_modules(modules), fd = -1;
	struct maps_line line;
	char *text = NULL;
	size_t size = 0;

	while (maps && fd < 0 && getline(&text, &size, maps) > 0) {
		if (!maps_parse(text, &line) || !line.inode ||
		    line.start < place->start || line.end > place->end)
			continue;
		fd = mapped_file_open(openers_of(modules), modules->proc_fd,
				      root_fd, &line);
		if (fd >= 0)
			file = open_symbols(modules, root_fd, fd, line.path);
		symbol_name_clean(line.path);
		if (!place->path[0] || is_descriptor(place->path))
			place->path = keep_string(modules, line.path);
	}
	if (fd >= 0)
		close(fd);
	free(text);
	if (maps)
		fclose(maps);
	if (root_fd >= 0)
		close(root_fd);
	return file;
}

/* Opens the file behind a path such as "/proc/self/fd/7", and sets place->path
 * to its name, such as "/memfd:plugin". Returns a reference or NULL. */
static struct symbol_file *file_of_descriptor(struct modules *modules,
					      const char *path,
					      struct place *place)
{
	struct symbol_file *file = NULL;
	const char *number = strrchr(path, '/') + 1;
	char name[32], link[PATH_MAX] = "";
	int fd;

	if (!number[0] || number[strspn(number, "0123456789")])
		return NULL;
	snprintf(name, sizeof(name), "fd/%.20s", number);
	fd = opener_find(openers_of(modules), modules->proc_fd, name, 0, 0);
	if (fd < 0)
		return NULL;
	file = check_told_file(place,
			       symbol_cache_file(modules->cache, modules->uid,
						 fd, place->path));
	close(fd);
	if (file &&
	    readlinkat(modules->proc_fd, name, link, sizeof(link) - 1) > 0) {
		mapped_file_strip_deleted(link);
		symbol_name_clean(link);
		place->path = keep_string(modules, link);
	}
	return file;
}

/* For a deleted file that we may not open by its mapping. Returns a reference
 * or NULL. */
static struct symbol_file *file_in_memory(struct modules *modules,
					  const struct place *place)
{
	struct symbol_file *file;
	int fd = memory_image_open(symbol_cache_readers(modules->cache),
				   modules->uid, modules->proc_fd, place->start,
				   place->end, place->bias);

	if (fd < 0)
		return NULL;
	file = symbol_cache_file(modules->cache, modules->uid, fd, place->path);
	close(fd);
	return file;
}

/* The file must match the build-id of @place, or the path if it has none. */
static void find_told_file(struct modules *modules, const char *path,
			   struct place *place)
{
	struct symbol_file *file = NULL;
	const struct place *there;

	lock_acquire(&modules->lock);
	there = load_map_open(&modules->map, place->start, place->end);
	if (there)
		file = symbol_file_get(there->file);
	lock_release(&modules->lock);
	place->file = check_told_file(place, file);
	if (!place->file && is_descriptor(path))
		place->file = file_of_descriptor(modules, path, place);
	if (!place->file && path[0])
		place->file = check_told_file(
			place, file_at_path(modules, path, place->build_id[0]));
	if (!place->file && place->build_id[0])
		place->file = check_told_file(
			place, file_mapped_there(modules, place));
	if (!place->file && place->build_id[0]) {
		place->file =
			check_told_file(place, file_in_memory(modules, place));
		place->is_partial = place->file;
	}
	if (place->file)
		place->found_id = NULL;
}

static void take_load(struct modules *modules, const struct map_event *event)
{
	struct place place = {
		.start = event->start,
		.end = event->end,
		.bias = event->bias,
		.has_bias = true,
		.build_id = keep_string(modules, event->build_id),
		.is_transient = true,
	};
	char path[MAP_PATH_BYTES + 1];
	bool is_known;
	int err;

	snprintf(path, sizeof(path), "%s", event->path);
	symbol_name_clean(path);
	place.path = keep_string(modules, path);
	lock_acquire(&modules->lock);
	is_known = place.build_id[0] && load_map_known(&modules->map, &place);
	lock_release(&modules->lock);
	if (!is_known)
		find_told_file(modules, event->path, &place);
	lock_acquire(&modules->lock);
	load_map_advance(&modules->map, event->generation);
	err = load_map_add(&modules->map, &place);
	lock_release(&modules->lock);
	symbol_file_put(&place.file);
	if (err)
		log_err("out of memory: functions of '%s' have no names",
			place.path);
}

/* refresh_lock held; takes the parent's refresh_lock. */
static void inherit_places(struct modules *modules)
{
	struct modules *parent = modules->parent;
	uint32_t generation = modules->claimed;
	struct load_map map = { 0 };
	struct map_event event;
	size_t next = 0;
	int err;

	modules_follow(parent);
	/* Files that the child unloaded before claiming its first slot were
	 * loaded at the fork. */
	while (modules->log &&
	       map_log_next(modules->log, modules->inner_pid, &next, &event))
		if (event.kind == MAP_UNLOAD && event.generation &&
		    event.generation <= modules->claimed) {
			generation = event.generation - 1;
			break;
		}
	lock_acquire(&parent->lock);
	err = load_map_fork(&parent->map, generation, &map);
	lock_release(&parent->lock);
	if (err)
		log_err("out of memory: functions of process %d have no names",
			(int)modules->pid);
	lock_acquire(&modules->lock);
	modules->map = map;
	modules->vdso = parent->vdso;
	modules->parent = NULL;
	lock_release(&modules->lock);
	modules_put(&parent);
}

static void read_log(struct modules *modules)
{
	size_t next = modules->events;
	struct map_event event;

	if (modules->parent)
		inherit_places(modules);
	if (!modules->log)
		return;
	map_log_read(modules->log);
	while (map_log_next(modules->log, modules->inner_pid, &next, &event)) {
		if (event.kind == MAP_LOAD) {
			take_load(modules, &event);
		} else {
			lock_acquire(&modules->lock);
			(void)load_map_end(&modules->map, event.start,
					   event.end, event.generation);
			lock_release(&modules->lock);
		}
		modules->own_events++;
	}
	lock_acquire(&modules->lock);
	modules->events = next;
	lock_release(&modules->lock);
}

void modules_follow(struct modules *modules)
{
	bool is_new;

	lock_acquire(&modules->lock);
	is_new = modules->parent ||
		 (modules->log && map_log_read(modules->log) > modules->events);
	lock_release(&modules->lock);
	if (!is_new)
		return;
	/* The refresh_lock of a child may be held: inherit_places(). */
	lock_acquire_chained(&modules->refresh_lock);
	read_log(modules);
	lock_release(&modules->refresh_lock);
}

/* --- both ----------------------------------------------------------------- */

int modules_refresh(struct modules *modules)
{
	struct reading reading = { 0 };
	uint64_t begin_ns = thread_cpu_ns();
	size_t own_events;
	int err = -EAGAIN;

	if (modules->proc_fd < 0)
		return modules->proc_fd;
	lock_acquire(&modules->refresh_lock);
	/* Tries again if the log gets entries of this process meanwhile.
	 * -EAGAIN remains if that happens at each try. */
	for (int i = 0; i < READ_TRIES && err == -EAGAIN; i++) {
		reading_release(&reading);
		read_log(modules);
		own_events = modules->own_events;
		err = read_map(modules, &reading);
		read_log(modules);
		if (!err && modules->own_events != own_events)
			err = -EAGAIN;
	}
	lock_acquire(&modules->lock);
	for (size_t i = 0; i < reading.count && !err; i++)
		err = load_map_add(&modules->map, &reading.list[i]);
	if (!err) {
		struct span *old = modules->anonymous;

		modules->anonymous = reading.anonymous;
		modules->anonymous_count = reading.anonymous_count;
		reading.anonymous = old;
	}
	modules->credit_ns -= (int64_t)(thread_cpu_ns() - begin_ns);
	modules->is_gone = err == -ESRCH;
	modules->was_read |= !err;
	modules->is_behind = false;
	lock_release(&modules->lock);
	lock_release(&modules->refresh_lock);
	reading_release(&reading);
	return err;
}

/* For new @modules: never waits for a file, and does not open files of the log.
 * Sets is_behind if anything is missing. */
static int read_map_nowait(struct modules *modules)
{
	struct reading reading = { .nowait = true };
	int err = modules->proc_fd < 0 ? modules->proc_fd
				       : read_map(modules, &reading);

	modules->is_behind = reading.is_behind ||
			     (modules->log && map_log_read(modules->log));
	for (size_t i = 0; i < reading.count && !err && !modules->is_behind;
	     i++)
		err = load_map_add(&modules->map, &reading.list[i]);
	if (!err && !modules->is_behind) {
		modules->anonymous = reading.anonymous;
		modules->anonymous_count = reading.anonymous_count;
		modules->was_read = true;
		reading.anonymous = NULL;
	}
	reading_release(&reading);
	return err;
}

bool modules_are_behind(struct modules *modules)
{
	return LOCKED(&modules->lock, modules->is_behind);
}

/* --- life ----------------------------------------------------------------- */

static int make_modules(pid_t pid, pid_t inner_pid, struct map_log *log,
			struct symbol_cache *cache, struct modules **out)
{
	struct modules *modules = calloc(1, sizeof(*modules));
	struct stat status;
	char path[32];

	if (!modules)
		return -ENOMEM;
	snprintf(path, sizeof(path), "/proc/%d", pid);
	modules->proc_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (modules->proc_fd < 0) {
		modules->proc_fd = -errno;
		modules->is_gone = true;
	}
	modules->root_fd = openat(modules->proc_fd, "root",
				  O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (modules->proc_fd >= 0 && !nowait_stat(modules->proc_fd, &status)) {
		modules->uid = status.st_uid;
		modules->jit = jit_files_new(cache, inner_pid, status.st_uid);
	}
	modules->pid = pid;
	modules->inner_pid = inner_pid;
	modules->log = log ? map_log_get(log) : NULL;
	modules->cache = symbol_cache_get(cache);
	modules->refs = 1;
	modules->credit_ns = CREDIT_NS;
	modules->credited_ns = clock_monotonic_ns();
	lock_init(&modules->lock, LOCK_MODULES);
	lock_init(&modules->refresh_lock, LOCK_MODULES_REFRESH);
	*out = modules;
	return 0;
}

int modules_new(pid_t pid, pid_t inner_pid, struct map_log *log,
		struct symbol_cache *cache, struct modules **out)
{
	struct modules *modules = NULL;
	int err = make_modules(pid, inner_pid, log, cache, &modules);

	if (err)
		return err;
	err = read_map_nowait(modules);
	if (err == -EACCES || err == -EPERM) {
		log_warn("cannot read /proc/%d/maps: %s; functions of that "
			 "program have no names (make its executable readable, "
			 "or record as root)",
			 (int)pid, strerror(-err));
		err = 0;
	}
	if (err)
		modules_put(&modules);
	else
		*out = modules;
	return err;
}

int modules_fork(struct modules *parent, pid_t pid, pid_t inner_pid,
		 uint32_t claimed, struct modules **out)
{
	struct modules *modules = NULL;
	int err = make_modules(pid, inner_pid, parent->log, parent->cache,
			       &modules);

	if (err)
		return err;
	if (modules->root_fd < 0)
		modules->root_fd = fcntl(parent->root_fd, F_DUPFD_CLOEXEC, 0);
	modules->was_read = true;
	if (parent->sites)
		modules->sites = sites_get(parent->sites);
	modules->claimed = claimed;
	modules->parent = modules_get(parent);
	*out = modules;
	return 0;
}

void modules_set_sites(struct modules *modules, struct sites *sites)
{
	modules->sites = sites_get(sites);
}

struct modules *modules_get(struct modules *modules)
{
	lock_acquire(&modules->lock);
	modules->refs++;
	lock_release(&modules->lock);
	return modules;
}

void modules_put(struct modules **modules_ptr)
{
	struct modules *modules = *modules_ptr;
	unsigned int refs;

	*modules_ptr = NULL;
	if (!modules)
		return;
	lock_acquire(&modules->lock);
	refs = --modules->refs;
	lock_release(&modules->lock);
	if (refs)
		return;
	modules_put(&modules->parent);
	load_map_release(&modules->map);
	jit_files_free(&modules->jit);
	symbol_cache_put(&modules->cache);
	free(modules->anonymous);
	map_log_put(&modules->log);
	sites_put(&modules->sites);
	if (modules->proc_fd >= 0)
		close(modules->proc_fd);
	if (modules->root_fd >= 0)
		close(modules->root_fd);
	lock_destroy(&modules->lock);
	lock_destroy(&modules->refresh_lock);
	free(modules);
}

/* --- names ---------------------------------------------------------------- */

static bool is_thunk_area(const struct place *place)
{
	static const char memfd[] = "memfd:", area[] = THUNK_AREA_NAME;
	const char *name = strrchr(place->path, '/');

	if (!name++)
		return false;
	if (!strncmp(name, memfd, sizeof(memfd) - 1))
		name += sizeof(memfd) - 1;
	if (strncmp(name, area, sizeof(area) - 1) != 0)
		return false;
	/* The kernel adds " (deleted)", and a file has more of a name. */
	name += sizeof(area) - 1;
	return !*name || *name == ' ' || *name == '-';
}

/* Limited, as a hostile program can have many such places. */
static void tell_why_nameless(const struct modules *modules,
			      const struct place *place)
{
	static struct log_limit replaced, missing, partial;

	if (symbol_cache_tell_lack(modules->cache))
		return;
	if (place->file)
		log_limited(&partial, LOG_WARN,
			    "cannot open %s as process %d mapped it: it was "
			    "replaced or deleted; what it does not export, its "
			    "static functions, has no names",
			    place->path, (int)modules->pid);
	else if (place->found_id)
		log_limited(&replaced, LOG_WARN,
			    "%s was replaced since process %d loaded it: "
			    "build-id %s then, %s now; its functions have no "
			    "names (leave files alone while they are in use)",
			    place->path, (int)modules->pid,
			    place->build_id[0] ? place->build_id : "none",
			    place->found_id[0] ? place->found_id : "none");
	else
		log_limited(&missing, LOG_WARN,
			    "cannot open %s as process %d mapped it: it was "
			    "replaced or deleted; its functions have no names",
			    place->path, (int)modules->pid);
}

/* Returns true once per place: the caller logs missing names. */
static bool is_first_to_tell(struct modules *modules, uint64_t address,
			     uint32_t generation)
{
	struct place *place;
	bool is_first;

	lock_acquire(&modules->lock);
	place = load_map_find(&modules->map, address, generation);
	is_first = place && !place->was_told;
	if (place)
		place->was_told = true;
	lock_release(&modules->lock);
	return is_first;
}

/* Names a deleted file that was loaded too briefly from the map log. Sets the
 * file of the place and @copy. Returns false without names. */
static bool add_told_names(struct modules *modules, uint64_t address,
			   uint32_t generation, struct place *copy)
{
	struct place *place;
	struct map_names names;
	int fd;

	if (!modules->log || !copy->build_id[0] ||
	    !map_log_names(modules->log, copy->build_id, &names))
		return false;
	fd = memory_image_of_names(&names, copy->build_id,
				   copy->end - copy->start);
	if (fd < 0)
		return false;
	copy->file =
		symbol_cache_file(modules->cache, modules->uid, fd, copy->path);
	close(fd);
	if (!copy->file)
		return false;
	copy->is_partial = true;
	lock_acquire(&modules->lock);
	place = load_map_find(&modules->map, address, generation);
	if (place && !place->file) {
		place->file = symbol_file_get(copy->file);
		place->is_partial = true;
	}
	lock_release(&modules->lock);
	return true;
}

/* Copies the place and takes a reference to out->file. Logs once if there is no
 * file. Returns false for an unknown place. */
static bool find_place_copy(struct modules *modules, uint64_t address,
			    uint32_t generation, struct place *out)
{
	struct place *place;

	lock_acquire(&modules->lock);
	load_map_advance(&modules->map, generation);
	place = load_map_find(&modules->map, address, generation);
	if (place) {
		*out = *place;
		symbol_file_get(out->file);
	}
	lock_release(&modules->lock);
	if (place && !out->file &&
	    !add_told_names(modules, address, generation, out) &&
	    out->path[0] == '/' && !is_thunk_area(out) &&
	    is_first_to_tell(modules, address, generation))
		tell_why_nameless(modules, out);
	return place != NULL;
}

static bool may_refresh_map(struct modules *modules)
{
	uint64_t now = clock_monotonic_ns();
	int64_t earned;
	bool may;

	lock_acquire(&modules->lock);
	earned = (int64_t)((now - modules->credited_ns) / CREDIT_SHARE);
	modules->credit_ns = MIN(modules->credit_ns + earned, CREDIT_NS);
	modules->credited_ns = now;
	may = !modules->is_gone && modules->credit_ns > 0;
	lock_release(&modules->lock);
	return may;
}

static const char *name_by_number(struct modules *modules, const char *format,
				  const char *base, uint64_t number)
{
	char text[SYMBOL_NAME_BYTES];
	const char *name;

	snprintf(text, sizeof(text), format, base, (unsigned long long)number);
	name = symbol_cache_string(modules->cache, text);
	return name ? name : g_unknown;
}

static uint64_t bias_of_place(const struct place *place)
{
	uint64_t vaddr;

	if (place->has_bias)
		return place->bias;
	if (!place->file ||
	    !symbol_file_vaddr(place->file, place->map_offset, &vaddr))
		vaddr = place->map_offset;
	return place->start - vaddr;
}

static void resolve_in_place(struct modules *modules, const struct place *place,
			     uint64_t address, struct symbol *out)
{
	const char *error;
	uint64_t start;

	out->module = place->path[0] ? place->path : g_unknown;
	out->offset = address - bias_of_place(place);
	out->build_id = place->build_id;
	if (place->file) {
		out->build_id = symbol_file_build_id(place->file);
		out->name =
			symbol_file_lookup(place->file, out->offset, &start);
		error = symbol_file_new_error(place->file);
		/* Most files in samples have no symbols: that is normal unless
		 * they are instrumented or reading took too long. */
		if (error)
			log_at((symbol_file_is_late(place->file) ||
				symbol_file_instrumented(place->file))
				       ? LOG_WARN
				       : LOG_DBG,
			       "%s", error);
	}
	out->found = out->name;
	if (out->name)
		return;
	/* Functions of foreign files have no bounds: all share a name. */
	if (place->file && symbol_file_is_foreign(place->file)) {
		out->name = symbol_cache_string(modules->cache,
						path_name(out->module));
		if (out->name)
			return;
	}
	/* Addresses of a nameless function share a name. */
	if (!place->file ||
	    !symbol_file_bounds(place->file, out->offset, &start))
		start = out->offset;
	out->name = name_by_number(modules, "%s+0x%llx", path_name(out->module),
				   start);
}

static void resolve_site(struct modules *modules, uint32_t id,
			 struct symbol *out)
{
	const struct site *site = sites_find(modules->sites, id);

	*out = (struct symbol){ .name = site->name,
				.module = SITE_MODULE,
				.build_id = "",
				.offset = id,
				.found = site->known,
				.site = site };
}

static bool is_anonymous(struct modules *modules, uint64_t address)
{
	bool found = false;

	lock_acquire(&modules->lock);
	for (size_t i = 0; i < modules->anonymous_count && !found; i++)
		found = address >= modules->anonymous[i].start &&
			address < modules->anonymous[i].end;
	lock_release(&modules->lock);
	return found;
}

/* @is_known: generated code is there even without a name. Returns false if
 * there may be none, with *@out unchanged. */
static bool resolve_jit(struct modules *modules, uint64_t address,
			bool is_known, struct symbol *out)
{
	const char *name = NULL;

	if (modules->jit)
		name = jit_files_find(modules->jit, modules->proc_fd,
				      modules->root_fd, address);
	if (!name && !is_known && !is_anonymous(modules, address))
		return false;
	*out = (struct symbol){ .name = name ? name : g_jit,
				.module = g_jit,
				.build_id = "",
				.offset = address,
				.found = name,
				.is_jit = true };
	return true;
}

/* As find_place_copy(), after reading the log, and the map if necessary. */
static bool find_place_now(struct modules *modules, uint64_t address,
			   uint32_t generation, struct place *out)
{
	modules_follow(modules);
	if (find_place_copy(modules, address, generation, out))
		return true;
	if (is_anonymous(modules, address) || !may_refresh_map(modules))
		return false;
	modules_refresh(modules);
	return find_place_copy(modules, address, generation, out);
}

/* JITs map a memfd twice, to write and to run code. It is no ELF file. */
static bool is_jit_memory(const struct place *place)
{
	return !strncmp(place->path, "/memfd:", 7) &&
	       (!place->file || symbol_file_error(place->file));
}

/* Memory such as "[anon:v8]", memory of a JIT, or a file whose functions only
 * the program knows. */
static bool is_jit_place(const struct place *place)
{
	return !strncmp(place->path, "[anon", 5) || is_jit_memory(place) ||
	       (place->file && symbol_file_is_foreign(place->file));
}

void modules_resolve(struct modules *modules, uint64_t address,
		     uint32_t generation, struct symbol *out)
{
	struct place place;

	if (modules->sites && address < SITES_MAX) {
		resolve_site(modules, (uint32_t)address, out);
		return;
	}
	*out = (struct symbol){ .build_id = "" };
	if (!find_place_now(modules, address, generation, &place)) {
		if (resolve_jit(modules, address, false, out))
			return;
		out->name = name_by_number(modules, "%s0x%llx", "", address);
		out->module = g_unknown;
		out->offset = address;
		return;
	}
	if (is_thunk_area(&place)) {
		out->name = out->module = "[perfrec]";
		out->offset = address - place.start;
		out->found = true;
	} else if (!is_jit_place(&place) ||
		   !resolve_jit(modules, address, is_jit_memory(&place), out)) {
		resolve_in_place(modules, &place, address, out);
		if (place.is_partial && !out->found &&
		    is_first_to_tell(modules, address, generation))
			tell_why_nameless(modules, &place);
	}
	symbol_file_put(&place.file);
}

/* Copies places with files, for reading_release(); with @mapped, only files
 * that are mapped now and have all their names. Returns 0 or -ENOMEM. */
static int copy_places(struct modules *modules, bool mapped,
		       struct reading *out)
{
	const struct load_map *map = &modules->map;

	lock_acquire(&modules->lock);
	out->list = calloc(map->count + 1, sizeof(*out->list));
	for (size_t i = 0; out->list && i < map->count; i++) {
		const struct place *place = map->list[i].place;

		if (!place->file ||
		    (mapped &&
		     (place->is_partial || !place->life_count ||
		      place->lives[place->life_count - 1].to != LIFE_OPEN)))
			continue;
		out->list[out->count++] = *place;
		symbol_file_get(place->file);
	}
	lock_release(&modules->lock);
	return out->list ? 0 : -ENOMEM;
}

/* As find_place_copy(), lock held. A child that has not inherited yet uses the
 * places of its parent. */
static bool copy_known_place(const struct modules *modules, uint64_t address,
			     uint32_t generation, struct place *out)
{
	const struct place *place = NULL;
	bool found;

	/* Unloads of later generations may be in the unread part of the log.
	 * Advancing would end all places. */
	if (generation <= modules->map.generation)
		place = load_map_find(&modules->map, address, generation);
	if (place) {
		*out = *place;
		symbol_file_get(out->file);
		return true;
	}
	if (!modules->parent || generation > modules->claimed)
		return false;
	lock_acquire_chained(&modules->parent->lock);
	found = copy_known_place(modules->parent, address, generation, out);
	lock_release(&modules->parent->lock);
	return found;
}

bool modules_resolve_read(struct modules *modules, uint64_t address,
			  uint32_t generation, struct symbol *out)
{
	struct place place;
	uint64_t start;
	bool known;

	if (modules->sites && address < SITES_MAX) {
		resolve_site(modules, (uint32_t)address, out);
		return true;
	}
	*out = (struct symbol){ .build_id = "" };
	lock_acquire(&modules->lock);
	known = copy_known_place(modules, address, generation, &place);
	lock_release(&modules->lock);
	if (!known || !place.file || !symbol_file_is_read(place.file)) {
		if (known)
			symbol_file_put(&place.file);
		return false;
	}
	out->module = place.path[0] ? place.path : g_unknown;
	out->offset = address - bias_of_place(&place);
	out->name = symbol_file_lookup(place.file, out->offset, &start);
	symbol_file_put(&place.file);
	return out->name;
}

void modules_read_tables(struct modules *modules)
{
	struct reading places = { 0 };

	modules_follow(modules);
	if (copy_places(modules, false, &places))
		return;
	for (size_t i = 0; i < places.count; i++)
		symbol_file_read_tables(places.list[i].file);
	reading_release(&places);
}

bool modules_place(struct modules *modules, uint64_t address,
		   uint32_t generation, struct module_place *out)
{
	struct place place;

	if (!find_place_now(modules, address, generation, &place))
		return false;
	*out = (struct module_place){ .start = place.start,
				      .end = place.end,
				      .file_offset = place.map_offset,
				      .bias = bias_of_place(&place),
				      .file = place.file,
				      .is_thunks = is_thunk_area(&place),
				      .inode = place.inode };
	return true;
}

/* A file's data follow its code, but perhaps other code lies in between. */
#define PLACES_BELOW 16

/* Copies the place whose file has @address in its data. Takes a reference to
 * out->file. */
static bool find_place_of_data(struct modules *modules, uint64_t address,
			       uint32_t generation, struct place *out)
{
	uint64_t below = address;

	for (int tries = PLACES_BELOW; tries; tries--) {
		const struct place *place;

		lock_acquire(&modules->lock);
		load_map_advance(&modules->map, generation);
		place = load_map_below(&modules->map, below, generation);
		if (place) {
			*out = *place;
			symbol_file_get(out->file);
		}
		lock_release(&modules->lock);
		if (!place)
			return false;
		if (out->file &&
		    symbol_file_covers(out->file, address - bias_of_place(out)))
			return true;
		symbol_file_put(&out->file);
		if (!out->start)
			return false;
		below = out->start - 1;
	}
	return false;
}

bool modules_object(struct modules *modules, uint64_t address,
		    uint32_t generation, struct symbol *out)
{
	struct place place;
	const char *name;
	uint64_t start;

	modules_follow(modules);
	if (!find_place_of_data(modules, address, generation, &place))
		return false;
	*out = (struct symbol){
		.name = "",
		.module = place.path[0] ? place.path : g_unknown,
		.offset = address - bias_of_place(&place),
		.build_id = "",
	};
	name = symbol_file_object(place.file, out->offset, &start);
	symbol_file_put(&place.file);
	if (!name)
		return true;
	out->found = true;
	out->name = start == out->offset
			    ? name
			    : name_by_number(modules, "%s+0x%llx", name,
					     out->offset - start);
	return true;
}

static bool is_own_library(const char *path)
{
	return !strncmp(path_name(path), "libperfrec_preload.", 19);
}

static bool is_stub_of_hook(const struct place *place, uint64_t address)
{
	const char *name;
	uint64_t start;

	if (!place->file || !symbol_file_instrumented(place->file))
		return false;
	name = symbol_file_lookup(place->file, address - bias_of_place(place),
				  &start);
	return name &&
	       (!strcmp(name, "__cyg_profile_func_enter" ELF_STUB_MARK) ||
		!strcmp(name, "__cyg_profile_func_exit" ELF_STUB_MARK));
}

enum module_owner modules_owner(struct modules *modules, uint64_t address,
				uint32_t generation)
{
	enum module_owner owner = MODULE_PROGRAM;
	struct place place;

	if (!find_place_now(modules, address, generation, &place))
		return owner;
	if (is_thunk_area(&place))
		owner = MODULE_THUNKS;
	else if (is_own_library(place.path) || is_stub_of_hook(&place, address))
		owner = MODULE_LIBRARY;
	symbol_file_put(&place.file);
	return owner;
}

bool modules_is_clock(const char *name, const char *module)
{
	/* The C library has other names for it, such as __clock_gettime. */
	if (!strncmp(name, "__GI_", 5))
		name += 5;
	return !strcmp(module, "[vdso]") ||
	       !strcmp(name + strspn(name, "_"), "clock_gettime");
}

bool modules_clock_at(struct modules *modules, uint64_t address,
		      uint32_t generation)
{
	struct symbol symbol;

	modules_resolve(modules, address, generation, &symbol);
	return modules_is_clock(symbol.name, symbol.module);
}

/* --- all files ------------------------------------------------------------ */

struct visitor {
	const struct place *place;
	uint64_t bias;
	modules_visit *visit;
	void *context;
};

static int visit_module_function(void *context, uint64_t vaddr,
				 const char *name)
{
	struct visitor *visitor = context;
	const struct place *place = visitor->place;
	uint64_t address = vaddr + visitor->bias;

	if (address < place->start || address >= place->end)
		return 0;
	return visitor->visit(visitor->context, address, name, place->path);
}

int modules_each_function(struct modules *modules, modules_visit *visit,
			  void *context)
{
	struct reading places = { 0 };
	int stop = copy_places(modules, false, &places);

	for (size_t i = 0; i < places.count && !stop; i++) {
		struct visitor visitor = { .place = &places.list[i],
					   .bias = bias_of_place(
						   &places.list[i]),
					   .visit = visit,
					   .context = context };

		stop = symbol_file_each(visitor.place->file,
					visit_module_function, &visitor);
	}
	reading_release(&places);
	return stop;
}

size_t modules_files(struct modules *modules, struct module_file **out)
{
	static struct log_limit limit;
	struct reading places = { 0 };
	size_t count = 0;

	modules_follow(modules);
	(void)copy_places(modules, true, &places);
	*out = calloc(places.count + 1, sizeof(**out));
	if (!places.list || !*out)
		log_limited(&limit, LOG_WARN,
			    "no memory for the list of loaded modules: their "
			    "functions cannot be changed, and those of an "
			    "entry build are not recorded (free memory)");
	for (size_t i = 0; places.list && *out && i < places.count; i++) {
		const struct place *place = &places.list[i];

		(*out)[count++] = (struct module_file){
			.start = place->start,
			.end = place->end,
			.bias = bias_of_place(place),
			.path = place->path,
			.file = symbol_file_get(place->file),
		};
	}
	reading_release(&places);
	return count;
}

void modules_files_free(struct module_file **files, size_t count)
{
	for (size_t i = 0; i < count; i++)
		symbol_file_put(&(*files)[i].file);
	free(*files);
	*files = NULL;
}

size_t modules_late_files(struct modules *modules)
{
	struct reading places = { 0 };
	size_t late = 0;

	if (copy_places(modules, false, &places))
		return 0;
	for (size_t i = 0; i < places.count; i++)
		late += symbol_file_is_late(places.list[i].file);
	reading_release(&places);
	return late;
}

bool modules_instrumented(struct modules *modules)
{
	struct reading places = { 0 };
	const char *path;
	bool found = false;

	modules_follow(modules);
	if (copy_places(modules, false, &places))
		return false;
	for (size_t i = 0; i < places.count && !found; i++) {
		path = places.list[i].path;
		/* These refer to the hooks without calling them. */
		found = !is_own_library(path) &&
			strncmp(path_name(path), "libc.so.", 8) != 0 &&
			symbol_file_instrumented(places.list[i].file);
	}
	reading_release(&places);
	return found;
}
