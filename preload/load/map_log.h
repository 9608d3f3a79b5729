/* SPDX-License-Identifier: Apache-2.0
 *
 * map_log - tells the collector what is loaded and unloaded after the hello.
 */
#ifndef PERFREC_PRELOAD_LOAD_MAP_LOG_H
#define PERFREC_PRELOAD_LOAD_MAP_LOG_H

#include <stdbool.h>
#include <stdint.h>

/* Just before the hello: learn what is loaded already. The collector will read
 * that in /proc, so it is not told. */
void map_begin(void);

/*
 * Tell what has changed since the last of these calls: the program calls
 * dlopen(), is about to call dlclose(@handle), has called it, or exits. All of
 * them wait for ld.so's lock, as dlopen() does. Where nothing is recorded they
 * do nothing. If map_close_begin() returns true, map_close_end() must follow.
 */
void map_open(void);
bool map_close_begin(const void *handle);
void map_close_end(void);
void map_exit(void);

/* The program opens a library with RTLD_DEEPBIND: from now on libraries that
 * are loaded later are bound to the shim (bind.h). */
void map_open_deep(void);
/* The program calls dlsym(), perhaps for such a library: as map_open(), where
 * there may be one. */
void map_look_up(void);

/* This thread has just got a slot, and the epoch that goes with it: it may have
 * to look at what it calls. */
void map_attached(void);

/*
 * There is news of the load map that this thread has not followed, and it runs
 * @function. True when nothing is in doubt: the thread may go back to the fast
 * path once it has put a MAP record. False while it must look at what it runs:
 * then the module of @function is told, if nobody has told it. Attached threads
 * only; any context; takes no lock of ld.so.
 */
bool map_follow(uint64_t function);

#endif
