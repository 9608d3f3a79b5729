/* SPDX-License-Identifier: Apache-2.0
 *
 * cut_threads - the threads that a user selects for a cut. A name is the last
 * one of a thread. Packets of a thread may precede its name, so names are
 * resolved before the cut. For a process of one thread.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_CUT_THREADS_H
#define PERFREC_COLLECTOR_COMMAND_CUT_THREADS_H

#include "collector/cut/packet_window.h"

/* Adds the threads with the number or name @word in the trace at @path to
 * @threads. The caller frees threads->tids. Returns 0, -ESRCH after one line in
 * the log if there are none, or another -errno of reading. */
int cut_threads_find(const char *word, const char *path,
		     struct cut_threads *threads);

#endif
