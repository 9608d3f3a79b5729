/* SPDX-License-Identifier: Apache-2.0
 *
 * text_keeper - restores the text of processes for a writer that was killed,
 * from their memory and their lists of changes (patch_tell()). perfrec-keeper
 * has one (text_guard.h). One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_CODE_TEXT_KEEPER_H
#define PERFREC_COLLECTOR_CODE_TEXT_KEEPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The file of a thunk area. */
struct text_area {
	uint64_t device, inode;
	uint64_t since_ns; /* BOOTTIME; unknown processes that map it
			    * started later */
};

struct kept_text {
	uint64_t number;
	struct text_area area;
	bool registered; /* for membarrier */
	uid_t uid;
	int mem; /* /proc/PID/mem */
	int list; /* memfd */
};

/* Initialize to zero. */
struct text_keeper {
	struct kept_text *text;
	size_t count, room;
};

/* Replaces a text of the same number. Takes the descriptors over, and closes
 * them on -ENOMEM. */
int text_keeper_add(struct text_keeper *keeper, const struct kept_text *text);
void text_keeper_drop(struct text_keeper *keeper, uint64_t number);
/* Also restores unknown children. Keeps nothing afterwards. */
void text_keeper_restore(struct text_keeper *keeper);
void text_keeper_release(struct text_keeper *keeper);

struct text_map;

/* Returns as patch_restore_from(), or the error of reading @list. */
int text_restore(int mem, int list, bool registered,
		 const struct text_map *map);
/* As text_restore(), but with the list of another process. */
int text_restore_process(pid_t pid, uid_t uid, int list, bool registered);

struct text_finds {
	void (*looks)(void *arg); /* may be NULL */
	void (*found)(void *arg, pid_t pid, size_t index);
};

/* Finds the processes that map one of @areas, including forked children that
 * the collector does not know. Returns their count. */
size_t text_find(const struct text_area *areas, size_t count,
		 const struct text_finds *finds, void *arg);

struct text_seen {
	pid_t *list;
	size_t count, room;
};

/* Returns true if @pid is new. False if out of memory. */
bool text_seen_add(struct text_seen *seen, pid_t pid);
void text_seen_release(struct text_seen *seen);
/* Searches for children, which may fork meanwhile. */
#define TEXT_FIND_ROUNDS 8

#endif
