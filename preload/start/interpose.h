/* SPDX-License-Identifier: Apache-2.0
 *
 * interpose - what the assembly of vfork() and syscall() calls in C.
 */
#ifndef PERFREC_PRELOAD_START_INTERPOSE_H
#define PERFREC_PRELOAD_START_INTERPOSE_H

/*
 * System call @number is about to be made with these arguments. It may forbid
 * the hooks something: a seccomp filter may kill for any system call; seccomp's
 * strict mode and PR_SET_TSC make rdtsc a fault in this thread. Or the thread
 * ends by it, or the process.
 */
void interpose_syscall(long number, unsigned long first, unsigned long second,
		       unsigned long third);

/* The next definition of syscall(), for a tail jump. */
void *interpose_real_syscall(void);

/* Before vfork(), and in the parent after it: the child has the parent's
 * memory, and must not record. */
void interpose_vfork_begin(void);
void interpose_vfork_end(void);

/* Set errno to @errnum, a positive number. Returns -1. */
int interpose_error(int errnum);

#endif
