/* SPDX-License-Identifier: Apache-2.0
 *
 * debug_file - see the header for what it looks for.
 *
 * Names come from a module, so they are hostile: paths are opened below a
 * root that they cannot leave (openat2), and only regular files, since
 * opening others may wait or have effects.
 *
 * The checksum of a debug link takes reading the whole file, which may have
 * gigabytes. So it is only looked at where a build-id is missing: two files
 * with the same build-id were made by the same link.
 */
#include "collector/names/debug_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <zlib.h>

#include "collector/names/elf_read.h"
#include "collector/base/log.h"
#include "collector/names/mini_debug.h"
#include "shared/compiler.h"

#define DEBUG_FOLDER "/usr/lib/debug"
#define CHECKSUM_BYTES_MAX (1ll << 30)
#define FETCH_SECONDS 60

struct finder { /* one search in one root */
	struct debug_search *search;
	const struct elf_debug *wanted; /* its build_id, link and link_crc */
	bool is_alt; /* that of dwz may have nothing but strings */
	int root_fd;
	char path[PATH_MAX]; /* what was opened last */
	struct elf_debug found; /* what it is */
};

/* --- opening ------------------------------------------------------------- */

static int open_below_root(int root_fd, const char *path, uint64_t flags)
{
	struct open_how how = {
		.flags = flags | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};

	return (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
}

/* -1 unless @path is a regular file that can be read. */
static int open_regular_file(int root_fd, const char *path)
{
	int place = open_below_root(root_fd, path, O_PATH);
	char link[32];
	struct stat status;
	int fd = -1;

	if (place < 0)
		return -1;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", place);
	if (!fstat(place, &status) && S_ISREG(status.st_mode))
		fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	close(place);
	return fd;
}

/* False, too, when the file is too large to find out. */
static bool has_checksum(int fd, uint32_t crc)
{
	static const size_t step = 1 << 16;
	unsigned char *bytes = malloc(step);
	uLong sum = crc32(0, NULL, 0);
	struct stat status;
	off_t at = 0;
	ssize_t got = -1;

	if (!fstat(fd, &status) && status.st_size <= CHECKSUM_BYTES_MAX)
		while (bytes && at < CHECKSUM_BYTES_MAX &&
		       (got = pread(fd, bytes, step, at)) > 0) {
			sum = crc32(sum, bytes, (uInt)got);
			at += got;
		}
	free(bytes);
	return got == 0 && sum == crc;
}

static void tell_mismatch(const struct finder *finder)
{
	if (finder->search->was_told)
		return;
	finder->search->was_told = true;
	if (finder->wanted->build_id[0] && finder->found.build_id[0])
		log_warn("debug file %s has build-id %s, but %s has %s: it is "
			 "of another build and not used",
			 finder->path, finder->found.build_id,
			 finder->search->path, finder->wanted->build_id);
	else
		log_warn("debug file %s has not the checksum %08x that %s "
			 "names: it is of another build and not used",
			 finder->path, finder->wanted->link_crc,
			 finder->search->path);
}

/* What is behind @fd is what is wanted. */
static bool fits_search(struct finder *finder, int fd)
{
	const struct elf_debug *wanted = finder->wanted;
	const char *ignored;
	bool is_it;

	if (elf_read_debug(fd, &finder->found, &ignored) ||
	    (!finder->is_alt && !finder->found.has_lines &&
	     !finder->found.has_symbols))
		return false;
	if (wanted->build_id[0] && finder->found.build_id[0])
		is_it = !strcmp(wanted->build_id, finder->found.build_id);
	else
		is_it = wanted->link[0] && has_checksum(fd, wanted->link_crc);
	if (!is_it)
		tell_mismatch(finder);
	return is_it;
}

/* Opens a path, if what is wanted lies there; -1. */
static int ATTR_PRINTF(2, 3)
	try_path(struct finder *finder, const char *format, ...)
{
	va_list args;
	int length, fd;

	va_start(args, format);
	length = vsnprintf(finder->path, sizeof(finder->path), format, args);
	va_end(args);
	if (length < 0 || (size_t)length >= sizeof(finder->path))
		return -1;
	fd = open_regular_file(finder->root_fd, finder->path);
	if (fd < 0)
		return -1;
	if (fits_search(finder, fd))
		return fd;
	close(fd);
	return -1;
}

/* --- where to look ------------------------------------------------------- */

static int try_build_id(struct finder *finder)
{
	const char *id = finder->wanted->build_id;

	if (strlen(id) < 4)
		return -1;
	return try_path(finder, DEBUG_FOLDER "/.build-id/%.2s/%s.debug", id,
			id + 2);
}

/* Length of the folder that @path is in, without the last slash. */
static int folder_length(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (int)(slash - path) : 0;
}

static int try_debug_link(struct finder *finder)
{
	const char *path = finder->search->path;
	const char *name = finder->wanted->link;
	int length = folder_length(path);
	int fd;

	if (!name[0] || strchr(name, '/'))
		return -1;
	fd = try_path(finder, "%.*s/%s", length, path, name);
	if (fd < 0)
		fd = try_path(finder, "%.*s/.debug/%s", length, path, name);
	if (fd < 0)
		fd = try_path(finder, DEBUG_FOLDER "%.*s/%s", length, path,
			      name);
	return fd;
}

/* What dwz has moved out of the file at @path, which calls it @name. */
static int try_alt_link(struct finder *finder, const char *path,
			const char *name)
{
	const char *base = strrchr(name, '/');
	int fd = try_build_id(finder);

	if (fd >= 0)
		return fd;
	if (name[0] == '/')
		fd = try_path(finder, "%s", name);
	else
		fd = try_path(finder, "%.*s/%s", folder_length(path), path,
			      name);
	if (fd < 0)
		fd = try_path(finder, DEBUG_FOLDER "/.dwz/%s",
			      base ? base + 1 : name);
	return fd;
}

/* The roots to look into, that of the process first. Returns how many. */
static int open_roots(const struct debug_search *search, int roots[2])
{
	int own = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int count = 0;

	if (search->root_fd >= 0)
		roots[count++] = search->root_fd;
	if (own >= 0)
		roots[count++] = own;
	return count;
}

static void close_roots(const struct debug_search *search, const int *roots,
			int count)
{
	if (count && roots[count - 1] != search->root_fd)
		close(roots[count - 1]);
}

/* The debug file of @wanted, into *@path what it is called. -1: none. */
static int find_debug_file(struct debug_search *search,
			   const struct elf_debug *wanted, char path[PATH_MAX])
{
	struct finder finder = { .search = search, .wanted = wanted };
	int roots[2];
	int count = open_roots(search, roots);
	int fd = -1;

	for (int i = 0; i < count && fd < 0; i++) {
		finder.root_fd = roots[i];
		fd = try_build_id(&finder);
		if (fd < 0)
			fd = try_debug_link(&finder);
	}
	close_roots(search, roots, count);
	memcpy(path, finder.path, sizeof(finder.path));
	return fd;
}

/* The file that @debug, which was found at @path, says dwz made. */
static int find_alt_file(struct debug_search *search,
			 const struct elf_debug *debug, const char *path)
{
	struct elf_debug wanted = { 0 };
	struct finder finder = {
		.search = search,
		.wanted = &wanted,
		.is_alt = true,
	};
	int roots[2];
	int count, fd = -1;

	if (!debug->alt[0])
		return -1;
	memcpy(wanted.build_id, debug->alt_build_id, sizeof(wanted.build_id));
	count = open_roots(search, roots);
	for (int i = 0; i < count && fd < 0; i++) {
		finder.root_fd = roots[i];
		fd = try_alt_link(&finder, path, debug->alt);
	}
	close_roots(search, roots, count);
	return fd;
}

/* --- what is asked for --------------------------------------------------- */

int debug_file_symbols(struct debug_search *search, int *out)
{
	struct elf_debug module;
	char path[PATH_MAX];
	const char *ignored;
	int fd;

	if (elf_read_debug(search->fd, &module, &ignored))
		return -ENOENT;
	fd = module.has_symbols ? -1 : find_debug_file(search, &module, path);
	if (fd < 0 && !module.has_symbols && module.mini_bytes)
		fd = mini_debug_open(search->fd, module.mini_offset,
				     module.mini_bytes);
	if (fd < 0)
		return -ENOENT;
	*out = fd;
	return 0;
}

/* Asks debuginfod, if the user wants that. -1 with a reason in @why. */
static int fetch_debug_file(struct debug_search *search,
			    const struct elf_debug *wanted,
			    char why[SYMBOLIZE_WHY_BYTES])
{
	struct finder finder = { .search = search, .wanted = wanted };
	const char *urls = getenv("DEBUGINFOD_URLS");
	int fd;

	snprintf(why, SYMBOLIZE_WHY_BYTES,
		 "it has no debug information; build it with -g");
	if (!wanted->build_id[0] || !urls || !urls[0] ||
	    symbolize_fetch(wanted->build_id, FETCH_SECONDS, &fd, why))
		return -1;
	snprintf(finder.path, sizeof(finder.path), "from debuginfod");
	if (fits_search(&finder, fd))
		return fd;
	close(fd);
	return -1;
}

int debug_file_lines(struct debug_search *search, struct debug_lines *out,
		     char why[SYMBOLIZE_WHY_BYTES])
{
	struct elf_debug debug;
	char path[PATH_MAX];
	const char *reason = "";
	int fd;

	if (elf_read_debug(search->fd, &debug, &reason)) {
		snprintf(why, SYMBOLIZE_WHY_BYTES, "%s", reason);
		return -EBADMSG;
	}
	if (debug.has_lines) {
		fd = fcntl(search->fd, F_DUPFD_CLOEXEC, 0);
		snprintf(path, sizeof(path), "%s", search->path);
	} else {
		fd = find_debug_file(search, &debug, path);
		if (fd < 0)
			fd = fetch_debug_file(search, &debug, why);
	}
	if (fd < 0)
		return -ENODATA;
	elf_read_debug(fd, &debug, &reason);
	out->fd = fd;
	out->alt_fd = find_alt_file(search, &debug, path);
	return 0;
}
