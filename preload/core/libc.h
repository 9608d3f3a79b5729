/* SPDX-License-Identifier: Apache-2.0
 *
 * libc - what the shim asks of the C library, taken from that library's own
 * table: what a program defines under these names is the program's. Nothing
 * here takes a lock that a signal handler could find taken, allocates, or
 * touches stdio; "early" and "slow" say where it is called.
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
 * errno_location	where a wrapper fails by itself; kept where a call
 *			below may change it
 * clock_gettime	vDSO: the clock where the CPU's counter will not do
 * getauxval		early: the kernel's view of the CPU and of setuid
 * register_atfork	early: FORKING before fork()
 * key_create		early: to hear of a thread's end
 * key_delete		early: no collector, so no need to hear
 * setspecific		slow: a thread's first record
 * self			slow: finds a thread when another names it
 * attr_init		slow: the usual stack of a thread that is made
 * attr_getstacksize	slow: the stack of a thread that is made
 * iterate_phdr		early: does anything here call hooks; dlopen()
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

/* Functions that this C library does not have fail, or find nothing. */
struct libc {
	LIBC_FUNCTIONS(LIBC_POINTER)
	const ptrdiff_t *rseq_offset; /* where it put this thread's rseq area */
	const unsigned int *rseq_size; /* NULL or 0: it registered none */
	char ***environ; /* its own, or the program's copy of it */
	bool known;
};

extern struct libc g_libc;

/* Looks everything up. */
void libc_find(void);

/* Any context. */
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

#endif
