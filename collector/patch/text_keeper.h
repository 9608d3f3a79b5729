/* SPDX-License-Identifier: Apache-2.0
 *
 * text_keeper - what is kept so that the text of programs can be put back as it
 * was by somebody else than who changed it: for each process its memory, and a
 * list of what is changed in it (patch_tell()), which grows. The process
 * perfrec-keeper has one (text_guard.h), for when its collector is killed. One
 * thread at a time, which may be any.
 */
#ifndef PERFREC_COLLECTOR_PATCH_TEXT_KEEPER_H
#define PERFREC_COLLECTOR_PATCH_TEXT_KEEPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The file of a thunk area, as a map of a process has it. */
struct text_area {
	uint64_t device, inode;
	uint64_t since_ns; /* BOOTTIME: processes that have it mapped and are
			    * not known began later */
};

struct kept_text {
	uint64_t number; /* the caller's */
	struct text_area area;
	bool registered; /* for membarrier: patch_restore_from() */
	uid_t uid; /* whose program it is */
	int mem; /* /proc/PID/mem */
	int list; /* a memfd with a list as of patch_tell() */
};

/* All zero keeps nothing. */
struct text_keeper {
	struct kept_text *text;
	size_t count, room;
};

/* Keep @text, in the place of what has the same number. Its descriptors become
 * the keeper's. Returns 0, or -ENOMEM: then they are closed. */
int text_keeper_add(struct text_keeper *keeper, const struct kept_text *text);
/* Keep the text of that number no more, if it is there. */
void text_keeper_drop(struct text_keeper *keeper, uint64_t number);
/* Restore the text of all, and of their children that nobody knows of, and keep
 * nothing any more. */
void text_keeper_restore(struct text_keeper *keeper);
/* Keep nothing any more. */
void text_keeper_release(struct text_keeper *keeper);

struct text_map;

/* Restores the text of the process with the memory @mem by what is in the file
 * @list; @map as of patch_restore_from(). Returns as that function, or what
 * reading says. */
int text_restore(int mem, int list, bool registered,
		 const struct text_map *map);
/* The same by the list of another process, and by the pid of one of user @uid:
 * its memory may not be opened by anybody. */
int text_restore_process(pid_t pid, uid_t uid, int list, bool registered);

struct text_finds {
	void (*looks)(void *arg); /* at one process after the other; or NULL */
	/* Process @pid has the area with that index mapped. */
	void (*found)(void *arg, pid_t pid, size_t index);
};

/* Calls @finds->found for each process of this machine that has one of the
 * @count @areas mapped, as far as /proc shows their maps. A child that was
 * forked from a process whose text was changed has the same text, before
 * anybody has heard of it. Returns how many. */
size_t text_find(const struct text_area *areas, size_t count,
		 const struct text_finds *finds, void *arg);

/* Process ids that were seen. All zero: none. */
struct text_seen {
	pid_t *list;
	size_t count, room;
};

/* Whether @pid is new; it is noted. Without memory it is not new. */
bool text_seen_add(struct text_seen *seen, pid_t pid);
void text_seen_release(struct text_seen *seen);
/* Children of children that are being restored: so often it is looked again. */
#define TEXT_FIND_ROUNDS 8

#endif
