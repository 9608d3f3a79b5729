/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/files/cpu_profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "collector/base/size.h"
#include "collector/base/utf8.h"
#include "collector/options/collect_options.h"
#include "collector/output/comments.h"
#include "collector/output/own_files.h"
#include "collector/profile/stack_profile.h"
#include "collector/record/cpu_account.h"
#include "collector/record/recording.h"
#include "collector/record/who.h"
#include "shared/compiler.h"

#define SECOND_NS 1000000000u
#define SHORT_PROCESSES "[short processes]"
#define NOT_SAMPLED "[not sampled]"

static void make_cpu_comments(struct recording *recording, struct comments *out)
{
	const struct sample_totals *sampled =
		&recording_sums(recording)->totals.sampled;
	const struct {
		uint64_t count;
		const char *form;
	} rows[] = {
		{ sampled->lost,
		  "# {sample|samples} came faster than perfrec could unwind "
		  "stacks: {it is|they are} in [unknown]" },
		{ sampled->unknown,
		  "# {sample had no stack: it is|samples had no stack: they "
		  "are} in [unknown]" },
		{ sampled->too_short,
		  "# {stack lacks its|stacks lack their} outer callers "
		  "[truncated]: longer than the copied part (--stack-size "
		  "copies more)" },
		{ sampled->cut - sampled->too_short,
		  "# {stack lacks its|stacks lack their} outer callers "
		  "[truncated]: not unwound to the end" },
		{ sampled->guessed,
		  "# {stack goes|stacks go} through code without unwind "
		  "tables: callers there may be missing" },
		{ sampled->lost_stacks,
		  "# {stack is|stacks are} in [other stacks]: out of "
		  "memory" },
	};

	who_comment(recording, out);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		comments_add_count(out, rows[i].form, rows[i].count);
}

/* Adds rows for processes without a sample. A row stands for many processes, so
 * its pid is 0, which no process has. */
static void add_unsampled_rows(struct recording *recording,
			       const struct cpu_sum *sum)
{
	struct profile_owner owner = { .pid = 0 };
	char name[sizeof(sum->row->name) + 24];

	for (size_t i = 0; i < sum->rows; i++) {
		const struct cpu_row *row = &sum->row[i];
		const int64_t value[] = { (int64_t)row->count,
					  (int64_t)row->ns };

		memcpy(owner.process, row->name, sizeof(owner.process));
		snprintf(name, sizeof(name), "%s %s",
			 row->is_short ? SHORT_PROCESSES : NOT_SAMPLED,
			 row->name);
		(void)stack_profile_add_mark(
			recording_setup(recording)->profiles.cpu, &owner, name,
			value);
	}
}

/* Notes that the kernel lost records. Times are complete in any case, because
 * getrusage() has them. */
static void note_lost_records(struct recording *recording,
			      const struct cpu_sum *sum)
{
	char text[192];

	if (!sum->lost)
		return;
	snprintf(text, sizeof(text),
		 "processes or threads started and ended faster than perfrec "
		 "could count them (the kernel lost at least %llu record%s): "
		 "there may be more processes without a sample than reported",
		 (unsigned long long)sum->lost, sum->lost == 1 ? "" : "s");
	recording_note(recording, text);
}

static void note_unloaded(struct recording *recording,
			  const struct cpu_sum *sum)
{
	char text[320], name[sizeof(sum->row->name)];
	size_t end;

	if (!sum->unloaded)
		return;
	end = (size_t)snprintf(text, sizeof(text),
			       "perfrec's library was not loaded into %llu "
			       "process%s: ",
			       (unsigned long long)sum->unloaded,
			       sum->unloaded == 1 ? "" : "es");
	for (size_t i = 0; i < sum->unloaded_rows; i++) {
		utf8_copy(name, sum->unloaded_row[i].name, sizeof(name));
		end += (size_t)snprintf(text + end, sizeof(text) - end, "%s%s",
					i ? ", " : "", name);
	}
	snprintf(text + end, sizeof(text) - end,
		 "%s (linked statically or set-user-ID, or started without "
		 "LD_PRELOAD); only their CPU time is known",
		 sum->unloaded_names > sum->unloaded_rows ? ", ..." : "");
	recording_note(recording, text);
}

/* Adds the CPU time that no sample has to the profile and the totals. Returns a
 * sum that the caller frees, or NULL: such time is unknown, or no memory. */
static struct cpu_sum *settle_cpu_time(struct recording *recording)
{
	const struct recording_setup *setup = recording_setup(recording);
	const struct recording_sums *sums = recording_sums(recording);
	const struct command_end *end = &sums->command_end;
	const struct profile_owner nobody = { .pid = 0 };
	struct cpu_truth truth = {
		.sampled_ns = sums->totals.sampled.ns,
		.known = end->known,
		.used_ns = end->user_ns + end->sys_ns,
		.period_ns = SECOND_NS / setup->options->cpu_hz,
	};
	int64_t unknown[] = { 0, 0 };
	struct sample_totals *sampled;
	struct totals *totals;
	struct cpu_sum *sum;
	uint64_t due;

	if (!setup->cpu_account)
		return NULL;
	sum = calloc(1, sizeof(*sum));
	if (!sum)
		return NULL;
	truth.steal_ns = cpu_account_steal_ns(setup->cpu_account);
	cpu_account_close(setup->cpu_account, &truth, sum);
	stack_profile_scale(setup->profiles.cpu, 1, sum->scale);
	totals = recording_lock(recording);
	sampled = &totals->sampled;
	sampled->ns = (uint64_t)((double)sampled->ns * sum->scale);
	sampled->library_ns =
		(uint64_t)((double)sampled->library_ns * sum->scale);
	sampled->thunk_ns = (uint64_t)((double)sampled->thunk_ns * sum->scale);
	sampled->ns += sum->ns + sum->unknown_ns;
	totals->unloaded_programs = sum->unloaded;
	/* The kernel counts lost records of all kinds. No more samples can be
	 * lost than the CPU time has room for. */
	due = sampled->ns / truth.period_ns;
	if (truth.known)
		totals->lost_cpu_samples = MIN(totals->lost_cpu_samples,
					       due - MIN(due, sampled->count));
	recording_unlock(recording);
	add_unsampled_rows(recording, sum);
	unknown[1] = (int64_t)sum->unknown_ns;
	if (sum->unknown_ns)
		(void)stack_profile_add_mark(setup->profiles.cpu, &nobody,
					     "[unknown]", unknown);
	note_lost_records(recording, sum);
	note_unloaded(recording, sum);
	return sum;
}

int cpu_profile_write(struct recording *recording, uint64_t duration_ns,
		      struct cpu_sum **sum, uint64_t *bytes)
{
	const struct recording_setup *setup = recording_setup(recording);
	struct comments comments = { 0 };
	struct stack_profile_header header = {
		.start_ns = (uint64_t)setup->started * SECOND_NS,
		.duration_ns = duration_ns,
		.comments = &comments
	};
	struct stat status;
	int err;

	*sum = NULL;
	*bytes = 0;
	if (!setup->profiles.cpu || !setup->options->cpu_hz)
		return 0;
	*sum = settle_cpu_time(recording);
	header.period = SECOND_NS / setup->options->cpu_hz;
	make_cpu_comments(recording, &comments);
	err = stack_profile_write(setup->profiles.cpu, &header, setup->dir_fd,
				  CPU_PROFILE_NAME);
	comments_release(&comments);
	if (!err && !fstatat(setup->dir_fd, CPU_PROFILE_NAME, &status, 0))
		*bytes = (uint64_t)status.st_size;
	return err;
}
