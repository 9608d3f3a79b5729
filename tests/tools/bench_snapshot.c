/* SPDX-License-Identifier: Apache-2.0
 *
 * bench_snapshot - the cost and the size of a snapshot of the flight recorder's
 * whole memory.
 *
 * usage: bench_snapshot FILE|- CALLS [ROUNDS [OUT]]
 *
 * FILE contains records as for bench_replay; "-": random calls. Adds threads
 * with all of FILE to the memory, one after the other, until it has CALLS
 * calls. Prints for each round CPU ns a call, seconds and bytes, for an
 * uncompressed and a compressed snapshot. It writes the snapshots to OUT, or to
 * /dev/null.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "collector/base/budget.h"
#include "collector/record/flight_write.h"
#include "collector/replay/replay_inner.h"
#include "collector/trace/flight_memory.h"
#include "collector/trace/flight_share.h"
#include "collector/trace/out_perfetto.h"
#include "collector/trace/trace_file.h"
#include "shared/compiler.h"
#include "shared/record.h"
#include "tests/tools/saved_cells.h"

#define PIECE 32768
#define RANDOM_CALLS 2000000
#define START_NS 1000000
#define DEPTH_MOST 40
#define FUNCTIONS 300

struct bench {
	struct flight_share *share;
	struct flight_memory *memory;
	struct trace_block *block;
	uint64_t calls, last_ns;
	uint32_t sequence;
};

static struct trace_block *take(void *context)
{
	struct bench *bench = context;

	return bench->block;
}

static void describe(struct bench *bench, const struct trace_block *block)
{
	static uint8_t packets[OUT_NAME_BYTES];
	char name[32];

	for (uint32_t i = 0; i < block->name_count; i++) {
		const struct out_name one = { block->names[i].iid, name };

		snprintf(name, sizeof(name), "function_%" PRIu64,
			 (uint64_t)block->names[i].function);
		flight_memory_describe(
			bench->memory, packets,
			out_perfetto_names(packets, sizeof(packets),
					   block->sequence, &one, 1));
	}
}

static void give(void *context, struct trace_block *block)
{
	struct bench *bench = context;

	describe(bench, block);
	flight_memory_take(bench->memory, &(struct flight_block){
						  .sequence = block->sequence,
						  .compact = block->compact,
						  .packets = block->packets,
						  .ended = block->ended,
						  .data = block->data,
						  .bytes = block->bytes,
						  .own_bytes = block->own_bytes,
						  .last_ns = block->last_ns });
	free(block->index);
	block->index = NULL;
}

static bool excludes(void *context, uint64_t function)
{
	(void)context;
	(void)function;
	return false;
}

/* One thread more, that did all of @cells. */
static void add_thread(struct bench *bench, const struct record *cells,
		       size_t count)
{
	const struct replay_sink sink = { .take = take,
					  .give = give,
					  .excludes = excludes,
					  .context = bench,
					  .restart_ns = 1000000000 };
	const struct out_thread thread = { .uuid = 1000 + bench->sequence,
					   .sequence = bench->sequence,
					   .pid = 10,
					   .tid = (pid_t)bench->sequence,
					   .name = "thread",
					   .start_ns = cells[0].clock };
	struct budget budget = { .left = 1ULL << 30 };
	struct replay replay;
	uint8_t packet[512];

	flight_memory_describe(
		bench->memory, packet,
		out_perfetto_thread(packet, sizeof(packet), &thread));
	if (replay_init(&replay, &sink, bench->sequence, cells[0].clock, NULL,
			NULL, &budget) < 0)
		abort();
	for (size_t done = 0, taken; done < count; done += taken)
		done += replay_run(&replay, cells + done,
				   MIN(count - done, PIECE), INT64_MAX,
				   &taken) != 0;
	replay_finish(&replay, 0);
	replay_flush(&replay);
	bench->calls += replay.counts.spans;
	replay_release(&replay);
	bench->last_ns = MAX(bench->last_ns, cells[count - 1].clock);
	bench->sequence++;
}

/* --- records ------------------------------------------------------------- */

static uint32_t any(uint32_t below)
{
	static uint32_t random = 1;

	random = random * 1664525u + 1013904223u;
	return (random >> 8) % below;
}

static struct record *make_random(size_t *count)
{
	struct record *cells = calloc(2 * RANDOM_CALLS, sizeof(*cells));
	uint64_t stack[DEPTH_MOST], ns = START_NS;
	uint32_t depth = 0;

	*count = 2 * RANDOM_CALLS;
	for (size_t i = 0; cells && i < *count; i++) {
		bool begins = !depth || (depth < DEPTH_MOST && any(2));
		uint64_t sp = 0x100000 - 64 * depth;

		ns += 15 + (any(8) ? any(40) : any(500));
		if (begins)
			stack[depth++] =
				0x1000 +
				16 * (any(4) ? any(20) : any(FUNCTIONS));
		else
			sp = 0x100000 - 64 * --depth;
		cells[i] = (struct record){
			record_word(begins ? RECORD_BEGIN : RECORD_END,
				    stack[begins ? depth - 1 : depth], sp),
			ns
		};
	}
	return cells;
}

/* --- measuring ----------------------------------------------------------- */

static double seconds_of(struct timeval time)
{
	return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

/* Of all threads. */
static double cpu_seconds(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
}

static double wall_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void write_one(const struct bench *bench, const char *path,
		      bool compress)
{
	const struct flight_wish wish = { .memory = bench->memory,
					  .from_ns = 1,
					  .to_ns = bench->last_ns + 1,
					  .of = "bench",
					  .compress = compress };
	double cpu = cpu_seconds(), wall = wall_seconds();
	struct flight_result result;
	FILE *file = fopen(path, "w");
	int err = file ? flight_write(&wish, file, &result) : -1;

	if (err || fclose(file)) {
		fprintf(stderr, "bench_snapshot: cannot write '%s'\n", path);
		exit(1);
	}
	cpu = cpu_seconds() - cpu;
	wall = wall_seconds() - wall;
	printf("%s %.1f ns of CPU a call, %.2f s, %" PRIu64 " calls, %" PRIu64
	       " bytes\n",
	       compress ? "compressed" : "raw",
	       cpu * 1e9 / (double)bench->calls, wall, result.totals.slices,
	       result.bytes);
}

int main(int argc, char **argv)
{
	struct bench bench = { .sequence = 2 };
	uint64_t calls = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	int rounds = argc > 3 ? atoi(argv[3]) : 3;
	const char *path = argc > 4 ? argv[4] : "/dev/null";
	struct flight_reach reach;
	struct record *cells = NULL;
	size_t count = 0;

	if (calls && argc < 6)
		cells = strcmp(argv[1], "-") ? saved_cells_read(argv[1], &count)
					     : make_random(&count);
	bench.block = calloc(1, sizeof(*bench.block));
	if (!cells || !count || !bench.block ||
	    flight_share_new(UINT64_C(1) << 40, &bench.share) ||
	    flight_memory_new(bench.share, UINT64_C(1) << 60, &bench.memory)) {
		fprintf(stderr, "usage: bench_snapshot FILE|- CALLS [ROUNDS "
				"[OUT]]\n");
		return 2;
	}
	while (bench.calls < calls)
		add_thread(&bench, cells, count);
	flight_memory_reach(bench.memory, &reach);
	printf("%" PRIu64 " calls, %.2f bytes of memory a call\n", bench.calls,
	       (double)reach.bytes / (double)bench.calls);
	while (rounds-- > 0) {
		write_one(&bench, path, false);
		write_one(&bench, path, true);
	}
	flight_memory_free(&bench.memory);
	flight_share_free(&bench.share);
	free(bench.block);
	free(cells);
	return 0;
}
