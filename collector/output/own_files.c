/* SPDX-License-Identifier: Apache-2.0
 *
 * own_files - a file name does not prove that perfrec wrote the file: other
 * tools also write a summary.json or a trace.pftrace. So a folder counts as a
 * recording only if the contents of one of these two files name perfrec. Files
 * are opened below the descriptor of the folder, never through a symbolic link.
 *
 * Snapshots of the flight recorder are folders in SNAPSHOTS_NAME, and unsent
 * windows are files in PUSH_NAME. A snapshot is perfrec's if its name fits and
 * if it holds only files of the table; a window, if its name fits. So one
 * foreign file protects its whole folder.
 */
#include "collector/output/own_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "collector/base/folder.h"
#include "collector/base/protobuf.h"
#include "collector/base/socket_path.h"
#include "shared/compiler.h"

#define LOOK_BYTES 4096 /* of a file, with perfrec's mark in them */
#define TRACE_MARK "perfrec.version" /* recording.c: write_preamble() */
#define TEMPORARY_SUFFIX ".new"
#define INNER_DEPTH 2 /* depth of files in snapshots/0001-101500-call/ */
#define BLOCK_BYTES 512 /* unit of st_blocks */
/* TracePacket in a Trace, compressed_packets in a TracePacket. */
#define PACKET_TAG 0x0a
#define COMPRESSED_TAG (50 << 3 | 2)

/* '#' in a name stands for a digit. The temporary name of a file is its name
 * between a dot and TEMPORARY_SUFFIX. */
static const struct own_file {
	const char *name;
	mode_t type;
	bool temporary; /* has a temporary name while it is written */
	bool inner; /* only in an own_folder */
} table[] = {
	{ TRACE_NAME, S_IFREG, false, false },
	{ HEAD_NAME, S_IFREG, true, false },
	{ TRACE_JOINED_NAME, S_IFREG, false, false },
	{ INDEX_NAME, S_IFREG, false, false },
	/* perfrec index uses this name beside a trace that is still
	 * recorded. */
	{ INDEX_NEW_NAME, S_IFREG, false, false },
	{ SUMMARY_NAME, S_IFREG, true, false },
	{ WALL_PROFILE_NAME, S_IFREG, true, false },
	{ CPU_PROFILE_NAME, S_IFREG, true, false },
	{ OFFCPU_PROFILE_NAME, S_IFREG, true, false },
	{ HEAP_PROFILE_NAME, S_IFREG, true, false },
	{ HEAP_PEAK_NAME, S_IFREG, true, false },
	{ SPAN_PROFILE_NAME, S_IFREG, true, false },
	{ PAGE_NAME, S_IFREG, true, false },
	{ WHY_NAME, S_IFREG, true, false },
	/* In PUSH_NAME. */
	{ PUSH_COUNTERS_NAME, S_IFREG, true, true },
	/* See snapshot_make_name(). */
	{ "wall.########T######.###.pb.gz", S_IFREG, true, false },
	{ "heap.########T######.###.pb.gz", S_IFREG, true, false },
	/* Left by a collector that was killed. */
	{ SOCKET_PATH_LINK, S_IFLNK, false, false },
};

static bool matches_pattern(const char *pattern, const char *name,
			    size_t length)
{
	if (strlen(pattern) != length)
		return false;
	for (size_t i = 0; i < length; i++)
		if (pattern[i] == '#' ? name[i] < '0' || name[i] > '9'
				      : name[i] != pattern[i])
			return false;
	return true;
}

static bool is_unfinished(const struct own_file *file, const char *name)
{
	size_t length = strlen(name), suffix = strlen(TEMPORARY_SUFFIX);

	return file->temporary && name[0] == '.' && length > 1 + suffix &&
	       strcmp(name + length - suffix, TEMPORARY_SUFFIX) == 0 &&
	       matches_pattern(file->name, name + 1, length - 1 - suffix);
}

static const struct own_file *find_file(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (table[i].type == S_IFREG &&
		    matches_pattern(table[i].name, name, strlen(name)))
			return &table[i];
	return NULL;
}

static bool is_own_summary(int dir_fd, const char *name);

/* @inner: the folder is an own_folder, or lies in one. */
static bool is_own_file(int dir_fd, const char *name, bool inner)
{
	struct stat status;

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		/* WHY_NAME is the only name that another tool may use, so its
		 * contents must name perfrec. */
		if (matches_pattern(table[i].name, name, strlen(name)) ||
		    is_unfinished(&table[i], name))
			return (inner || !table[i].inner) &&
			       fstatat(dir_fd, name, &status,
				       AT_SYMLINK_NOFOLLOW) == 0 &&
			       (status.st_mode & S_IFMT) == table[i].type &&
			       (strcmp(name, WHY_NAME) != 0 ||
				is_own_summary(dir_fd, WHY_NAME));
	return false;
}

static bool is_plain(int fd)
{
	struct stat status;

	return fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

int own_files_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (is_plain(fd))
		return fd;
	close(fd);
	return -EBADMSG;
}

/* --- perfrec's marks in traces and summaries --- */

static ssize_t read_start(int dir_fd, const char *name,
			  uint8_t bytes[LOOK_BYTES])
{
	int fd = openat(dir_fd, name,
			O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	ssize_t count = -1;

	if (fd < 0)
		return -1;
	if (is_plain(fd))
		count = read(fd, bytes, LOOK_BYTES);
	close(fd);
	return count;
}

static size_t unpack_start(const uint8_t *bytes, size_t count,
			   uint8_t unpacked[LOOK_BYTES])
{
	struct wire left = { bytes, bytes + count };
	uint64_t packet, length, tag, inner;
	z_stream stream = { .next_out = unpacked, .avail_out = LOOK_BYTES };

	if (!wire_varint(&left, &packet) || packet != PACKET_TAG ||
	    !wire_varint(&left, &length) || !wire_varint(&left, &tag) ||
	    tag != COMPRESSED_TAG || !wire_varint(&left, &inner))
		return 0;
	/* zlib's type lacks a const. */
	stream.next_in = (Bytef *)(uintptr_t)left.at;
	stream.avail_in = (uInt)(left.end - left.at);
	if (inflateInit(&stream) != Z_OK)
		return 0;
	/* The input may end within the packet. */
	inflate(&stream, Z_SYNC_FLUSH);
	inflateEnd(&stream);
	return LOOK_BYTES - stream.avail_out;
}

static ssize_t read_trace_start(int dir_fd, uint8_t bytes[LOOK_BYTES])
{
	ssize_t count = read_start(dir_fd, HEAD_NAME, bytes);

	if (count <= HEAD_HEADER_BYTES)
		return read_start(dir_fd, TRACE_NAME, bytes);
	count -= HEAD_HEADER_BYTES;
	memmove(bytes, bytes + HEAD_HEADER_BYTES, (size_t)count);
	return count;
}

/* An empty trace counts as perfrec's: a collector that is killed early leaves
 * one, and it holds no data to lose. */
static bool is_own_trace(int dir_fd)
{
	uint8_t bytes[LOOK_BYTES], unpacked[LOOK_BYTES];
	ssize_t count = read_trace_start(dir_fd, bytes);
	size_t mark = strlen(TRACE_MARK);

	if (count <= 0)
		return count == 0;
	return memmem(bytes, (size_t)count, TRACE_MARK, mark) ||
	       memmem(unpacked, unpack_start(bytes, (size_t)count, unpacked),
		      TRACE_MARK, mark);
}

/* "perfrec" is the first key of the object. */
static bool is_own_summary(int dir_fd, const char *name)
{
	static const char *const tokens[] = { "{", "\"perfrec\"", ":" };
	uint8_t bytes[LOOK_BYTES + 1];
	ssize_t count = read_start(dir_fd, name, bytes);
	const char *at = (const char *)bytes;

	if (count < 0)
		return false;
	bytes[count] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(tokens); i++) {
		at += strspn(at, " \t\r\n");
		if (strncmp(at, tokens[i], strlen(tokens[i])) != 0)
			return false;
		at += strlen(tokens[i]);
	}
	return true;
}

static bool has_file(int dir_fd, const char *name)
{
	struct stat status;

	return fstatat(dir_fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0;
}

/* --- the folder --- */

static const char *next_name(DIR *dir)
{
	struct dirent *entry;

	do
		entry = readdir(dir);
	while (entry && (strcmp(entry->d_name, ".") == 0 ||
			 strcmp(entry->d_name, "..") == 0));
	return entry ? entry->d_name : NULL;
}

static int open_folder(int dir_fd, const char *name)
{
	int fd = openat(dir_fd, name,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static bool has_own_files_only(int dir_fd)
{
	DIR *dir = folder_read(dir_fd);
	const char *name;
	bool own = dir;

	while (own && (name = next_name(dir)))
		own = is_own_file(dir_fd, name, true);
	if (dir)
		closedir(dir);
	return own;
}

/* "0001-101500-call", or the temporary name ".0001-101500-call.new". */
static bool is_snapshot_name(const char *name)
{
	bool hidden = name[0] == '.';
	size_t digits = strspn(name + hidden, "0123456789");
	const char *at = name + hidden + digits;

	if (digits < 4 || digits > 9 || at[0] != '-' ||
	    strspn(at + 1, "0123456789") != 6 || at[7] != '-')
		return false;
	at += 8;
	digits = strspn(at, "abcdefghijklmnopqrstuvwxyz");
	return digits && !strcmp(at + digits, hidden ? TEMPORARY_SUFFIX : "");
}

bool own_files_is_window(const char *name, bool *whole)
{
	size_t digits;

	*whole = name[0] != '.';
	name += !*whole;
	digits = strspn(name, "0123456789");
	return digits && name[digits] == '-' &&
	       strspn(name + digits + 1, "0123456789") ==
		       strlen(name + digits + 1) &&
	       name[digits + 1];
}

/* Also for marks that a server has a window: NAME.sent-0123456789abcdef. */
static bool is_window_name(const char *name)
{
	const char *mark = strstr(name, PUSH_MARK);
	size_t length = mark ? (size_t)(mark - name) : strlen(name);
	char window[NAME_MAX + 1];
	bool whole;

	snprintf(window, sizeof(window), "%.*s", (int)length, name);
	if (!own_files_is_window(window, &whole))
		return false;
	mark = mark ? mark + strlen(PUSH_MARK) : "";
	return strspn(mark, "0123456789abcdef") == strlen(mark);
}

enum { SNAPSHOTS, WINDOWS };

/* Folders of perfrec in the folder of a recording. */
static const struct own_folder {
	const char *name;
	/* Returns true if perfrec makes folders called @name in it, or, if
	 * @files, files. */
	bool (*has)(const char *name);
	/* The last file to remove from an inner folder, or from this one. */
	const char *last;
	bool files; /* has files, also of the table, instead of folders */
} folders[] = {
	[SNAPSHOTS] = { SNAPSHOTS_NAME, is_snapshot_name, WHY_NAME, false },
	[WINDOWS] = { PUSH_NAME, is_window_name, PUSH_COUNTERS_NAME, true },
};

static bool is_inner_file(const struct own_folder *folder, int folder_fd,
			  const char *name)
{
	struct stat status;

	return folder->files && folder->has(name) &&
	       fstatat(folder_fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISREG(status.st_mode);
}

/* Returns -ENOTEMPTY if the folder has a file that perfrec did not write. */
static int open_inner(const struct own_folder *folder, int folder_fd,
		      const char *name)
{
	int fd = folder->has(name) ? open_folder(folder_fd, name) : -EINVAL;

	if (fd < 0 || has_own_files_only(fd))
		return fd;
	close(fd);
	return -ENOTEMPTY;
}

static bool is_own_inner(const struct own_folder *folder, int folder_fd,
			 const char *name)
{
	int fd;

	if (folder->files)
		return is_own_file(folder_fd, name, true) ||
		       is_inner_file(folder, folder_fd, name);
	fd = open_inner(folder, folder_fd, name);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static int open_own_folder(int dir_fd, const struct own_folder *folder)
{
	int fd = open_folder(dir_fd, folder->name);
	DIR *dir = fd < 0 ? NULL : folder_read(fd);
	const char *name;
	bool own = dir;

	while (own && (name = next_name(dir)))
		own = is_own_inner(folder, fd, name);
	if (dir)
		closedir(dir);
	if (fd < 0 || own)
		return fd;
	close(fd);
	return -ENOTEMPTY;
}

static bool is_own_folder(int dir_fd, const char *name)
{
	int fd = -ENOENT;

	for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
		if (!strcmp(name, folders[i].name))
			fd = open_own_folder(dir_fd, &folders[i]);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

int own_files_look(int dir_fd, struct own_files *out)
{
	struct own_files files = { 0 };
	DIR *dir = folder_read(dir_fd);
	const char *name;

	if (!dir)
		return -errno;
	while ((name = next_name(dir)))
		if (is_own_file(dir_fd, name, false) ||
		    is_own_folder(dir_fd, name))
			files.own++;
		else {
			char *first = files.first_foreign;

			if (!files.foreign++ || strcmp(name, first) < 0)
				snprintf(first, sizeof(files.first_foreign),
					 "%s", name);
		}
	closedir(dir);
	files.summarized = has_file(dir_fd, SUMMARY_NAME);
	if (files.summarized)
		files.recorded = is_own_summary(dir_fd, SUMMARY_NAME);
	else if (has_file(dir_fd, TRACE_NAME))
		files.recorded = is_own_trace(dir_fd);
	else /* a flight recorder that was killed */
		files.recorded = is_own_folder(dir_fd, SNAPSHOTS_NAME);
	*out = files;
	return 0;
}

bool own_files_is_named(int dir_fd, const char *name)
{
	uint8_t bytes[LOOK_BYTES + 1];
	ssize_t count = read_start(dir_fd, SUMMARY_NAME, bytes);
	char member[NAME_MAX + sizeof("\n \"folder\": \"\"")];

	if (count < 0)
		return false;
	bytes[count] = '\0';
	/* The form of jansson. It escapes newlines in strings, so no program
	 * can forge this. */
	snprintf(member, sizeof(member), "\n \"folder\": \"%s\"", name);
	return strstr((const char *)bytes, member);
}

bool own_files_has(const char *dir, const char *path)
{
	char name[PATH_MAX];
	struct stat file, own;

	if (stat(path, &file) < 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		snprintf(name, sizeof(name), "%s/%s", dir, table[i].name);
		if (stat(name, &own) == 0 && own.st_dev == file.st_dev &&
		    own.st_ino == file.st_ino)
			return true;
	}
	return false;
}

bool own_files_exists(const char *dir, const char *name)
{
	char path[PATH_MAX];
	int length = snprintf(path, sizeof(path), "%s/%s", dir, name);

	return length < (int)sizeof(path) && access(path, F_OK) == 0;
}

static void remove_files(int dir_fd, bool inner, const char *last)
{
	DIR *dir = folder_read(dir_fd);
	const char *name;

	if (!dir)
		return;
	while ((name = next_name(dir)))
		if (strcmp(name, last) != 0 && is_own_file(dir_fd, name, inner))
			unlinkat(dir_fd, name, 0);
	closedir(dir);
	if (is_own_file(dir_fd, last, inner))
		unlinkat(dir_fd, last, 0);
}

static int remove_inner(const struct own_folder *folder, int folder_fd,
			const char *name)
{
	int fd;

	if (folder->files)
		return !is_inner_file(folder, folder_fd, name) ? -EINVAL
		       : unlinkat(folder_fd, name, 0) < 0      ? -errno
							       : 0;
	fd = open_inner(folder, folder_fd, name);
	if (fd < 0)
		return fd;
	remove_files(fd, true, folder->last);
	close(fd);
	return unlinkat(folder_fd, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}

int own_files_remove_snapshot(int snapshots_fd, const char *name)
{
	return remove_inner(&folders[SNAPSHOTS], snapshots_fd, name);
}

int own_files_remove_window(int push_fd, const char *name)
{
	return remove_inner(&folders[WINDOWS], push_fd, name);
}

void own_files_remove(int dir_fd)
{
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		const struct own_folder *folder = &folders[i];
		int fd = open_own_folder(dir_fd, folder);
		DIR *dir = fd < 0 ? NULL : folder_read(fd);
		const char *name;

		while (dir && (name = next_name(dir)))
			(void)remove_inner(folder, fd, name);
		if (dir)
			closedir(dir);
		if (fd < 0)
			continue;
		if (folder->files)
			remove_files(fd, true, folder->last);
		close(fd);
		(void)unlinkat(dir_fd, folder->name, AT_REMOVEDIR);
	}
	remove_files(dir_fd, false, SUMMARY_NAME);
}

static uint64_t folder_bytes(int dir_fd, int depth)
{
	DIR *dir = folder_read(dir_fd);
	struct stat status;
	const char *name;
	uint64_t bytes = 0;
	int fd;

	while (dir && (name = next_name(dir))) {
		if (fstatat(dir_fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		bytes += (uint64_t)status.st_blocks * BLOCK_BYTES;
		fd = S_ISDIR(status.st_mode) && depth
			     ? open_folder(dir_fd, name)
			     : -1;
		if (fd < 0)
			continue;
		bytes += folder_bytes(fd, depth - 1);
		close(fd);
	}
	if (dir)
		closedir(dir);
	return bytes;
}

uint64_t own_files_bytes(int dir_fd)
{
	return folder_bytes(dir_fd, INNER_DEPTH);
}

/* --- remains of a killed collector --- */

static unsigned int remove_left_inner(int dir_fd,
				      const struct own_folder *folder)
{
	int fd = open_folder(dir_fd, folder->name);
	DIR *dir = fd < 0 ? NULL : folder_read(fd);
	unsigned int removed = 0;
	const char *name;

	while (dir && (name = next_name(dir)))
		removed += name[0] == '.' && !remove_inner(folder, fd, name);
	if (dir)
		closedir(dir);
	if (fd >= 0)
		close(fd);
	return removed;
}

/* NULL: the file @name is not a remain. */
static unsigned int *count_of(struct own_left *left, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (is_unfinished(&table[i], name))
			return &left->files;
	return strcmp(name, SOCKET_PATH_LINK) ? NULL : &left->links;
}

struct own_left own_files_remove_left(int dir_fd)
{
	struct own_left left = {
		.snapshots = remove_left_inner(dir_fd, &folders[SNAPSHOTS]),
		.windows = remove_left_inner(dir_fd, &folders[WINDOWS]),
	};
	DIR *dir = folder_read(dir_fd);
	const char *name;

	while (dir && (name = next_name(dir))) {
		unsigned int *count = count_of(&left, name);

		if (count && is_own_file(dir_fd, name, false) &&
		    unlinkat(dir_fd, name, 0) == 0)
			++*count;
	}
	if (dir)
		closedir(dir);
	return left;
}

/* --- the disk --- */

static int sync_one(int dir_fd, const char *name, int flags)
{
	int fd = openat(dir_fd, name,
			O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags);
	int err = 0;

	if (fd < 0)
		return -errno;
	if (fsync(fd) < 0)
		err = -errno;
	close(fd);
	return err;
}

int own_files_sync(int dir_fd)
{
	DIR *dir = folder_read(dir_fd);
	int err = dir ? 0 : -errno, one;
	struct stat status;
	const char *name;

	while (dir && (name = next_name(dir))) {
		if (fstatat(dir_fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISREG(status.st_mode) ||
		    !is_own_file(dir_fd, name, false))
			continue;
		one = sync_one(dir_fd, name, 0);
		err = err ? err : one;
	}
	if (dir)
		closedir(dir);
	one = sync_one(dir_fd, ".", O_DIRECTORY);
	err = err ? err : one;
	/* A new folder has its name in the parent folder. A parent that is not
	 * readable cannot be synced. */
	one = sync_one(dir_fd, "..", O_DIRECTORY);
	return err || one == -EACCES ? err : one;
}

/* --- making files --- */

static bool name_while_written(const char *name, char out[NAME_MAX + 1])
{
	const struct own_file *file = find_file(name);

	if (file && file->temporary)
		snprintf(out, NAME_MAX + 1, ".%s" TEMPORARY_SUFFIX, name);
	else if (file)
		snprintf(out, NAME_MAX + 1, "%s", name);
	return file;
}

static int create_file(int dir_fd, const char *name, int flags)
{
	int fd = openat(dir_fd, name,
			O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC |
				flags,
			0600);

	return fd < 0 ? -errno : fd;
}

int own_files_create(int dir_fd, const char *name, int flags)
{
	char path[NAME_MAX + 1];

	return name_while_written(name, path) ? create_file(dir_fd, path, flags)
					      : -EINVAL;
}

int own_files_create_window(int push_fd, const char *name)
{
	return is_window_name(name) ? create_file(push_fd, name, 0) : -EINVAL;
}

int own_files_replace(int dir_fd, const char *from, const char *to)
{
	int err;

	if (renameat(dir_fd, from, dir_fd, to) == 0)
		return 0;
	err = -errno;
	unlinkat(dir_fd, from, 0);
	return err;
}

int own_files_keep(int dir_fd, const char *name)
{
	char path[NAME_MAX + 1];

	return name_while_written(name, path)
		       ? own_files_replace(dir_fd, path, name)
		       : -EINVAL;
}

void own_files_discard(int dir_fd, const char *name)
{
	char path[NAME_MAX + 1];

	if (name_while_written(name, path))
		unlinkat(dir_fd, path, 0);
}
