/* SPDX-License-Identifier: Apache-2.0
 *
 * cache_files - a file's name is the prefix of its kind and the build-id.
 * During writing, a dot and a random number follow.
 */

#include "collector/output/cache_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "collector/base/file_at.h"
#include "collector/base/folder.h"
#include "collector/base/grow.h"
#include "collector/base/random.h"
#include "shared/hash.h"

#define BUILD_ID_MAX 128
#define NAME_BYTES (CACHE_PREFIX_MAX + BUILD_ID_MAX + 8 + 18)
#define DAY_SECONDS (24 * 60 * 60)
/* Most entries of the folder to read; perfrec writes far fewer. */
#define LOOKED_AT_MAX 65536u

struct header {
	char magic[8];
	uint32_t version, count;
	uint64_t hash; /* of build-id and items */
	char build_id[BUILD_ID_MAX + 8]; /* hex, padded with NUL */
};

_Static_assert(sizeof(struct header) == 160, "no gaps");

/* --- names and the folder ------------------------------------------------ */

static size_t hex_digits(const char *text)
{
	return strspn(text, "0123456789abcdef");
}

static bool is_build_id(const char *build_id)
{
	size_t length = strlen(build_id);

	return length >= 2 && length <= BUILD_ID_MAX &&
	       hex_digits(build_id) == length;
}

static bool is_our_name(const char *prefix, const char *name, bool *draft)
{
	size_t digits, length = strlen(prefix);

	if (strncmp(name, prefix, length) != 0)
		return false;
	name += length;
	digits = hex_digits(name);
	*draft = name[digits] == '.';
	if (digits < 2 || digits > BUILD_ID_MAX)
		return false;
	return !name[digits] ||
	       (*draft && hex_digits(name + digits + 1) == 16 &&
		!name[digits + 17]);
}

static int caches_folder(char path[PATH_MAX])
{
	const char *base = getenv("XDG_CACHE_HOME");
	const char *below = "";
	int size;

	if (!base || base[0] != '/') {
		base = getenv("HOME");
		below = "/.cache";
	}
	if (!base || base[0] != '/')
		return -ENOENT;
	size = snprintf(path, PATH_MAX, "%s%s", base, below);
	return size >= 0 && size < PATH_MAX - 16 ? 0 : -ENAMETOOLONG;
}

int cache_files_folder(char path[PATH_MAX])
{
	int err = caches_folder(path);

	if (!err)
		strcat(path, "/perfrec");
	return err;
}

/* Opens the folder, and creates it if @make. Rejects a folder that others may
 * write to. Returns a descriptor or -errno. */
static int open_cache_folder(bool make)
{
	char path[PATH_MAX];
	struct stat status;
	int err, fd;

	err = caches_folder(path);
	if (err)
		return err;
	if (make)
		mkdir(path, 0700);
	strcat(path, "/perfrec");
	if (make && mkdir(path, 0700) < 0 && errno != EEXIST)
		return -errno;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &status) < 0)
		err = -errno;
	else if (status.st_uid != geteuid() || (status.st_mode & 022))
		err = -EPERM;
	if (!err)
		return fd;
	close(fd);
	return err;
}

/* --- reading ------------------------------------------------------------- */

static uint64_t hash_of_cache(const struct cache_kind *kind,
			      const struct header *header, const void *items)
{
	uint64_t hash = hash_bytes(HASH_START, header->build_id,
				   sizeof(header->build_id));

	return hash_words(hash, items,
			  (size_t)header->count * kind->item_bytes);
}

static struct header header_for(const struct cache_kind *kind,
				const char *build_id)
{
	struct header header = { .version = kind->version };

	memcpy(header.magic, kind->magic, sizeof(header.magic));
	strcpy(header.build_id, build_id);
	return header;
}

static int read_cache_header(const struct cache_kind *kind, int fd,
			     const char *build_id, struct header *header)
{
	struct header expected = header_for(kind, build_id);
	struct stat status;
	int err;

	if (fstat(fd, &status) < 0)
		return -errno;
	if (!S_ISREG(status.st_mode) || status.st_uid != geteuid())
		return -EBADMSG;
	if (time(NULL) - status.st_mtime > CACHE_FILE_DAYS * DAY_SECONDS)
		return -ENOENT;
	err = file_read_at(fd, header, sizeof(*header), 0);
	if (err)
		return err;
	expected.count = header->count;
	expected.hash = header->hash;
	if (memcmp(header, &expected, sizeof(expected)) != 0 ||
	    header->count > kind->items_max ||
	    status.st_size != (off_t)(sizeof(*header) +
				      (size_t)header->count * kind->item_bytes))
		return -EBADMSG;
	return 0;
}

static int read_cache_file(const struct cache_kind *kind, int fd,
			   const char *build_id, void **items, uint32_t *count)
{
	struct header header = { 0 };
	size_t bytes;
	void *read;
	int err = read_cache_header(kind, fd, build_id, &header);

	if (err)
		return err;
	bytes = (size_t)header.count * kind->item_bytes;
	read = malloc(bytes ? bytes : 1);
	if (!read)
		return -ENOMEM;
	err = file_read_at(fd, read, bytes, sizeof(header));
	if (!err && hash_of_cache(kind, &header, read) != header.hash)
		err = -EBADMSG;
	if (err) {
		free(read);
		return err;
	}
	*items = read;
	*count = header.count;
	return 0;
}

int cache_file_load(const struct cache_kind *kind, const char *build_id,
		    void **items, uint32_t *count)
{
	char name[NAME_BYTES];
	int folder, fd, err;

	*items = NULL;
	*count = 0;
	if (!is_build_id(build_id))
		return -ENOENT;
	folder = open_cache_folder(false);
	if (folder < 0)
		return folder;
	snprintf(name, sizeof(name), "%s%s", kind->prefix, build_id);
	fd = openat(folder, name,
		    O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	err = fd < 0 ? -errno
		     : read_cache_file(kind, fd, build_id, items, count);
	if (fd >= 0)
		close(fd);
	close(folder);
	return err == -ELOOP ? -EBADMSG : err;
}

/* --- the folder's files -------------------------------------------------- */

struct found {
	char name[NAME_BYTES];
	time_t changed;
	bool draft;
};

struct found_list {
	struct found *items;
	size_t count, room;
};

static int find_cache_files(const char *prefix, int folder,
			    struct found_list *list)
{
	DIR *dir = folder_read(folder);
	struct dirent *entry;
	int err = 0;

	if (!dir)
		return -errno;
	for (unsigned int i = 0; i < LOOKED_AT_MAX && !err; i++) {
		struct stat status;
		bool draft;

		entry = readdir(dir);
		if (!entry)
			break;
		if (!is_our_name(prefix, entry->d_name, &draft) ||
		    fstatat(folder, entry->d_name, &status,
			    AT_SYMLINK_NOFOLLOW) < 0 ||
		    S_ISDIR(status.st_mode))
			continue;
		err = grow_array(list->items, list->room, list->count + 1);
		if (err)
			break;
		strcpy(list->items[list->count].name, entry->d_name);
		list->items[list->count].changed = status.st_mtime;
		list->items[list->count++].draft = draft;
	}
	closedir(dir);
	return err;
}

static int compare_age(const void *one, const void *other)
{
	const struct found *a = one, *b = other;

	if (a->changed != b->changed)
		return a->changed > b->changed ? -1 : 1;
	return strcmp(a->name, b->name);
}

int cache_files_forget(const char *prefix, unsigned int *removed)
{
	struct found_list list = { 0 };
	int folder = open_cache_folder(false), err;

	*removed = 0;
	if (folder < 0)
		return folder == -ENOENT ? 0 : folder;
	err = find_cache_files(prefix, folder, &list);
	for (size_t i = 0; i < list.count; i++) {
		if (unlinkat(folder, list.items[i].name, 0) == 0)
			++*removed;
		else if (errno != ENOENT && !err)
			err = -errno;
	}
	free(list.items);
	close(folder);
	return err;
}

/* --- writing ------------------------------------------------------------- */

static int write_whole(int fd, const void *bytes, size_t size)
{
	while (size) {
		ssize_t put = write(fd, bytes, size);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return put < 0 ? -errno : -EIO;
		bytes = (const char *)bytes + put;
		size -= (size_t)put;
	}
	return 0;
}

static int write_cache_file(const struct cache_kind *kind, int folder,
			    const struct header *header, const void *items)
{
	char name[NAME_BYTES], draft[NAME_BYTES];
	int fd, err;

	snprintf(name, sizeof(name), "%s%s", kind->prefix, header->build_id);
	snprintf(draft, sizeof(draft), "%s%s.%016" PRIx64, kind->prefix,
		 header->build_id, random_u64());
	fd = openat(folder, draft,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	err = write_whole(fd, header, sizeof(*header));
	if (!err)
		err = write_whole(fd, items,
				  (size_t)header->count * kind->item_bytes);
	if (close(fd) < 0 && !err)
		err = -errno;
	if (!err && renameat(folder, draft, folder, name) < 0)
		err = -errno;
	if (err)
		unlinkat(folder, draft, 0);
	return err;
}

static void drop_old(const struct cache_kind *kind, int folder)
{
	struct found_list list = { 0 };
	time_t now = time(NULL);

	if (!find_cache_files(kind->prefix, folder, &list) && list.count)
		qsort(list.items, list.count, sizeof(*list.items), compare_age);
	for (size_t i = 0; i < list.count; i++) {
		const struct found *found = &list.items[i];
		time_t age = now - found->changed;

		if (i >= kind->files_max ||
		    age > CACHE_FILE_DAYS * DAY_SECONDS ||
		    (found->draft && age > DAY_SECONDS))
			unlinkat(folder, found->name, 0);
	}
	free(list.items);
}

int cache_file_store(const struct cache_kind *kind, const char *build_id,
		     const void *items, uint32_t count)
{
	struct header header;
	int folder, err;

	if (!is_build_id(build_id))
		return -EINVAL;
	header = header_for(kind, build_id);
	header.count = count;
	header.hash = hash_of_cache(kind, &header, items);
	folder = open_cache_folder(true);
	if (folder < 0)
		return folder;
	err = write_cache_file(kind, folder, &header, items);
	if (!err)
		drop_old(kind, folder);
	close(folder);
	return err;
}
