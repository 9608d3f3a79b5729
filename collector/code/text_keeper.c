/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/code/text_keeper.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/grow.h"
#include "collector/base/proc.h"
#include "collector/code/patch.h"
#include "collector/code/text_map.h"

#define NS_PER_S 1000000000ull

static void close_text(struct kept_text *text)
{
	close(text->mem);
	close(text->list);
}

int text_keeper_add(struct text_keeper *keeper, const struct kept_text *text)
{
	struct kept_text unkept = *text;

	text_keeper_drop(keeper, text->number);
	if (grow_array(keeper->text, keeper->room, keeper->count + 1) < 0) {
		close_text(&unkept);
		return -ENOMEM;
	}
	keeper->text[keeper->count++] = *text;
	return 0;
}

void text_keeper_drop(struct text_keeper *keeper, uint64_t number)
{
	for (size_t i = 0; i < keeper->count; i++)
		if (keeper->text[i].number == number) {
			close_text(&keeper->text[i]);
			keeper->text[i] = keeper->text[--keeper->count];
			return;
		}
}

void text_keeper_release(struct text_keeper *keeper)
{
	while (keeper->count)
		close_text(&keeper->text[--keeper->count]);
	free(keeper->text);
	*keeper = (struct text_keeper){ 0 };
}

/* --- restoring ----------------------------------------------------------- */

int text_restore(int mem, int list, bool registered, const struct text_map *map)
{
	struct stat status;
	void *entries;
	size_t bytes;
	int err;

	if (fstat(list, &status) < 0)
		return -errno;
	if (status.st_size <= 0)
		return 0;
	bytes = (size_t)status.st_size;
	entries = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, list, 0);
	if (entries == MAP_FAILED)
		return -errno;
	/* An incomplete last entry has no change yet. */
	err = patch_restore_from(mem, entries, patch_entries_whole(bytes),
				 registered, map, NULL);
	munmap(entries, bytes);
	return err;
}

int text_restore_process(pid_t pid, uid_t uid, int list, bool registered)
{
	int mem = patch_mem_open(pid, uid), err;
	struct text_map map = { 0 };

	if (mem < 0)
		return mem;
	err = text_map_read(&map, pid);
	if (!err)
		err = text_restore(mem, list, registered, &map);
	text_map_release(&map);
	close(mem);
	return err;
}

static off_t list_size(const struct kept_text *text)
{
	struct stat status;

	return fstat(text->list, &status) < 0 ? 0 : status.st_size;
}

/* The longest list of each area. */
struct unknown {
	const struct kept_text **text;
	struct text_area *areas;
	size_t count;
	struct text_seen seen;
	bool more; /* this round found new processes */
};

static void list_area(struct unknown *unknown, const struct kept_text *text)
{
	size_t i = 0;

	while (i < unknown->count &&
	       (unknown->areas[i].inode != text->area.inode ||
		unknown->areas[i].device != text->area.device))
		i++;
	if (i < unknown->count &&
	    list_size(unknown->text[i]) >= list_size(text))
		return;
	unknown->areas[i] = text->area;
	unknown->text[i] = text;
	unknown->count += i == unknown->count;
}

static void restore_found_text(void *arg, pid_t pid, size_t index)
{
	struct unknown *unknown = arg;
	const struct kept_text *text = unknown->text[index];

	if (!text_seen_add(&unknown->seen, pid))
		return;
	unknown->more = true;
	(void)text_restore_process(pid, text->uid, text->list,
				   text->registered);
}

void text_keeper_restore(struct text_keeper *keeper)
{
	for (size_t i = 0; i < keeper->count; i++)
		(void)text_restore(keeper->text[i].mem, keeper->text[i].list,
				   keeper->text[i].registered, NULL);
	if (keeper->count) {
		const struct text_finds finds = { .found = restore_found_text };
		struct unknown unknown = {
			.text = calloc(keeper->count, sizeof(*unknown.text)),
			.areas = calloc(keeper->count, sizeof(*unknown.areas)),
		};

		/* Also restores children of children. */
		unknown.more = unknown.text && unknown.areas;
		for (size_t i = 0; unknown.more && i < keeper->count; i++)
			list_area(&unknown, &keeper->text[i]);
		for (int i = 0; unknown.more && i < TEXT_FIND_ROUNDS; i++) {
			unknown.more = false;
			text_find(unknown.areas, unknown.count, &finds,
				  &unknown);
		}
		text_seen_release(&unknown.seen);
		free(unknown.text);
		free(unknown.areas);
	}
	text_keeper_release(keeper);
}

/* --- children that nobody knows ------------------------------------------ */

bool text_seen_add(struct text_seen *seen, pid_t pid)
{
	for (size_t i = 0; i < seen->count; i++)
		if (seen->list[i] == pid)
			return false;
	if (grow_array(seen->list, seen->room, seen->count + 1) < 0)
		return false;
	seen->list[seen->count++] = pid;
	return true;
}

void text_seen_release(struct text_seen *seen)
{
	free(seen->list);
	*seen = (struct text_seen){ 0 };
}

static bool began_since(pid_t pid, uint64_t ns)
{
	uint64_t tick_ns = NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK);

	return proc_began(pid) >= ns / tick_ns;
}

static size_t area_in(const struct text_map *map, const struct text_area *areas,
		      size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < map->count; k++)
			if (map->list[k].inode == areas[i].inode &&
			    map->list[k].device == areas[i].device)
				return i;
	return count;
}

size_t text_find(const struct text_area *areas, size_t count,
		 const struct text_finds *finds, void *arg)
{
	uint64_t since_ns = UINT64_MAX;
	struct text_map map = { 0 };
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	size_t all = 0;

	for (size_t i = 0; i < count; i++)
		if (areas[i].since_ns < since_ns)
			since_ns = areas[i].since_ns;
	while (proc && (entry = readdir(proc))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
		size_t index;

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		if (finds->looks)
			finds->looks(arg);
		if (!began_since(pid, since_ns) || text_map_read(&map, pid) < 0)
			continue;
		index = area_in(&map, areas, count);
		if (index == count)
			continue;
		all++;
		finds->found(arg, pid, index);
	}
	if (proc)
		closedir(proc);
	text_map_release(&map);
	return all;
}
