/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/cut/trace_cut.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/bytes.h"
#include "collector/trace/out_perfetto.h"
#include "shared/compiler.h"

#define ATTRIBUTES_BYTES (4 * OUT_TEXT_BYTES)
/* So many ranges are named; then "..." follows. */
#define RANGES_NAMED 100

/* A time as people give it, but without a loss: ns, with its sign, as ranges
 * with a margin begin before the first slice. */
static void put_ns(struct bytes *text, uint64_t ns, uint64_t origin_ns)
{
	char number[32];
	int count = snprintf(number, sizeof(number), "%" PRId64 "ns",
			     (int64_t)(ns - origin_ns));

	bytes_put(text, number, (size_t)count);
}

/* "0ns..400000ns, 700000ns..", with a NUL; a side that is open is not named. */
static void name_ranges(const struct trace_cut_wish *wish, struct bytes *text)
{
	const struct cut_ranges *ranges = wish->ranges;

	for (uint32_t i = 0; i < ranges->count && i < RANGES_NAMED; i++) {
		if (i)
			bytes_put(text, ", ", 2);
		if (ranges->at[i].from)
			put_ns(text, ranges->at[i].from, wish->origin_ns);
		bytes_put(text, "..", 2);
		if (ranges->at[i].to != UINT64_MAX)
			put_ns(text, ranges->at[i].to, wish->origin_ns);
	}
	if (ranges->count > RANGES_NAMED)
		bytes_put(text, ", ...", 5);
	bytes_put(text, "", 1);
}

void trace_cut_put_about(const struct trace_cut_wish *wish,
			 struct cut_file *file)
{
	struct bytes ranges = { 0 };
	uint8_t *packet = malloc(ATTRIBUTES_BYTES);

	name_ranges(wish, &ranges);
	if (packet && !ranges.failed) {
		const struct out_attribute all[] = {
			{ .key = CUT_ATTRIBUTE "of", .text = wish->of },
			{ .key = CUT_ATTRIBUTE "ranges",
			  .text = (const char *)ranges.at },
			{ .key = CUT_ATTRIBUTE "origin_ns",
			  .number = (int64_t)wish->origin_ns },
			{ .key = CUT_ATTRIBUTE "thread", .text = wish->thread },
		};

		cut_file_put(file, packet,
			     out_perfetto_attributes(
				     packet, ATTRIBUTES_BYTES, all,
				     ARRAY_SIZE(all) - !wish->thread));
	}
	free(packet);
	bytes_release(&ranges);
}

/* Reads all packets of @packets into @window. */
static void take_packets(struct trace_packets *packets,
			 struct packet_window *window, struct cut_file *file,
			 struct trace_cut_result *result)
{
	struct trace_packet_bytes packet, bundle;
	int got;

	while ((got = trace_packets_next(packets, &packet)) > 0) {
		bundle = packet_window_take(window, &packet);
		if (bundle.at &&
		    trace_packets_unpack(packets, bundle.at, bundle.count) < 0)
			result->bad_bundles++;
		/* A full disk: the rest need not be read. */
		if (unlikely(file->err))
			break;
	}
	result->read_err = got < 0 ? got : 0;
}

static int write_cut(const struct trace_cut_wish *wish,
		     struct trace_packets *packets, struct cut_file *file,
		     struct trace_cut_result *result)
{
	struct packet_window *window;
	int err = packet_window_new(wish->ranges, file, wish->threads, &window);

	if (err)
		return err;
	if (wish->progress)
		trace_packets_set_progress(packets, wish->progress);
	take_packets(packets, window, file, result);
	packet_window_end(window);
	trace_cut_put_about(wish, file);
	result->totals = packet_window_totals(window);
	result->size = trace_packets_size(packets);
	result->at = trace_packets_at(packets);
	result->left = result->read_err ? 0 : trace_packets_left(packets);
	packet_window_free(&window);
	return 0;
}

int trace_cut_write(const struct trace_cut_wish *wish, FILE *out,
		    struct trace_cut_result *result)
{
	struct trace_packets *packets;
	struct cut_file file;
	int err = trace_packets_open(wish->path, &packets), end;

	*result = (struct trace_cut_result){ 0 };
	if (err)
		return err;
	err = cut_file_begin(&file, out, wish->compress);
	if (!err) {
		err = write_cut(wish, packets, &file, result);
		end = cut_file_end(&file);
		err = err ? err : end;
		result->bytes = file.bytes;
	}
	trace_packets_close(&packets);
	return err;
}
