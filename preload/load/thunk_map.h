/* SPDX-License-Identifier: Apache-2.0
 *
 * thunk_map - where the thunk area (function_shm.h) is mapped in this process:
 * so near to each module that a call in the module reaches it.
 */
#ifndef PERFREC_PRELOAD_LOAD_THUNK_MAP_H
#define PERFREC_PRELOAD_LOAD_THUNK_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "shared/function_shm.h"
#include "shared/ring_shm.h"

/* Map the area behind @fd, which stays the caller's, near all modules that are
 * loaded. False where it cannot be mapped at all. Once, while recording starts;
 * before the arena is mapped, which may fill what is near. */
bool thunk_map_begin(int fd);
/* Undo that: nobody knows of it. */
void thunk_map_end(void);

/* The program locks its memory, which would fill the area: unmap it in this
 * process, unless functions call thunks. They never will then. Any thread. */
void thunk_map_give_back(void);

/* Say in @page->thunks, which is about to be offered, where the area is mapped,
 * and go on to say so. False, with nothing done, if it is nowhere. */
bool thunk_map_publish(struct page_shm *page);

/* A module has its text at @start to @end, and is about to be told: map the
 * area near it, if it is mapped anywhere and no mapping is near. In a forked
 * child nothing is done, as what is published is its parent's. Under
 * map_log.c's lock; makes system calls. */
void thunk_map_near(uint64_t start, uint64_t end);

/* The mode of function @number, one of "none" if there is no area or no such
 * number. Any context. */
const struct thunk_mode *thunk_map_mode(uint32_t number);

#endif
