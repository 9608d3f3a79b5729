/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/base/lock.h"

#ifdef LOCK_CHECK

#include <stdio.h>
#include <stdlib.h>

#define HELD_MAX 16

static const char *const g_what[] = {
	[LOCK_NO_RANK] = "a lock that was never initialised",
#define LOCK_RANK(name, what) [LOCK_##name] = what,
#include "collector/base/lock_ranks.def"
#undef LOCK_RANK
};

static _Thread_local struct {
	const struct lock *lock[HELD_MAX];
	unsigned int count;
} t_held;

static _Noreturn void abort_with(const char *message, const struct lock *lock,
				 const struct lock *held)
{
	fprintf(stderr, "perfrec: bug: %s: [%s]", message, g_what[lock->rank]);
	if (held)
		fprintf(stderr, ", holding [%s]", g_what[held->rank]);
	fputc('\n', stderr);
	abort();
}

void lock_check_order(const struct lock *lock, bool chained)
{
	if (lock->rank == LOCK_NO_RANK)
		abort_with("lock without a rank", lock, NULL);
	for (unsigned int i = 0; i < t_held.count; i++) {
		const struct lock *held = t_held.lock[i];

		if (held->rank > lock->rank ||
		    (held->rank == lock->rank && !(chained && held != lock)))
			abort_with("lock taken out of order", lock, held);
	}
}

void lock_check_taken(const struct lock *lock)
{
	if (t_held.count == HELD_MAX)
		abort_with("too many locks at once", lock, NULL);
	t_held.lock[t_held.count++] = lock;
}

void lock_check_released(const struct lock *lock)
{
	unsigned int i = t_held.count;

	while (i > 0 && t_held.lock[i - 1] != lock)
		i--;
	if (i == 0)
		abort_with("lock released that this thread does not hold", lock,
			   NULL);
	for (; i < t_held.count; i++)
		t_held.lock[i - 1] = t_held.lock[i];
	t_held.count--;
}

#endif
