/* SPDX-License-Identifier: Apache-2.0
 *
 * code_scan - scans the text, without decoding, for references to hooks and to
 * the starts of pieces.
 */
#ifndef PERFREC_COLLECTOR_CODE_CODE_SCAN_H
#define PERFREC_COLLECTOR_CODE_CODE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/code/code_pieces.h"

struct code_file;

struct code_target { /* leads to a hook */
	uint64_t address;
	bool is_exit;
};

struct code_targets {
	struct code_target *list;
	size_t count, room;
};

struct code_scan {
	struct code_targets slots; /* of the GOT */
	struct code_targets stubs; /* of the PLT */
	/* Addresses of possible relative operands that reach a slot or stub;
	 * sorted. */
	uint64_t *hits;
	size_t hit_count, hit_room;
};

/* Reads no code. Returns 0 or -ENOMEM. */
int code_scan_slots(struct code_scan *scan, struct code_file *file);
/* Also marks pieces as entries. Returns 0 or -ENOMEM. */
int code_scan_file(struct code_scan *scan, struct code_file *file,
		   struct code_pieces *pieces);
void code_scan_release(struct code_scan *scan);

/* Returns true if the two bytes at @before can precede the operand of a call, a
 * jump or a load. */
bool code_scan_is_use(const uint8_t before[2]);

const struct code_target *code_target_at(const struct code_targets *targets,
					 uint64_t address);
/* *@out is the first hit at or after @start. */
bool code_scan_hit(const struct code_scan *scan, uint64_t start, uint64_t end,
		   size_t *out);

#endif
