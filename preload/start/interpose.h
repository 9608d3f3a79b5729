/* SPDX-License-Identifier: Apache-2.0
 *
 * interpose - C functions that the assembly of vfork() and syscall() calls.
 */
#ifndef PERFREC_PRELOAD_START_INTERPOSE_H
#define PERFREC_PRELOAD_START_INTERPOSE_H

/*
 * Prepares for system call @number with these arguments. It may restrict hooks:
 * a seccomp filter may kill for any system call, and seccomp's strict mode and
 * PR_SET_TSC make rdtsc fault in this thread. Or it may end the thread or the
 * process.
 */
void interpose_syscall(long number, unsigned long first, unsigned long second,
		       unsigned long third);

/* Returns the next definition of syscall(), for a tail jump. */
void *interpose_real_syscall(void);

/* Called before vfork() and in the parent after it. The child has the parent's
 * memory and must not record. */
void interpose_vfork_begin(void);
void interpose_vfork_end(void);

/* Sets errno to @errnum, a positive number. Returns -1. */
int interpose_error(int errnum);

#endif
