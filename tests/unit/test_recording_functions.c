/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/record/recording.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "collector/base/jobs.h"
#include "collector/base/lock.h"
#include "collector/base/loop.h"
#include "collector/names/symbols.h"
#include "collector/options/collect_options.h"
#include "collector/profile/function_table.h"
#include "collector/record/collector.h"
#include "tests/suite.h"
#include "tests/unit/scratch.h"

#define FUNCTIONS 100000u
#define MEMORY_BYTES (4u << 20)

static struct {
	struct collect_options options;
	struct collector collector;
	struct jobs_group endings;
	struct recording *recording;
} g;

static void set_up(void)
{
	scratch_enter();
	g.options = (struct collect_options){ .output = "out",
					      .max_bytes = 64 << 20 };
	g.collector = (struct collector){ .options = &g.options };
	g.collector.done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	g.collector.loop = loop_new();
	jobs_group_init(&g.endings);
	g.collector.endings = &g.endings;
	lock_init(&g.collector.lock, LOCK_COLLECTOR);
	ck_assert_int_eq(symbol_cache_new(&g.collector.symbols), 0);
	ck_assert_int_eq(recording_new(&g.collector, "out", true, &g.recording),
			 0);
}

static void tear_down(void)
{
	recording_put(&g.recording);
	jobs_group_wait(&g.endings);
	symbol_cache_put(&g.collector.symbols);
	close(g.collector.loop);
	close(g.collector.done_fd);
	scratch_leave();
}

/* Sanitizers take address space as they like. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_LIMITED false
#else
#define IS_LIMITED true
#endif

/* From now on there is room for @bytes more. */
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

/* Each function is in the table or counted; the log has one line of all. */
START_TEST(recording_counts_functions_that_find_no_memory)
{
	const struct rlimit none = { RLIM_INFINITY, RLIM_INFINITY };
	char(*name)[16] = calloc(FUNCTIONS, sizeof(*name));
	uint64_t missing;
	size_t listed;

	ck_assert_ptr_nonnull(name);
	for (uint32_t i = 0; i < FUNCTIONS; i++)
		snprintf(name[i], sizeof(name[i]), "f%u", i);
	if (IS_LIMITED)
		limit_memory(MEMORY_BYTES);
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		const struct function_total one = { .name = name[i],
						    .module = "",
						    .calls = 1 };

		recording_add_function(g.recording, &one);
	}
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &none), 0);
	missing = recording_sums(g.recording)->totals.unlisted_functions;
	(void)recording_functions(g.recording, &listed);
	ck_assert_int_eq(missing > 0, IS_LIMITED);
	ck_assert_uint_gt(listed, 0);
	ck_assert_uint_eq(listed + missing, FUNCTIONS);
	free(name);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("recording_functions");
	TCase *tcase = suite_case(suite, "recording_functions");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, recording_counts_functions_that_find_no_memory);
	return suite_run(suite);
}
