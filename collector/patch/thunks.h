/* SPDX-License-Identifier: Apache-2.0
 *
 * thunks - the thunk area of an arena (shared/function_shm.h), as the collector
 * writes it. One thread at a time, which may be any.
 *
 * The area belongs to the program, which may write anything into it at any
 * time. Nothing that is read there decides where we read or write.
 */
#ifndef PERFREC_COLLECTOR_PATCH_THUNKS_H
#define PERFREC_COLLECTOR_PATCH_THUNKS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "shared/function_shm.h"

enum thunk_kind {
	THUNK_CALLS, /* -finstrument-functions: arguments of a hook */
	THUNK_ENTRY, /* entry build: all registers but r11 are live */
};

/* Which of the thunks of a function a site calls. */
enum thunk_side {
	THUNK_SIDE_ENTRY,
	THUNK_SIDE_EXIT,
	THUNK_SIDE_EXIT_JUMP, /* entry builds: see THUNK_EXIT_JUMP */
	THUNK_SIDE_EXIT_R11,
};

struct thunk_area;

/* Whether @fd, which a program sent, is a file for an area: a memfd of its size
 * that can neither shrink nor grow. */
bool thunk_area_is_good(int fd);
/*
 * Maps the area behind @fd, which the caller keeps, and fills in its page.
 * @shim is copied: it lies in memory that the program may change. Returns 0 and
 * the area in *@area, or a negative errno: -EINVAL if the file is no memfd of
 * the right size that can neither shrink nor grow, or @shim says that there are
 * no thunks; -ENOTSUP if this machine has none; -ENOMEM and what mmap(2) says.
 */
int thunk_area_map(int fd, const struct thunk_shim *shim,
		   struct thunk_area **area);
/* Unmaps and frees it. The program goes on with it as it is. NULL: nothing. */
void thunk_area_unmap(struct thunk_area *area);

/* Whether functions of calls builds may have thunks: not if another library's
 * hooks must hear of their calls. */
bool thunk_area_takes_calls(const struct thunk_area *area);
/*
 * Writes both thunks of function @number (1 to FUNCTIONS_MAX - 1), which is at
 * address @function in the program, with the path THUNK_COUNT. Nobody may call
 * them yet. Returns 0, or -EINVAL: there is no such number, or it has thunks
 * already.
 */
int thunk_area_add(struct thunk_area *area, uint32_t number, uint64_t function,
		   enum thunk_kind kind);
/* As many functions as one site may stand for. */
#define THUNK_CHOICES 18u

/*
 * A thunk for sites that stand for @count functions (calls builds): it goes on
 * to the thunk of @side (ENTRY or EXIT) of that one of @numbers whose function
 * the hook's argument is, and else to the hook. @numbers have thunks. There is
 * one such thunk for the same numbers. Returns 0 and its number in *@number, by
 * which thunk_area_operand() reaches it as THUNK_SIDE_ENTRY; numbers are taken
 * from FUNCTIONS_MAX downwards. Or -ENOSPC: there are too many functions, or
 * numbers; or -ENOMEM.
 */
int thunk_area_choice(struct thunk_area *area, const uint32_t *numbers,
		      uint32_t count, enum thunk_side side, uint32_t *number);

/* Chooses the @path of the calls of function @number from now on. All threads
 * of the program see it at once; a thread that is in the thunk may still go on
 * by the path before. */
void thunk_area_choose(struct thunk_area *area, uint32_t number,
		       enum thunk_path path);
/* The path that was chosen last; THUNK_COUNT for a number without thunks. */
enum thunk_path thunk_area_path(const struct thunk_area *area, uint32_t number);

/* Whether the file with @device and @inode is the one of the area: so a map of
 * a process says where the area is. */
bool thunk_area_is_file(const struct thunk_area *area, dev_t device,
			ino_t inode);
/* Which file that is. */
void thunk_area_file(const struct thunk_area *area, uint64_t *device,
		     uint64_t *inode);

/*
 * The four bytes of an instruction that ends at @next and calls or jumps to the
 * thunk of @side of function @number, where the area is mapped at @map; or, if
 * @through_memory, of one that does so through its pointer (FF 15, FF 25).
 * Returns false if that is out of reach, or if there is no row of pointers left
 * for that mapping.
 */
bool thunk_area_operand(struct thunk_area *area, uint64_t map, uint32_t number,
			enum thunk_side side, bool through_memory,
			uint64_t next, int32_t *operand);

/*
 * How many bytes lie on the stack below the return address of a thunk, before
 * its instruction at @offset bytes in the area is run. A thunk calls nothing
 * while it has bytes there. Any @offset will do; any thread.
 */
uint32_t thunk_pushed(uint64_t offset);

#endif
