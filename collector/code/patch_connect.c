/* SPDX-License-Identifier: Apache-2.0
 *
 * patch_connect - selects functions to connect, computes their bytes, and rolls
 * back after failures (patch.h).
 */
#include "collector/code/patch_inner.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/bytes.h"
#include "collector/base/clock.h"
#include "collector/base/grow.h"
#include "collector/code/thunks.h"
#include "shared/atomic.h"
#include "shared/compiler.h"

/* The mapping must be private and of the module's file, and executable if
 * @is_code. */
static enum patch_reason check_mapping(const struct patch_image *image,
				       const struct image_module *module,
				       uint64_t address, uint32_t length,
				       bool is_code)
{
	const struct text_mapping *mapping =
		text_map_find(&image->map, address, length);

	if (!mapping || (module->inode && mapping->inode != module->inode))
		return PATCH_NOT_MAPPED;
	if (is_code && !mapping->is_executable)
		return PATCH_NOT_EXECUTABLE;
	if (mapping->is_shared)
		return PATCH_SHARED;
	return PATCH_DONE;
}

static enum thunk_side side_of(const struct code_site *site)
{
	if (!site->is_exit)
		return THUNK_SIDE_ENTRY;
	if (site->form == CODE_XRAY_EXIT || site->form == CODE_EXIT_RETURN)
		return THUNK_SIDE_EXIT_JUMP;
	return site->r11_live ? THUNK_SIDE_EXIT_R11 : THUNK_SIDE_EXIT;
}

static void list_areas(struct patch_image *image)
{
	image->area_maps = 0;
	for (size_t i = 0; i < image->map.count; i++) {
		const struct text_mapping *mapping = &image->map.list[i];

		if (image->area_maps < THUNK_MAPS &&
		    thunk_area_is_file(image->area, mapping->device,
				       mapping->inode) &&
		    mapping->is_executable && !mapping->offset &&
		    mapping->end - mapping->start >=
			    thunk_area_size(image->area))
			image->area_map[image->area_maps++] = mapping->start;
	}
}

static bool find_operand(struct patch_image *image, uint64_t address,
			 const struct code_site *site, uint32_t number,
			 int32_t *operand)
{
	const struct site_form *form = site_form(site->form);

	for (size_t i = 0; i < image->area_maps; i++)
		if (thunk_area_operand(image->area, image->area_map[i], number,
				       side_of(site), form->through_memory,
				       address + form->next, operand))
			return true;
	return false;
}

static enum patch_reason check_site(struct patch_image *image,
				    struct image_module *module, uint32_t index,
				    uint32_t number)
{
	const struct code_site *site = &module->plan->sites[index];
	uint64_t address = module->bias + site->address;
	enum patch_reason reason;

	if (!site->count || !site_form(site->form)->length)
		return PATCH_REFUSED;
	if (module->sites[index].state == SITE_FOREIGN)
		return PATCH_DIFFERS;
	reason = check_mapping(image, module, address, site->length, true);
	/* choose_thunk() handles sites of several functions. */
	if (reason != PATCH_DONE || site->count > 1)
		return reason;
	return find_operand(image, address, site, number,
			    &module->sites[index].next_operand)
		       ? PATCH_DONE
		       : PATCH_OUT_OF_REACH;
}

/* A function with a slot has the address that the slot holds. */
static bool address_of_connection(const struct patch_image *image,
				  const struct image_module *module,
				  const struct code_function *function,
				  uint64_t *out)
{
	*out = module->bias + function->address;
	return !function->slot ||
	       memory_read(image->mem, module->bias + function->slot, out,
			   sizeof(*out)) == 0;
}

/* Reads text of a held program, whose functions mostly share a page with the
 * one before. */
static int read_held_text(struct patch_image *image, uint64_t address,
			  uint8_t *out, size_t bytes)
{
	const uint64_t at = address & -(uint64_t)TEXT_PAGE_BYTES;

	if (address + bytes > at + TEXT_PAGE_BYTES)
		return memory_read(image->mem, address, out, bytes);
	if (image->page_at != at) {
		int err = memory_read(image->mem, at, image->page,
				      sizeof(image->page));

		image->page_at = err ? 0 : at;
		if (err)
			return err;
	}
	memcpy(out, image->page + (address - at), bytes);
	return 0;
}

/* Writes the thunk of a moved function. */
static enum patch_reason check_moved(struct patch_image *image,
				     struct image_module *module,
				     const struct code_function *function,
				     const struct patch_function *wanted)
{
	const struct code_plan *plan = module->plan;
	const uint32_t number = wanted->number;
	const uint32_t index = *sites_of(plan, function);
	const uint64_t address = module->bias + plan->sites[index].address;
	const struct code_move *move =
		code_moves_find(&plan->moves, function->address);
	uint8_t now[MOVE_DISPLACED_MAX];
	enum patch_reason reason;
	size_t used = 0;
	int err = -ERANGE;

	if (!image->held)
		return PATCH_RUNS;
	if (!move)
		return PATCH_REFUSED;
	reason = check_mapping(image, module, address,
			       MAX(move->displaced, MOVE_JUMP_BYTES), true);
	if (reason != PATCH_DONE)
		return reason;
	if (read_held_text(image, address, now, move->displaced) < 0 ||
	    memcmp(now, code_move_bytes(&plan->moves, move), move->displaced) !=
		    0)
		return PATCH_DIFFERS;
	for (size_t i = 0; i < image->area_maps && err == -ERANGE; i++) {
		used = i;
		err = thunk_area_add_moved(image->area, number,
					   image->area_map[i], &plan->moves,
					   move, module->bias, &wanted->words);
	}
	if (err)
		return err == -ERANGE ? PATCH_OUT_OF_REACH : PATCH_NUMBER;
	return thunk_area_operand(image->area, image->area_map[used], number,
				  THUNK_SIDE_ENTRY, false,
				  address + site_form(CODE_MOVED)->next,
				  &module->sites[index].next_operand)
		       ? PATCH_DONE
		       : PATCH_OUT_OF_REACH;
}

/* Writes the thunk of a called function, and its address to the slot. */
static enum patch_reason connect_slot(struct patch_image *image,
				      const struct image_module *module,
				      const struct code_site *slot,
				      struct patch_function *wanted)
{
	const uint64_t at = module->bias + slot->address;
	uint64_t thunk =
		image->area_maps
			? thunk_area_address(image->area_map[0], wanted->number)
			: 0;
	enum patch_reason reason =
		check_mapping(image, module, at, sizeof(thunk), false);
	const struct text_mapping *mapping;
	uint64_t now, file;

	if (reason != PATCH_DONE)
		return reason;
	if (!thunk)
		return PATCH_OUT_OF_REACH;
	memcpy(&file, slot->bytes, sizeof(file));
	if (memory_read(image->mem, at, &now, sizeof(now)) < 0)
		return PATCH_NOT_MAPPED;
	wanted->address = now;
	if (now == thunk)
		return PATCH_DONE;
	/* The dynamic linker adds the bias to the address of the stub there. */
	mapping = text_map_find(&image->map, now, 1);
	if (!now || (file && now == file + module->bias))
		return PATCH_UNBOUND;
	if (!mapping || !mapping->is_executable)
		return PATCH_NOT_EXECUTABLE;
	if (thunk_area_add_called(image->area, wanted->number, now,
				  wanted->many_arguments, &wanted->words))
		return PATCH_NUMBER;
	/* The kernel writes an aligned word at once, so any thread may call
	 * meanwhile; pages that are read-only by now as well. */
	return memory_write(image->mem, at, &thunk, sizeof(thunk)) == 0
		       ? PATCH_DONE
		       : PATCH_NO_WRITE;
}

static enum patch_reason check_function(struct patch_image *image,
					struct image_module *module,
					struct patch_function *wanted)
{
	const struct code_plan *plan = module->plan;
	const struct code_function *function =
		&plan->functions[wanted->function];
	enum patch_reason reason = PATCH_DONE;

	if (function->refused)
		return PATCH_REFUSED;
	if (!function->count)
		return PATCH_NO_SITES;
	if (plan->sites[*sites_of(plan, function)].form == CODE_SLOT)
		return connect_slot(image, module,
				    &plan->sites[*sites_of(plan, function)],
				    wanted);
	if (plan->sites[*sites_of(plan, function)].form == CODE_MOVED) {
		wanted->address = module->bias + function->address;
		return check_moved(image, module, function, wanted);
	}
	if (!address_of_connection(image, module, function, &wanted->address))
		return PATCH_NOT_MAPPED;
	if (thunk_area_add(image->area, wanted->number, wanted->address,
			   function->entry_build ? THUNK_ENTRY : THUNK_CALLS))
		return PATCH_NUMBER;
	for (uint32_t i = 0; i < function->count && reason == PATCH_DONE; i++)
		reason = check_site(image, module, sites_of(plan, function)[i],
				    wanted->number);
	return reason;
}

/* Functions that share a site form a group, which is connected completely or
 * not at all. Its root is one of its functions. */
struct batch {
	struct patch_function *list;
	size_t count;
	uint32_t *up; /* parent; the root is its own parent */
	struct change_list changes;
};

static uint32_t root_of(struct batch *batch, uint32_t i)
{
	while (batch->up[i] != i) {
		batch->up[i] = batch->up[batch->up[i]];
		i = batch->up[i];
	}
	return i;
}

static void drop_function(struct patch_image *image,
			  struct patch_function *wanted,
			  enum patch_reason reason)
{
	struct image_module *module = image_module_of(image, wanted->module);

	wanted->reason = reason;
	image_disconnect(image, wanted->module, wanted->function);
	module->batch[wanted->function] = 0;
}

static void begin_function(struct patch_image *image, struct batch *batch,
			   uint32_t index)
{
	struct patch_function *wanted = &batch->list[index];
	struct image_module *module = image_module_of(image, wanted->module);
	uint32_t function = wanted->function;

	if (!module || function >= module->plan->function_count) {
		wanted->reason = PATCH_NO_SITES;
		return;
	}
	if (module->numbers[function]) {
		wanted->reason = module->numbers[function] == wanted->number
					 ? PATCH_DONE
					 : PATCH_NUMBER;
		return;
	}
	wanted->reason = check_function(image, module, wanted);
	if (wanted->reason != PATCH_DONE)
		return;
	if (!image_link_function(image, wanted->number,
				 (uint32_t)wanted->module, function)) {
		wanted->reason = PATCH_NO_MEMORY;
		return;
	}
	module->numbers[function] = wanted->number;
	module->on[function] = (uint8_t)wanted->on;
	module->batch[function] = index + 1;
}

static bool is_begun(const struct patch_image *image, const struct batch *batch,
		     size_t index)
{
	const struct patch_function *wanted = &batch->list[index];
	const struct image_module *module =
		image_module_of(image, wanted->module);

	return wanted->reason == PATCH_DONE && module &&
	       module->batch[wanted->function] == index + 1;
}

/* *@first is the first function of the site that is being connected. */
static bool is_in_batch(const struct image_module *module, uint32_t index,
			uint32_t *first)
{
	const struct code_site *site = &module->plan->sites[index];
	const uint32_t *functions = functions_of(module->plan, site);

	for (uint32_t i = 0; i < site->count; i++)
		if (module->batch[functions[i]]) {
			*first = module->batch[functions[i]] - 1;
			return true;
		}
	return false;
}

static void join_group(struct batch *batch, const struct image_module *module,
		       uint32_t index, uint32_t first)
{
	const struct code_site *site = &module->plan->sites[index];
	const uint32_t *functions = functions_of(module->plan, site);

	for (uint32_t i = 0; i < site->count; i++) {
		uint32_t entry = module->batch[functions[i]];

		if (entry)
			batch->up[root_of(batch, entry - 1)] =
				root_of(batch, first);
	}
}

static enum patch_reason choose_thunk(struct patch_image *image,
				      struct image_module *module,
				      uint32_t index)
{
	const struct code_site *site = &module->plan->sites[index];
	const uint32_t *functions = functions_of(module->plan, site);
	uint32_t numbers[THUNK_CHOICES], count = 0, number;
	struct code_site as_entry = *site;

	for (uint32_t i = 0; i < site->count; i++) {
		if (module->plan->functions[functions[i]].entry_build)
			return PATCH_MERGED;
		if (!module->numbers[functions[i]])
			continue;
		if (count == THUNK_CHOICES)
			return PATCH_MERGED;
		numbers[count++] = module->numbers[functions[i]];
	}
	if (thunk_area_choice(image->area, numbers, count,
			      site->is_exit ? THUNK_SIDE_EXIT
					    : THUNK_SIDE_ENTRY,
			      &number))
		return PATCH_MERGED;
	as_entry.is_exit = false;
	return find_operand(image, module->bias + site->address, &as_entry,
			    number, &module->sites[index].next_operand)
		       ? PATCH_DONE
		       : PATCH_OUT_OF_REACH;
}

static void drop_groups(struct patch_image *image, struct batch *batch,
			const uint8_t *failed)
{
	for (size_t i = 0; i < batch->count; i++)
		if (is_begun(image, batch, i)) {
			uint8_t reason = failed[root_of(batch, (uint32_t)i)];

			if (reason != PATCH_DONE)
				drop_function(image, &batch->list[i],
					      (enum patch_reason)reason);
		}
}

static void take_merged(struct patch_image *image, struct batch *batch,
			uint8_t *failed)
{
	for (size_t m = 0; m < image->module_count; m++) {
		struct image_module *module = &image->modules[m];

		for (size_t i = 0; i < module->merged_count; i++) {
			uint32_t first;

			if (is_in_batch(module, module->merged[i], &first))
				join_group(batch, module, module->merged[i],
					   first);
		}
	}
	for (size_t m = 0; m < image->module_count; m++) {
		struct image_module *module = &image->modules[m];

		for (size_t i = 0; i < module->merged_count; i++) {
			uint32_t first;
			enum patch_reason reason;

			if (!is_in_batch(module, module->merged[i], &first))
				continue;
			reason = choose_thunk(image, module, module->merged[i]);
			if (reason != PATCH_DONE)
				failed[root_of(batch, first)] = (uint8_t)reason;
		}
	}
	drop_groups(image, batch, failed);
}

static bool gather_site(struct batch *batch, struct image_module *module,
			uint32_t index, uint32_t group)
{
	const struct code_site *site = &module->plan->sites[index];
	const struct image_site *now = &module->sites[index];
	struct change *change =
		image_add_change(&batch->changes, module, index, group);

	if (!change)
		return false;
	image_fill_bytes(module, index, (enum site_state)now->state,
			 change->before);
	site_bytes(site->form, site->bytes, image_loudest(module, index),
		   now->next_operand, change->after);
	return true;
}

static bool gather_function(struct batch *batch, struct image_module *module,
			    uint32_t index)
{
	const struct code_plan *plan = module->plan;
	const struct code_function *function =
		&plan->functions[batch->list[index].function];
	const uint32_t *sites = sites_of(plan, function);

	for (uint32_t i = 0; i < function->count; i++)
		if (plan->sites[sites[i]].count == 1 &&
		    plan->sites[sites[i]].form != CODE_SLOT &&
		    !gather_site(batch, module, sites[i],
				 root_of(batch, index)))
			return false;
	return true;
}

static bool gather_batch(struct patch_image *image, struct batch *batch)
{
	for (size_t i = 0; i < batch->count; i++)
		if (is_begun(image, batch, i) &&
		    !gather_function(
			    batch,
			    image_module_of(image, batch->list[i].module),
			    (uint32_t)i))
			return false;
	for (size_t m = 0; m < image->module_count; m++) {
		struct image_module *module = &image->modules[m];

		for (size_t i = 0; i < module->merged_count; i++) {
			uint32_t first;

			if (is_in_batch(module, module->merged[i], &first) &&
			    !gather_site(batch, module, module->merged[i],
					 root_of(batch, first)))
				return false;
		}
	}
	return true;
}

static enum patch_reason reason_of(enum change_result result)
{
	switch (result) {
	case CHANGE_DIFFERS:
		return PATCH_DIFFERS;
	case CHANGE_UNMAPPED:
		return PATCH_NOT_MAPPED;
	case CHANGE_REFUSED:
		return PATCH_NO_WRITE;
	case CHANGE_LOST:
		return PATCH_STUCK;
	default:
		return PATCH_DONE;
	}
}

static void note_operand(struct image_site *site)
{
	site->last_operand =
		site->state == SITE_PLAIN ? site->next_operand : site->operand;
	site->operand = site->next_operand;
}

/* If the site could not be put back, patch_restore() tries again. */
static void end_failed(struct patch_image *image, const struct batch *batch,
		       const struct change *change)
{
	struct image_module *module =
		image_module_of(image, batch->list[change->group].module);
	struct image_site *site = &module->sites[change->index];

	if (change->result != CHANGE_LOST && change->result != CHANGE_WRITTEN)
		return;
	note_operand(site);
	if (change->result == CHANGE_LOST)
		image_set_foreign(image, site);
	else
		image_set_state(image, site,
				image_loudest(module, change->index));
}

/* Keeps the other changes. @written: sites were written, not only verified. */
static void drop_failed(struct patch_image *image, struct batch *batch,
			uint8_t *failed, bool written)
{
	struct change_list *changes = &batch->changes;
	size_t kept = 0;

	for (size_t i = 0; i < changes->count; i++) {
		const struct change *change = &changes->list[i];
		enum patch_reason reason =
			reason_of((enum change_result)change->result);

		if (reason != PATCH_DONE &&
		    failed[change->group] != PATCH_STUCK)
			failed[change->group] = (uint8_t)reason;
	}
	for (size_t i = 0; i < changes->count; i++)
		if (failed[changes->list[i].group] == PATCH_DONE)
			changes->list[kept++] = changes->list[i];
		else if (written)
			end_failed(image, batch, &changes->list[i]);
	changes->count = kept;
	drop_groups(image, batch, failed);
}

static void drop_all(struct patch_image *image, struct batch *batch,
		     enum patch_reason reason)
{
	for (size_t i = 0; i < batch->count; i++)
		if (is_begun(image, batch, i))
			drop_function(image, &batch->list[i], reason);
	batch->changes.count = 0;
}

static bool tell_changes(struct patch_image *image, const struct batch *batch)
{
	const struct change_list *changes = &batch->changes;
	struct bytes entries = { 0 };
	bool told;

	if (!image->tell || !changes->count)
		return true;
	for (size_t i = 0; i < changes->count; i++) {
		const struct change *change = &changes->list[i];
		const struct image_module *module = image_module_of(
			image, batch->list[change->group].module);

		/* Nobody could take it back while the program runs. */
		if (change->form == CODE_MOVED)
			continue;
		patch_entry_put(&entries, module, change->index,
				module->sites[change->index].next_operand);
	}
	told = !entries.failed;
	if (told && entries.count)
		image->tell(image->tell_arg, entries.at, entries.count);
	bytes_release(&entries);
	return told;
}

static void end_batch(struct patch_image *image, struct batch *batch)
{
	for (size_t i = 0; i < batch->changes.count; i++) {
		const struct change *change = &batch->changes.list[i];
		struct image_module *module = image_module_of(
			image, batch->list[change->group].module);
		struct image_site *site = &module->sites[change->index];

		note_operand(site);
		site->connected = image_count_connected(module, change->index);
		image_set_state(image, site,
				image_loudest(module, change->index));
	}
	for (size_t i = 0; i < batch->count; i++)
		if (is_begun(image, batch, i)) {
			image_module_of(image, batch->list[i].module)
				->batch[batch->list[i].function] = 0;
			thunk_area_mute(image->area, batch->list[i].number,
					batch->list[i].on == PATCH_NEITHER);
		}
}

/* Returns true if the program still waits. If not, no function may be moved: a
 * thread may run in the bytes that would be replaced. */
static bool still_holds(struct patch_image *image, struct batch *batch,
			uint8_t *failed)
{
	struct change_list *changes = &batch->changes;

	if (!image->held)
		return false;
	/* order: sc, UNHELD: it waits until the write is done, or we see that it
	 * has left */
	if ((atom_load_sc(image->held->word) & image->held->mask) ==
	    image->held->value)
		return true;
	for (size_t i = 0; i < changes->count; i++)
		if (changes->list[i].form == CODE_MOVED)
			failed[changes->list[i].group] = PATCH_RUNS;
	drop_failed(image, batch, failed, false);
	return false;
}

static void write_connected_batch(struct patch_image *image,
				  struct batch *batch, uint8_t *failed,
				  struct change_costs *costs)
{
	struct change_rules rules = {
		.mem = image->mem,
		.registered = image->registered,
		.whole_groups = true,
	};
	struct change_list *changes = &batch->changes;
	int err;

	changes_sort(changes->list, changes->count);
	err = changes_verify(image->mem, changes->list, changes->count);
	if (!err) {
		drop_failed(image, batch, failed, false);
		if (!tell_changes(image, batch))
			err = -ENOMEM;
	}
	if (!err) {
		rules.held = still_holds(image, batch, failed);
		err = changes_write(&rules, changes->list, changes->count,
				    costs);
	}
	image->gone |= err == -ESRCH;
	if (err)
		drop_all(image, batch,
			 err == -ESRCH ? PATCH_GONE : PATCH_NO_MEMORY);
	else
		drop_failed(image, batch, failed, true);
}

static void connect_batch(struct patch_image *image, struct batch *batch,
			  uint8_t *failed, struct change_costs *costs)
{
	for (size_t i = 0; i < batch->count; i++) {
		batch->up[i] = (uint32_t)i;
		begin_function(image, batch, (uint32_t)i);
	}
	take_merged(image, batch, failed);
	if (gather_batch(image, batch))
		write_connected_batch(image, batch, failed, costs);
	else
		drop_all(image, batch, PATCH_NO_MEMORY);
	end_batch(image, batch);
}

static void refuse_all(struct patch_function *list, size_t count,
		       enum patch_reason reason)
{
	for (size_t i = 0; i < count; i++)
		list[i].reason = reason;
}

size_t patch_connect(struct patch_image *image, struct patch_function *list,
		     size_t count, const struct patch_hold *held)
{
	uint64_t start = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
	struct batch batch = {
		.list = list,
		.count = count,
		.up = calloc(count + 1, sizeof(*batch.up)),
	};
	uint8_t *failed = calloc(count + 1, 1);
	struct change_costs costs = { 0 };
	size_t connected = 0;
	int err = text_map_read(&image->map, image->pid);

	list_areas(image);
	image->held = held;
	image->page_at = 0;
	_Static_assert(PATCH_DONE == 0, "nothing has failed");
	if (image->gone || err == -ENOENT)
		refuse_all(list, count, PATCH_GONE);
	else if (err)
		refuse_all(list, count, PATCH_NO_MAP);
	else if (!batch.up || !failed)
		refuse_all(list, count, PATCH_NO_MEMORY);
	else
		connect_batch(image, &batch, failed, &costs);
	for (size_t i = 0; i < count; i++)
		connected += list[i].reason == PATCH_DONE;
	if (connected)
		thunk_area_show(image->area, image->area_map, image->area_maps);
	free(batch.changes.list);
	free(batch.up);
	free(failed);
	image_count_costs(image, &costs, start);
	return connected;
}
