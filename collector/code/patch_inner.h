/* SPDX-License-Identifier: Apache-2.0
 *
 * patch_inner - shared by patch.c, patch_connect.c and patch_list.c.
 */
#ifndef PERFREC_COLLECTOR_CODE_PATCH_INNER_H
#define PERFREC_COLLECTOR_CODE_PATCH_INNER_H

#include "collector/code/changes.h"
#include "collector/code/code_plan.h"
#include "collector/code/forms.h"
#include "collector/code/patch.h"
#include "collector/code/text_map.h"
#include "shared/function_shm.h"

#define TEXT_PAGE_BYTES 4096u

struct image_site {
	int32_t operand; /* leads to its thunk; unused if PLAIN */
	int32_t next_operand;
	int32_t last_operand;
	uint32_t connected;
	uint8_t state; /* enum site_state */
	bool is_half; /* off with the file's body or last_operand */
};

struct image_module {
	const struct code_plan *plan; /* NULL: forgotten */
	uint64_t bias;
	ino_t inode;
	struct image_site *sites;
	uint32_t *numbers; /* by plan->functions; 0: not connected */
	uint8_t *on; /* enum patch_sites, the same */
	uint32_t *batch; /* 1 + index in the batch; 0: not in it */
	uint32_t *merged; /* of several functions */
	size_t merged_count;
};

/* Chain of the functions with one number. */
struct image_link {
	uint32_t module, function;
	uint32_t next; /* 1 + index; 0: end */
};

struct patch_image {
	struct thunk_area *area;
	pid_t pid;
	int mem;
	bool registered, gone;
	const struct patch_hold *held; /* valid in patch_connect() */
	struct image_module *modules;
	size_t module_count, module_room;
	uint32_t *head; /* [FUNCTIONS_MAX], 1 + index of links */
	struct image_link *links;
	size_t link_count, link_room;
	uint32_t free_links; /* chain */
	struct text_map map; /* valid in patch_connect() */
	/* The page of text that was read last, valid in patch_connect(). The
	 * copy lacks the jumps written after that. */
	uint64_t page_at; /* 0: none */
	uint8_t page[TEXT_PAGE_BYTES];
	uint64_t area_map[THUNK_MAPS];
	size_t area_maps;
	patch_tell *tell;
	void *tell_arg;
	struct patch_counts counts;
};

struct change_list {
	struct change *list;
	size_t count, room;
};

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

/* Returns NULL if there is no such module. */
struct image_module *image_module_of(const struct patch_image *image,
				     int module);

/* Adds the CPU time since @start. */
void image_count_costs(struct patch_image *image,
		       const struct change_costs *costs, uint64_t start);

void image_set_state(struct patch_image *image, struct image_site *site,
		     enum site_state state);
void image_set_foreign(struct patch_image *image, struct image_site *site);

/* Linking returns false if out of memory. */
bool image_link_function(struct patch_image *image, uint32_t number,
			 uint32_t module, uint32_t function);
void image_disconnect(struct patch_image *image, int module, uint32_t function);

/* Appends an empty change. Returns NULL if out of memory. */
struct change *image_add_change(struct change_list *changes,
				const struct image_module *module,
				uint32_t index, uint32_t group);
/* Returns the state that the loudest function of site @index needs. Functions
 * that are not connected need their hooks. */
enum site_state image_loudest(const struct image_module *module,
			      uint32_t index);
uint32_t image_count_connected(const struct image_module *module,
			       uint32_t index);
void image_fill_bytes(const struct image_module *module, uint32_t index,
		      enum site_state state, uint8_t *out);

void patch_entry_put(struct bytes *out, const struct image_module *module,
		     uint32_t site, int32_t operand);

#endif
