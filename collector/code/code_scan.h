/* SPDX-License-Identifier: Apache-2.0
 *
 * code_scan - a fast look at all bytes of the text, without decoding: where
 * four bytes could reach a hook, and which pieces something could call.
 */
#ifndef PERFREC_COLLECTOR_CODE_CODE_SCAN_H
#define PERFREC_COLLECTOR_CODE_CODE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/code/code_pieces.h"

struct code_file;

struct code_target { /* what stands for a hook */
	uint64_t address;
	bool is_exit;
};

struct code_targets {
	struct code_target *list; /* by address */
	size_t count, room;
};

struct code_scan {
	struct code_targets slots; /* of the GOT, with a hook's address */
	struct code_targets stubs; /* code that does no more than jump to the
				    * hook through such a slot: the PLT */
	/* Where four bytes are the distance of a slot or a stub from the
	 * instruction's end, by address. */
	uint64_t *hits;
	size_t hit_count, hit_room;
};

/* Finds the slots, which takes no look at the code. 0 or -ENOMEM. */
int code_scan_slots(struct code_scan *scan, struct code_file *file);
/* Then the rest; marks the pieces that something could call. 0 or -ENOMEM. */
int code_scan_file(struct code_scan *scan, struct code_file *file,
		   struct code_pieces *pieces);
void code_scan_release(struct code_scan *scan);

const struct code_target *code_target_at(const struct code_targets *targets,
					 uint64_t address);
/* Whether there is a hit in [@start, @end). *@out is then the first. */
bool code_scan_hit(const struct code_scan *scan, uint64_t start, uint64_t end,
		   size_t *out);

#endif
