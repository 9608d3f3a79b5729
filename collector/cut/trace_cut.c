/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/cut/trace_cut.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/bytes.h"
#include "collector/read/trace_index.h"
#include "collector/read/trace_parts.h"
#include "collector/trace/out_perfetto.h"
#include "shared/compiler.h"

#define ATTRIBUTES_BYTES (4 * OUT_TEXT_BYTES)
/* The most ranges in the text; "..." stands for more. */
#define RANGES_NAMED 100

/* Appends a time as people write it, but exact: ns, with a sign, because ranges
 * with a margin may begin before the first slice. */
static void put_ns(struct bytes *text, uint64_t ns, uint64_t origin_ns)
{
	char number[32];
	int count = snprintf(number, sizeof(number), "%" PRId64 "ns",
			     (int64_t)(ns - origin_ns));

	bytes_put(text, number, (size_t)count);
}

/* Appends "0ns..400000ns, 700000ns..", with a NUL; an open side is empty. */
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

static void cut_part(struct packet_window *window,
		     const struct trace_part *part)
{
	switch (part->kind) {
	case PART_PACKET:
		packet_window_take(window, &part->bytes);
		break;
	case PART_RESTART:
		packet_window_restart(window, part->sequence, part->ns);
		break;
	case PART_TRACK:
		packet_window_pass(window, part->uuid, part->count, part->ns);
		break;
	case PART_SWITCH:
		packet_window_switch(window, part->sequence, &part->at);
		break;
	}
}

static int take_parts(struct trace_parts *parts, struct packet_window *window,
		      const struct cut_file *file)
{
	struct trace_part part;
	int got;

	while ((got = trace_parts_next(parts, &part)) > 0) {
		cut_part(window, &part);
		/* A full disk: reading on is useless. */
		if (unlikely(file->err))
			break;
	}
	if (trace_parts_last_ns(parts))
		packet_window_reach(window, trace_parts_last_ns(parts));
	return got < 0 ? got : 0;
}

static int write_cut(const struct trace_cut_wish *wish,
		     struct trace_parts *parts, struct cut_file *file,
		     struct trace_cut_result *result)
{
	struct trace_packets *packets = trace_parts_packets(parts);
	struct packet_window *window;
	int err = packet_window_new(wish->ranges, file, wish->threads, &window);

	if (err)
		return err;
	if (wish->progress)
		trace_packets_set_progress(packets, wish->progress);
	result->read_err = take_parts(parts, window, file);
	packet_window_end(window);
	trace_cut_put_about(wish, file);
	result->totals = packet_window_totals(window);
	result->bad_bundles = trace_packets_bad_bundles(packets);
	result->size = trace_packets_size(packets);
	result->at = trace_packets_at(packets);
	result->left = result->read_err ? 0 : trace_packets_left(packets);
	packet_window_free(&window);
	return 0;
}

static struct time_range *copy_ranges(const struct cut_ranges *ranges)
{
	struct time_range *copy = calloc(ranges->count + 1, sizeof(*copy));

	for (uint32_t i = 0; copy && i < ranges->count; i++)
		copy[i] = (struct time_range){ ranges->at[i].from,
					       ranges->at[i].to };
	return copy;
}

static int cut_parts(const struct trace_cut_wish *wish,
		     const struct trace_index *index,
		     const struct time_range *ranges, FILE *out,
		     struct trace_cut_result *result)
{
	const struct parts_choice choice = { .ranges = ranges,
					     .range_count =
						     wish->ranges->count };
	struct trace_parts *parts;
	struct cut_file file;
	int err, end;

	err = trace_parts_open(wish->path, index, &choice, &parts);
	if (err)
		return err;
	err = cut_file_begin(&file, out, wish->compress);
	if (!err) {
		err = write_cut(wish, parts, &file, result);
		end = cut_file_end(&file);
		err = err ? err : end;
		result->bytes = file.bytes;
	}
	trace_parts_close(&parts);
	return err;
}

int trace_cut_write(const struct trace_cut_wish *wish, FILE *out,
		    struct trace_cut_result *result)
{
	struct time_range *ranges = copy_ranges(wish->ranges);
	struct trace_index *index = NULL;
	int err = -ENOMEM;

	*result = (struct trace_cut_result){ 0 };
	trace_index_read_beside(wish->path, &index);
	if (ranges)
		err = cut_parts(wish, index, ranges, out, result);
	result->told = trace_index_told(index);
	trace_index_free(&index);
	free(ranges);
	return err;
}
