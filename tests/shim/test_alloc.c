/* SPDX-License-Identifier: Apache-2.0
 *
 * test_alloc - the shim records the allocations of its victims call by call, in
 * order, thread by thread. Other allocators than the C library's are tested if
 * they are installed.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "shared/record_ext.h"
#include "tests/shim/victims/alloc_log.h"
#include "tests/shim/alloc_read.h"
#include "tests/shim/mini_collector.h"
#include "tests/suite.h"

struct run {
	const char *victim;
	const char *action; /* NULL: the log is the only argument */
	const char *count;
	const char *rseq;
	uint32_t on_full;
	const char *ring_kb;
};

#define RUN_CELLS (16384 * 1024 / 16)

static struct mini_collector g_mini;
static struct alloc_log *g_log;
static uint32_t g_control = CONTROL_ON;
static char g_log_path[64];

static bool skip_mark(struct reader *reader)
{
	struct log_event event;

	while (read_event(reader, &event))
		if (event.op == LOG_ALLOC && event.size == MARK_BYTES)
			return read_event(reader, &event);
	return false;
}

/* False: the ring lacks the marks of this thread. */
static bool check_ring(uint32_t index, const struct log_thread *log)
{
	struct reader reader = reader_of(&g_mini, index);
	struct log_event event;
	uint64_t i;

	if (reader.slot->tid != (int32_t)log->tid || !skip_mark(&reader))
		return false;
	for (i = 0; i < log->count; i++) {
		const struct log_event *said = &log->event[i];

		ck_assert(read_event(&reader, &event));
		ck_assert_msg(event.op == said->op &&
				      event.address == said->address &&
				      event.size == said->size &&
				      event.old == said->old,
			      "event %lu: said %lu %lx %lu, recorded %lu %lx "
			      "%lu",
			      i, said->op, said->address, said->size, event.op,
			      event.address, event.size);
	}
	ck_assert(read_event(&reader, &event));
	ck_assert_uint_eq(event.size, MARK_BYTES);
	return true;
}

static void check_logs(void)
{
	unsigned int thread, found = 0;
	uint32_t i;

	for (thread = 0; thread < LOG_THREADS; thread++) {
		const struct log_thread *log = &g_log->thread[thread];

		if (!log->tid)
			continue;
		for (i = 0; i < g_mini.hello.slot_count; i++)
			if (mini_slot(&g_mini, i)->claims && check_ring(i, log))
				break;
		ck_assert_msg(i < g_mini.hello.slot_count,
			      "no ring has thread %u", thread);
		found++;
	}
	ck_assert_uint_gt(found, 0);
}

/* --- running a victim ---------------------------------------------------- */

static void make_log(void)
{
	strcpy(g_log_path, "/tmp/test_alloc-XXXXXX");
	close(mkstemp(g_log_path));
	g_log = log_map(g_log_path);
}

static void run(const struct run *run, const char *preload,
		struct wire_reply settings)
{
	char *argv[5] = { (char *)mini_build_path(run->victim) };
	char libraries[1024];
	int i = 1, status;
	pid_t pid;

	make_log();
	if (run->action)
		argv[i++] = (char *)run->action;
	argv[i++] = g_log_path;
	argv[i++] = (char *)run->count;
	snprintf(libraries, sizeof(libraries), "%s %s",
		 mini_build_path("libperfrec_preload.so"), preload);
	setenv("PERFREC_RSEQ", run->rseq ? run->rseq : "on", 1);
	setenv("PERFREC_RING_KB", run->ring_kb ? run->ring_kb : "16384", 1);
	mini_collector_start(&g_mini);
	mini_collector_want_all(&g_mini);
	pid = mini_spawn(&g_mini, libraries, argv);
	settings.on_full = run->on_full;
	mini_collector_accept(&g_mini, settings, g_control);
	ck_assert_uint_eq(g_mini.hello.instrumented, 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(status == 0, "%s ended with status %x", run->victim,
		      status);
}

static void clean(void)
{
	mini_collector_stop(&g_mini);
	munmap(g_log, sizeof(*g_log));
	unlink(g_log_path);
}

#define EXACT ((struct wire_reply){ .alloc = WIRE_ALLOC_EXACT })

static const struct run g_exact[] = {
	{ "tests/shim/victims/alloc_victim", "family", NULL, "on", 0, NULL },
	{ "tests/shim/victims/alloc_victim", "family", NULL, "off", 0, NULL },
	{ "tests/shim/victims/alloc_victim", "threads", "10000", "on", 0,
	  NULL },
	{ "tests/shim/victims/alloc_victim", "threads", "2000", "off", 0,
	  NULL },
	{ "tests/shim/victims/alloc_victim", "fork", NULL, "on", 0, NULL },
	{ "tests/shim/victims/alloc_victim", "outlive", NULL, "on", 0, NULL },
	{ "tests/shim/victims/alloc_cxx_victim", NULL, NULL, "on", 0, NULL },
	{ "tests/shim/victims/alloc_cxx_victim", NULL, NULL, "off", 0, NULL },
};

TEST(exact_is_what_was_done, EACH(0, sizeof(g_exact) / sizeof(g_exact[0])))
{
	run(&g_exact[_i], "", EXACT);
	check_logs();
	clean();
}

static const char *const g_allocators[] = {
	"/usr/lib/x86_64-linux-gnu/libjemalloc.so.2",
	"/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4",
};

TEST(other_allocators_are_seen_alike,
     EACH(0, sizeof(g_allocators) / sizeof(g_allocators[0])))
{
	const char *library = g_allocators[_i];
	struct run cxx = g_exact[6], threads = g_exact[2];

	if (access(library, R_OK)) {
		fprintf(stderr, "test_alloc: not tried: no %s\n", library);
		return;
	}
	run(&cxx, library, EXACT);
	check_logs();
	clean();
	run(&threads, library, EXACT);
	check_logs();
	clean();
}

TEST(drop_counts_what_is_lost, EACH(0, 2))
{
	const struct run busy = { "tests/shim/victims/alloc_victim",
				  "busy",
				  "40000",
				  _i ? "off" : "on",
				  WIRE_ON_FULL_DROP,
				  "64" };
	struct reader reader;
	struct log_event event;
	uint64_t allocs = 0, frees = 0;

	run(&busy, "", EXACT);
	reader = reader_of(&g_mini, 0);
	while (read_event(&reader, &event)) {
		allocs += event.op == LOG_ALLOC;
		frees += event.op == LOG_FREE;
	}
	/* A quarter is reserved for ends. */
	ck_assert_uint_le(reader.slot->head, 4096 / 4 * 3);
	allocs += reader.slot->dropped_allocs;
	frees += reader.slot->dropped_frees;
	/* Includes the table of blocks, the marks, and libc's own calls. */
	ck_assert_uint_ge(allocs, 40000 + 3);
	ck_assert_uint_le(allocs, 40000 + 50);
	ck_assert_uint_ge(frees, 40000 + 3);
	ck_assert_uint_le(frees, allocs);
	clean();
}

TEST(pause_keeps_frees, EACH(0, 2))
{
	const struct run busy = { "tests/shim/victims/alloc_victim",
				  "busy",
				  "200000",
				  _i ? "off" : "on",
				  WIRE_ON_FULL_DROP,
				  NULL };
	struct reader reader;
	struct log_event event;
	uint64_t allocs = 0, frees = 0;

	g_control = CONTROL_PAUSED;
	run(&busy, "", EXACT);
	g_control = CONTROL_ON;
	reader = reader_of(&g_mini, 0);
	while (read_event(&reader, &event)) {
		allocs += event.op == LOG_ALLOC;
		frees += event.op == LOG_FREE;
	}
	/* The shim notices the pause at a chunk boundary at the latest. */
	ck_assert_uint_le(allocs, RUN_CELLS / 4);
	ck_assert_uint_ge(frees, 200000 + 3);
	ck_assert_uint_ge(allocs + reader.slot->paused_allocs, 200000 + 3);
	ck_assert_uint_eq(reader.slot->dropped_allocs, 0);
	ck_assert_uint_eq(reader.slot->dropped_frees, 0);
	clean();
}

/* --- samples ------------------------------------------------------------- */

struct samples {
	uint64_t count, bytes, live, frees, with_stack;
};

static struct samples count_samples(uint32_t index)
{
	const struct slot_shm *slot = mini_slot(&g_mini, index);
	const struct record *ring = mini_ring(&g_mini, index), *cells;
	const struct record_sample *sample;
	struct samples seen = { 0 };
	uint64_t i;

	for (i = 0; i < slot->head;
	     i += 1 + (record_kind(cells->word) == RECORD_EXT
			       ? record_ext_cells(cells->word)
			       : 0)) {
		cells = &ring[i];
		seen.frees += record_kind(cells->word) == RECORD_FREE;
		ck_assert_int_ne(record_kind(cells->word), RECORD_ALLOC);
		if (record_kind(cells->word) != RECORD_EXT ||
		    record_ext(cells->word) != EXT_ALLOC_SAMPLE)
			continue;
		sample = (const struct record_sample *)(cells + 1);
		ck_assert_uint_eq(record_ext_cells(cells->word) * 16,
				  sizeof(*sample) + sample->stack_bytes);
		ck_assert_uint_eq(sample->reg[RECORD_REG_SP] % 16, 0);
		ck_assert_uint_ne(sample->reg[RECORD_REG_IP], 0);
		if (sample->size != 1024)
			continue;
		seen.count++;
		seen.live += (sample->flags & SAMPLE_LIVE) != 0;
		seen.with_stack += sample->stack_bytes > 0;
	}
	return seen;
}

/* n blocks of s bytes at a mean distance T are binomial with p = 1 - exp(-s
 * / T). Six standard deviations fail in 2 of 10^9 runs; test_poisson is
 * stricter. */
TEST(samples_are_as_many_as_they_should, EACH(0, 2))
{
	const double n = 60000, p = 0.063413; /* 1 - exp(-1/15.265) */
	const double six_sigma = 6 * 59.7; /* sqrt(n p (1 - p)) */
	struct wire_reply settings = { .alloc = WIRE_ALLOC_SAMPLED,
				       .alloc_period = 15631,
				       .stack_bytes = 1024 };
	const struct run busy = { "tests/shim/victims/alloc_victim",
				  "busy",
				  "60000",
				  _i ? "off" : "on",
				  WIRE_ON_FULL_DROP,
				  NULL };
	struct samples seen;

	run(&busy, "", settings);
	seen = count_samples(0);
	ck_assert_msg((double)seen.count > n * p - six_sigma &&
			      (double)seen.count < n * p + six_sigma,
		      "%lu samples", seen.count);
	ck_assert_uint_eq(seen.with_stack, seen.count);
	/* Full buckets are rare. All live blocks have been freed. */
	ck_assert_uint_ge(seen.live, seen.count - seen.count / 50);
	ck_assert_uint_ge(seen.frees, seen.live);
	ck_assert_uint_le(seen.frees, seen.live + 200);
	ck_assert_uint_eq(mini_slot(&g_mini, 0)->dropped_samples, 0);
	clean();
}
