/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/files/offcpu_profile.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "collector/base/budget.h"
#include "collector/files/flat_stacks.h"
#include "collector/files/thread_stacks.h"
#include "collector/names/symbols.h"
#include "collector/options/collect_options.h"
#include "collector/output/comments.h"
#include "collector/output/own_files.h"
#include "collector/profile/stack_profile.h"
#include "collector/profile/stacks.h"
#include "collector/record/recording.h"
#include "collector/record/who.h"
#include "collector/replay/cct_flat.h"
#include "collector/samples/wait_call.h"
#include "collector/samples/wait_text.h"
#include "shared/compiler.h"

/* With this many identified waits, unidentified waits get their object if nine
 * of ten had the same one. */
#define INFER_FROM 3u
#define SECOND_NS 1000000000u
/* Memory limit for the stacks of one tree, besides the tree itself. */
#define STACKS_BYTES (1ULL << 30)

static void make_offcpu_comments(struct recording *recording,
				 struct comments *out)
{
	const struct wait_totals *blocked =
		&recording_sums(recording)->totals.blocked;
	const struct {
		uint64_t count;
		const char *form;
	} rows[] = {
		{ blocked->inferred,
		  "# {wait has its object|waits have their objects} from "
		  "other waits of the same call" },
		{ blocked->left,
		  "# {wait was|waits were} too short to be identified" },
		{ blocked->refused,
		  "# {wait|waits} of processes that perfrec may not "
		  "inspect" },
		{ blocked->odd, "# {wait|waits} could not be read" },
		{ blocked->lost,
		  "# {wait|waits} came faster than perfrec could unwind "
		  "stacks" },
		{ blocked->cut,
		  "# {stack of a blocked thread lacks its|stacks of blocked "
		  "threads lack their} outer callers [truncated]" },
	};

	who_comment(recording, out);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		comments_add_count(out, rows[i].form, rows[i].count);
}

/* --- the rest ------------------------------------------------------------ */

/* The waits of one tree on their way into the profile. */
struct rest {
	const struct cct_flat *flat;
	struct stacks *stacks;
	uint32_t *number; /* of the stack of each node */
	struct stack_values *values;
	size_t count;
	struct symbol_cache *texts;
	struct wait_totals inferred;
};

/* Returns true if nine of ten of @waits that were read have the value with
 * @votes. */
static bool is_usual(const struct kernel_waits *waits, uint32_t votes)
{
	return waits->read >= INFER_FROM && votes >= waits->read / 10.0 * 9;
}

/* Returns the text for those of @waits that were not read: the object of the
 * others, or their system call. NULL: it is not known. */
static const char *infer_object(const struct rest *rest,
				const struct kernel_waits *waits)
{
	const struct wait_call_kind *call =
		waits->call ? wait_call_kind((long)waits->call - 1) : NULL;
	char text[WAIT_TEXT_BYTES];

	if (waits->object && is_usual(waits, waits->object_votes))
		return waits->object;
	if (!call || !is_usual(waits, waits->call_votes))
		return NULL;
	wait_text_object(text, "system call", call->name);
	return symbol_cache_told_string(rest->texts, text);
}

/* Adds @waits that took @ns to the stack of node @i, below @object; NULL:
 * [unknown]. */
static void add_waits(struct rest *rest, size_t i, const char *object,
		      uint64_t waits, uint64_t ns)
{
	const struct stack_frame frame = {
		.address = object ? (uintptr_t)object : FRAME_UNKNOWN,
		.kind = object ? FRAME_TEXT : FRAME_NAMED,
	};
	struct stack_values *one = &rest->values[rest->count];

	if (!waits && !ns)
		return;
	one->stack = stacks_child(rest->stacks, rest->number[i], &frame);
	one->value[0] = (int64_t)waits;
	one->value[1] = (int64_t)ns;
	rest->count++;
	if (object) {
		rest->inferred.inferred += waits;
		rest->inferred.inferred_ns += ns;
	}
}

/* Adds the unidentified waits of node @i. Their time by switches is more than
 * their time by the kernel's sums (off_times.h). */
static void add_rest_node(struct rest *rest, size_t i)
{
	const struct kernel_counts *counts = &rest->flat->kernel[i];
	const struct kernel_waits *kind = rest->flat->waits[i].kind;
	uint64_t waits = counts->waits - MIN(counts->told_waits, counts->waits);
	uint64_t ns =
		counts->blocked_ns - MIN(counts->told_ns, counts->blocked_ns);
	uint64_t all_ns = kind[KERNEL_WAITS_SHORT].unread_ns +
			  kind[KERNEL_WAITS_LONG].unread_ns;
	double part = all_ns > ns ? (double)ns / (double)all_ns : 1;

	for (size_t k = 0; k < KERNEL_WAITS_KINDS; k++) {
		const char *object = infer_object(rest, &kind[k]);
		uint64_t some = MIN(kind[k].unread, waits);
		uint64_t some_ns = (uint64_t)((double)kind[k].unread_ns * part);

		if (!object)
			continue;
		some_ns = MIN(some_ns, ns);
		add_waits(rest, i, object, some, some_ns);
		waits -= some;
		ns -= some_ns;
	}
	add_waits(rest, i, NULL, waits, ns);
}

static void add_rest(struct recording *recording,
		     const struct thread_stacks *from,
		     const struct cct_flat *flat)
{
	const struct recording_setup *setup = recording_setup(recording);
	struct budget budget = { .left = STACKS_BYTES };
	struct rest rest = { .flat = flat, .texts = setup->symbols };
	struct wait_totals *totals;

	if (!flat->kernel)
		return;
	rest.values = calloc(flat->node_count * (KERNEL_WAITS_KINDS + 1),
			     sizeof(*rest.values));
	if (rest.values && stacks_new(&budget, &rest.stacks) == 0)
		rest.number = flat_stacks(flat, rest.stacks);
	for (size_t i = 0; rest.number && i < flat->node_count; i++)
		add_rest_node(&rest, i);
	if (rest.count)
		(void)stack_profile_add(setup->profiles.offcpu_rest,
					&from->owner, rest.stacks,
					from->modules, rest.values, rest.count);
	totals = &recording_lock(recording)->blocked;
	totals->inferred += rest.inferred.inferred;
	totals->inferred_ns += rest.inferred.inferred_ns;
	recording_unlock(recording);
	stacks_free(&rest.stacks);
	free(rest.number);
	free(rest.values);
}

void offcpu_profile_add_rest(struct recording *recording,
			     const struct thread_stacks *stacks)
{
	for (size_t i = 0; i < stacks->count; i++)
		add_rest(recording, stacks, &stacks->flat[i]);
}

/* --- the file ------------------------------------------------------------ */

int offcpu_profile_write(struct recording *recording, uint64_t duration_ns,
			 uint64_t *bytes)
{
	const struct recording_setup *setup = recording_setup(recording);
	struct comments comments = { 0 };
	const struct stack_profile_header header = {
		.start_ns = (uint64_t)setup->started * SECOND_NS,
		.duration_ns = duration_ns,
		.period = 1,
		.comments = &comments,
	};
	const struct sched_totals *sched =
		&recording_sums(recording)->totals.sched;
	struct stat status;
	int err;

	*bytes = 0;
	/* An empty profile says that nothing waited. */
	if (!setup->profiles.offcpu ||
	    !(recording_sums(recording)->totals.blocked.count ||
	      sched->threads || sched->silent_threads))
		return 0;
	/* The profile counts stacks without room. */
	(void)stack_profile_merge(setup->profiles.offcpu,
				  setup->profiles.offcpu_rest);
	make_offcpu_comments(recording, &comments);
	err = stack_profile_write(setup->profiles.offcpu, &header,
				  setup->dir_fd, OFFCPU_PROFILE_NAME);
	comments_release(&comments);
	if (!err && !fstatat(setup->dir_fd, OFFCPU_PROFILE_NAME, &status, 0))
		*bytes = (uint64_t)status.st_size;
	return err;
}
