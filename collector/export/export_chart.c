/* SPDX-License-Identifier: Apache-2.0
 *
 * export_chart - one line for each time span with a constant stack: "thread;a;b
 * 1234" in ns. Lines of a thread are ordered by time; threads follow one
 * another. Between outermost calls the line only has the thread.
 */
#include "collector/export/formats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/put.h"
#include "collector/export/spool.h"
#include "collector/export/threads.h"

struct chart_track {
	uint64_t ns; /* of the previous event; 0: none */
	uint32_t *stack; /* names */
	uint32_t depth, room;
};

struct chart {
	const struct trace_reader *trace;
	struct spool *spool;
	struct chart_track *tracks; /* by track number */
	uint32_t room;
};

static int put_stretch(const struct chart *chart,
		       const struct chart_track *track,
		       const struct trace_event *event)
{
	FILE *out = spool_stream(chart->spool, event->track->number);
	char name[THREAD_NAME_BYTES];

	if (!out)
		return -ENOMEM;
	export_folded_name(threads_name(chart->trace, event->track, name), out);
	for (uint32_t i = 0; i < track->depth; i++) {
		put_char(';', out);
		export_folded_name(
			trace_reader_text(chart->trace, track->stack[i]), out);
	}
	put_char(' ', out);
	put_count(event->ns - track->ns, out);
	put_char('\n', out);
	return ferror_unlocked(out) ? -EIO : 0;
}

static int take(struct chart *chart, const struct trace_event *event)
{
	struct chart_track *track =
		grow_array_at(chart->tracks, chart->room, event->track->number);
	int err = 0;

	if (!track)
		return -ENOMEM;
	if (track->ns && event->ns > track->ns)
		err = put_stretch(chart, track, event);
	track->ns = event->ns;
	if (err)
		return err;
	if (event->kind == TRACE_END) {
		track->depth -= track->depth > 0;
		return 0;
	}
	if (grow_array(track->stack, track->room, track->depth + 1))
		return -ENOMEM;
	track->stack[track->depth++] = event->name;
	return 0;
}

int export_flamechart(struct call_reader *reader, FILE *out)
{
	struct chart chart = { .trace = call_reader_trace(reader) };
	int err = spool_new(&chart.spool);
	struct call_event event;
	int got;

	if (err)
		return err;
	while ((got = call_reader_next(reader, &event)) > 0 && !err)
		if (event.event.kind == TRACE_BEGIN ||
		    event.event.kind == TRACE_END)
			err = take(&chart, &event.event);
	for (uint32_t i = 0; i < chart.room && !err; i++)
		err = spool_copy(chart.spool, i, out);
	err = err ? err : ferror(out) ? -EIO : got;
	for (uint32_t i = 0; i < chart.room; i++)
		free(chart.tracks[i].stack);
	free(chart.tracks);
	spool_free(&chart.spool);
	return err;
}
