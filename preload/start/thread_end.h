/* SPDX-License-Identifier: Apache-2.0
 *
 * thread_end - what happens when a recorded thread ends.
 */
#ifndef PERFREC_PRELOAD_START_THREAD_END_H
#define PERFREC_PRELOAD_START_THREAD_END_H

/* Once, while recording starts. */
void thread_end_init(void);

#endif
