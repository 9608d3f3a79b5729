/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_beside - the input is a trace and its index (index_input.h), placed in a
 * folder like those of a recording. Searches of calls, sums of a range and cuts
 * find the index there and use it.
 */
#include <errno.h>
#include <fcntl.h>

#include "collector/cut/trace_cut.h"
#include "collector/output/own_files.h"
#include "collector/read/call_search.h"
#include "collector/read/trace_bounds.h"
#include "collector/read/trace_index.h"
#include "collector/read/trace_sums.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/index_input.h"

static char g_dir[] = "/tmp/fuzz_beside.XXXXXX";
static char g_trace[64], g_index[64];

static void remove_folder(void)
{
	unlink(g_trace);
	unlink(g_index);
	rmdir(g_dir);
}

static void make_folder(void)
{
	if (g_trace[0])
		return;
	fuzz_must(mkdtemp(g_dir), "no folder");
	snprintf(g_trace, sizeof(g_trace), "%s/" TRACE_NAME, g_dir);
	snprintf(g_index, sizeof(g_index), "%s/" INDEX_NAME, g_dir);
	atexit(remove_folder);
}

static void write_file(const char *path, const uint8_t *data, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	fuzz_must(fd >= 0 && write(fd, data, size) == (ssize_t)size, path);
	close(fd);
}

/* All found calls are in the range, in the wished order. */
static void search(const struct call_wish *wish)
{
	struct call_search *found = NULL;

	if (call_search_run(g_trace, wish, NULL, &found))
		abort();
	fuzz_must(found->count <= found->matched, "more calls than matches");
	for (size_t i = 0; i < found->count; i++) {
		const struct found_call *call = &found->calls[i];

		fuzz_must(call->begin_ns < wish->range.to_ns &&
				  call->end_ns >= wish->range.from_ns,
			  "a call outside");
		fuzz_must(call->took_ns >= wish->min_ns &&
				  call->took_ns <= wish->max_ns,
			  "a call of another duration");
		fuzz_must(!i || (wish->by_time
					 ? call[-1].begin_ns <= call->begin_ns
					 : call[-1].took_ns >= call->took_ns),
			  "calls are out of order");
	}
	call_search_free(&found);
}

static void searches(struct time_range range)
{
	struct call_wish wish = { .function = "*",
				  .max_ns = UINT64_MAX,
				  .range = TIME_RANGE_ALL,
				  .limit = 3 };

	search(&wish);
	wish.function = "*l*";
	search(&wish);
	wish.range = range;
	wish.by_time = true;
	search(&wish);
	wish.function = "main";
	wish.min_ns = 1000;
	wish.thread = "threads";
	search(&wish);
}

/* Each call counts in a function's sum, or as missing. */
static void sum_up(const struct window_choice *choice)
{
	struct trace_sums *sums = NULL;
	uint64_t calls;
	int err = trace_sums_read(g_trace, choice, NULL, &sums);

	fuzz_must(!err || err == -ENOMEM, "an unexpected error");
	if (err)
		return;
	calls = sums->tree.folded;
	for (uint32_t i = 0; i < sums->function_count; i++)
		calls += sums->functions[i].calls;
	fuzz_must(calls == sums->spans, "a call is missing in the sums");
	for (uint32_t i = 1; i < sums->tree.nodes.count; i++) {
		const struct sums_node *node = trace_sums_node(sums, i);

		fuzz_must(node->call.parent < i &&
				  node->call.thread < sums->tree.thread_count,
			  "a node of no tree");
	}
	trace_sums_free(&sums);
}

static void sums(struct time_range range)
{
	struct window_choice choice = { .range = TIME_RANGE_ALL,
					.calls_only = true,
					.skips = PARTS_SKIP_CHUNKS };

	sum_up(&choice);
	choice.range = range;
	sum_up(&choice);
	choice.skips = PARTS_SKIP_DETAILED;
	choice.thread = "all";
	sum_up(&choice);
}

/* A cut ends each slice that it begins, even a cut of nonsense. */
static void check_cut(int fd)
{
	struct trace_reader *reader;
	struct trace_read_totals totals;
	struct trace_event event;
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	fuzz_must(!trace_reader_open(path, &reader), "no cut");
	while (trace_reader_next(reader, &event) > 0)
		;
	totals = trace_reader_totals(reader);
	fuzz_must(!totals.unfinished && !totals.cut, "an open slice in a cut");
	trace_reader_close(&reader);
}

static void cut(struct time_range range, bool compress)
{
	struct cut_range at[] = { { range.from_ns, range.to_ns },
				  { range.to_ns + 1, UINT64_MAX } };
	const struct cut_ranges ranges = { at, ARRAY_SIZE(at), 0 };
	const struct trace_cut_wish wish = { .path = g_trace,
					     .of = "input",
					     .ranges = &ranges,
					     .origin_ns = range.from_ns,
					     .compress = compress };
	struct trace_cut_result result;
	int fd = memfd_create("cut", MFD_CLOEXEC);
	FILE *out = fdopen(fd, "w");

	fuzz_must(out && !trace_cut_write(&wish, out, &result), "no cut");
	check_cut(fd);
	fclose(out);
}

/* Returns the middle third of the trace's time. */
static struct time_range middle(void)
{
	struct trace_bounds bounds;
	uint64_t third;

	if (trace_bounds_read(g_trace, NULL, NULL, &bounds))
		abort();
	if (!bounds.first_ns || bounds.last_ns <= bounds.first_ns ||
	    bounds.last_ns > UINT64_MAX / 2)
		return (struct time_range){ 1000, 2000 };
	third = (bounds.last_ns - bounds.first_ns) / 3;
	return (struct time_range){ bounds.first_ns + third,
				    bounds.last_ns - third };
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct index_input input;
	struct time_range range;
	size_t bytes;
	uint8_t *file;

	if (!index_input_take(data, size, &input))
		return 0;
	make_folder();
	write_file(g_trace, input.trace, input.trace_bytes);
	file = index_input_file(&input, &bytes);
	write_file(g_index, file, bytes);
	free(file);
	range = middle();
	searches(range);
	sums(range);
	cut(range, size & 1);
	return 0;
}
