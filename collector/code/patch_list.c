/* SPDX-License-Identifier: Apache-2.0
 *
 * patch_list - the list of changed sites, and restoring from it (patch.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/bytes.h"
#include "collector/code/patch_inner.h"

/* In host byte order, since the list stays on this machine. */
struct entry {
	uint64_t address;
	int32_t operand;
	uint8_t form;
	uint8_t is_exit;
	uint8_t unused[2];
	uint8_t plain[CODE_SITE_BYTES];
	uint32_t file; /* low half of the mapped inode; 0: unknown */
};

_Static_assert(sizeof(struct entry) == 32, "no padding");

void patch_entry_put(struct bytes *out, const struct image_module *module,
		     uint32_t index, int32_t operand)
{
	const struct code_site *site = &module->plan->sites[index];
	struct entry entry = {
		.address = module->bias + site->address,
		.operand = operand,
		.form = site->form,
		.is_exit = site->is_exit,
		.file = (uint32_t)module->inode,
	};

	memcpy(entry.plain, site->bytes, sizeof(entry.plain));
	bytes_put(out, &entry, sizeof(entry));
}

/* A child forked during a change may have the last operand. */
static void export_site(struct bytes *out, const struct image_module *module,
			uint32_t index)
{
	const struct image_site *site = &module->sites[index];

	if (site->state == SITE_PLAIN ||
	    module->plan->sites[index].form == CODE_MOVED)
		return;
	patch_entry_put(out, module, index, site->operand);
	if (site->last_operand != site->operand)
		patch_entry_put(out, module, index, site->last_operand);
}

void patch_export(const struct patch_image *image, struct bytes *out)
{
	for (size_t m = 0; m < image->module_count; m++) {
		const struct image_module *module = &image->modules[m];

		for (size_t i = 0; module->plan && i < module->plan->site_count;
		     i++)
			export_site(out, module, (uint32_t)i);
	}
}

static struct change change_of(const struct entry *entry, size_t index)
{
	struct change change = {
		.address = entry->address,
		.form = entry->form,
		.is_exit = entry->is_exit != 0,
		.index = (uint32_t)index,
	};

	memcpy(change.after, entry->plain, sizeof(change.after));
	return change;
}

/* Returns NULL and sets *@err if an entry is invalid. */
static struct change *parse(const uint8_t *entries, size_t count, int *err)
{
	struct change *list = calloc(count, sizeof(*list));

	*err = list ? 0 : -ENOMEM;
	for (size_t i = 0; !*err && i < count; i++) {
		struct entry entry;

		memcpy(&entry, entries + i * sizeof(entry), sizeof(entry));
		if (!site_form(entry.form)->length ||
		    entry.form >= CODE_MOVED || entry.address > UINT64_MAX / 2)
			*err = -EINVAL;
		else
			list[i] = change_of(&entry, i);
	}
	if (!*err)
		return list;
	free(list);
	return NULL;
}

/* A body in two pages is written in two parts, and the writer may be killed
 * between them. */
static bool is_torn(const struct entry *entry, const uint8_t *now)
{
	const struct site_form *form = site_form(entry->form);
	uint8_t ours[CODE_SITE_BYTES];

	site_bytes(entry->form, entry->plain, SITE_OFF, entry->operand, ours);
	for (uint8_t i = 0; i < form->length; i++) {
		bool in_body = i >= form->body && i < form->body_end;

		if (now[i] != ours[i] &&
		    !(in_body && now[i] == entry->plain[i]))
			return false;
	}
	return true;
}

static bool is_there(const struct text_map *map, const struct entry *entry)
{
	const struct text_mapping *mapping = text_map_find(
		map, entry->address, site_form(entry->form)->length);

	return mapping && !mapping->is_shared &&
	       (!entry->file || (uint32_t)mapping->inode == entry->file);
}

/* Verdicts on an entry, the best last. */
enum verdict {
	VERDICT_FOREIGN,
	VERDICT_UNCHANGED,
	VERDICT_OURS,
};

static enum verdict judge_change(const uint8_t *entries,
				 const struct text_map *map,
				 const struct change *change)
{
	struct entry entry;
	bool ignored;

	if (change->result != CHANGE_WRITTEN)
		return VERDICT_FOREIGN;
	memcpy(&entry, entries + change->index * sizeof(entry), sizeof(entry));
	if (map && !is_there(map, &entry))
		return VERDICT_FOREIGN;
	switch (site_state_of(entry.form, entry.plain, entry.operand,
			      change->before, &ignored)) {
	case SITE_PLAIN:
		return VERDICT_UNCHANGED;
	case SITE_FOREIGN:
		return is_torn(&entry, change->before) ? VERDICT_OURS
						       : VERDICT_FOREIGN;
	default:
		return VERDICT_OURS;
	}
}

/* Keeps the entries whose bytes are still ours. Entries of one site may differ
 * in their thunks. If other sites overlap, the first wins. */
static size_t keep_ours(const uint8_t *entries, const struct text_map *map,
			struct change *list, size_t count,
			struct patch_restored *restored)
{
	uint64_t end = 0;
	size_t kept = 0;

	for (size_t i = 0, next; i < count; i = next) {
		enum verdict best = VERDICT_FOREIGN;
		size_t which = i;

		for (next = i;
		     next < count && list[next].address == list[i].address;
		     next++) {
			enum verdict verdict =
				judge_change(entries, map, &list[next]);

			if (verdict <= best)
				continue;
			best = verdict;
			which = next;
		}
		if (list[i].address < end)
			best = VERDICT_FOREIGN;
		else
			end = list[which].address +
			      site_form(list[which].form)->length;
		restored->unchanged += best == VERDICT_UNCHANGED;
		restored->foreign += best == VERDICT_FOREIGN;
		if (best == VERDICT_OURS)
			list[kept++] = list[which];
	}
	return kept;
}

static int restore(const struct change_rules *rules, const uint8_t *entries,
		   const struct text_map *map, struct change *list,
		   size_t count, struct patch_restored *restored)
{
	struct change_costs costs = { 0 };
	int err;

	changes_sort(list, count);
	err = changes_read(rules->mem, list, count);
	if (err)
		return err;
	count = keep_ours(entries, map, list, count, restored);
	err = changes_write(rules, list, count, &costs);
	for (size_t i = 0; !err && i < count; i++)
		if (list[i].result == CHANGE_WRITTEN)
			restored->restored++;
		else
			restored->foreign++;
	return err;
}

size_t patch_entries_whole(size_t bytes)
{
	return bytes - bytes % sizeof(struct entry);
}

int patch_restore_from(int mem, const void *entries, size_t bytes,
		       bool registered, const struct text_map *map,
		       struct patch_restored *restored)
{
	const struct change_rules rules = {
		.mem = mem,
		.registered = registered,
		.to_hooks = true,
	};
	size_t count = bytes / sizeof(struct entry);
	struct patch_restored ignored;
	struct change *list;
	int err;

	if (!restored)
		restored = &ignored;
	*restored = (struct patch_restored){ 0 };
	if (bytes % sizeof(struct entry))
		return -EINVAL;
	if (!count)
		return 0;
	list = parse(entries, count, &err);
	if (!list)
		return err;
	err = restore(&rules, entries, map, list, count, restored);
	free(list);
	return err;
}
