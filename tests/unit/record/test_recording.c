/* SPDX-License-Identifier: Apache-2.0
 *
 * Recordings that fail to start, end unusually, or have no room for their rows.
 */
#include "collector/record/recording.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/budget.h"
#include "collector/base/jobs.h"
#include "collector/base/lock.h"
#include "collector/names/symbols.h"
#include "collector/options/collect_options.h"
#include "collector/profile/function_table.h"
#include "collector/record/collector.h"
#include "tests/suite.h"
#include "tests/unit/scratch.h"

static struct {
	struct collect_options options;
	struct collector collector;
	struct jobs_group endings;
	struct rlimit files;
	int used;
} g;

static void set_up(void)
{
	scratch_enter();
	g.options = (struct collect_options){ .output = ".",
					      .max_bytes = 64 << 20 };
	g.collector = (struct collector){ .options = &g.options,
					  .endings = &g.endings };
	jobs_group_init(&g.endings);
	lock_init(&g.collector.lock, LOCK_COLLECTOR);
	ck_assert_int_eq(symbol_cache_new(&g.collector.symbols), 0);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &g.files), 0);
	g.used = dup(STDERR_FILENO);
	close(g.used);
}

static void tear_down(void)
{
	jobs_group_wait(&g.endings);
	setrlimit(RLIMIT_NOFILE, &g.files);
	symbol_cache_put(&g.collector.symbols);
	scratch_leave();
}

static bool is_there(const char *path)
{
	struct stat status;

	return lstat(path, &status) == 0;
}

static void allow_descriptors(rlim_t more)
{
	const struct rlimit limit = { (rlim_t)g.used + more, g.files.rlim_max };

	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

FIXTURE(set_up, tear_down);

/* Each refused program left an empty folder behind. */
TEST(recording_without_descriptors_leaves_no_folder)
{
	struct recording *recording;
	rlim_t more = 0;
	int err;

	for (;; more++) {
		allow_descriptors(more);
		err = recording_new(&g.collector, "out", true, &recording);
		if (!err)
			break;
		ck_assert_int_eq(err, -EMFILE);
		ck_assert_msg(!is_there("out"), "with %d descriptors",
			      (int)more);
	}
	/* One was missing for the folder, then one for the trace. */
	ck_assert_uint_ge(more, 2);
	ck_assert(is_there("out/trace.pftrace"));
	recording_put(&recording);
}

TEST(recording_without_descriptors_leaves_the_folder_of_others)
{
	struct recording *recording;

	ck_assert_int_eq(mkdir("out", 0700), 0);
	allow_descriptors(0);
	ck_assert_int_eq(recording_new(&g.collector, "out", false, &recording),
			 -EMFILE);
	ck_assert(is_there("out"));
}

TEST(recording_that_is_discarded_leaves_nothing)
{
	struct recording *recording;

	ck_assert_int_eq(recording_new(&g.collector, "out", true, &recording),
			 0);
	ck_assert(is_there("out/trace.pftrace"));
	recording_discard(recording);
	recording_put(&recording);
	jobs_group_wait(&g.endings);
	ck_assert(!is_there("out"));
}

#define LISTED 65536 /* for processes and for threads */

/* Each process without a row took some of the budget, so a daemon had none
 * after days of forking. */
TEST(recording_takes_nothing_for_a_process_without_a_row)
{
	struct process_entry *entry, one_more = { .name = "one more" };
	struct recording *recording;
	uint64_t left;

	ck_assert_int_eq(recording_new(&g.collector, "out", true, &recording),
			 0);
	left = recording_setup(recording)->budget->left;
	for (int i = 0; i < LISTED; i++) {
		entry = calloc(1, sizeof(*entry));
		ck_assert_ptr_nonnull(entry);
		entry->last_thread = &entry->threads;
		ck_assert(recording_list_process(recording, entry));
	}
	ck_assert_uint_eq(left - recording_setup(recording)->budget->left,
			  LISTED * sizeof(*entry));
	left = recording_setup(recording)->budget->left;
	ck_assert(!recording_list_process(recording, &one_more));
	ck_assert_uint_eq(recording_setup(recording)->budget->left, left);
	recording_put(&recording);
}

#define FUNCTIONS 100000u
#define MEMORY_BYTES (4u << 20)

/* Sanitizers need unlimited address space. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_LIMITED false
#else
#define IS_LIMITED true
#endif

static void limit_memory(size_t bytes)
{
	FILE *statm = fopen("/proc/self/statm", "r");
	struct rlimit limit = { 0, RLIM_INFINITY };
	unsigned long pages = 0;

	ck_assert_ptr_nonnull(statm);
	ck_assert_int_eq(fscanf(statm, "%lu", &pages), 1);
	fclose(statm);
	limit.rlim_cur = pages * (unsigned long)sysconf(_SC_PAGESIZE) + bytes;
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
}

/* A function is in the table or counted; the log reports the number once. */
TEST(recording_counts_functions_that_find_no_memory)
{
	const struct rlimit none = { RLIM_INFINITY, RLIM_INFINITY };
	char(*name)[16] = calloc(FUNCTIONS, sizeof(*name));
	struct recording *recording;
	uint64_t missing;
	size_t listed;

	ck_assert_ptr_nonnull(name);
	ck_assert_int_eq(recording_new(&g.collector, "out", true, &recording),
			 0);
	for (uint32_t i = 0; i < FUNCTIONS; i++)
		snprintf(name[i], sizeof(name[i]), "f%u", i);
	if (IS_LIMITED)
		limit_memory(MEMORY_BYTES);
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		const struct function_total one = { .name = name[i],
						    .module = "",
						    .calls = 1 };

		recording_add_function(recording, &one);
	}
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &none), 0);
	missing = recording_sums(recording)->totals.unlisted_functions;
	(void)recording_functions(recording, &listed);
	ck_assert_int_eq(missing > 0, IS_LIMITED);
	ck_assert_uint_gt(listed, 0);
	ck_assert_uint_eq(listed + missing, FUNCTIONS);
	free(name);
	recording_put(&recording);
}
