/* SPDX-License-Identifier: Apache-2.0
 *
 * code_plan - the order of work:
 *
 * 1. code_file, code_pieces and code_scan find functions and possible calls.
 * 2. code_flow follows functions of calls builds; code_entries finds the
 *    sites of entry builds. In a file without hooks or an entry build,
 *    code_facts and code_moves find the functions that can be moved.
 * 3. This file merges the findings. A function is refused if any of its
 *    sites is missing or may be missing.
 */
#include "collector/code/code_plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/search.h"
#include "collector/code/code_calls.h"
#include "collector/code/code_entries.h"
#include "collector/code/code_facts.h"
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
	struct code_facts facts;
	bool moves; /* it has no hooks: find functions to move */
	bool moves_entries; /* an entry build: the same, before its sites */
	bool only_calls; /* of other files, through slots */
	size_t next;
	bool is_second; /* pieces that no function jumped into */
	bool is_followed; /* only entry builds remain */
};

/* --- following ----------------------------------------------------------- */

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

/* --- putting together ---------------------------------------------------- */

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
				.name = found->uses[i].name,
				.entry_build = found->uses[i].entry_build,
			};
	for (size_t i = 0; i < found->blame_count; i++)
		if (found->blames[i].is_function)
			list[count++] = (struct code_function){
				.address = found->blames[i].address,
				.slot = found->blames[i].slot,
				.name = found->blames[i].name,
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

static void refuse_function(struct code_function *function,
			    enum code_refusal refusal, uint64_t at)
{
	if (function->refused)
		return;
	function->refused = (uint8_t)refusal;
	function->refused_at = at;
}

static size_t find_planned_function(const struct code_plan *plan,
				    uint64_t address, uint64_t slot)
{
	const struct code_function wanted = { .address = address,
					      .slot = slot };

	return search_first(i, plan->function_count,
			    compare_functions(&plan->functions[i], &wanted) >=
				    0);
}

static void refuse_at(struct code_plan *plan, const struct code_blame *blame)
{
	/* Functions with address 0 differ by slot. */
	uint64_t slot = blame->address ? 0 : blame->slot;

	for (size_t i = find_planned_function(plan, blame->address, slot);
	     i < plan->function_count &&
	     plan->functions[i].address == blame->address &&
	     (blame->address || plan->functions[i].slot == slot);
	     i++)
		refuse_function(&plan->functions[i], blame->refusal, blame->at);
}

static void refuse_blamed(struct code_plan *plan,
			  const struct code_found *found)
{
	for (size_t i = 0; i < found->blame_count; i++)
		refuse_at(plan, &found->blames[i]);
	for (size_t i = 0; i < plan->function_count; i++) {
		struct code_function *function = &plan->functions[i];

		if (found->all.refusal)
			refuse_function(function, found->all.refusal,
					found->all.at);
		if (i && function->address &&
		    function->address == function[-1].address) {
			refuse_function(function, CODE_TWO_ADDRESSES, 0);
			refuse_function(function - 1, CODE_TWO_ADDRESSES, 0);
		}
	}
}

static uint32_t planned_number(const struct code_plan *plan,
			       const struct code_use *use)
{
	size_t i = find_planned_function(plan, use->address, use->slot);

	while (i + 1 < plan->function_count &&
	       plan->functions[i].address == use->address &&
	       (plan->functions[i].slot != use->slot ||
		plan->functions[i].entry_build != use->entry_build))
		i++;
	return (uint32_t)i;
}

/* [@use, @end) are the uses of one site. */
static void add_planned_site(struct code_plan *plan, const struct code_use *use,
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
			plan->site_functions[(*names)++] =
				planned_number(plan, use);
		site.count = (uint32_t)*names - site.first;
		plan->sites[plan->site_count++] = site;
		return;
	}
	plan->unknown_sites++;
	for (; use < end; use++)
		if (use->is_known)
			refuse_function(
				&plan->functions[planned_number(plan, use)],
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
		add_planned_site(plan, &found->uses[i], &found->uses[next],
				 &names);
	}
	return 0;
}

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

/* The entry call of such a function was not found. */
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
			refuse_function(function, CODE_NO_ENTRY, 0);
	}
}

static void free_work(struct code_plan *plan)
{
	struct code_plan_work *work = plan->work;

	if (!work)
		return;
	code_flow_release(&work->flow);
	code_entries_release(&work->entries);
	code_facts_release(&work->facts);
	code_found_release(&work->found);
	code_scan_release(&work->scan);
	code_pieces_release(&work->pieces);
	code_file_release(&work->file);
	free(work);
	plan->work = NULL;
}

static int finish_plan(struct code_plan *plan)
{
	struct code_found *found = &plan->work->found;
	int err;
	size_t kept = 0;

	/* A file with hooks may name its own functions by slots. */
	err = code_calls_find(&plan->work->file, found,
			      plan->work->moves || plan->work->only_calls);
	if (err)
		return err;
	/* Unknown uses of a site come first. */
	if (found->use_count) {
		qsort(found->uses, found->use_count, sizeof(*found->uses),
		      compare_uses);
		for (size_t i = 1; i < found->use_count; i++)
			if (compare_uses(&found->uses[kept], &found->uses[i]))
				found->uses[++kept] = found->uses[i];
		found->use_count = kept + 1;
	}
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
	plan->is_moved = plan->work->moves;
	plan->slot_names = plan->work->file.slot_names;
	plan->work->file.slot_names = NULL;
	free_work(plan);
	return 0;
}

/* Four bytes outside of all functions that look like the operand of a call,
 * jump or load of a hook. Entries of the PLT do not count. */
static bool is_wild(const struct code_plan_work *work, uint64_t hit)
{
	const uint8_t *at = code_file_at(&work->file, hit - 2, 2);

	if (!at || code_pieces_at(&work->pieces, hit) ||
	    code_target_at(&work->scan.stubs, hit - 2))
		return false;
	return code_scan_is_use(at);
}

/* Code outside of all pieces may contain any function inlined. */
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

/* --- the calls ----------------------------------------------------------- */

/* Works without symbols, from .eh_frame. Returns 0 or -ENOMEM. */
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

static int read_plan_file(struct code_plan_work *work,
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
	/* Most libraries end here, so their code is not scanned. */
	*why = "it calls no hooks";
	work->moves = !work->scan.slots.count && !work->file.entry_kinds;
	work->moves_entries = work->file.entry_kinds && input->moves;
	work->only_calls = work->moves && !input->moves;
	if (work->only_calls) {
		work->moves = false;
		return work->file.slot_count ? 0 : -ENODATA;
	}
	*why = "not enough memory";
	err = find_pieces(work, input);
	if (work->moves)
		return err;
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
	work->entries.moves = &plan->moves;
	work->facts.file = &work->file;
	work->facts.pieces = &work->pieces;
	work->file.calls = input->calls;
	work->file.calls_context = input->context;
	err = read_plan_file(work, input, limits->text_bytes, why);
	plan->text_bytes = work->file.text_bytes;
	if (err)
		code_plan_free(&plan);
	*out = plan;
	return err;
}

/* Returns 1 if there is more, 0 when all functions are decided, or -ENOMEM. */
static int step_moves(struct code_plan *plan, uint64_t bytes)
{
	struct code_plan_work *work = plan->work;
	uint64_t done = 0;
	int err = 0;

	/* A decision needs the facts of all pieces. */
	if (!work->facts.done) {
		err = code_facts_step(&work->facts, bytes);
		return err < 0 ? err : 1;
	}
	for (; work->next < work->pieces.count && done < bytes && !err;
	     work->next++) {
		const struct code_piece *piece = &work->pieces.list[work->next];
		uint8_t refusal;

		done += piece->bytes;
		if (work->moves)
			err = code_moves_add(&plan->moves, &work->facts,
					     work->next, &work->found);
		else if (piece->has_hooks &&
			 code_facts_is_function(&work->facts, work->next))
			err = code_moves_try(&plan->moves, &work->facts,
					     work->next, &work->found,
					     &refusal);
	}
	return err ? err : work->next < work->pieces.count;
}

int code_plan_step(struct code_plan *plan, uint64_t bytes)
{
	struct code_plan_work *work = plan->work;
	int err;

	if (!work)
		return 0;
	if (work->only_calls)
		return finish_plan(plan);
	if (work->moves) {
		err = step_moves(plan, bytes);
		return err ? err : finish_plan(plan);
	}
	if (!work->is_followed) {
		err = follow_pieces(work, bytes);
		if (!err)
			code_entries_mark(&work->entries);
		return err < 0 ? err : 1;
	}
	if (work->moves_entries) {
		err = step_moves(plan, bytes);
		work->moves_entries = err;
		return err < 0 ? err : 1;
	}
	err = code_entries_step(&work->entries, bytes);
	return err ? err : finish_plan(plan);
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

bool code_plan_moves(const struct code_plan *plan,
		     const struct code_function *function)
{
	return !function->name &&
	       (plan->is_moved ||
		code_moves_find(&plan->moves, function->address));
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
	code_moves_release(&(*plan)->moves);
	free((*plan)->slot_names);
	free(*plan);
	*plan = NULL;
}
