/* SPDX-License-Identifier: Apache-2.0
 *
 * stack_size - how large the stacks of threads are. What a thread needs must
 * not depend on `ulimit -s` of whoever starts the program: names of 4,096
 * bytes are demangled by recursion.
 */
#ifndef PERFREC_COLLECTOR_BASE_STACK_SIZE_H
#define PERFREC_COLLECTOR_BASE_STACK_SIZE_H

#define STACK_SIZE_BYTES (8UL << 20)

/* Gives all threads that are started from now on stacks of STACK_SIZE_BYTES,
 * of which they take what they use. The stack of the calling main thread may
 * grow as far, unless the hard limit is lower. Call it before other threads
 * exist. */
void stack_size_set(void);

#endif
