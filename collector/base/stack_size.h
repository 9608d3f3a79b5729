/* SPDX-License-Identifier: Apache-2.0
 *
 * stack_size - the stack size of threads, independent of the `ulimit -s` of the
 * caller: names of 4,096 bytes are demangled by recursion.
 */
#ifndef PERFREC_COLLECTOR_BASE_STACK_SIZE_H
#define PERFREC_COLLECTOR_BASE_STACK_SIZE_H

#define STACK_SIZE_BYTES (8UL << 20)

/* Gives all later threads stacks of STACK_SIZE_BYTES; only used pages take
 * memory. The stack of the calling main thread may grow as far, unless the hard
 * limit is lower. Call it before other threads exist. */
void stack_size_set(void);

#endif
