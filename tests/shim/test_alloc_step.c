/* SPDX-License-Identifier: Apache-2.0
 *
 * test_alloc_step - a signal at each instruction of malloc(), free(),
 * realloc(), operator new and delete (alloc_step_victim), on the fast path,
 * without rseq and across chunk boundaries. The ring has the allocations of
 * handlers and interrupted calls once each and untorn, and none of a forked
 * child.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "tests/shim/victims/alloc_log.h"
#include "tests/shim/alloc_read.h"
#include "tests/shim/mini_collector.h"
#include "tests/suite.h"

struct run {
	const char *action;
	const char *rseq;
	const char *pad;
	const char *stride;
};

/* With rseq a stepped sequence restarts eight times before C takes over. */
static const struct run g_runs[] = {
	{ "jump", "on", "0", "31" },
	/* QUICK_RUNS: the rest is slow. */
	{ "record", "on", "0", "31" },
	{ "fork", "on", "0", "31" },
	{ "record", "off", "0", "3" },
	{ "jump", "off", "0", "3" },
	{ "fork", "off", "0", "7" },
	{ "record", "on", "37", "41" },
};
enum { QUICK_RUNS = 1 };

static struct mini_collector g_mini;
static struct alloc_log *g_log;

static void run_victim(const struct run *run)
{
	char path[] = "/tmp/test_alloc_step-XXXXXX", libraries[1024];
	char *argv[] = { (char *)mini_build_path(
				 "tests/shim/victims/alloc_step_victim"),
			 (char *)run->action,
			 (char *)run->pad,
			 (char *)run->stride,
			 path,
			 NULL };
	struct wire_reply settings = { .alloc = WIRE_ALLOC_EXACT,
				       .on_full = WIRE_ON_FULL_DROP };
	int status;
	pid_t pid;

	close(mkstemp(path));
	g_log = log_map(path);
	snprintf(libraries, sizeof(libraries), "%s %s",
		 mini_build_path("libperfrec_preload.so"),
		 mini_build_path("tests/shim/victims/libbump_allocator.so"));
	setenv("PERFREC_RSEQ", run->rseq, 1);
	setenv("PERFREC_RING_KB", "16384", 1);
	mini_collector_start(&g_mini);
	mini_collector_want_all(&g_mini);
	pid = mini_spawn(&g_mini, libraries, argv);
	mini_collector_accept(&g_mini, settings, CONTROL_ON);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(status == 0, "ended with status %x", status);
	unlink(path);
}

static int by_block(const void *a, const void *b)
{
	const struct log_event *x = a, *y = b;
	uint64_t left = x->address * 4 + x->op, right = y->address * 4 + y->op;

	return (left > right) - (left < right);
}

static size_t read_all(struct log_event *events, size_t most)
{
	struct reader reader = reader_of(&g_mini, 0);
	struct log_event event;
	size_t count = 0;

	while (read_event(&reader, &event))
		if (event.size == MARK_BYTES && event.op == LOG_ALLOC)
			break;
	ck_assert(read_event(&reader, &event));
	while (read_event(&reader, &event) && event.size != MARK_BYTES) {
		ck_assert_uint_lt(count, most);
		events[count++] = event;
	}
	ck_assert_uint_eq(event.size, MARK_BYTES);
	qsort(events, count, sizeof(*events), by_block);
	return count;
}

static bool same(const struct log_event *a, const struct log_event *b)
{
	return a->op == b->op && a->address == b->address &&
	       a->size == b->size && a->old == b->old;
}

/* At most @more events were not said. */
static void compare(const struct log_event *said, size_t count,
		    const struct log_event *seen, size_t seen_count,
		    size_t more)
{
	size_t i = 0, j;

	for (j = 0; j < seen_count; j++) {
		if (j)
			ck_assert_msg(!same(&seen[j], &seen[j - 1]),
				      "%lx twice", seen[j].address);
		if (i < count && same(&said[i], &seen[j]))
			i++;
		else if (more)
			more--;
		else
			ck_abort_msg("op %lu of %lx, %lu bytes: not done",
				     seen[j].op, seen[j].address, seen[j].size);
	}
	ck_assert_msg(i == count, "op %lu of %lx is missing", said[i].op,
		      said[i].address);
}

TEST(step_every_instruction_loses_no_block,
     EACH(0, sizeof(g_runs) / sizeof(g_runs[0])), SLOW_FROM(QUICK_RUNS))
{
	static struct log_event seen[LOG_EVENTS];
	const struct run *run = &g_runs[_i];
	struct log_thread *said;
	size_t count;

	run_victim(run);
	said = &g_log->thread[0];
	ck_assert_uint_gt(g_log->steps, 5 * 30);
	count = read_all(seen, LOG_EVENTS);
	qsort(said->event, said->count, sizeof(*said->event), by_block);
	compare(said->event, said->count, seen, count,
		strcmp(run->action, "jump") ? 0 : g_log->steps);
	ck_assert_uint_eq(mini_slot(&g_mini, 0)->dropped_allocs, 0);
	ck_assert_uint_eq(mini_slot(&g_mini, 0)->dropped_frees, 0);
	mini_collector_stop(&g_mini);
	munmap(g_log, sizeof(*g_log));
}
