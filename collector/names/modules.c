/* SPDX-License-Identifier: Apache-2.0
 *
 * modules - three sources say which file lies at which address, and when. "The
 * map" is /proc/PID/maps, "the log" is the map log (map_log.h).
 *
 *   the map at hello  All files that are mapped then. They count from
 *                     generation 0 on.
 *   the log           The files that are loaded and unloaded later.
 *   the map later     It is read again when somebody asks for an address that
 *                     the two other sources do not know. It may be in a library
 *                     that the log has not told yet.
 *
 * The log counts more than the map. The map is read between two readings of the
 * log. It is believed only if the log got no entry of this process meanwhile.
 * And a line of the map is believed only if no file is known to lie there. The
 * reason is that the log tells each unload, and the map may be ahead of the
 * log. load_map.c keeps what is known.
 *
 * The map at hello is read on the main thread, which waits for no file system,
 * and reads no long map. If a file cannot be had so, or the map is long, the
 * whole map is read by a job. Until then nothing is known.
 *
 * A file that the log tells is opened by its path, and must have the build-id
 * that it had in memory. A file that the map tells is opened by mapped_file.c.
 * The folder of the process in /proc, and the root folder of the process, are
 * kept open from the start. So a process that gets the same pid later is never
 * taken for this one, and files of a program that has ended can still be
 * opened.
 *
 * A forked child starts with the files that its parent had in the generation of
 * the fork. To these it adds the files that the log tells with the pid of the
 * child. (The program writes the pids into the log. If two children of a
 * program have the same pid, one after the other, the second child inherits the
 * files that the first one has loaded.)
 *
 * Any thread may call these functions. refresh_lock lets one thread at a time
 * read the log and the map, and open files. lock guards what is known, and is
 * held only for moments. A thread that holds refresh_lock may take lock, and
 * the refresh_lock of the parent.
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

#include "collector/base/lock.h"
#include "collector/base/grow.h"
#include "collector/base/clock.h"
#include "collector/names/elf_functions.h"
#include "collector/names/jit_files.h"
#include "collector/names/load_map.h"
#include "collector/base/log.h"
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

/* Addresses that are not known make us read the map again. This may take one
 * tenth of the time that passes (1 / CREDIT_SHARE). A reading is charged with
 * its CPU time, since on a busy machine it also waits for its turn. Time that
 * was not used is saved, up to CREDIT_NS. */
#define CREDIT_SHARE 10
#define CREDIT_NS 100000000
/* How many times the map is read if the log grows each time. */
#define READ_TRIES 3

/* How many ranges of executable memory without a file are remembered. */
#define ANONYMOUS_MAX 4096

static const char g_unknown[] = "[unknown]";
static const char g_jit[] = "[JIT]";

struct span { /* addresses start to end - 1 */
	uint64_t start, end;
};

struct modules {
	struct symbol_cache *cache;
	struct map_log *log; /* a reference; NULL: there is no log */
	struct sites *sites; /* a reference; NULL: there are none */
	pid_t pid, inner_pid; /* as we see it; as the process itself does */
	uid_t uid; /* whose process it is */
	int proc_fd; /* O_PATH of /proc/PID; or the -errno of opening it */
	int root_fd; /* O_PATH of its root folder at the start; -1: none */
	struct jit_files *jit; /* NULL: no memory, or the process had ended */

	struct lock refresh_lock; /* see the top; parent changes under both */
	struct modules *parent; /* a reference until inherit_places(); or NULL
				 */
	uint32_t claimed; /* see modules_fork() */

	struct lock lock; /* for all that follows, but own_events and vdso */
	unsigned int refs;
	struct load_map map;
	struct span *anonymous; /* executable memory without a file, as the map
				 * had it when it was last read; by address */
	size_t anonymous_count;
	size_t events; /* how many entries of the log were read */
	size_t own_events; /* how many of these are about this process; under
			    * refresh_lock */
	uint64_t vdso; /* its address; 0: not known; under refresh_lock */
	bool was_read; /* the map was read at least once */
	bool is_behind; /* the first reading was not whole: modules_new() */
	int64_t credit_ns; /* how long the map may be read for unknown
			    * addresses; see CREDIT_NS */
	uint64_t credited_ns; /* when credit_ns was last increased */
	bool is_gone; /* the process has ended, or has called exec: its map
		       * cannot be read any more */
};

/* The CPU time of this thread. */
static uint64_t thread_cpu_ns(void)
{
	return clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* Opens the root folder that the process has now. If that is not possible, the
 * one that it had at the start. The caller closes the descriptor. -1: none. */
static int open_process_root(const struct modules *modules)
{
	int fd = openat(modules->proc_fd, "root",
			O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd >= 0 ? fd : fcntl(modules->root_fd, F_DUPFD_CLOEXEC, 0);
}

/* A copy of @text that lives as long as the symbol cache; "" if the cache is
 * full. */
static const char *keep_string(struct modules *modules, const char *text)
{
	const char *kept = symbol_cache_string(modules->cache, text);

	return kept ? kept : "";
}

/* --- reading the map ------------------------------------------------------ */

/* What one reading of the map has found: mappings of files that were not known,
 * and executable memory without a file. */
struct reading {
	struct place *list; /* each has a reference to its file */
	size_t count, room;
	struct span *anonymous;
	size_t anonymous_count;
	bool nowait; /* ask no file system, and read MAPS_LINES_SOON lines at
		      * most; see modules_new() */
	bool is_behind; /* so not all could be had */
};

static void reading_release(struct reading *reading)
{
	for (size_t i = 0; i < reading->count; i++)
		symbol_file_put(&reading->list[i].file);
	free(reading->list);
	free(reading->anonymous);
	*reading = (struct reading){ .nowait = reading->nowait };
}

/* True if functions may lie in the mapping, and the mapping has a name. */
static bool is_interesting(const struct maps_line *line)
{
	return line->is_executable &&
	       (line->inode ? line->path[0] != '\0' : line->path[0] == '[');
}

/* Notes the mapping of @line in @reading if it is executable memory without a
 * file: code that the program has made may lie there. */
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

/* True if @line shows that the process has called exec: the vdso has moved.
 * Only exec moves the vdso. And exec almost always does, unless the
 * randomisation of addresses is off. The map of the new program says nothing
 * about the addresses of the old program. */
static bool is_new_image(struct modules *modules, const struct maps_line *line)
{
	if (strcmp(line->path, "[vdso]") != 0)
		return false;
	if (!modules->vdso)
		modules->vdso = line->start;
	return modules->vdso != line->start;
}

/* True if a file is known to lie in the mapping of @line now. */
static bool is_line_covered(struct modules *modules,
			    const struct maps_line *line)
{
	bool is_covered;

	lock_acquire(&modules->lock);
	is_covered = load_map_open(&modules->map, line->start, line->end);
	lock_release(&modules->lock);
	return is_covered;
}

/* True if @err, a positive errno, says that there is no descriptor left. */
static bool is_descriptor_lack(int err)
{
	return err == EMFILE || err == ENFILE;
}

/* The file behind @fd, which the process finds at @path below @root_fd (-1: not
 * known). The caller gets a reference; the descriptors stay the caller's. NULL:
 * no memory. */
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

/* The file that lies at @line, opened as @reading may; -1. */
static int open_mapping(struct modules *modules, int root_fd,
			struct maps_line *line, const struct reading *reading)
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

/* Appends the mapping of @line, which was not known, to @reading, with the file
 * that lies there. The file may be NULL. 0 or -ENOMEM. */
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
	fd = open_mapping(modules, root_fd, line, reading);
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

/* Opens the map of the process. The caller closes it. NULL: errno says why. */
static FILE *open_maps(const struct modules *modules)
{
	int fd = openat(modules->proc_fd, "maps", O_RDONLY | O_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");

	if (fd >= 0 && !file)
		close(fd);
	return file;
}

static int read_map_lines(struct modules *modules, FILE *file, int root_fd,
			  struct reading *reading)
{
	struct maps_turn turn = { 0 };
	struct maps_line line;
	char *text = NULL;
	size_t size = 0, count = 0;
	int err = -ESRCH; /* the map of a process that has ended is empty */

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
		if (!is_interesting(&line))
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
	return err;
}

static int read_map(struct modules *modules, struct reading *reading)
{
	FILE *file = open_maps(modules);
	int root_fd, err;

	if (!file)
		return -errno;
	root_fd = open_process_root(modules);
	err = read_map_lines(modules, file, root_fd, reading);
	if (root_fd >= 0)
		close(root_fd);
	fclose(file);
	return err;
}

/* --- reading the log ------------------------------------------------------ */

/* Returns @file, which may be NULL, if it has the build-id that the log tells
 * of @place. Otherwise gives the reference to @file back, remembers its
 * build-id in place->found_id, and returns NULL. */
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

/* A reference to the file that is known to lie at the addresses of @place now;
 * or NULL. */
static struct symbol_file *known_file_of(struct modules *modules,
					 const struct place *place)
{
	struct symbol_file *file = NULL;
	const struct place *there;

	lock_acquire(&modules->lock);
	there = load_map_open(&modules->map, place->start, place->end);
	if (there)
		file = symbol_file_get(there->file);
	lock_release(&modules->lock);
	return file;
}

/* Opens the file at @path of the process. If we may not use the root folder of
 * the process, the file at @path in our own root folder is opened, but only if
 * there is a build-id to check it by. The caller gets a reference; or NULL. */
static struct symbol_file *file_at_path(struct modules *modules,
					const char *path, bool has_build_id)
{
	struct symbol_file *file = NULL;
	int root_fd = open_process_root(modules), fd = -1;

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

/* True if @path leads to an open descriptor, and so does not name the file. A
 * plugin in a file of memfd_create() is loaded by such a path. */
static bool is_descriptor(const char *path)
{
	return !strncmp(path, "/proc/", 6) || !strncmp(path, "/dev/fd/", 8);
}

/* Opens the file that the process has mapped at the addresses of @place now.
 * For files that have no path, or are not at their path any more. If the path
 * of @place is empty or leads to a descriptor, @place gets the path that the
 * map has. The caller gets a reference; or NULL. */
static struct symbol_file *file_mapped_there(struct modules *modules,
					     struct place *place)
{
	struct symbol_file *file = NULL;
	FILE *maps = open_maps(modules);
	int root_fd = open_process_root(modules), fd = -1;
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

/* Opens the file that the process has open behind the descriptor that @path
 * names, such as "/proc/self/fd/7". The path of @place becomes the name of that
 * file, such as "/memfd:plugin". The caller gets a reference; or NULL. */
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

/* Makes a file of what the process has in memory at @place. For a file that was
 * deleted, and that we have no right to open by its mapping. The caller gets a
 * reference; or NULL. */
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

/* Makes a file of the names that the program wrote into the map log before it
 * unloaded @place. For a file that was deleted, and was loaded for so short a
 * time that we have not seen it. The caller gets a reference; or NULL. */
static struct symbol_file *file_of_told_names(struct modules *modules,
					      const struct place *place)
{
	struct symbol_file *file;
	struct map_names names;
	int fd;

	if (!modules->log || !place->build_id[0] ||
	    !map_log_names(modules->log, place->build_id, &names))
		return NULL;
	fd = memory_image_of_names(&names, place->build_id,
				   place->end - place->start);
	if (fd < 0)
		return NULL;
	file = symbol_cache_file(modules->cache, modules->uid, fd, place->path);
	close(fd);
	return file;
}

/* Sets place->file to the file that the log tells with @path. Tries one way
 * after the other; the file must have the build-id of @place. Without a
 * build-id only the path can say which file it is. If no way leads to the file,
 * place->file stays NULL. */
static void find_told_file(struct modules *modules, const char *path,
			   struct place *place)
{
	place->file = check_told_file(place, known_file_of(modules, place));
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

/* The log says that a file was loaded. refresh_lock held. */
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

/* The log says that a file was unloaded. refresh_lock held. */
static void take_unload(struct modules *modules, const struct map_event *event)
{
	lock_acquire(&modules->lock);
	(void)load_map_end(&modules->map, event->start, event->end,
			   event->generation);
	lock_release(&modules->lock);
}

/* The generation in which the child @modules was forked. When the child claimed
 * its first slot, it may have unloaded files already: these were still loaded
 * at the fork. */
static uint32_t generation_of_fork(const struct modules *modules)
{
	struct map_event event;
	size_t next = 0;

	while (modules->log &&
	       map_log_next(modules->log, modules->inner_pid, &next, &event))
		if (event.kind == MAP_UNLOAD && event.generation &&
		    event.generation <= modules->claimed)
			return event.generation - 1;
	return modules->claimed;
}

/* Copies the load map of the parent into the child @modules, and gives the
 * reference to the parent back. refresh_lock held; takes the refresh_lock of
 * the parent, too. */
static void inherit_places(struct modules *modules)
{
	struct modules *parent = modules->parent;
	struct load_map map = { 0 };
	int err;

	modules_follow(parent);
	lock_acquire(&parent->lock);
	err = load_map_fork(&parent->map, generation_of_fork(modules), &map);
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

/* Takes in all that the log says and that was not read yet. refresh_lock held.
 */
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
		if (event.kind == MAP_LOAD)
			take_load(modules, &event);
		else
			take_unload(modules, &event);
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

/* Reads the map, and the log before and after it. Tries again if the log has
 * got an entry about this process meanwhile. 0 or -errno; -EAGAIN: it had one
 * at each try. refresh_lock held. */
static int read_map_and_log(struct modules *modules, struct reading *reading)
{
	int err = -EAGAIN;

	for (int i = 0; i < READ_TRIES && err == -EAGAIN; i++) {
		size_t own_events;

		reading_release(reading);
		read_log(modules);
		own_events = modules->own_events;
		err = read_map(modules, reading);
		read_log(modules);
		if (!err && modules->own_events != own_events)
			err = -EAGAIN;
	}
	return err;
}

int modules_refresh(struct modules *modules)
{
	struct reading reading = { 0 };
	uint64_t begin_ns = thread_cpu_ns();
	int err;

	if (modules->proc_fd < 0)
		return modules->proc_fd;
	lock_acquire(&modules->refresh_lock);
	err = read_map_and_log(modules, &reading);
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

/* The same when nobody else knows @modules yet, without waiting for a file: if
 * the log has something to say, or a file cannot be had, or the map is long, it
 * is behind. What the log says is not taken in, as that may wait. */
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
	bool are;

	lock_acquire(&modules->lock);
	are = modules->is_behind;
	lock_release(&modules->lock);
	return are;
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

/* True if @place is a thunk area. */
static bool is_thunk_area(const struct place *place)
{
	static const char path[] = "/memfd:" THUNK_AREA_NAME;
	size_t length = sizeof(path) - 1;

	/* The kernel adds " (deleted)". */
	return !strncmp(place->path, path, length) &&
	       (!place->path[length] || place->path[length] == ' ');
}

/* Logs why functions of @place have no names. A hostile program can have many
 * such places, so the number of messages is limited. */
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

/* True for the first caller that asks this about the place of @address in
 * @generation. That caller has to say that names are missing there. */
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

/* @copy is a copy of the place of @address in @generation, which has no file.
 * Makes a file for both of the names that the program told. False: the program
 * told none. */
static bool add_told_names(struct modules *modules, uint64_t address,
			   uint32_t generation, struct place *copy)
{
	struct place *place;

	copy->file = file_of_told_names(modules, copy);
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

/* Copies the place of @address in @generation to *@out. The caller gives the
 * reference out->file back. If there is no way to the file, logs that once for
 * each place. False: no place is known. */
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

/* True if the map may be read again for an unknown address: enough time has
 * passed, and the process has not ended. */
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

/* Makes a name of @base and @number by @format. It lives as long as the symbol
 * cache. */
static const char *name_by_number(struct modules *modules, const char *format,
				  const char *base, uint64_t number)
{
	char text[SYMBOL_NAME_BYTES];
	const char *name;

	snprintf(text, sizeof(text), format, base, (unsigned long long)number);
	name = symbol_cache_string(modules->cache, text);
	return name ? name : g_unknown;
}

/* The number that is added to a virtual address of the file, to get an address
 * of the process. */
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

/* Samples come from all files, and most files have no symbols: it is worth a
 * warning only if the file is instrumented, or its symbols could not be read in
 * time. */
static bool is_worth_a_warning(struct symbol_file *file)
{
	return symbol_file_is_late(file) || symbol_file_instrumented(file);
}

/* Sets *@out to the function at @address, which lies in @place. Logs an error
 * of the file once. */
static void resolve_in_place(struct modules *modules, const struct place *place,
			     uint64_t address, struct symbol *out)
{
	const char *slash = strrchr(place->path, '/');
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
		if (error)
			log_at(is_worth_a_warning(place->file) ? LOG_WARN
							       : LOG_DBG,
			       "%s", error);
	}
	out->found = out->name;
	if (out->name)
		return;
	/* In a foreign file functions have no bounds: all get the name of the
	 * file. */
	if (place->file && symbol_file_is_foreign(place->file)) {
		out->name = symbol_cache_string(
			modules->cache, slash ? slash + 1 : out->module);
		if (out->name)
			return;
	}
	/* All addresses of a function without a name get the same name, if its
	 * bounds are known. */
	if (!place->file ||
	    !symbol_file_bounds(place->file, out->offset, &start))
		start = out->offset;
	out->name = name_by_number(modules, "%s+0x%llx",
				   slash ? slash + 1 : out->module, start);
}

/* Sets *@out to the site @id of an annotation. It has no generation: loading
 * and unloading do not change a site. */
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

/* True if, when the map was last read, executable memory without a file lay at
 * @address. */
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

/* Sets *@out to the code at @address that the program has made. @is_known says
 * that such code lies there, even if no file names it. False: nothing says that
 * such code lies there; *@out is as before. */
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

/* As find_place_copy(), but reads what the log says now, and, if @address is
 * not known, the map again. */
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

/* True if @place is memory that a JIT has mapped twice: to write code there,
 * and to run it. Such memory is a memfd that cannot be read as an ELF file. */
static bool is_jit_memory(const struct place *place)
{
	return !strncmp(place->path, "/memfd:", 7) &&
	       (!place->file || symbol_file_error(place->file));
}

/* True if @place has a name, but is no file with functions of which we could
 * read the names. It is memory such as "[anon:v8]", or memory of a JIT, or a
 * file in which only the program itself knows the functions. */
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

/* Copies all places that have a file to @out, each with a reference to its
 * file. reading_release() ends @out. 0 or -ENOMEM. */
static int copy_places(struct modules *modules, struct reading *out)
{
	const struct load_map *map = &modules->map;

	lock_acquire(&modules->lock);
	out->list = calloc(map->count + 1, sizeof(*out->list));
	for (size_t i = 0; out->list && i < map->count; i++) {
		const struct place *place = map->list[i].place;

		if (!place->file)
			continue;
		out->list[out->count++] = *place;
		symbol_file_get(place->file);
	}
	lock_release(&modules->lock);
	return out->list ? 0 : -ENOMEM;
}

/* Copies the place of @address in @generation to *@out, as find_place_copy().
 * lock held. A child that has not inherited yet has the places of its parent:
 * nobody may have asked for any until it calls its first function. */
static bool copy_known_place(const struct modules *modules, uint64_t address,
			     uint32_t generation, struct place *out)
{
	const struct place *place = NULL;
	bool found;

	/* What a later one has unloaded the log may tell, which nobody has
	 * read yet: to advance would end everything. */
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

/* The same, if its tables have been read. False: they have not, or no place is
 * known. */
static bool is_read_place(struct modules *modules, uint64_t address,
			  uint32_t generation, struct place *out)
{
	bool known;

	lock_acquire(&modules->lock);
	known = copy_known_place(modules, address, generation, out);
	lock_release(&modules->lock);
	if (known && out->file && symbol_file_is_read(out->file))
		return true;
	if (known)
		symbol_file_put(&out->file);
	return false;
}

bool modules_resolve_read(struct modules *modules, uint64_t address,
			  uint32_t generation, struct symbol *out)
{
	struct place place;
	uint64_t start;

	if (modules->sites && address < SITES_MAX) {
		resolve_site(modules, (uint32_t)address, out);
		return true;
	}
	*out = (struct symbol){ .build_id = "" };
	if (!is_read_place(modules, address, generation, &place))
		return false;
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
	if (copy_places(modules, &places))
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
				      .is_thunks = is_thunk_area(&place) };
	return true;
}

static bool is_own_library(const char *path)
{
	const char *slash = strrchr(path, '/');

	return !strncmp(slash ? slash + 1 : path, "libperfrec_preload.", 19);
}

/* True if @address is in a stub that calls a hook of -finstrument-functions. */
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

/* --- all files ------------------------------------------------------------ */

struct visitor { /* what visit_function() needs to know of the file */
	const struct place *place;
	uint64_t bias;
	modules_visit *visit;
	void *context;
};

static int visit_function(void *context, uint64_t vaddr, const char *name)
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
	int stop = copy_places(modules, &places);

	for (size_t i = 0; i < places.count && !stop; i++) {
		struct visitor visitor = { .place = &places.list[i],
					   .bias = bias_of_place(
						   &places.list[i]),
					   .visit = visit,
					   .context = context };

		stop = symbol_file_each(visitor.place->file, visit_function,
					&visitor);
	}
	reading_release(&places);
	return stop;
}

static bool is_open(const struct place *place)
{
	return place->life_count &&
	       place->lives[place->life_count - 1].to == LIFE_OPEN;
}

/* As copy_places(), for those that are mapped now. */
static void copy_open_places(struct modules *modules, struct reading *out)
{
	const struct load_map *map = &modules->map;

	lock_acquire(&modules->lock);
	out->list = calloc(map->count + 1, sizeof(*out->list));
	for (size_t i = 0; out->list && i < map->count; i++) {
		const struct place *place = map->list[i].place;

		if (!place->file || place->is_partial || !is_open(place))
			continue;
		out->list[out->count++] = *place;
		symbol_file_get(place->file);
	}
	lock_release(&modules->lock);
}

size_t modules_files(struct modules *modules, struct module_file **out)
{
	struct reading places = { 0 };
	size_t count = 0;

	modules_follow(modules);
	copy_open_places(modules, &places);
	*out = calloc(places.count + 1, sizeof(**out));
	for (size_t i = 0; *out && i < places.count; i++) {
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

	if (copy_places(modules, &places))
		return 0;
	for (size_t i = 0; i < places.count; i++)
		late += symbol_file_is_late(places.list[i].file);
	reading_release(&places);
	return late;
}

/* True if the file at @path is our own library or the C library. They refer to
 * the hooks, but do not call them. */
static bool is_hook_provider(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;

	return is_own_library(path) || !strncmp(base, "libc.so.", 8);
}

bool modules_instrumented(struct modules *modules)
{
	struct reading places = { 0 };
	bool found = false;

	modules_follow(modules);
	if (copy_places(modules, &places))
		return false;
	for (size_t i = 0; i < places.count && !found; i++)
		found = !is_hook_provider(places.list[i].path) &&
			symbol_file_instrumented(places.list[i].file);
	reading_release(&places);
	return found;
}
