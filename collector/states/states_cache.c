/* SPDX-License-Identifier: Apache-2.0
 *
 * A file is a struct header with struct entry behind it, as this machine has
 * them in memory. Its name is "functions-", the build-id, and while it is
 * written a dot and a random number.
 */

#include "collector/states/states_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "collector/base/grow.h"
#include "collector/base/random.h"
#include "shared/hash.h"

#define PREFIX "functions-"
#define BUILD_ID_MAX 128 /* hex digits */
#define NAME_BYTES (sizeof(PREFIX) + BUILD_ID_MAX + 8 + 18)
#define DAY_SECONDS (24 * 60 * 60)
#define VERSION 1
/* Of the folder; what is beyond is not ours. */
#define LOOKED_AT_MAX 65536u

struct header {
	char magic[8]; /* "perfrecF" */
	uint32_t version, count;
	uint64_t hash; /* of all that follows */
	char build_id[BUILD_ID_MAX + 8]; /* hex, then NUL to the end */
};

struct entry {
	uint64_t offset;
	uint32_t state, shift;
	float mean_ns, calls_per_second;
};

_Static_assert(sizeof(struct header) == 160, "no gaps");
_Static_assert(sizeof(struct entry) == 24, "no gaps");

static const char magic[8] = { 'p', 'e', 'r', 'f', 'r', 'e', 'c', 'F' };

/* --- names and the folder ----------------------------------------------------
 */

/* How many lower case hex digits @text begins with. */
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

/* Whether the file is ours; *@draft: it was not finished. */
static bool is_our_name(const char *name, bool *draft)
{
	size_t digits;

	if (strncmp(name, PREFIX, strlen(PREFIX)) != 0)
		return false;
	name += strlen(PREFIX);
	digits = hex_digits(name);
	*draft = name[digits] == '.';
	if (digits < 2 || digits > BUILD_ID_MAX)
		return false;
	return !name[digits] ||
	       (*draft && hex_digits(name + digits + 1) == 16 &&
		!name[digits + 17]);
}

/* Where the folder of caches is: $XDG_CACHE_HOME or ~/.cache. */
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

int states_cache_folder(char path[PATH_MAX])
{
	int err = caches_folder(path);

	if (!err)
		strcat(path, "/perfrec");
	return err;
}

/* The folder, which is made if @make says so. A folder that others may write to
 * is not believed. A descriptor or -errno. */
static int open_folder(bool make)
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

/* --- reading -----------------------------------------------------------------
 */

static uint64_t hash_of(const struct header *header,
			const struct entry *entries)
{
	uint64_t hash = hash_bytes(HASH_START, header->build_id,
				   sizeof(header->build_id));

	return hash_bytes(hash, entries,
			  (size_t)header->count * sizeof(*entries));
}

static bool is_range(float value)
{
	return isfinite(value) && value >= 0 && value <= 1e15f;
}

static bool entries_hold(const struct entry *entries, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct entry *entry = &entries[i];

		if (i && entry->offset <= entries[i - 1].offset)
			return false;
		if (entry->state > FUNCTION_OFF || !is_range(entry->mean_ns) ||
		    !is_range(entry->calls_per_second))
			return false;
		if (entry->state == FUNCTION_COUNTED
			    ? entry->shift < 1 ||
				      entry->shift > CONTROLLER_SHIFT_MAX
			    : entry->shift != 0)
			return false;
	}
	return true;
}

/* All @size bytes of the file. 0, -EBADMSG if there are fewer, or -errno. */
static int read_whole(int fd, void *at, size_t size, off_t from)
{
	while (size) {
		ssize_t got = pread(fd, at, size, from);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			return -EBADMSG;
		at = (char *)at + got;
		from += got;
		size -= (size_t)got;
	}
	return 0;
}

static int read_header(int fd, const char *build_id, struct header *header)
{
	struct header expected = { .version = VERSION };
	struct stat status;
	int err;

	if (fstat(fd, &status) < 0)
		return -errno;
	if (!S_ISREG(status.st_mode) || status.st_uid != geteuid())
		return -EBADMSG;
	if (time(NULL) - status.st_mtime > STATES_CACHE_DAYS * DAY_SECONDS)
		return -ENOENT;
	err = read_whole(fd, header, sizeof(*header), 0);
	if (err)
		return err;
	memcpy(expected.magic, magic, sizeof(magic));
	strcpy(expected.build_id, build_id);
	expected.count = header->count;
	expected.hash = header->hash;
	if (memcmp(header, &expected, sizeof(expected)) != 0 ||
	    header->count > STATES_CACHE_FUNCTIONS_MAX ||
	    status.st_size != (off_t)(sizeof(*header) +
				      header->count * sizeof(struct entry)))
		return -EBADMSG;
	return 0;
}

static int take_entries(const struct entry *entries, uint32_t count,
			struct states_cache_list *list)
{
	list->functions = calloc(count ? count : 1, sizeof(*list->functions));
	if (!list->functions)
		return -ENOMEM;
	list->count = count;
	for (uint32_t i = 0; i < count; i++)
		list->functions[i] = (struct states_cache_function){
			.offset = entries[i].offset,
			.known = {
				.state = (enum function_state)entries[i].state,
				.shift = entries[i].shift,
				.mean_ns = entries[i].mean_ns,
				.calls_per_second = entries[i].calls_per_second,
			},
		};
	return 0;
}

static int read_file(int fd, const char *build_id,
		     struct states_cache_list *list)
{
	struct header header = { 0 };
	struct entry *entries;
	int err = read_header(fd, build_id, &header);

	if (err)
		return err;
	entries = calloc(header.count ? header.count : 1, sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	err = read_whole(fd, entries, header.count * sizeof(*entries),
			 sizeof(header));
	if (!err && (hash_of(&header, entries) != header.hash ||
		     !entries_hold(entries, header.count)))
		err = -EBADMSG;
	if (!err)
		err = take_entries(entries, header.count, list);
	free(entries);
	return err;
}

int states_cache_load(const char *build_id, struct states_cache_list *list)
{
	char name[NAME_BYTES];
	int folder, fd, err;

	*list = (struct states_cache_list){ 0 };
	if (!is_build_id(build_id))
		return -ENOENT;
	folder = open_folder(false);
	if (folder < 0)
		return folder;
	snprintf(name, sizeof(name), PREFIX "%s", build_id);
	fd = openat(folder, name,
		    O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	err = fd < 0 ? -errno : read_file(fd, build_id, list);
	if (fd >= 0)
		close(fd);
	close(folder);
	return err == -ELOOP ? -EBADMSG : err;
}

void states_cache_release(struct states_cache_list *list)
{
	free(list->functions);
	*list = (struct states_cache_list){ 0 };
}

/* --- the folder's files ------------------------------------------------------
 */

struct found {
	char name[NAME_BYTES];
	time_t changed;
	bool draft;
};

struct found_list {
	struct found *items;
	size_t count, room;
};

/* Our files in the folder. 0 or -errno; @list is the caller's. */
static int find_files(int folder, struct found_list *list)
{
	int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;
	int err = 0;

	if (!dir) {
		err = -errno;
		if (copy >= 0)
			close(copy);
		return err;
	}
	for (unsigned int i = 0; i < LOOKED_AT_MAX && !err; i++) {
		struct stat status;
		bool draft;

		entry = readdir(dir);
		if (!entry)
			break;
		if (!is_our_name(entry->d_name, &draft) ||
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

/* Removes what is too old, or too much. What cannot be removed stays. */
static void drop_old(int folder)
{
	struct found_list list = { 0 };
	time_t now = time(NULL);

	if (!find_files(folder, &list) && list.count)
		qsort(list.items, list.count, sizeof(*list.items), compare_age);
	for (size_t i = 0; i < list.count; i++) {
		const struct found *found = &list.items[i];
		time_t age = now - found->changed;

		if (i >= STATES_CACHE_FILES_MAX ||
		    age > STATES_CACHE_DAYS * DAY_SECONDS ||
		    (found->draft && age > DAY_SECONDS))
			unlinkat(folder, found->name, 0);
	}
	free(list.items);
}

int states_cache_forget(unsigned int *removed)
{
	struct found_list list = { 0 };
	int folder = open_folder(false), err;

	*removed = 0;
	if (folder < 0)
		return folder == -ENOENT ? 0 : folder;
	err = find_files(folder, &list);
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

/* --- writing -----------------------------------------------------------------
 */

static int compare_offset(const void *one, const void *other)
{
	const struct states_cache_function *a = one, *b = other;

	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

static float in_range(float value)
{
	return is_range(value) ? value : 0;
}

/* The entries of @functions, which are sorted; each offset once. */
static uint32_t make_entries(const struct states_cache_function *functions,
			     size_t count, struct entry *entries)
{
	uint32_t made = 0;

	for (size_t i = 0; i < count && made < STATES_CACHE_FUNCTIONS_MAX;
	     i++) {
		const struct controller_known *known = &functions[i].known;
		bool counted = known->state == FUNCTION_COUNTED;

		if (known->state > FUNCTION_OFF ||
		    (i && functions[i].offset == functions[i - 1].offset) ||
		    (counted &&
		     (known->shift < 1 || known->shift > CONTROLLER_SHIFT_MAX)))
			continue;
		entries[made++] = (struct entry){
			.offset = functions[i].offset,
			.state = known->state,
			.shift = counted ? known->shift : 0,
			.mean_ns = in_range(known->mean_ns),
			.calls_per_second = in_range(known->calls_per_second),
		};
	}
	return made;
}

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

static int write_file(int folder, const struct header *header,
		      const struct entry *entries)
{
	char name[NAME_BYTES], draft[NAME_BYTES];
	int fd, err;

	snprintf(name, sizeof(name), PREFIX "%s", header->build_id);
	snprintf(draft, sizeof(draft), PREFIX "%s.%016" PRIx64,
		 header->build_id, random_u64());
	fd = openat(folder, draft,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	err = write_whole(fd, header, sizeof(*header));
	if (!err)
		err = write_whole(fd, entries,
				  header->count * sizeof(*entries));
	if (close(fd) < 0 && !err)
		err = -errno;
	if (!err && renameat(folder, draft, folder, name) < 0)
		err = -errno;
	if (err)
		unlinkat(folder, draft, 0);
	return err;
}

int states_cache_store(const char *build_id,
		       struct states_cache_function *functions, size_t count)
{
	struct header header = { .version = VERSION };
	struct entry *entries;
	int folder, err;

	if (!is_build_id(build_id))
		return -EINVAL;
	if (count > STATES_CACHE_FUNCTIONS_MAX)
		count = STATES_CACHE_FUNCTIONS_MAX;
	entries = calloc(count ? count : 1, sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	if (count)
		qsort(functions, count, sizeof(*functions), compare_offset);
	memcpy(header.magic, magic, sizeof(magic));
	strcpy(header.build_id, build_id);
	header.count = make_entries(functions, count, entries);
	header.hash = hash_of(&header, entries);
	folder = open_folder(true);
	err = folder < 0 ? folder : write_file(folder, &header, entries);
	if (!err)
		drop_old(folder);
	if (folder >= 0)
		close(folder);
	free(entries);
	return err;
}
