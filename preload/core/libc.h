/* SPDX-License-Identifier: Apache-2.0
 *
 * libc - the functions of the C library that the shim calls. It finds them in
 * that library's own symbol table, as the program may define the same names for
 * itself. None of them takes a lock that a signal handler could find taken,
 * allocates, or touches stdio.
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
 * clock_gettime	the clock where the CPU's counter will not do (vDSO)
 * getauxval		early: the kernel's view of the CPU and of setuid
 * register_atfork	early: FORKING before fork()
 * key_create		early: to hear of a thread's end
 * key_delete		early: keys that were made and are not needed
 * setspecific		slow: a thread's first record
 * self			slow: finds a thread when another names it
 * attr_init		slow: the usual stack of a thread that is made
 * attr_getstacksize	slow: the stack of a thread that is made
 * iterate_phdr		early: does anything here call hooks; slow: dlopen()
 * find_object		slow: which module a caller or a function is of
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

/* A function that this C library does not have is one that returns -1. */
struct libc {
	LIBC_FUNCTIONS(LIBC_POINTER)
	const ptrdiff_t *rseq_offset; /* of a thread's rseq area */
	const unsigned int *rseq_size; /* NULL or 0: libc registered none */
	char ***environ; /* libc's own, or the program's copy of it */
	void *const *stack_end; /* of the main thread: argc lies there */
	const char *single_threaded; /* not 0: there is one thread, for sure;
				      * NULL: it does not say */
	bool known; /* there is nothing more to look up */
};

extern struct libc g_libc;

/* Look everything up. Any context. */
void libc_find(void);

/* The functions, looked up if need be. Any context. */
static inline const struct libc *libc(void)
{
	if (unlikely(!g_libc.known))
		libc_find();
	return &g_libc;
}

/* The environment; NULL as long as the C library does not know it. */
static inline char **libc_environ(void)
{
	return libc()->environ ? *libc()->environ : NULL;
}

/* The same; what .preinit_array runs gets the environment that the kernel has
 * passed. NULL until the dynamic linker has finished. Any context. */
char **libc_start_environ(void);

#endif
