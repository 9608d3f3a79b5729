/* SPDX-License-Identifier: Apache-2.0
 *
 * thunks - writes the thunk area of an arena (shared/function_shm.h). One
 * thread at a time.
 *
 * The program may write to the area at any time. So nothing read there decides
 * where the collector reads or writes.
 */
#ifndef PERFREC_COLLECTOR_CODE_THUNKS_H
#define PERFREC_COLLECTOR_CODE_THUNKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "shared/function_shm.h"

enum thunk_kind {
	THUNK_CALLS, /* -finstrument-functions */
	THUNK_ENTRY, /* entry build: only r11 is free */
	THUNK_MOVED, /* no hooks, moved or called: moved_thunk.h */
};

enum thunk_side {
	THUNK_SIDE_ENTRY,
	THUNK_SIDE_EXIT,
	THUNK_SIDE_EXIT_JUMP, /* entry builds, as THUNK_EXIT_JUMP */
	THUNK_SIDE_EXIT_R11,
};

struct code_move;
struct code_moves;
struct thunk_area;

/* Requires a file of the right size for @functions numbers in a tmpfs: a memfd
 * that can neither shrink nor grow, or a file with a path (thunk_image.h). */
bool thunk_area_is_good(int fd, uint32_t functions);
/* Copies @shim. @fd stays the caller's. Returns 0 or -errno. -EINVAL: @fd or
 * @shim is unfit for @functions numbers. -ENOTSUP: this machine has no thunks. */
int thunk_area_map(int fd, uint32_t functions, const struct thunk_shim *shim,
		   struct thunk_area **area);
/* The program continues to use the area. */
void thunk_area_unmap(struct thunk_area *area);

/* Returns false if the hooks of another library need all calls. */
bool thunk_area_takes_calls(const struct thunk_area *area);
/* Writes the thunks of function @number, at @function in the program, with the
 * path THUNK_COUNT. Returns 0, or -EINVAL: invalid number, or it has other
 * thunks; -ENOSPC: the file system is full. */
int thunk_area_add(struct thunk_area *area, uint32_t number, uint64_t function,
		   enum thunk_kind kind);
/* The same for a moved function of a module at @bias, which reaches the area at
 * @map. Its thunk is muted, and records @words of each call. Also -ERANGE: its
 * body would be out of reach, or its thunk was made for another @map. */
int thunk_area_add_moved(struct thunk_area *area, uint32_t number, uint64_t map,
			 const struct code_moves *moves,
			 const struct code_move *move, uint64_t bias,
			 const struct thunk_words *words);
/* The same for a function that a file calls through a slot. Its thunk works in
 * each mapping of the area. @many_arguments: any number may lie on the
 * stack. */
int thunk_area_add_called(struct thunk_area *area, uint32_t number,
			  uint64_t function, bool many_arguments,
			  const struct thunk_words *words);
/* Describes moved functions to debuggers and unwinders: writes the ELF file that
 * the area is, and those of its @count mappings at @maps. Call after functions
 * were added. */
void thunk_area_show(struct thunk_area *area, const uint64_t *maps,
		     size_t count);
/* Returns the address of the thunk of @number, with the area mapped at @map. */
uint64_t thunk_area_address(uint64_t map, uint32_t number);
/* The thunk of a moved function neither counts nor records. Does nothing for
 * other functions. */
void thunk_area_mute(struct thunk_area *area, uint32_t number, bool muted);

#define THUNK_CHOICES 18u

/*
 * Makes a thunk for sites of several functions (calls builds). It continues at
 * the thunk of the function in the hook's argument, or else at the hook.
 * @numbers must have thunks. Sets *@number, which thunk_area_operand() reaches
 * as THUNK_SIDE_ENTRY; these numbers count down from the last one. Returns 0,
 * -ENOSPC or -ENOMEM.
 */
int thunk_area_choice(struct thunk_area *area, const uint32_t *numbers,
		      uint32_t count, enum thunk_side side, uint32_t *number);

/* All threads see it at once; a thread inside the thunk may finish on the old
 * path. */
void thunk_area_choose(struct thunk_area *area, uint32_t number,
		       enum thunk_path path);
enum thunk_path thunk_area_path(const struct thunk_area *area, uint32_t number);

/* Returns the bytes of each mapping of the area. */
uint64_t thunk_area_size(const struct thunk_area *area);
bool thunk_area_is_file(const struct thunk_area *area, dev_t device,
			ino_t inode);
void thunk_area_file(const struct thunk_area *area, uint64_t *device,
		     uint64_t *inode);

/* Sets *@operand of an instruction that ends at @next, with the area mapped at
 * @map. @through_memory: the instruction uses the pointer (FF 15, FF 25).
 * Returns false if the thunk is out of reach or no row is free. */
bool thunk_area_operand(struct thunk_area *area, uint64_t map, uint32_t number,
			enum thunk_side side, bool through_memory,
			uint64_t next, int32_t *operand);

/* Returns the bytes pushed before the instruction at @offset of the area, in the
 * thunk of a function that was not moved. Thunks call nothing meanwhile. Any
 * thread. */
uint32_t thunk_pushed(uint64_t offset);

/* For unwinders; any thread. Copies @bytes at @offset of the area in file @inode
 * to @out: frame descriptions of moved functions as they were written, all other
 * bytes as they are now, which are hostile. Returns false if no such area is
 * mapped, or it ends before. */
bool thunk_area_read(ino_t inode, uint64_t offset, void *out, size_t bytes);

struct thunk_place { /* offsets in the area */
	uint64_t frame; /* the frame description (FDE) */
	uint64_t code; /* the code that it describes */
	uint64_t function; /* address of the function, if this is its body; 0 */
};
/* The same for the instruction at @offset. Returns false if that is not in the
 * thunk of a moved function. */
bool thunk_area_place(ino_t inode, uint64_t offset, struct thunk_place *out);

#endif
