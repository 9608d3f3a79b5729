/* SPDX-License-Identifier: Apache-2.0
 *
 * libc - the functions of the C library that the shim calls, found in that
 * library's symbol table, because the program may define the same names. None
 * of them allocates, uses stdio, or takes a lock that an interrupted thread may
 * hold. Callable from any context.
 */
#ifndef PERFREC_PRELOAD_CORE_LIBC_H
#define PERFREC_PRELOAD_CORE_LIBC_H

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "shared/compiler.h"

typedef int libc_visit(struct dl_phdr_info *module, size_t size, void *context);

/*
 * X(name, symbol, result, parameters)
 *
 * "early": called while recording starts; "slow": called on slow paths.
 *
 * errno_location	a wrapper fails by itself; errno is kept where a call
 *			below may change it
 * clock_gettime	the clock if the CPU's counter is not usable (vDSO)
 * getauxval		early: CPU features and setuid, from the kernel
 * register_atfork	early: FORKING before fork()
 * key_create		early: destructors at a thread's end
 * key_delete		early: keys that were made and are not needed
 * setspecific		slow: a thread's first record
 * self			slow: finds a thread when another names it
 * attr_init		slow: default stack size of a new thread
 * attr_getstacksize	slow: stack size of a new thread
 * iterate_phdr		early: searches for callers of hooks; slow: dlopen()
 * find_object		slow: the module of a caller or function
 */
#define LIBC_FUNCTIONS(X)                                                      \
	X(errno_location, "__errno_location", int *, (void))                   \
	X(clock_gettime, "clock_gettime", int, (clockid_t, struct timespec *)) \
	X(getauxval, "getauxval", unsigned long, (unsigned long))              \
	X(register_atfork, "__register_atfork", int,                           \
	  (void (*)(void), void (*)(void), void (*)(void), void *))            \
	X(key_create, "pthread_key_create", int,                               \
	  (pthread_key_t *, void (*)(void *)))                                 \
	X(key_delete, "pthread_key_delete", int, (pthread_key_t))              \
	X(setspecific, "pthread_setspecific", int,                             \
	  (pthread_key_t, const void *))                                       \
	X(self, "pthread_self", pthread_t, (void))                             \
	X(attr_init, "pthread_attr_init", int, (pthread_attr_t *))             \
	X(attr_getstacksize, "pthread_attr_getstacksize", int,                 \
	  (const pthread_attr_t *, size_t *))                                  \
	X(iterate_phdr, "dl_iterate_phdr", int, (libc_visit *, void *))        \
	X(find_object, "_dl_find_object", int,                                 \
	  (void *, struct dl_find_object *))

#define LIBC_POINTER(name, symbol, result, parameters) result(*name) parameters;

/* Functions that the C library lacks return -1. */
struct libc {
	LIBC_FUNCTIONS(LIBC_POINTER)
	const ptrdiff_t *rseq_offset; /* of a thread's rseq area */
	const unsigned int *rseq_size; /* NULL or 0: libc registered none */
	char ***environ; /* libc's own, or the program's copy */
	void *const *stack_end; /* of the main thread: the address of argc */
	const char *single_threaded; /* not 0: one thread; NULL: unknown */
	bool known; /* the lookup is complete */
};

extern struct libc g_libc;

void libc_find(void);

/* Returns the functions, and looks them up if necessary. */
static inline const struct libc *libc(void)
{
	if (unlikely(!g_libc.known))
		libc_find();
	return &g_libc;
}

/* Returns the environment; NULL until the C library knows it. */
static inline char **libc_environ(void)
{
	return libc()->environ ? *libc()->environ : NULL;
}

/* libc_environ() that also works in .preinit_array, with the environment from
 * the kernel. NULL until the dynamic linker has finished. */
char **libc_start_environ(void);

#endif
