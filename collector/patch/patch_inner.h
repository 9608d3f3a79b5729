/* SPDX-License-Identifier: Apache-2.0
 *
 * patch_inner - what the files of patch share: patch.c,
 * patch_connect.c, patch_list.c.
 */
#ifndef PERFREC_COLLECTOR_PATCH_PATCH_INNER_H
#define PERFREC_COLLECTOR_PATCH_PATCH_INNER_H

#include "collector/code/code_plan.h"
#include "collector/patch/changes.h"
#include "collector/patch/forms.h"
#include "collector/patch/patch.h"
#include "collector/patch/text_map.h"
#include "shared/function_shm.h"

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
	uint8_t *on; /* the same, of those with numbers: enum patch_sites */
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
	uint64_t area_map[THUNK_MAPS]; /* the same: where the area is */
	size_t area_maps;
	patch_tell *tell;
	void *tell_arg;
	struct patch_counts counts;
};

/* Changes of many sites that are being gathered. */
struct change_list {
	struct change *list;
	size_t count, room;
};

/* The sites of a function, and the functions that a site stands for. */
static inline const uint32_t *sites_of(const struct code_plan *plan,
				       const struct code_function *function)
{
	return plan->function_sites + function->first;
}

static inline const uint32_t *functions_of(const struct code_plan *plan,
					   const struct code_site *site)
{
	return plan->site_functions + site->first;
}

/* The module with that number; NULL: there is none. */
struct image_module *image_module_of(const struct patch_image *image,
				     int module);

/* Adds what @costs say, and the time since @start. */
void image_count_costs(struct patch_image *image,
		       const struct change_costs *costs, uint64_t start);

/* What became of a site, in the image and in its counts. */
void image_set_state(struct patch_image *image, struct image_site *site,
		     enum site_state state);
void image_set_foreign(struct patch_image *image, struct image_site *site);

/* @function, an index in the plan of @module, gets a number: false: no memory.
 * And it is not connected any more, or not after all. */
bool image_link_function(struct patch_image *image, uint32_t number,
			 uint32_t module, uint32_t function);
void image_disconnect(struct patch_image *image, int module, uint32_t function);

/* Appends a change of site @index of @module, with nothing in before and after.
 * NULL: no memory. */
struct change *image_add_change(struct change_list *changes,
				const struct image_module *module,
				uint32_t index, uint32_t group);
/* What site @index should be: as loud as the loudest of its functions. One that
 * is not connected needs its hook. */
enum site_state image_loudest(const struct image_module *module,
			      uint32_t index);
/* How many functions of site @index are connected. */
uint32_t image_count_connected(const struct image_module *module,
			       uint32_t index);
/* The bytes of site @index in @state, with the operand that it has. */
void image_fill_bytes(const struct image_module *module, uint32_t index,
		      enum site_state state, uint8_t *out);

/* Appends the entry of a list for a site in @module that has, or will have,
 * @operand. */
void patch_entry_put(struct bytes *out, const struct image_module *module,
		     uint32_t site, int32_t operand);

#endif
