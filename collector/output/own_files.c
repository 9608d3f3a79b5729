/* SPDX-License-Identifier: Apache-2.0
 *
 * own_files - the name of a file does not prove that perfrec wrote the file:
 * other tools write a summary.json or a trace.pftrace, too. So a folder counts
 * as a recording only if the contents of one of these two files say that
 * perfrec wrote it. Files are opened below the descriptor of the folder, never
 * through a symbolic link.
 *
 * Snapshots of the flight recorder are folders in SNAPSHOTS_NAME. That folder
 * is perfrec's if it holds nothing but folders with such names, and these
 * nothing but files of the table: so what a person puts there keeps all of it.
 */
#include "collector/output/own_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "collector/base/socket_path.h"
#include "shared/compiler.h"

#define LOOK_BYTES 4096 /* of a file, where perfrec's mark must be */
#define TRACE_MARK "perfrec.version" /* recording.c: write_preamble() */
#define TEMPORARY_SUFFIX ".new"
/* TracePacket in a Trace, compressed_packets in a TracePacket. */
#define PACKET_TAG 0x0a
#define COMPRESSED_TAG (50 << 3 | 2)

/* '#' in a name stands for a digit. While a file has another name, that is its
 * name with a dot in front of it and TEMPORARY_SUFFIX behind it. */
static const struct own_file {
	const char *name;
	mode_t type;
	bool temporary; /* it has another name while it is written */
} table[] = {
	{ TRACE_NAME, S_IFREG, false },
	{ HEAD_NAME, S_IFREG, true },
	{ TRACE_JOINED_NAME, S_IFREG, false },
	{ INDEX_NAME, S_IFREG, false },
	/* Of perfrec index: while a trace is recorded, its index has its own
	 * name. */
	{ INDEX_NEW_NAME, S_IFREG, false },
	{ SUMMARY_NAME, S_IFREG, true },
	{ WALL_PROFILE_NAME, S_IFREG, true },
	{ CPU_PROFILE_NAME, S_IFREG, true },
	{ OFFCPU_PROFILE_NAME, S_IFREG, true },
	{ HEAP_PROFILE_NAME, S_IFREG, true },
	{ HEAP_PEAK_NAME, S_IFREG, true },
	{ SPAN_PROFILE_NAME, S_IFREG, true },
	{ PAGE_NAME, S_IFREG, true },
	{ WHY_NAME, S_IFREG, true },
	/* snapshot_make_name() */
	{ "wall.########T######.###.pb.gz", S_IFREG, true },
	{ "heap.########T######.###.pb.gz", S_IFREG, true },
	/* A collector that was killed leaves it behind. */
	{ SOCKET_PATH_LINK, S_IFLNK, false },
};

/* Whether the @length bytes at @name match @pattern. */
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

/* Whether @name is that of @file while it is written. */
static bool is_unfinished(const struct own_file *file, const char *name)
{
	size_t length = strlen(name), suffix = strlen(TEMPORARY_SUFFIX);

	return file->temporary && name[0] == '.' && length > 1 + suffix &&
	       strcmp(name + length - suffix, TEMPORARY_SUFFIX) == 0 &&
	       matches_pattern(file->name, name + 1, length - 1 - suffix);
}

static bool may_be_file(const struct own_file *file, const char *name)
{
	return matches_pattern(file->name, name, strlen(name)) ||
	       is_unfinished(file, name);
}

/* The regular file in the table whose final name is @name, or NULL. */
static const struct own_file *find_file(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (table[i].type == S_IFREG &&
		    matches_pattern(table[i].name, name, strlen(name)))
			return &table[i];
	return NULL;
}

static bool is_own_summary(int dir_fd, const char *name);

/* Of other names nobody thinks but perfrec. */
static bool is_own_why(int dir_fd, const char *name)
{
	return strcmp(name, WHY_NAME) != 0 || is_own_summary(dir_fd, WHY_NAME);
}

static bool is_own_file(int dir_fd, const char *name)
{
	struct stat status;

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (may_be_file(&table[i], name))
			return fstatat(dir_fd, name, &status,
				       AT_SYMLINK_NOFOLLOW) == 0 &&
			       (status.st_mode & S_IFMT) == table[i].type &&
			       is_own_why(dir_fd, name);
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

/* --- what a trace and a summary say of themselves --- */

/* Reads the first bytes of a plain file. Returns how many, or -1. */
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

/* Reads a varint of at most 32 bits at *@at, and moves *@at on. False: there is
 * none. */
static bool take_varint(const uint8_t **at, const uint8_t *end, uint32_t *out)
{
	uint32_t value = 0;

	for (unsigned int shift = 0; shift < 32 && *at < end; shift += 7) {
		uint8_t byte = *(*at)++;

		value |= (uint32_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*out = value;
			return true;
		}
	}
	return false;
}

/* Unpacks the first bytes of a trace that --compress wrote. Returns how many.
 */
static size_t unpack_start(const uint8_t *bytes, size_t count,
			   uint8_t unpacked[LOOK_BYTES])
{
	const uint8_t *at = bytes, *end = bytes + count;
	uint32_t packet, length, tag, inner;
	z_stream stream = { .next_out = unpacked, .avail_out = LOOK_BYTES };

	if (!take_varint(&at, end, &packet) || packet != PACKET_TAG ||
	    !take_varint(&at, end, &length) || !take_varint(&at, end, &tag) ||
	    tag != COMPRESSED_TAG || !take_varint(&at, end, &inner))
		return 0;
	/* zlib does not write there, but its type says so. */
	stream.next_in = (Bytef *)(uintptr_t)at;
	stream.avail_in = (uInt)(end - at);
	if (inflateInit(&stream) != Z_OK)
		return 0;
	/* The rest of the packet may be missing. */
	inflate(&stream, Z_SYNC_FLUSH);
	inflateEnd(&stream);
	return LOOK_BYTES - stream.avail_out;
}

/* Reads the first packets of the trace. Returns how many bytes, or -1. */
static ssize_t read_trace_start(int dir_fd, uint8_t bytes[LOOK_BYTES])
{
	ssize_t count = read_start(dir_fd, HEAD_NAME, bytes);

	if (count <= HEAD_HEADER_BYTES)
		return read_start(dir_fd, TRACE_NAME, bytes);
	count -= HEAD_HEADER_BYTES;
	memmove(bytes, bytes + HEAD_HEADER_BYTES, (size_t)count);
	return count;
}

/* An empty trace counts: a collector that was killed early leaves one, and
 * nothing is lost with it. */
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

/* Opens the folder @dir_fd once more, to read it from its start. NULL: errno
 * says why. */
static DIR *open_stream(int dir_fd)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	int saved = errno;

	if (!dir && fd >= 0)
		close(fd);
	errno = saved;
	return dir;
}

/* Returns the name of the next entry that is not "." or "..", or NULL. */
static const char *next_name(DIR *dir)
{
	struct dirent *entry;

	do
		entry = readdir(dir);
	while (entry && (strcmp(entry->d_name, ".") == 0 ||
			 strcmp(entry->d_name, "..") == 0));
	return entry ? entry->d_name : NULL;
}

/* Opens the folder @name, which is no symbolic link. A descriptor, or -errno.
 */
static int open_folder(int dir_fd, const char *name)
{
	int fd = openat(dir_fd, name,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* Whether all that is in the folder @dir_fd is an own file. */
static bool has_own_files_only(int dir_fd)
{
	DIR *dir = open_stream(dir_fd);
	const char *name;
	bool own = dir;

	while (own && (name = next_name(dir)))
		own = is_own_file(dir_fd, name);
	if (dir)
		closedir(dir);
	return own;
}

/* "0001-101500-call", or ".0001-101500-call.new" while it is written. */
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

/* Opens the snapshot @name. A descriptor; or -errno, -ENOTEMPTY: something is
 * in it that perfrec did not write. */
static int open_snapshot(int snapshots_fd, const char *name)
{
	int fd = is_snapshot_name(name) ? open_folder(snapshots_fd, name)
					: -EINVAL;

	if (fd < 0 || has_own_files_only(fd))
		return fd;
	close(fd);
	return -ENOTEMPTY;
}

/* Opens the folder of snapshots. A descriptor, or -errno as above. */
static int open_snapshots(int dir_fd)
{
	int fd = open_folder(dir_fd, SNAPSHOTS_NAME), one = 0;
	DIR *dir = fd < 0 ? NULL : open_stream(fd);
	const char *name;

	while (dir && one >= 0 && (name = next_name(dir))) {
		one = open_snapshot(fd, name);
		if (one >= 0)
			close(one);
	}
	if (dir)
		closedir(dir);
	if (fd < 0 || (dir && one >= 0))
		return fd;
	close(fd);
	return -ENOTEMPTY;
}

/* Whether @name is the folder of snapshots. */
static bool is_own_folder(int dir_fd, const char *name)
{
	int fd =
		strcmp(name, SNAPSHOTS_NAME) ? -ENOENT : open_snapshots(dir_fd);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static void note_foreign(struct own_files *files, const char *name)
{
	char *first = files->first_foreign;

	if (!files->foreign++ || strcmp(name, first) < 0)
		snprintf(first, sizeof(files->first_foreign), "%s", name);
}

int own_files_look(int dir_fd, struct own_files *out)
{
	struct own_files files = { 0 };
	DIR *dir = open_stream(dir_fd);
	const char *name;

	if (!dir)
		return -errno;
	while ((name = next_name(dir)))
		if (is_own_file(dir_fd, name) || is_own_folder(dir_fd, name))
			files.own++;
		else
			note_foreign(&files, name);
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

static void remove_files(int dir_fd)
{
	DIR *dir = open_stream(dir_fd);
	const char *name;

	if (!dir)
		return;
	while ((name = next_name(dir)))
		if (is_own_file(dir_fd, name))
			unlinkat(dir_fd, name, 0);
	closedir(dir);
}

int own_files_remove_snapshot(int snapshots_fd, const char *name)
{
	int fd = open_snapshot(snapshots_fd, name);

	if (fd < 0)
		return fd;
	remove_files(fd);
	close(fd);
	return unlinkat(snapshots_fd, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}

static void remove_snapshots(int dir_fd)
{
	int fd = open_snapshots(dir_fd);
	DIR *dir = fd < 0 ? NULL : open_stream(fd);
	const char *name;

	while (dir && (name = next_name(dir)))
		(void)own_files_remove_snapshot(fd, name);
	if (dir)
		closedir(dir);
	if (fd < 0)
		return;
	close(fd);
	(void)unlinkat(dir_fd, SNAPSHOTS_NAME, AT_REMOVEDIR);
}

void own_files_remove(int dir_fd)
{
	remove_files(dir_fd);
	remove_snapshots(dir_fd);
}

/* --- what a collector leaves that is killed --- */

/* Those whose names are hidden still. Returns how many went. */
static unsigned int remove_left_snapshots(int dir_fd)
{
	int fd = open_folder(dir_fd, SNAPSHOTS_NAME);
	DIR *dir = fd < 0 ? NULL : open_stream(fd);
	unsigned int removed = 0;
	const char *name;

	while (dir && (name = next_name(dir)))
		removed +=
			name[0] == '.' && !own_files_remove_snapshot(fd, name);
	if (dir)
		closedir(dir);
	if (fd >= 0)
		close(fd);
	return removed;
}

/* Which count the file @name belongs to, if it is left; NULL: it is none. */
static unsigned int *count_of(struct own_left *left, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (is_unfinished(&table[i], name))
			return &left->files;
	return strcmp(name, SOCKET_PATH_LINK) ? NULL : &left->links;
}

struct own_left own_files_remove_left(int dir_fd)
{
	struct own_left left = { .snapshots = remove_left_snapshots(dir_fd) };
	DIR *dir = open_stream(dir_fd);
	const char *name;

	while (dir && (name = next_name(dir))) {
		unsigned int *count = count_of(&left, name);

		if (count && is_own_file(dir_fd, name) &&
		    unlinkat(dir_fd, name, 0) == 0)
			++*count;
	}
	if (dir)
		closedir(dir);
	return left;
}

/* --- the disk --- */

/* Waits for the file or folder @name. 0 or -errno. */
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
	DIR *dir = open_stream(dir_fd);
	int err = dir ? 0 : -errno, one;
	struct stat status;
	const char *name;

	while (dir && (name = next_name(dir))) {
		if (fstatat(dir_fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISREG(status.st_mode) || !is_own_file(dir_fd, name))
			continue;
		one = sync_one(dir_fd, name, 0);
		err = err ? err : one;
	}
	if (dir)
		closedir(dir);
	one = sync_one(dir_fd, ".", O_DIRECTORY);
	err = err ? err : one;
	/* The folder may be new, and then its name is in the one above. Who
	 * may not read that one cannot wait for it. */
	one = sync_one(dir_fd, "..", O_DIRECTORY);
	return err || one == -EACCES ? err : one;
}

/* --- making files --- */

/* Sets @out to the name that the file @name has while it is written. False: the
 * table does not have @name. */
static bool name_while_written(const char *name, char out[NAME_MAX + 1])
{
	const struct own_file *file = find_file(name);

	if (file && file->temporary)
		snprintf(out, NAME_MAX + 1, ".%s" TEMPORARY_SUFFIX, name);
	else if (file)
		snprintf(out, NAME_MAX + 1, "%s", name);
	return file;
}

int own_files_create(int dir_fd, const char *name, int flags)
{
	char path[NAME_MAX + 1];
	int fd;

	if (!name_while_written(name, path))
		return -EINVAL;
	fd = openat(dir_fd, path,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC |
			    flags,
		    0600);
	return fd < 0 ? -errno : fd;
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
