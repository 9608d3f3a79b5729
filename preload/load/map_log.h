/* SPDX-License-Identifier: Apache-2.0
 *
 * map_log - reports modules that are loaded and unloaded after hello.
 */
#ifndef PERFREC_PRELOAD_LOAD_MAP_LOG_H
#define PERFREC_PRELOAD_LOAD_MAP_LOG_H

#include <stdbool.h>
#include <stdint.h>

/* Fills the table before hello, silently: the collector reads /proc. */
void map_begin(void);

/*
 * Report changes since the last of these calls, when the program calls
 * dlopen(), before and after dlclose(@handle), and at exit. All wait for
 * ld.so's lock. Without recording they do nothing. After map_close_begin()
 * returned true, map_close_end() must follow.
 */
void map_open(void);
bool map_close_begin(const void *handle);
void map_close_end(void);
void map_exit(void);

/* While @adding is true, only map_arrive() reports new modules. For the thread that
 * holds the dynamic linker's lock, before new modules are in its list, and after
 * map_arrive(). */
void map_set_adding(bool adding);
/* Reports changes while the dynamic linker, which holds its lock, has new modules
 * that it has not relocated yet (opening.h). @number returns the number that they
 * are reported under (enum opening_shm). */
void map_arrive(uint32_t (*number)(void));

/* Makes the collector look for new modules, also if no hook runs: functions of
 * an entry build call none before it has found them (states_follow.c). */
void map_tell_opening(void);

/* RTLD_DEEPBIND is used: from now on, binds new libraries (bind.h). */
void map_open_deep(void);
/* The program calls dlsym(). After a dlopen(), finds thread_context in a new
 * library; after one with RTLD_DEEPBIND, also reports changes. */
void map_look_up(void);

/* This thread has just claimed a slot; it may have to check functions. */
void map_attached(void);

/*
 * This thread runs @function, and has not followed the latest change of the
 * load map. Returns true if it may take the fast path after a MAP record.
 * Returns false while it must check functions; then it reports the module of
 * @function if that is new. Attached threads only; any context; takes no lock
 * of ld.so.
 */
bool map_follow(uint64_t function);

#endif
