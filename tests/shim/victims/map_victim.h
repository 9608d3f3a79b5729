/* SPDX-License-Identifier: Apache-2.0
 *
 * map_victim - definitions shared by map_victim, its plugins and test_map.
 */
#ifndef PERFREC_TESTS_SHIM_MAP_VICTIM_H
#define PERFREC_TESTS_SHIM_MAP_VICTIM_H

#include <stdint.h>

#define MAP_PLUGINS 4
#define MAP_IDLE 0x1000 /* the program's own function */
#define MAP_NOTES_MAX 200000
#define MAP_RELOADS 1000 /* by each of two threads */

struct map_call {
	int32_t tid;
	int32_t id;
	uint64_t function;
};

/* The result file: calls in order for each thread. */
struct map_notes {
	uint32_t count;
	struct map_call call[MAP_NOTES_MAX];
};

/* Called by each function of a plugin. */
void map_note(void *function, int id);
/* map_plugin */
int map_call(int x);
/* map_opener */
void *map_open_beside(const char *name);
void *map_open_apart(const char *name);

#endif
