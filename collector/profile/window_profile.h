/* SPDX-License-Identifier: Apache-2.0
 *
 * window_profile - a profile reported in parts: windows. It gets current sums
 * repeatedly, and writes their growth since the last kept window. Stacks of all
 * processes and threads are merged, except of different requests, so a changed
 * name moves no values between stacks.
 *
 * All windows together are the last sums, as long as sums only grow: a window
 * never subtracts values of earlier ones. If some sums decrease, such as those
 * of an estimate, other growth is delayed until the total is right.
 *
 * As in stack_profile, these functions may read files; one thread at a time.
 */
#ifndef PERFREC_COLLECTOR_PROFILE_WINDOW_PROFILE_H
#define PERFREC_COLLECTOR_PROFILE_WINDOW_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/output/out_pprof.h"
#include "collector/profile/stack_profile.h"

struct bytes;

#define WINDOW_COLUMNS_MAX 4

enum window_part {
	WINDOW_ALL,
	WINDOW_LOCKS, /* stacks that end in a wait for a lock */
	WINDOW_OTHER_WAITS, /* all others */
};

/* Format of a window's file: its values and their names. */
struct window_view {
	const struct stack_profile_kind *kind;
	struct out_head head; /* except the period */
	uint8_t column[WINDOW_COLUMNS_MAX]; /* value indexes, as types of
					     * kind */
	enum window_part part;
};

extern const struct window_view window_view_cpu; /* of stack_profile_cpu */
extern const struct window_view window_view_wall; /* _wall */
/* Both of _heap, with other defaults in viewers: in use, or allocated. */
extern const struct window_view window_view_memory, window_view_allocs;
extern const struct window_view window_view_off_cpu, window_view_mutex,
	window_view_block; /* _offcpu */

/* Makes an empty profile for values of @kind, as stack_profile_new(). */
int window_profile_new(const struct stack_profile_kind *kind,
		       struct symbol_cache *cache, struct budget *budget,
		       struct stack_profile **out);

/* Clears the current sums, but not their kept part. The caller adds all sums
 * again. */
void window_profile_begin(struct stack_profile *window);
/*
 * Adds the values of @from as in a file; from a window profile, those of its
 * window. @from must have the kind of @window, and names with the same
 * lifetime. @program becomes the only label of all samples; NULL: they keep the
 * ids of requests as labels.
 * stack_profile_add() with an all-zero owner also adds stacks. Returns 0, or
 * -ENOMEM: stacks without memory are in "[other stacks]".
 */
int window_profile_add(struct stack_profile *window,
		       const struct stack_profile *from, const char *program);
/* Call it after all sums were added. Returns true if the window has any
 * value. */
bool window_profile_end(struct stack_profile *window);

/* Returns true if a file by @view would have a sample. */
bool window_profile_has(const struct stack_profile *window,
			const struct window_view *view);
/* Writes the window by @view, as stack_profile_write(). @name NULL: writes to
 * the open file @dir_fd. */
int window_profile_write(const struct stack_profile *window,
			 const struct window_view *view,
			 const struct stack_profile_header *header, int dir_fd,
			 const char *name);
/* As window_profile_write(), but appends the file to @to: gzipped only if it is
 * large, as gz_file_new_in(). */
int window_profile_pack(const struct stack_profile *window,
			const struct window_view *view,
			const struct stack_profile_header *header,
			struct bytes *to);
/* Call it when the window was delivered. The next one begins after it. */
void window_profile_keep(struct stack_profile *window);
/* As window_profile_keep(), and the next window only has differences: values of
 * a moment also become differences, which may be negative. */
void window_profile_start(struct stack_profile *window);

#endif
