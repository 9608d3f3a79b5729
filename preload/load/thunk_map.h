/* SPDX-License-Identifier: Apache-2.0
 *
 * thunk_map - the mappings of the thunk area (function_shm.h) in this process,
 * one in reach of a call from each module.
 */
#ifndef PERFREC_PRELOAD_LOAD_THUNK_MAP_H
#define PERFREC_PRELOAD_LOAD_THUNK_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "shared/function_shm.h"
#include "shared/ring_shm.h"

/* The modes of functions, for assembly. */
extern const struct thunk_mode *g_thunk_modes
	__attribute__((visibility("hidden")));

/* Bytes of all thunks, for assembly. */
extern uint64_t g_thunk_code_bytes __attribute__((visibility("hidden")));

/* Maps the area of @fd, which the caller keeps, near all loaded modules. It has
 * thunks for @functions numbers. Returns false if no mapping is possible. Once,
 * while recording starts, before the arena is mapped, which may occupy near
 * places. */
bool thunk_map_begin(int fd, uint32_t functions);
/* Unmaps it all, unpublished. */
void thunk_map_end(void);

/* The program locks its memory, which would allocate the whole area. Unmaps it
 * for good, unless functions call thunks. Any thread. */
void thunk_map_give_back(void);

/* Publishes all mappings, and later ones, in @page->thunks before hello.
 * Returns false if there is none. */
bool thunk_map_publish(struct page_shm *page);

/* Maps the area near a module that is about to be reported, with text from
 * @start to @end, if no mapping is in reach. Does nothing without an area, or
 * in a forked child, because the published mappings are its parent's. Under
 * map_log.c's lock; makes system calls. */
void thunk_map_near(uint64_t start, uint64_t end);

/* Returns the bytes of each mapping. Any context. */
uint64_t thunk_map_bytes(void);

/* Returns the number of the function whose thunk has the code at @address, and
 * the @offset in it; 0: it is no thunk. Any context. */
uint32_t thunk_map_number(uint64_t address, uint64_t *offset);

/* Returns the address of a mapping of the area that has @address, if functions
 * were moved; else 0. Any context. */
uint64_t thunk_map_of_moved(uint64_t address);
/* Returns the address of the mapping at @index below THUNK_MAPS, if functions
 * were moved; else 0. Any context. */
uint64_t thunk_map_moved(unsigned int index);

/* Returns the ELF file at @index below THUNK_MAPS (function_shm.h), and sets its
 * *@bytes; NULL: there is none. Any context. */
const void *thunk_map_file(unsigned int index, uint64_t *bytes);

/* Returns the mode of a function; path THUNK_COUNT if none. Any context. */
const struct thunk_mode *thunk_map_mode(uint32_t number);

/* Returns the words wanted of moved function @number; all 0 if none. Any
 * context. */
const struct thunk_words *thunk_map_words(uint32_t number);

#endif
