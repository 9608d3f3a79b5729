/* SPDX-License-Identifier: Apache-2.0
 *
 * code_plan - the order of work:
 *
 *  1. code_file reads the file, code_pieces finds its functions, code_scan
 *     where hooks could be called.
 *  2. code_flow follows each function with such a place; code_entries those of
 *     an entry build.
 *  3. What they found is put together here: a site is in the plan if all who
 *     reached it know for which functions it may stand, and a function is
 *     refused if any of its sites is not, or might not be.
 */
#include "collector/code/code_plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/code/code_entries.h"
#include "collector/code/code_file.h"
#include "collector/code/code_flow.h"
#include "collector/code/code_found.h"
#include "collector/code/code_scan.h"
#include "collector/names/elf_read.h"
#include "shared/compiler.h"

const struct code_limits code_limits_usual = { 1ull << 30, 1ull << 30 };

struct code_plan_work {
	struct code_file file;
	struct code_pieces pieces;
	struct code_scan scan;
	struct code_found found;
	struct code_flow flow;
	struct code_entries entries;
	size_t next; /* piece */
	bool is_second; /* those that no function jumped into */
	bool is_followed; /* all pieces; only entries are left */
};

/* --- following -------------------------------------------------------------
 */

/* 1: there are pieces left. */
static int follow_pieces(struct code_plan_work *work, uint64_t bytes)
{
	uint64_t done = 0;
	int err = 0;

	while (!err && work->next < work->pieces.count && done <= bytes) {
		struct code_piece *piece = &work->pieces.list[work->next++];
		size_t hit;

		if ((!work->is_second && !piece->is_entry) ||
		    (work->is_second && piece->is_done) ||
		    !code_scan_hit(&work->scan, piece->start,
				   piece->start + piece->bytes, &hit))
			continue;
		done += piece->bytes;
		err = code_flow_follow(&work->flow, piece);
	}
	if (err || work->next < work->pieces.count)
		return err ? err : 1;
	work->next = 0;
	work->is_followed = work->is_second;
	work->is_second = true;
	return !work->is_followed;
}

/* --- putting together ------------------------------------------------------
 */

static int compare_uses(const void *left, const void *right)
{
	const struct code_use *a = left, *b = right;

	if (a->site != b->site)
		return a->site < b->site ? -1 : 1;
	if (a->is_known != b->is_known)
		return a->is_known ? 1 : -1;
	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return (a->slot > b->slot) - (a->slot < b->slot);
}

/* Each use once, by site; the unknown ones of a site come first. */
static void sort_uses(struct code_found *found)
{
	size_t kept = 0;

	if (!found->use_count)
		return;
	qsort(found->uses, found->use_count, sizeof(*found->uses),
	      compare_uses);
	for (size_t i = 1; i < found->use_count; i++)
		if (compare_uses(&found->uses[kept], &found->uses[i]))
			found->uses[++kept] = found->uses[i];
	found->use_count = kept + 1;
}

static int compare_functions(const void *left, const void *right)
{
	const struct code_function *a = left, *b = right;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return (a->slot > b->slot) - (a->slot < b->slot);
}

static int make_functions(struct code_plan *plan,
			  const struct code_found *found)
{
	size_t count = 0, kept = 0;
	struct code_function *list = calloc(
		found->use_count + found->blame_count + 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < found->use_count; i++)
		if (found->uses[i].is_known)
			list[count++] = (struct code_function){
				.address = found->uses[i].address,
				.slot = found->uses[i].slot,
				.entry_build = found->uses[i].entry_build,
			};
	for (size_t i = 0; i < found->blame_count; i++)
		if (found->blames[i].is_function)
			list[count++] = (struct code_function){
				.address = found->blames[i].address,
				.entry_build = true,
			};
	qsort(list, count, sizeof(*list), compare_functions);
	for (size_t i = 1; i < count; i++)
		if (compare_functions(&list[kept], &list[i]) ||
		    list[kept].entry_build != list[i].entry_build)
			list[++kept] = list[i];
	plan->functions = list;
	plan->function_count = count ? kept + 1 : 0;
	return 0;
}

static void refuse(struct code_function *function, enum code_refusal refusal,
		   uint64_t at)
{
	if (function->refused)
		return;
	function->refused = (uint8_t)refusal;
	function->refused_at = at;
}

/* The first function at @address with @slot, or behind it. */
static size_t find_function(const struct code_plan *plan, uint64_t address,
			    uint64_t slot)
{
	const struct code_function wanted = { .address = address,
					      .slot = slot };
	size_t low = 0, high = plan->function_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_functions(&plan->functions[middle], &wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void refuse_at(struct code_plan *plan, const struct code_blame *blame)
{
	/* Functions with slots have no address: there may be many. */
	uint64_t slot = blame->address ? 0 : blame->slot;

	for (size_t i = find_function(plan, blame->address, slot);
	     i < plan->function_count &&
	     plan->functions[i].address == blame->address &&
	     (blame->address || plan->functions[i].slot == slot);
	     i++)
		refuse(&plan->functions[i], blame->refusal, blame->at);
}

static void refuse_blamed(struct code_plan *plan,
			  const struct code_found *found)
{
	for (size_t i = 0; i < found->blame_count; i++)
		refuse_at(plan, &found->blames[i]);
	for (size_t i = 0; i < plan->function_count; i++) {
		struct code_function *function = &plan->functions[i];

		if (found->all.refusal)
			refuse(function, found->all.refusal, found->all.at);
		if (i && function->address &&
		    function->address == function[-1].address) {
			refuse(function, CODE_TWO_ADDRESSES, 0);
			refuse(function - 1, CODE_TWO_ADDRESSES, 0);
		}
	}
}

/* The number of the function that @use is about. */
static uint32_t number_of(const struct code_plan *plan,
			  const struct code_use *use)
{
	size_t i = find_function(plan, use->address, use->slot);

	while (i + 1 < plan->function_count &&
	       plan->functions[i].address == use->address &&
	       (plan->functions[i].slot != use->slot ||
		plan->functions[i].entry_build != use->entry_build))
		i++;
	return (uint32_t)i;
}

/* The uses from @use on until @end are about one site. It goes into the plan,
 * or its functions are refused. */
static void add_site(struct code_plan *plan, const struct code_use *use,
		     const struct code_use *end, size_t *names)
{
	const struct code_site *last =
		plan->site_count ? &plan->sites[plan->site_count - 1] : NULL;
	const uint8_t *bytes =
		code_file_at(&plan->work->file, use->site, use->length);
	const bool overlaps = last && last->address + last->length > use->site;
	struct code_site site = { .address = use->site,
				  .form = use->form,
				  .length = use->length,
				  .is_exit = use->is_exit,
				  .r11_live = use->r11_live,
				  .first = (uint32_t)*names };

	if (use->is_known && bytes && !overlaps) {
		memcpy(site.bytes, bytes, site.length);
		for (; use < end; use++)
			plan->site_functions[(*names)++] = number_of(plan, use);
		site.count = (uint32_t)*names - site.first;
		plan->sites[plan->site_count++] = site;
		return;
	}
	plan->unknown_sites++;
	for (; use < end; use++)
		if (use->is_known)
			refuse(&plan->functions[number_of(plan, use)],
			       overlaps ? CODE_UNDECODED
					: CODE_UNKNOWN_FUNCTION,
			       use->site);
}

static int make_sites(struct code_plan *plan, const struct code_found *found)
{
	size_t names = 0;

	plan->sites = calloc(found->use_count + 1, sizeof(*plan->sites));
	plan->site_functions =
		calloc(found->use_count + 1, sizeof(*plan->site_functions));
	if (!plan->sites || !plan->site_functions)
		return -ENOMEM;
	for (size_t i = 0, next; i < found->use_count; i = next) {
		next = i + 1;
		while (next < found->use_count &&
		       found->uses[next].site == found->uses[i].site)
			next++;
		add_site(plan, &found->uses[i], &found->uses[next], &names);
	}
	return 0;
}

/* Counts the sites of each function, then lists them. */
static int list_sites(struct code_plan *plan)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < plan->site_count; i++)
		for (uint32_t j = 0; j < plan->sites[i].count; j++, sum++)
			plan->functions
				[plan->site_functions[plan->sites[i].first + j]]
					.count++;
	plan->function_sites = calloc(sum + 1, sizeof(*plan->function_sites));
	if (!plan->function_sites)
		return -ENOMEM;
	sum = 0;
	for (size_t i = 0; i < plan->function_count; i++) {
		plan->functions[i].first = sum;
		sum += plan->functions[i].count;
		plan->functions[i].count = 0;
	}
	for (uint32_t i = 0; i < plan->site_count; i++)
		for (uint32_t j = 0; j < plan->sites[i].count; j++) {
			struct code_function *function =
				&plan->functions[plan->site_functions
							 [plan->sites[i].first +
							  j]];

			plan->function_sites[function->first +
					     function->count++] = i;
		}
	return 0;
}

/* What is left but never entered: its call must be somewhere unseen. */
static void refuse_without_entry(struct code_plan *plan)
{
	for (size_t i = 0; i < plan->function_count; i++) {
		struct code_function *function = &plan->functions[i];
		bool has_entry = false;

		for (uint32_t j = 0; j < function->count; j++) {
			uint32_t site =
				plan->function_sites[function->first + j];

			has_entry |= !plan->sites[site].is_exit;
		}
		if (!has_entry)
			refuse(function, CODE_NO_ENTRY, 0);
	}
}

static void free_work(struct code_plan *plan)
{
	struct code_plan_work *work = plan->work;

	if (!work)
		return;
	code_flow_release(&work->flow);
	code_entries_release(&work->entries);
	code_found_release(&work->found);
	code_scan_release(&work->scan);
	code_pieces_release(&work->pieces);
	code_file_release(&work->file);
	free(work);
	plan->work = NULL;
}

static int finish(struct code_plan *plan)
{
	struct code_found *found = &plan->work->found;
	int err;

	sort_uses(found);
	err = make_functions(plan, found);
	if (!err)
		err = make_sites(plan, found);
	if (!err)
		err = list_sites(plan);
	if (err)
		return err;
	refuse_blamed(plan, found);
	refuse_without_entry(plan);
	plan->decoded = found->decoded;
	free_work(plan);
	return 0;
}

/* Whether the four bytes at @hit, in no function that we know, are those of an
 * instruction that calls a hook, jumps to it, or loads its address; in an entry
 * of the PLT they are not meant. */
static bool is_wild(const struct code_plan_work *work, uint64_t hit)
{
	const uint8_t *at = code_file_at(&work->file, hit - 2, 2);

	if (!at || code_pieces_at(&work->pieces, hit) ||
	    code_target_at(&work->scan.stubs, hit - 2))
		return false;
	return at[1] == 0xe8 || at[1] == 0xe9 ||
	       (at[0] == 0xff && (at[1] == 0x15 || at[1] == 0x25)) ||
	       (at[0] == 0x0f && (at[1] & 0xf0) == 0x80) ||
	       ((at[0] == 0x8b || at[0] == 0x8d) && (at[1] & 0xc7) == 5);
}

/* Code that nothing describes may have any function inlined. */
static void refuse_if_wild(struct code_plan_work *work)
{
	for (size_t i = 0; i < work->scan.hit_count; i++)
		if (is_wild(work, work->scan.hits[i])) {
			work->found.all = (struct code_blame){
				.at = work->scan.hits[i],
				.refusal = CODE_UNKNOWN_FUNCTION,
			};
			return;
		}
}

/* --- the calls -------------------------------------------------------------
 */

/* 0 or -ENOMEM. A file without symbols has pieces all the same. */
static int find_pieces(struct code_plan_work *work,
		       const struct code_input *input)
{
	struct elf_functions functions = { 0 };
	const char *ignored;
	int err;

	if (input->functions)
		(void)input->functions(input->context, &functions);
	else
		(void)elf_read_functions(input->fd, -1, &functions, &ignored);
	err = code_pieces_find(&work->pieces, &work->file, &functions);
	free(functions.list);
	free(functions.strings);
	return err;
}

static int read_file(struct code_plan_work *work,
		     const struct code_input *input, uint64_t text_max,
		     const char **why)
{
	struct code_source source = { .fd = input->fd,
				      .read = input->read,
				      .context = input->context,
				      .size = input->size };
	int err = code_file_read(&work->file, &source, text_max, why);

	free(source.window);
	if (err)
		return err;
	*why = "it defines the hooks itself";
	if (work->file.defines_hooks)
		return -EPERM;
	*why = "not enough memory";
	err = code_scan_slots(&work->scan, &work->file);
	if (err)
		return err;
	/* As most libraries: nobody looks at their code. */
	*why = "it calls no hooks";
	if (!work->scan.slots.count && !work->file.entry_kinds)
		return -ENODATA;
	*why = "not enough memory";
	err = find_pieces(work, input);
	if (!err)
		err = code_scan_file(&work->scan, &work->file, &work->pieces);
	if (!err)
		refuse_if_wild(work);
	return err;
}

int code_plan_begin(const struct code_input *input,
		    const struct code_limits *limits, struct code_plan **out,
		    const char **why)
{
	struct code_plan *plan = calloc(1, sizeof(*plan));
	struct code_plan_work *work = calloc(1, sizeof(*work));
	int err;

	*out = NULL;
	*why = "not enough memory";
	if (!plan || !work) {
		free(plan);
		free(work);
		return -ENOMEM;
	}
	if (!limits)
		limits = &code_limits_usual;
	plan->work = work;
	work->file.budget.left = limits->memory;
	work->found.budget = &work->file.budget;
	work->flow.file = work->entries.file = &work->file;
	work->flow.scan = &work->scan;
	work->flow.found = work->entries.found = &work->found;
	work->flow.group.pieces = work->entries.pieces = &work->pieces;
	err = read_file(work, input, limits->text_bytes, why);
	plan->text_bytes = work->file.text_bytes;
	if (err)
		code_plan_free(&plan);
	*out = plan;
	return err;
}

int code_plan_step(struct code_plan *plan, uint64_t bytes)
{
	struct code_plan_work *work = plan->work;
	int err;

	if (!work)
		return 0;
	if (!work->is_followed) {
		err = follow_pieces(work, bytes);
		return err < 0 ? err : 1;
	}
	err = code_entries_step(&work->entries, bytes);
	if (err)
		return err;
	return finish(plan);
}

int code_plan_new(int fd, const struct code_limits *limits,
		  struct code_plan **out, const char **why)
{
	const struct code_input input = { .fd = fd };
	int err = code_plan_begin(&input, limits, out, why);

	if (err)
		return err;
	do
		err = code_plan_step(*out, UINT64_MAX / 2);
	while (err == 1);
	if (err) {
		*why = "not enough memory";
		code_plan_free(out);
	}
	return err;
}

void code_plan_free(struct code_plan **plan)
{
	if (!*plan)
		return;
	free_work(*plan);
	free((*plan)->functions);
	free((*plan)->sites);
	free((*plan)->site_functions);
	free((*plan)->function_sites);
	free(*plan);
	*plan = NULL;
}
