/* SPDX-License-Identifier: Apache-2.0
 *
 * site_shm - the sites: the places in the program that record annotations. The
 * program describes each site once, in the arena; records have the site's id.
 *
 * The writer takes an id (page->site_count) and room (page->site_bytes), writes
 * the entry, and stores its offset + 1 for the id in ARENA_SITES. That
 * completes the entry, which never changes again. Records use the id only
 * afterwards, so the reader of a record finds a complete site. A forked child
 * continues in the same arena.
 *
 * The entries are hostile input: the reader loads offset, bytes and every
 * length once, and checks them against SITE_BYTES.
 */
#ifndef PERFREC_SHARED_SITE_SHM_H
#define PERFREC_SHARED_SITE_SHM_H

#include <stdint.h>

enum site_kind {
	SITE_SPAN = 1, /* slices and instants */
	SITE_COUNTER = 2,
	SITE_TRACK = 3, /* a track that the program names at compile time */
	SITE_HEAP = 4, /* an allocator of the program's own */
	SITE_STATE = 5,
};

enum site_unit {
	UNIT_UNSPECIFIED = 0,
	UNIT_TIME_NS = 1,
	UNIT_COUNT = 2,
	UNIT_BYTES = 3,
	UNIT_CUSTOM = 4, /* unit_name has it */
};

enum site_flags {
	SITE_DOUBLE = 1 << 0, /* a counter's values are doubles */
	SITE_INCREMENTAL = 1 << 1, /* each value is a step */
	SITE_OF_THREAD = 1 << 2, /* one counter for each thread */
	SITE_TRIGGER = 1 << 3, /* an instant that makes the flight recorder
				* write a snapshot */
};

/* Order of the tracks below a track. */
enum track_order {
	ORDER_UNSPECIFIED = 0,
	ORDER_LEXICOGRAPHIC = 1,
	ORDER_CHRONOLOGICAL = 2,
	ORDER_EXPLICIT = 3, /* by rank */
};

/* Siblings that a viewer shows as one track. */
enum track_merge {
	MERGE_BY_NAME = 0,
	MERGE_NONE = 1,
};

enum track_kind {
	TRACK_SLICES = 0,
	TRACK_STATES = 1,
};

#define TRACK_PROCESS 0 /* parent: the process' own track */
#define TRACK_GLOBAL UINT64_MAX /* parent: none */
#define TRACK_THREAD (UINT64_MAX - 1) /* parent: the thread that records */

#define SITE_KEYS_MAX 64

/* The texts follow the struct, each with its NUL, in this order: name,
 * category, file, function, unit_name, description, then the key of each
 * argument. */
struct site_shm {
	uint32_t bytes; /* of struct and texts, a multiple of 16 */
	uint8_t kind; /* enum site_kind */
	uint8_t unit; /* enum site_unit, of a counter */
	uint16_t flags; /* enum site_flags */
	uint32_t line;
	uint32_t keys; /* number of keys */
	int64_t multiplier; /* of a counter's unit; 0 is 1 */
	uint64_t track, parent; /* SITE_TRACK: its number, and the number of its
				 * parent or one of TRACK_... */
	uint8_t order, merge, track_kind, pad;
	int32_t rank;
	uint16_t text_bytes[6]; /* without the NUL: name ... description */
	uint16_t pad2[2];
};

_Static_assert(sizeof(struct site_shm) % 16 == 0, "layout");

#endif
