/* SPDX-License-Identifier: Apache-2.0
 *
 * grow - arrays that get longer. Whoever has one keeps the pointer to its
 * elements, how many of them are in use, and for how many there is room, in
 * variables of any names and integer types; all zero is an empty array. free()
 * ends it. Not for arrays that other threads read without a lock: the elements
 * move.
 */
#ifndef PERFREC_COLLECTOR_BASE_GROW_H
#define PERFREC_COLLECTOR_BASE_GROW_H

#include <errno.h>
#include <stddef.h>
#include <string.h>

struct budget;

/*
 * Makes sure that @array has room for @wanted elements: grow_array(list, room,
 * count + 1). @room is for how many it has room now; both @array and @room are
 * changed when it has to grow. The room at least doubles, and new elements have
 * any value. Evaluates to 0, or to -ENOMEM: nothing has changed then. Both
 * @array and @room are evaluated more than once.
 */
#define grow_array(array, room, wanted) \
	grow_array_from(NULL, array, room, wanted)

/* The same, with bytes of @budget (NULL: without one). Whoever frees the array
 * gives back what @room elements take. */
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

/* As grow_array(), for @wanted above 0; new elements are all zero. */
#define grow_array_zeroed(array, room, wanted)                           \
	({                                                               \
		size_t grow_before = (room);                             \
		int grow_failed = grow_array(array, room, wanted);       \
                                                                         \
		if (!grow_failed && (room) > grow_before)                \
			memset((array) + grow_before, 0,                 \
			       ((room)-grow_before) * sizeof(*(array))); \
		grow_failed || !(array) ? -ENOMEM : 0;                   \
	})

/* For the macros only. */
struct grow {
	void *items;
	size_t fits, item_bytes; /* elements, and bytes of each */
	size_t most; /* that the type of room can count */
};

int grow_slow(struct grow *grow, size_t wanted, struct budget *budget);

#endif
