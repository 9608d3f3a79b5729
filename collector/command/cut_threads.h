/* SPDX-License-Identifier: Apache-2.0
 *
 * cut_threads - the threads that a person chose for a cut. A name is that which
 * the thread has in the end: a packet of a thread may stand before the one that
 * gives it its name, so names are looked up before anything is cut. For a
 * process of one thread.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_CUT_THREADS_H
#define PERFREC_COLLECTOR_COMMAND_CUT_THREADS_H

#include "collector/cut/packet_window.h"

/* Adds the threads of the trace at @path that have the number or the name @word
 * to @threads, whose tids the caller frees. 0; -ESRCH after one line in the
 * log: there is none; or another -errno of reading. */
int cut_threads_find(const char *word, const char *path,
		     struct cut_threads *threads);

#endif
