/* SPDX-License-Identifier: Apache-2.0
 *
 * thread_samples - samples that a thread took of itself.
 */
#ifndef PERFREC_COLLECTOR_DRAIN_THREAD_SAMPLES_H
#define PERFREC_COLLECTOR_DRAIN_THREAD_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

#include "shared/record_ext.h"

struct replay;
struct thread;

/* Posts an EXT_ALLOC_SAMPLE or EXT_CPU_SAMPLE (record_ext.h), whose @count
 * cells are a copy, while @replay runs. Returns 0, or -EBADMSG if it is
 * malformed. The drain worker of @thread. */
int thread_sample(struct thread *thread, struct replay *replay,
		  const struct record *cells, size_t count);

#endif
