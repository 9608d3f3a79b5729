/* SPDX-License-Identifier: Apache-2.0
 *
 * thread_end - the end of a recorded thread.
 */
#ifndef PERFREC_PRELOAD_START_THREAD_END_H
#define PERFREC_PRELOAD_START_THREAD_END_H

/* Once, while recording starts. */
void thread_end_init(void);

#endif
