/* SPDX-License-Identifier: Apache-2.0
 *
 * test_cpu - the signal engine (preload/cpu/cpu_timer.h): the threads and code
 * that it samples, and those it must not. A program that uses its signals,
 * stacks and threads in any way must not notice. The victim counts its own CPU
 * time, so a busy machine only prolongs the test.
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/record_ext.h"
#include "tests/shim/mini_collector.h"
#include "tests/suite.h"

#define HZ 500
#define STACK_BYTES 1024
#define RANGES_MAX 8

struct seen {
	uint64_t samples, weight;
	uint64_t with_stack, forbidden;
	uint64_t threads; /* with a sample */
	uint64_t processes;
};

static struct mini_collector g_mini;
static uint64_t g_from[RANGES_MAX], g_to[RANGES_MAX];
static int g_ranges;
static char g_file[64];

static void setup(void)
{
	int fd;

	mini_collector_start(&g_mini);
	mini_collector_want_all(&g_mini);
	strcpy(g_file, "/tmp/test_cpu-XXXXXX");
	fd = mkstemp(g_file);
	ck_assert_int_ge(fd, 0);
	close(fd);
}

static void teardown(void)
{
	unlink(g_file);
	mini_collector_stop(&g_mini);
}

static void read_ranges(void)
{
	FILE *file = fopen(g_file, "r");

	ck_assert_ptr_nonnull(file);
	g_ranges = 0;
	while (g_ranges < RANGES_MAX &&
	       fscanf(file, "%lx %lx", &g_from[g_ranges], &g_to[g_ranges]) == 2)
		g_ranges++;
	fclose(file);
}

static void see_sample(const struct record *cells, uint32_t behind,
		       struct seen *seen)
{
	struct record_sample sample;
	uint64_t sp;
	int i;

	ck_assert_uint_ge(behind * sizeof(*cells), sizeof(sample));
	memcpy(&sample, cells + 1, sizeof(sample));
	ck_assert_uint_eq(behind * sizeof(*cells),
			  sizeof(sample) + sample.stack_bytes);
	ck_assert_uint_le(sample.stack_bytes, STACK_BYTES);
	ck_assert_uint_ge(sample.weight, 1);
	sp = sample.reg[RECORD_REG_SP];
	for (i = 0; i < g_ranges; i++)
		seen->forbidden += sp >= g_from[i] && sp < g_to[i];
	seen->samples++;
	seen->weight += sample.weight;
	seen->with_stack += sample.stack_bytes > 0;
}

static void see_ring(uint32_t index, struct seen *seen)
{
	const struct slot_shm *slot = mini_slot(&g_mini, index);
	const struct record *ring = mini_ring(&g_mini, index);
	uint64_t at = 0, before = seen->samples;

	ck_assert_uint_le(slot->head, g_mini.hello.ring_cells);
	while (at < slot->head) {
		uint64_t word = ring[at].word;
		uint32_t behind = 0;

		if (record_kind(word) == RECORD_EXT) {
			behind = record_ext_cells(word);
			if (record_ext(word) == EXT_CPU_SAMPLE)
				see_sample(&ring[at], behind, seen);
		}
		at += 1 + behind;
	}
	ck_assert_uint_eq(at, slot->head);
	seen->threads += seen->samples > before;
	seen->processes += slot->tid == slot->pid && seen->samples > before;
}

static struct seen see_all(void)
{
	struct seen seen = { 0 };
	uint32_t i;

	read_ranges();
	for (i = 0; i < g_mini.hello.slot_count; i++) {
		if (!mini_slot(&g_mini, i)->claims)
			break;
		see_ring(i, &seen);
	}
	return seen;
}

static struct seen run_at(const char *mode, uint32_t hz)
{
	const struct wire_reply settings = { .on_full = WIRE_ON_FULL_DROP,
					     .cpu_hz = hz,
					     .stack_bytes = STACK_BYTES };
	char *argv[] = { (char *)mini_build_path(
				 "tests/shim/victims/cpu_victim"),
			 (char *)mode, g_file, NULL };
	pid_t pid;
	int status;

	setenv("PERFREC_QUIET", "1", 1);
	pid = mini_spawn(&g_mini, mini_build_path("libperfrec_preload.so"),
			 argv);
	mini_collector_accept(&g_mini, settings, CONTROL_ON);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(status == 0, "%s: status %#x: line %d", mode, status,
		      WEXITSTATUS(status));
	return see_all();
}

static struct seen run(const char *mode)
{
	return run_at(mode, HZ);
}

/* Samples come with the kernel's ticks. A busy machine may skip any number, so
 * the test repeats until there are enough. */
#define RUNS_MAX 20

static struct seen run_until(const char *mode, struct seen least)
{
	struct seen seen;
	int runs = 0;

	do {
		seen = run(mode);
	} while (++runs < RUNS_MAX &&
		 (seen.weight < least.weight || seen.samples < least.samples ||
		  seen.threads < least.threads ||
		  seen.processes < least.processes));
	return seen;
}

FIXTURE(setup, teardown);

/* 0.2 s of CPU time are 100 periods. At 100 ticks a second the last ones may
 * lack a tick, and one sample may be too many. */
TEST(counts_cpu_time)
{
	struct seen seen = run_until("burn", (struct seen){ .weight = 90 });

	ck_assert_uint_ge(seen.weight, 90);
	/* Startup and exit take time as well. */
	ck_assert_uint_le(seen.weight, 200);
	ck_assert_uint_eq(seen.with_stack, seen.samples);
	ck_assert_uint_eq(seen.threads, 1);
}

TEST(off_means_nothing)
{
	struct seen seen = run_at("none", 0);

	ck_assert_uint_eq(seen.samples, 0);
}

/* 200 threads of 5 ms: each loses half a tick at its end. */
TEST(short_threads)
{
	struct seen seen = run_until("threads", (struct seen){ .threads = 20 });

	ck_assert_uint_ge(seen.threads, 20);
	ck_assert_uint_le(seen.weight, 2 * 200 * 5 * HZ / 1000);
	ck_assert_uint_eq(seen.with_stack, seen.samples);
}

TEST(short_threads_of_c11)
{
	struct seen seen = run_until("c11", (struct seen){ .threads = 20 });

	ck_assert_uint_ge(seen.threads, 20);
	ck_assert_uint_eq(seen.with_stack, seen.samples);
}

TEST(threads_that_leave)
{
	struct seen seen = run_until("ends", (struct seen){ .samples = 1 });

	ck_assert_uint_ge(seen.samples, 1);
}

TEST(program_takes_signal)
{
	struct seen seen =
		run_until("take_over", (struct seen){ .samples = 1 });

	ck_assert_uint_ge(seen.samples, 1);
	ck_assert_uint_le(seen.weight, 150 * HZ / 1000);
	run("default");
	run("ignore");
}

TEST(timers_that_cannot_be_ended)
{
	struct seen seen = run_until("denied", (struct seen){ .samples = 1 });

	ck_assert_uint_ge(seen.samples, 1);
}

/* Like nohup(1) with another signal. */
TEST(signal_in_use)
{
	struct seen seen;

	signal(SIGPROF, SIG_IGN);
	seen = run("none");
	signal(SIGPROF, SIG_DFL);
	ck_assert_uint_eq(seen.samples, 0);
	ck_assert_uint_ge(g_mini.page->unsampled_threads, 1);
}

static void expect_spared(const char *mode)
{
	struct seen seen = run_until(mode, (struct seen){ .samples = 5 });

	ck_assert_int_ge(g_ranges, 1);
	ck_assert_uint_eq(seen.forbidden, 0);
	ck_assert_uint_ge(seen.samples, 5);
}

TEST(small_stacks)
{
	expect_spared("small");
}

TEST(contexts)
{
	expect_spared("fiber");
}

TEST(stacks_of_handlers)
{
	expect_spared("own_stack");
}

TEST(forked_children)
{
	const uint64_t least = (300 - 4 * 20) * HZ / 1000;
	struct seen seen = run_until(
		"fork", (struct seen){ .weight = least, .processes = 4 });

	/* The program and its three children. */
	ck_assert_uint_eq(seen.processes, 4);
	ck_assert_uint_ge(seen.weight, least);
}

TEST(vfork_child)
{
	struct seen seen = run_until("vfork", (struct seen){ .samples = 5 });

	ck_assert_uint_ge(seen.samples, 5);
}
