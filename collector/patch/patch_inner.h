/* SPDX-License-Identifier: Apache-2.0
 *
 * patch_inner - what the files of patch share: patch.c, patch_list.c.
 */
#ifndef PERFREC_COLLECTOR_PATCH_PATCH_INNER_H
#define PERFREC_COLLECTOR_PATCH_PATCH_INNER_H

#include "collector/code/code_plan.h"
#include "collector/patch/changes.h"
#include "collector/patch/forms.h"
#include "collector/patch/patch.h"
#include "collector/patch/text_map.h"

struct image_site {
	int32_t operand; /* leads to its thunk; of no meaning in state PLAIN */
	int32_t next_operand; /* that it is to get */
	int32_t last_operand; /* that it had before */
	uint32_t connected; /* functions, of those that it stands for */
	uint8_t state; /* enum site_state */
	bool is_half; /* found off with the body of the file, or with the last
		       * operand */
};

struct image_module {
	const struct code_plan *plan; /* NULL: forgotten, or never there */
	uint64_t bias;
	ino_t inode;
	struct image_site *sites; /* as plan->sites */
	uint32_t *numbers; /* as plan->functions; 0: not connected */
	bool *on; /* the same, of those with numbers */
	uint32_t *batch; /* the same: 1 + index in the list that is being
			  * connected; 0: not in it */
	uint32_t *merged; /* sites that stand for several functions */
	size_t merged_count;
};

/* A function of a number. Those of the same number are a chain. */
struct image_link {
	uint32_t module, function;
	uint32_t next; /* 1 + index; 0: the last */
};

struct patch_image {
	struct thunk_area *area;
	pid_t pid;
	int mem;
	bool registered, gone;
	struct image_module *modules;
	size_t module_count, module_room;
	uint32_t *head; /* [FUNCTIONS_MAX], 1 + index of links */
	struct image_link *links;
	size_t link_count, link_room;
	uint32_t free_links; /* a chain */
	struct text_map map; /* while functions are connected */
	patch_tell *tell;
	void *tell_arg;
	struct patch_counts counts;
};

/* Changes of many sites that are being gathered. */
struct change_list {
	struct change *list;
	size_t count, room;
};

/* Appends the entry of a list for a site in @module that has, or will have,
 * @operand. */
void patch_entry_put(struct bytes *out, const struct image_module *module,
		     uint32_t site, int32_t operand);

#endif
