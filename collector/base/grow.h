/* SPDX-License-Identifier: Apache-2.0
 *
 * grow - growing arrays. The owner keeps the pointer, the count and the room in
 * variables of any names and integer types; all zero is an empty array. free()
 * ends it. Not for arrays that other threads read without a lock, because the
 * elements move.
 */
#ifndef PERFREC_COLLECTOR_BASE_GROW_H
#define PERFREC_COLLECTOR_BASE_GROW_H

#include <errno.h>
#include <stddef.h>
#include <string.h>

struct budget;

/*
 * Makes room for @wanted elements: grow_array(list, room, count + 1). Changes
 * @array and @room if the array must grow; the room at least doubles, and new
 * elements are uninitialized. Evaluates to 0, or to -ENOMEM without any change.
 * Evaluates @array and @room more than once.
 */
#define grow_array(array, room, wanted) \
	grow_array_from(NULL, array, room, wanted)

/* As grow_array(), with bytes of @budget (NULL: unlimited). The owner gives
 * back the bytes of @room elements when it frees the array. */
#define grow_array_from(budget, array, room, wanted)                           \
	({                                                                     \
		size_t grow_wanted = (wanted);                                 \
		int grow_err = 0;                                              \
                                                                               \
		if (grow_wanted > (room)) {                                    \
			struct grow grow_state = { (array), (room),            \
						   sizeof(*(array)),           \
						   (__typeof__(room))-1 };     \
                                                                               \
			grow_err =                                             \
				grow_slow(&grow_state, grow_wanted, (budget)); \
			(array) = grow_state.items;                            \
			(room) = (__typeof__(room))grow_state.fits;            \
		}                                                              \
		grow_err;                                                      \
	})

/* As grow_array(), for @wanted above 0; new elements are zero. */
#define grow_array_zeroed(array, room, wanted) \
	grow_array_zeroed_from(NULL, array, room, wanted)

/* As grow_array_zeroed() and grow_array_from(). */
#define grow_array_zeroed_from(budget, array, room, wanted)              \
	({                                                               \
		size_t grow_before = (room);                             \
		int grow_failed =                                        \
			grow_array_from(budget, array, room, wanted);    \
                                                                         \
		if (!grow_failed && (room) > grow_before)                \
			memset((array) + grow_before, 0,                 \
			       ((room)-grow_before) * sizeof(*(array))); \
		grow_failed || !(array) ? -ENOMEM : 0;                   \
	})

/* Returns element @number of @array, which grows with zeros if needed; NULL:
 * -ENOMEM. */
#define grow_array_at(array, room, number)                           \
	({                                                           \
		size_t grow_at = (number);                           \
		int grow_failure =                                   \
			grow_array_zeroed(array, room, grow_at + 1); \
                                                                     \
		grow_failure ? NULL : &(array)[grow_at];             \
	})

struct grow {
	void *items;
	size_t fits, item_bytes;
	size_t most;
};

int grow_slow(struct grow *grow, size_t wanted, struct budget *budget);

#endif
