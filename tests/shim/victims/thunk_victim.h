/* SPDX-License-Identifier: Apache-2.0
 *
 * thunk_victim - the function numbers of test_thunk's thunks.
 */
#ifndef PERFREC_TESTS_SHIM_THUNK_VICTIM_H
#define PERFREC_TESTS_SHIM_THUNK_VICTIM_H

/* First of a calls build, then of an entry build: recorded, only counted,
 * drained, and called by handlers. */
enum {
	THUNK_CALLS_SPAN = 1,
	THUNK_CALLS_COUNTED,
	THUNK_CALLS_DRAINED,
	THUNK_CALLS_INNER,
	THUNK_ENTRY_SPAN,
	THUNK_ENTRY_COUNTED,
	THUNK_ENTRY_DRAINED,
	THUNK_ENTRY_INNER,
	THUNK_NUMBERS,
};

static inline int thunk_is_entry(int number)
{
	return number >= THUNK_ENTRY_SPAN;
}

#define THUNK_FUNCTION(number) (0x100000ul * (unsigned long)(number))

#endif
