/* SPDX-License-Identifier: Apache-2.0
 *
 * thread_figures - what the kernel has counted for a recorded thread: read when
 * the thread is met, and at its end.
 */
#ifndef PERFREC_COLLECTOR_DRAIN_THREAD_FIGURES_H
#define PERFREC_COLLECTOR_DRAIN_THREAD_FIGURES_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/base/task_times.h"

struct slot_shm;

/* Sets *@out and *@ns (BOOTTIME: when) to what the thread that had @slot has
 * told at its end: as the program says, unchecked; state is 0. False: it has
 * told nothing. The thread is gone. Any thread. */
bool thread_figures_told(const struct slot_shm *slot, struct task_times *out,
			 uint64_t *ns);

#endif
