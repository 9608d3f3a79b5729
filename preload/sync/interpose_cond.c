/* SPDX-License-Identifier: Apache-2.0
 *
 * interpose_cond - wraps the functions of conditions, as interpose_sync.c does
 * those of mutexes. pthread_cond_wait() and its forms always wait, and release
 * their mutex inside of the C library. A signal is recorded if a thread waits.
 *
 * On x86-64 the C library has two versions of these functions. The old one,
 * GLIBC_2.2.5, has another layout of conditions: the shim only passes its calls
 * on. So both have a version here as well (perfrec.map).
 */
#include <pthread.h>
#include <stdint.h>

#include "preload/core/elf_tables.h"
#include "preload/core/find_next.h"
#include "preload/core/linker.h"
#include "preload/sync/interpose_sync_inner.h"
#include "shared/compiler.h"

/* X(name, parameters, arguments); all return int. */
#define COND_FUNCTIONS(X)                                                 \
	X(pthread_cond_wait,                                              \
	  (pthread_cond_t * condition, pthread_mutex_t * mutex),          \
	  (condition, mutex))                                             \
	X(pthread_cond_timedwait,                                         \
	  (pthread_cond_t * condition, pthread_mutex_t * mutex,           \
	   const struct timespec *until),                                 \
	  (condition, mutex, until))                                      \
	X(pthread_cond_signal, (pthread_cond_t * condition), (condition)) \
	X(pthread_cond_broadcast, (pthread_cond_t * condition), (condition))

#if defined(__x86_64__)
#define COND_NEW "GLIBC_2.3.2"
#define COND_OLD "GLIBC_2.2.5"

/* The old functions. */
static void *find_old(const char *name)
{
	const struct link_map *libc = linker_libc();
	const ElfW(Sym) * symbol;
	struct elf_tables tables;

	elf_tables_of(&tables, libc);
	symbol = elf_tables_find_exact(&tables, name, COND_OLD);
	return symbol ? (void *)(tables.base + symbol->st_value) : NULL;
}

#define PASS_OLD(name, parameters, arguments)                      \
	ATTR_EXPORT int old_##name parameters;                     \
	ATTR_EXPORT int old_##name parameters                      \
	{                                                          \
		static int(*real) parameters;                      \
                                                                   \
		if (!real)                                         \
			real = (int(*) parameters)find_old(#name); \
		return real arguments;                             \
	}                                                          \
	__asm__(".symver old_" #name ", " #name "@" COND_OLD);
COND_FUNCTIONS(PASS_OLD)
#undef PASS_OLD

#define EXPORT_NEW(name, parameters, arguments) \
	__asm__(".symver new_" #name ", " #name "@@" COND_NEW);
#else
#define EXPORT_NEW(name, parameters, arguments) \
	ATTR_EXPORT int name parameters __attribute__((alias("new_" #name)));
#endif

#define DECLARE_NEW(name, parameters, arguments) \
	ATTR_EXPORT int new_##name parameters;
COND_FUNCTIONS(DECLARE_NEW)
#undef DECLARE_NEW

void sync_release_mutex(const pthread_mutex_t *mutex)
{
	if (sync_mutex_wakes(mutex))
		sync_put(EXT_SYNC_RELEASE, SYNC_MUTEX, mutex, 0);
}

int new_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
	__typeof__(pthread_cond_wait) *real = NEXT(pthread_cond_wait);

	if (!sync_is_recorded())
		return real(condition, mutex);
	sync_release_mutex(mutex);
	return RECORD_WAIT(SYNC_CONDITION, condition, 0,
			   real(condition, mutex));
}

int new_pthread_cond_timedwait(pthread_cond_t *condition,
			       pthread_mutex_t *mutex,
			       const struct timespec *until)
{
	__typeof__(pthread_cond_timedwait) *real = NEXT(pthread_cond_timedwait);

	if (!sync_is_recorded())
		return real(condition, mutex, until);
	sync_release_mutex(mutex);
	return RECORD_WAIT(SYNC_CONDITION, condition, 0,
			   real(condition, mutex, until));
}

ATTR_EXPORT int pthread_cond_clockwait(pthread_cond_t *condition,
				       pthread_mutex_t *mutex, clockid_t clock,
				       const struct timespec *until)
{
	__typeof__(pthread_cond_clockwait) *real = NEXT(pthread_cond_clockwait);

	if (!sync_is_recorded())
		return real(condition, mutex, clock, until);
	sync_release_mutex(mutex);
	return RECORD_WAIT(SYNC_CONDITION, condition, 0,
			   real(condition, mutex, clock, until));
}

/* Returns true if a thread waits for @condition, as the C library counts. */
static bool is_awaited(const pthread_cond_t *condition)
{
	/* relaxed: it only decides about a record */
	return atom_load_rlx(&condition->__data.__wrefs) >> 3;
}

void sync_signal(const pthread_cond_t *condition)
{
	if (is_awaited(condition) && sync_is_recorded())
		sync_put(EXT_SYNC_RELEASE, SYNC_CONDITION, condition, 0);
}

int new_pthread_cond_signal(pthread_cond_t *condition)
{
	sync_signal(condition);
	return NEXT(pthread_cond_signal)(condition);
}

int new_pthread_cond_broadcast(pthread_cond_t *condition)
{
	sync_signal(condition);
	return NEXT(pthread_cond_broadcast)(condition);
}

COND_FUNCTIONS(EXPORT_NEW)
