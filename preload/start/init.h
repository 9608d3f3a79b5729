/* SPDX-License-Identifier: Apache-2.0
 *
 * init - recording starts, goes on in a forked child, and ends.
 */
#ifndef PERFREC_PRELOAD_START_INIT_H
#define PERFREC_PRELOAD_START_INIT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What to do while the gate is not settled: start recording (the first hook may
 * run before our constructor), or go on in a forked child. Returns the gate
 * word; 0 when another thread, or the code this handler interrupted, is
 * starting just now. Any context.
 */
uint64_t init_gate(void);

/* Whether this process is being recorded. Does not start that, but goes on in
 * a forked child that has not recorded yet. Any context. */
bool init_is_recording(void);

/* Recording is over for this process, for good. Any context. */
void init_switch_off(void);

#endif
