/* SPDX-License-Identifier: Apache-2.0
 *
 * jit_files - files grow while the program runs, and Java writes its map at the
 * end. So each lookup checks whether they have changed.
 *
 * Changed files are read again from the start, since only the complete order
 * shows which code was replaced. Unused reading time is saved up. After the end
 * of the process, the files are always read once more.
 */
#include "collector/names/jit_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "collector/base/lock.h"
#include "collector/base/log.h"
#include "collector/base/path.h"
#include "collector/names/jit_map.h"
#include "collector/names/mapped_file.h"
#include "collector/names/nowait.h"
#include "collector/names/reader.h"
#include "collector/names/reader_wire.h"
#include "collector/names/symbol_name.h"
#include "collector/names/symbols.h"
#include "shared/compiler.h"

#define CREDIT_SHARE 10
#define CREDIT_NS 1000000000
/* Limits for files that perfrec-reader reads. */
#define COPY_BYTES_MAX (64u << 20)
#define COPY_NS_MAX 5000000000
#define LOOK_NS 1000000 /* least time between checks */

struct edition { /* all zero: no file */
	dev_t device;
	ino_t inode;
	off_t size;
	struct timespec mtime;
};

struct jit_files {
	struct symbol_cache *cache;
	pid_t pid;
	uid_t uid;
	struct lock lock; /* guards everything below */
	int dump_fd; /* O_PATH; -1: none */
	struct edition text, dump; /* as read last */
	struct jit_map *map;
	uint64_t charged; /* bytes charged to the cache */
	bool was_over; /* after the end of the process */
	bool was_told;
	int64_t credit_ns;
	uint64_t credited_ns;
	uint64_t looked_ns;
};

struct jit_files *jit_files_new(struct symbol_cache *cache, pid_t inner_pid,
				uid_t uid)
{
	struct jit_files *files = calloc(1, sizeof(*files));

	if (!files)
		return NULL;
	files->cache = cache;
	files->pid = inner_pid;
	files->uid = uid;
	files->dump_fd = -1;
	files->credit_ns = CREDIT_NS;
	files->credited_ns = clock_monotonic_ns();
	lock_init(&files->lock, LOCK_JIT_FILES);
	return files;
}

static void drop_text_map(struct jit_files *files)
{
	jit_map_free(&files->map);
	symbol_cache_give_back(files->cache, files->charged);
	files->charged = 0;
}

void jit_files_free(struct jit_files **files_ptr)
{
	struct jit_files *files = *files_ptr;

	*files_ptr = NULL;
	if (!files)
		return;
	drop_text_map(files);
	if (files->dump_fd >= 0)
		close(files->dump_fd);
	lock_destroy(&files->lock);
	free(files);
}

bool jit_files_is_dump(const char *path)
{
	const char *name = path_name(path);
	size_t digits;

	if (strncmp(name, "jit-", 4) != 0)
		return false;
	digits = strspn(name + 4, "0123456789");
	return digits && !strcmp(name + 4 + digits, ".dump");
}

void jit_files_set_dump(struct jit_files *files, int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	if (copy < 0)
		return;
	lock_acquire(&files->lock);
	if (files->dump_fd >= 0)
		close(files->dump_fd);
	files->dump_fd = copy;
	lock_release(&files->lock);
}

/* --- opening -------------------------------------------------------------- */

static struct readers *readers_of(const struct jit_files *files)
{
	return symbol_cache_readers(files->cache);
}

/* Returns zeros for unusable files. */
static struct edition edition_of(const struct jit_files *files, int fd)
{
	struct edition edition;
	struct stat status;

	memset(&edition, 0, sizeof(edition)); /* memcmp() reads the padding */
	if (fd < 0 || nowait_stat(fd, &status) || !S_ISREG(status.st_mode) ||
	    status.st_uid != files->uid)
		return edition;
	edition.device = status.st_dev;
	edition.inode = status.st_ino;
	edition.size = status.st_size;
	edition.mtime.tv_sec = status.st_mtim.tv_sec;
	edition.mtime.tv_nsec = status.st_mtim.tv_nsec;
	return edition;
}

/* Zeros become holes. */
static void copy_bytes(struct jit_files *files, int from, int to)
{
	uint64_t until_ns = clock_monotonic_ns() + COPY_NS_MAX;
	static const char zeros[READER_BYTES_MAX];
	char why[READER_WHY_BYTES];
	char *bytes = malloc(READER_BYTES_MAX);
	uint64_t at = 0;
	size_t got = 0;

	while (bytes && at < COPY_BYTES_MAX &&
	       clock_monotonic_ns() < until_ns &&
	       !reader_bytes(readers_of(files), files->uid, from, at,
			     READER_BYTES_MAX, bytes, &got, why) &&
	       got) {
		if (memcmp(bytes, zeros, got) != 0 &&
		    pwrite(to, bytes, got, (off_t)at) < 0)
			break;
		at += got;
	}
	(void)!ftruncate(to, (off_t)at);
	free(bytes);
}

/* Returns a copy if reading @fd may block; -1: error. */
static int open_for_reading(struct jit_files *files, int fd)
{
	char link[32];
	int copy;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (nowait_is_local(fd))
		return open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	copy = memfd_create("perfrec-jit", MFD_CLOEXEC);
	if (copy >= 0)
		copy_bytes(files, fd, copy);
	return copy;
}

/* --- reading -------------------------------------------------------------- */

/* Lock held. */
static void read_jit_files(struct jit_files *files, int text_fd)
{
	static struct log_limit limit;
	int text = files->text.inode ? open_for_reading(files, text_fd) : -1;
	int dump = files->dump.inode ? open_for_reading(files, files->dump_fd)
				     : -1;
	int err = 0;

	drop_text_map(files);
	if (jit_map_new(&files->map))
		err = -ENOMEM;
	if (!err && text >= 0)
		jit_map_read_text(files->map, text);
	if (!err && dump >= 0)
		jit_map_read_dump(files->map, dump);
	if (!err)
		err = jit_map_settle(files->map);
	if (!err && jit_map_is_cut(files->map)) {
		if (!files->was_told)
			log_limited(
				&limit, LOG_WARN,
				"/tmp/perf-%d.map, or the jitdump of that "
				"process, is too long: some of its code has "
				"no names",
				(int)files->pid);
		files->was_told = true;
	}
	if (!err) {
		uint64_t bytes = jit_map_bytes(files->map);

		if (symbol_cache_take(files->cache, bytes))
			files->charged = bytes;
		else
			err = -ENOMEM;
	}
	if (err)
		drop_text_map(files);
	if (text >= 0)
		close(text);
	if (dump >= 0)
		close(dump);
}

/* Lock held. Returns true if there is time left to read the files. */
static bool may_read_again(struct jit_files *files, bool is_over)
{
	uint64_t now = clock_monotonic_ns();
	int64_t earned = (int64_t)((now - files->credited_ns) / CREDIT_SHARE);
	bool may;

	files->credit_ns = MIN(files->credit_ns + earned, CREDIT_NS);
	files->credited_ns = now;
	may = files->credit_ns > 0 || (is_over && !files->was_over);
	files->was_over |= is_over && may;
	return may;
}

/* An empty map shows that the process has ended. */
static bool has_process_ended(int proc_fd)
{
	int fd = openat(proc_fd, "maps", O_RDONLY | O_CLOEXEC);
	bool has_memory;
	char byte;

	if (fd < 0)
		return true;
	has_memory = read(fd, &byte, 1) == 1;
	close(fd);
	return !has_memory;
}

/* Lock held. */
static void follow_files(struct jit_files *files, int proc_fd, int root_fd)
{
	char path[64];
	int text_fd = -1;
	struct edition text;
	struct edition dump = edition_of(files, files->dump_fd);

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)files->pid);
	if (root_fd >= 0)
		text_fd = mapped_file_at(readers_openers(readers_of(files)),
					 root_fd, path, O_NOFOLLOW);
	text = edition_of(files, text_fd);
	/* Some programs delete their map at the end. */
	if (!text.inode)
		text = files->text;
	if ((memcmp(&text, &files->text, sizeof(text)) != 0 ||
	     memcmp(&dump, &files->dump, sizeof(dump)) != 0) &&
	    may_read_again(files, has_process_ended(proc_fd))) {
		uint64_t begin_ns = clock_monotonic_ns();

		files->text = text;
		files->dump = dump;
		read_jit_files(files, text_fd);
		files->credit_ns -= (int64_t)(clock_monotonic_ns() - begin_ns);
	}
	if (text_fd >= 0)
		close(text_fd);
}

const char *jit_files_find(struct jit_files *files, int proc_fd, int root_fd,
			   uint64_t address)
{
	const char *raw, *name = NULL;
	char clean[SYMBOL_NAME_BYTES];
	uint64_t now;

	lock_acquire(&files->lock);
	now = clock_monotonic_ns();
	if (!files->looked_ns || now - files->looked_ns >= LOOK_NS) {
		int fd = openat(proc_fd, "root",
				O_PATH | O_DIRECTORY | O_CLOEXEC);

		files->looked_ns = now;
		root_fd = fd >= 0 ? fd : fcntl(root_fd, F_DUPFD_CLOEXEC, 0);
		follow_files(files, proc_fd, root_fd);
		if (root_fd >= 0)
			close(root_fd);
	}
	raw = files->map ? jit_map_find(files->map, address) : NULL;
	if (raw) {
		snprintf(clean, sizeof(clean), "%s", raw);
		symbol_name_clean(clean);
		name = symbol_cache_told_string(files->cache, clean);
	}
	lock_release(&files->lock);
	return name;
}
