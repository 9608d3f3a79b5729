/* SPDX-License-Identifier: Apache-2.0
 *
 * flat_stacks - the stacks of the nodes of a calling-context tree. The jobs
 * thread.
 */
#ifndef PERFREC_COLLECTOR_FILES_FLAT_STACKS_H
#define PERFREC_COLLECTOR_FILES_FLAT_STACKS_H

#include <stdint.h>

struct cct_flat;
struct stacks;

/* The numbers in @stacks of the stacks of all nodes of @flat, which are added
 * to
 * @stacks: an array that the caller frees. NULL: out of memory. */
uint32_t *flat_stacks(const struct cct_flat *flat, struct stacks *stacks);

#endif
