/* SPDX-License-Identifier: Apache-2.0
 *
 * wait_futex - recognises glibc's objects, in the layout since 2.25 on 64-bit
 * machines (tested with 2.36). Each test requires the operation that glibc uses
 * for the object, the expected value, and memory that looks like the object
 * while a thread waits for it:
 *
 *	mutex		WAIT, expects 2, or FUTEX_WAITERS and the owner
 *			(robust); LOCK_PI. The word is the first of the
 *			object; the third is the owner, the fourth the number
 *			of holders.
 *	condition	WAIT_BITSET at +0x28 or +0x2c. The word at +0x24 counts
 *			the waiters.
 *	semaphore	WAIT_BITSET, expects 0. The second word counts the
 *			waiters, the third is the sharing flag.
 *	rwlock		WAIT_BITSET at +8 (phase of writers), +12 (writers) or
 *			0 (readers). The word at +28 is the sharing flag.
 *	barrier		WAIT at +4, expects the round; more threads have come
 *			than rounds have ended.
 *	join		a shared wait, unlike all others here; expects the id
 *			of a thread, which the kernel clears
 *			(CLONE_CHILD_CLEARTID).
 *
 * The address shows which member a word is: all these objects are aligned to 8
 * bytes. The functions on the stack would show the same, but only after
 * unwinding, and the text of an object is made before that; and reading symbol
 * tables may take long. So only the code at pc is checked. syscall() means that
 * the futex belongs to other code (Rust, libstdc++). A lock inside the C
 * library has no owner, but its code is there. Futexes of Go and libgomp are
 * plain, because the memory around them does not look like an object of
 * glibc's.
 *
 * Words are read one after the other while the program runs, so a test only
 * requires values that stay constant while a thread waits. A program can fake
 * an object, but deceives only itself.
 */
#include "collector/samples/wait_futex.h"

#include <linux/futex.h>
#include <string.h>

#ifndef FUTEX_LOCK_PI2
#define FUTEX_LOCK_PI2 13
#endif

#define LOCK_CONTENDED 2u /* value of a low-level lock with waiters */
#define MUTEX_KINDS 0x3ffu /* all valid bits of pthread_mutex_t.__kind */
#define MUTEX_ROBUST 0x10u
#define SHARED 0x80u /* the sharing flag of sem_t and others */
#define WAITERS_MAX (1u << 22) /* maximum number of threads (PID_MAX_LIMIT) */

#define COND_SIGNALS 0x28u /* two words */
#define RWLOCK_PHASE 8u
#define RWLOCK_WRITERS 12u
#define RWLOCK_FUTEX_USED 2u
#define RWLOCK_READERS_WAIT 4u
#define BARRIER_ROUND 4u

static uint32_t word_at(const struct wait_futex *futex, int offset)
{
	uint32_t word;

	memcpy(&word, futex->around + (int)WAIT_FUTEX_BEFORE + offset,
	       sizeof(word));
	return word;
}

static uint64_t long_at(const struct wait_futex *futex, int offset)
{
	return word_at(futex, offset) | (uint64_t)word_at(futex, offset + 4)
						<< 32;
}

static uint32_t command_of(const struct wait_futex *futex)
{
	return futex->op & (uint32_t)FUTEX_CMD_MASK;
}

static bool is_private(const struct wait_futex *futex)
{
	return futex->op & FUTEX_PRIVATE_FLAG;
}

static bool agrees_on_sharing(const struct wait_futex *futex, int offset)
{
	return word_at(futex, offset) == (is_private(futex) ? 0 : SHARED);
}

static bool is_held_mutex(const struct wait_futex *futex)
{
	uint32_t owner = word_at(futex, 8), users = word_at(futex, 12);
	uint32_t kind = word_at(futex, 16);

	if (!futex->has_behind || kind & ~MUTEX_KINDS)
		return false;
	if (futex->value & FUTEX_WAITERS)
		return kind & MUTEX_ROBUST;
	return futex->value == LOCK_CONTENDED && owner && owner < WAITERS_MAX &&
	       users && users < WAITERS_MAX;
}

static bool is_barrier(const struct wait_futex *futex)
{
	uint32_t come = word_at(futex, -(int)BARRIER_ROUND);
	uint32_t count = word_at(futex, 4);

	return futex->has_before && futex->has_behind &&
	       futex->address % 8 == BARRIER_ROUND &&
	       command_of(futex) == FUTEX_WAIT && count > 1 &&
	       count < WAITERS_MAX && come - futex->value - 1 < WAITERS_MAX &&
	       agrees_on_sharing(futex, 8);
}

static bool is_mutex(const struct wait_futex *futex)
{
	switch (command_of(futex)) {
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI2:
		return true;
	case FUTEX_WAIT:
		/* Nothing else in the library waits for that value with WAIT.
		 */
		if (futex->code == WAIT_CODE_LIBRARY && is_private(futex) &&
		    futex->value == LOCK_CONTENDED && !is_barrier(futex))
			return true;
		return is_held_mutex(futex);
	default:
		return is_held_mutex(futex);
	}
}

static bool is_condition(const struct wait_futex *futex, uint64_t *object)
{
	int begin = futex->address % 8 ? -(int)COND_SIGNALS - 4
				       : -(int)COND_SIGNALS;
	uint64_t sequence, first;
	uint32_t waiters;

	if (!futex->has_before || command_of(futex) != FUTEX_WAIT_BITSET)
		return false;
	sequence = long_at(futex, begin);
	first = long_at(futex, begin + 8);
	waiters = word_at(futex, begin + 0x24);
	*object = futex->address + (uint64_t)(int64_t)begin;
	/* The lowest bit of waiters is the sharing flag; the sequence numbers
	 * have their group in the lowest bit. */
	return (waiters & 1) == !is_private(futex) && waiters >> 3 &&
	       waiters >> 3 < WAITERS_MAX && sequence >= 2 &&
	       sequence >> 1 >= first >> 1;
}

static bool is_semaphore(const struct wait_futex *futex)
{
	uint32_t waiters = word_at(futex, 4);

	return futex->has_behind && !(futex->address % 8) &&
	       command_of(futex) == FUTEX_WAIT_BITSET && !futex->value &&
	       waiters && waiters < WAITERS_MAX && agrees_on_sharing(futex, 8);
}

static bool is_rwlock(const struct wait_futex *futex, uint64_t *object)
{
	int begin =
		futex->address % 8 ? -(int)RWLOCK_WRITERS : -(int)RWLOCK_PHASE;

	if (!futex->has_behind || command_of(futex) != FUTEX_WAIT_BITSET)
		return false;
	if (begin == -(int)RWLOCK_PHASE && futex->value & RWLOCK_READERS_WAIT)
		begin = 0;
	else if ((futex->value & ~1u) != RWLOCK_FUTEX_USED ||
		 !futex->has_before)
		return false;
	*object = futex->address + (uint64_t)(int64_t)begin;
	/* It is held. The word at 28 is 0 or 1. */
	return word_at(futex, begin) && !word_at(futex, begin + 16) &&
	       !word_at(futex, begin + 20) &&
	       word_at(futex, begin + 28) == !is_private(futex);
}

static bool is_join(const struct wait_futex *futex)
{
	return !is_private(futex) && futex->is_task && futex->value &&
	       (command_of(futex) == FUTEX_WAIT ||
		command_of(futex) == FUTEX_WAIT_BITSET);
}

static bool is_futex_wait(const struct wait_futex *futex)
{
	switch (command_of(futex)) {
	case FUTEX_WAIT:
	case FUTEX_WAIT_BITSET:
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI2:
		return true;
	default:
		return false;
	}
}

enum wait_futex_kind wait_futex_tell(const struct wait_futex *futex,
				     uint64_t *object)
{
	*object = futex->address;
	if (futex->code == WAIT_CODE_RAW || !is_futex_wait(futex))
		return WAIT_FUTEX_PLAIN;
	if (is_mutex(futex))
		return WAIT_FUTEX_MUTEX;
	if (is_join(futex))
		return WAIT_FUTEX_JOIN;
	if (is_condition(futex, object))
		return WAIT_FUTEX_CONDITION;
	if (is_rwlock(futex, object))
		return WAIT_FUTEX_RWLOCK;
	*object = futex->address;
	if (is_semaphore(futex))
		return WAIT_FUTEX_SEMAPHORE;
	if (is_barrier(futex)) {
		*object = futex->address - BARRIER_ROUND;
		return WAIT_FUTEX_BARRIER;
	}
	return WAIT_FUTEX_PLAIN;
}

const char *wait_futex_name(enum wait_futex_kind kind)
{
	static const char *const names[] = {
		[WAIT_FUTEX_PLAIN] = "futex",
		[WAIT_FUTEX_MUTEX] = "mutex",
		[WAIT_FUTEX_CONDITION] = "condition",
		[WAIT_FUTEX_SEMAPHORE] = "semaphore",
		[WAIT_FUTEX_RWLOCK] = "rwlock",
		[WAIT_FUTEX_BARRIER] = "barrier",
		[WAIT_FUTEX_JOIN] = "join",
	};

	return names[kind];
}
