/* SPDX-License-Identifier: Apache-2.0
 *
 * debug_file - the names of debug files come from the module, so they are
 * hostile. mapped_file_at() resolves each path inside a root folder. Only
 * regular files are opened: opening others may block or have effects.
 *
 * The checksum of .gnu_debuglink requires reading the whole debug file, which
 * may have gigabytes. So it is used only if one of the files has no build-id.
 */
#include "collector/names/debug_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/log.h"
#include "collector/base/path.h"
#include "collector/names/elf_read.h"
#include "collector/names/mapped_file.h"
#include "collector/names/nowait.h"
#include "shared/compiler.h"

#define DEBUG_FOLDER "/usr/lib/debug"
#define FETCH_SECONDS 60

struct finder {
	struct debug_search *search;
	const struct elf_debug *wanted;
	bool is_alt; /* a dwz file: may have neither lines nor symbols */
	int root_fd;
	char path[PATH_MAX]; /* the last candidate */
	struct elf_debug found;
};

/* --- opening ------------------------------------------------------------- */

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

/* Logs a debug file of another build once per search. */
static bool fits_search(struct finder *finder, int fd)
{
	const struct elf_debug *wanted = finder->wanted;
	const struct debug_search *search = finder->search;
	char ignored[READER_WHY_BYTES];
	uint32_t crc;
	bool is_it;

	if (reader_debug(search->readers, search->uid, fd, &finder->found,
			 ignored) ||
	    (!finder->is_alt && !finder->found.has_lines &&
	     !finder->found.has_symbols))
		return false;
	if (wanted->build_id[0] && finder->found.build_id[0])
		is_it = !strcmp(wanted->build_id, finder->found.build_id);
	else
		is_it = wanted->link[0] &&
			!reader_checksum(search->readers, search->uid, fd, &crc,
					 ignored) &&
			crc == wanted->link_crc;
	if (!is_it)
		tell_mismatch(finder);
	return is_it;
}

static int ATTR_PRINTF(2, 3)
	try_path(struct finder *finder, const char *format, ...)
{
	struct stat status;
	va_list args;
	int length, fd;

	va_start(args, format);
	length = vsnprintf(finder->path, sizeof(finder->path), format, args);
	va_end(args);
	if (length < 0 || (size_t)length >= sizeof(finder->path))
		return -1;
	fd = mapped_file_at(readers_openers(finder->search->readers),
			    finder->root_fd, finder->path, 0);
	if (fd < 0)
		return -1;
	if (!nowait_stat(fd, &status) && S_ISREG(status.st_mode) &&
	    fits_search(finder, fd))
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

/* Sets @roots to the folders that paths start in: the program's root, unless
 * that is ours or unknown, and our own. Returns their number. close_roots()
 * ends them. */
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
		fd = try_build_id(&finder);
		if (fd < 0 && debug->alt[0] == '/')
			fd = try_path(&finder, "%s", debug->alt);
		else if (fd < 0)
			fd = try_path(&finder, "%.*s/%s", folder_length(path),
				      path, debug->alt);
		if (fd < 0)
			fd = try_path(&finder, DEBUG_FOLDER "/.dwz/%s",
				      path_name(debug->alt));
	}
	close_roots(search, roots, count);
	return fd;
}

/* --- requests ------------------------------------------------------------ */

int debug_file_symbols(struct debug_search *search, struct reader_symtab *out)
{
	struct elf_debug module;
	char path[PATH_MAX];
	char ignored[READER_WHY_BYTES];

	if (reader_debug(search->readers, search->uid, search->fd, &module,
			 ignored) ||
	    module.has_symbols)
		return -ENOENT;
	out->fd = find_debug_file(search, &module, path);
	if (out->fd < 0) {
		out->mini_offset = module.mini_offset;
		out->mini_bytes = module.mini_bytes;
	}
	return out->fd < 0 && !out->mini_bytes ? -ENOENT : 0;
}

/* Asks debuginfod. Returns a descriptor; or -1 with the reason in @why. */
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
	char reason[READER_WHY_BYTES];
	int fd;

	if (reader_debug(search->readers, search->uid, search->fd, &debug,
			 reason)) {
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
	if (!debug.has_lines) { /* the links of the debug file count */
		debug.alt[0] = '\0';
		(void)reader_debug(search->readers, search->uid, fd, &debug,
				   reason);
	}
	out->fd = fd;
	out->alt_fd = find_alt_file(search, &debug, path);
	return 0;
}
