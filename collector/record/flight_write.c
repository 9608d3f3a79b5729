/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/record/flight_write.h"

#include "collector/cut/trace_cut.h"
#include "collector/trace/flight_view.h"
#include "shared/compiler.h"

static void take_run(struct flight_view *view, struct packet_window *window)
{
	uint32_t sequence;
	struct compact *events = flight_view_run(view, &sequence);

	if (events && packet_window_run(window, sequence, events))
		flight_view_ran(view);
}

static int write_view(const struct flight_wish *wish, struct cut_file *file,
		      struct flight_result *result)
{
	struct cut_range range = { .to = wish->to_ns };
	const struct cut_ranges ranges = { &range, 1, 1 };
	struct trace_cut_wish about = { .of = wish->of, .ranges = &ranges };
	struct packet_window *window = NULL;
	struct flight_view *view;
	int err = flight_view_new(wish->memory, wish->from_ns, wish->to_ns,
				  &view);

	if (err)
		return err;
	result->kept_from_ns = flight_view_first_ns(view);
	/* Not before all threads are complete, unless no range remains. */
	range.from = result->kept_from_ns < wish->to_ns
			     ? MAX(wish->from_ns, result->kept_from_ns)
			     : wish->from_ns;
	err = packet_window_new(&ranges, file, NULL, &window);
	if (!err) {
		struct wire packet;
		int got;

		while (take_run(view, window),
		       (got = flight_view_next(view, &packet)) > 0) {
			const struct trace_packet_bytes bytes = {
				packet.at, (size_t)(packet.end - packet.at)
			};

			packet_window_take(window, &bytes);
			/* Stop on a write error such as a full disk. */
			if (unlikely(file->err))
				break;
		}
		err = got < 0 ? got : 0;
	}
	if (!err) {
		packet_window_end(window);
		result->totals = packet_window_totals(window);
		about.origin_ns = result->totals.begin_ns ?: range.from;
		trace_cut_put_about(&about, file);
	}
	packet_window_free(&window);
	flight_view_free(&view);
	return err;
}

int flight_write(const struct flight_wish *wish, FILE *out,
		 struct flight_result *result)
{
	struct cut_file file;
	int err = cut_file_begin(&file, out, wish->compress), end;

	*result = (struct flight_result){ 0 };
	if (err)
		return err;
	err = write_view(wish, &file, result);
	end = cut_file_end(&file);
	result->bytes = file.bytes;
	return err ? err : end;
}
