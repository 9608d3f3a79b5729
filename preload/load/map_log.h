/* SPDX-License-Identifier: Apache-2.0
 *
 * map_log - tells the collector what is loaded and unloaded after hello.
 */
#ifndef PERFREC_PRELOAD_LOAD_MAP_LOG_H
#define PERFREC_PRELOAD_LOAD_MAP_LOG_H

#include <stdbool.h>
#include <stdint.h>

/* Just before hello: learn what is loaded already, which the collector will
 * read in /proc. */
void map_begin(void);

/*
 * The program calls dlopen(), is about to call dlclose(@handle), or exits: tell
 * what has changed since the last of these. They wait for ld.so's lock, as
 * those functions do. Where nothing is recorded they do nothing, and
 * map_close_begin() returns false; after true, map_close_end() must follow.
 */
void map_open(void);
bool map_close_begin(const void *handle);
void map_close_end(void);
void map_exit(void);

/* What addresses mean that are recorded from here on: how many modules this
 * process has unloaded. Any context. */
uint32_t map_generation(void);

/* This thread has just got a slot, and the epoch that goes with it. */
void map_attached(void);

/*
 * This thread, which has not followed the news that @gate tells of, runs
 * @function: tell its module if nobody has; back to the fast path once nothing
 * is doubtful. Attached threads only; any context; no lock of ld.so.
 */
void map_follow(uint64_t gate, uint64_t function);

#endif
