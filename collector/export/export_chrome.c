/* SPDX-License-Identifier: Apache-2.0
 *
 * export_chrome - JSON trace events ("Trace Event Format"): B and E for slices,
 * i for instants and states, C for counters, M for names. Times are
 * CLOCK_BOOTTIME in us with three decimals. Samples and flows are omitted.
 *
 * If the trace has switches, B and E also have tts: the on-CPU time of the
 * thread since its first event. Viewers subtract the two. The E of a call with
 * partly unknown time has none.
 */
#include "collector/export/formats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/put.h"
#include "collector/export/dump.h"
#include "collector/export/threads.h"
#include "shared/compiler.h"

struct chrome {
	struct call_reader *reader;
	const struct trace_reader *trace;
	FILE *out;
	bool any; /* an event was written */
	struct chrome_track {
		int64_t pid, tid;
		uint32_t name, process_name; /* names already written */
		bool told;
		/* Time on a CPU from the first event to @at_ns. */
		uint64_t cpu_ns, at_ns;
	} * tracks; /* by track number */
	uint32_t room;
};

static void begin_event(struct chrome *chrome, char phase,
			const struct chrome_track *track)
{
	put_text(chrome->any ? ",\n{\"ph\":\"" : "\n{\"ph\":\"", chrome->out);
	chrome->any = true;
	put_char(phase, chrome->out);
	put_text("\",\"pid\":", chrome->out);
	put_int(track->pid, chrome->out);
	put_text(",\"tid\":", chrome->out);
	put_int(track->tid, chrome->out);
}

static void put_meta(struct chrome *chrome, const struct chrome_track *track,
		     const char *what, const char *name)
{
	begin_event(chrome, 'M', track);
	put_text(",\"name\":\"", chrome->out);
	put_text(what, chrome->out);
	put_text("\",\"args\":{\"name\":", chrome->out);
	put_json_text(name, chrome->out);
	put_text("}}", chrome->out);
}

/* Returns the state of @track. Writes its names before its first event and
 * after changes. NULL: no memory. */
static struct chrome_track *chrome_track_of(struct chrome *chrome,
					    const struct trace_track *track)
{
	const struct threads_process process =
		threads_process(chrome->trace, track);
	struct chrome_track *known =
		grow_array_at(chrome->tracks, chrome->room, track->number);
	char name[THREAD_NAME_BYTES];

	if (!known)
		return NULL;
	if (likely(known->told && known->name == track->name &&
		   known->process_name == process.name))
		return known;
	known->pid = process.pid;
	known->tid = threads_tid(track);
	known->name = track->name;
	known->process_name = process.name;
	known->told = true;
	if (process.name)
		put_meta(chrome, known, "process_name",
			 trace_reader_text(chrome->trace, process.name));
	put_meta(chrome, known, "thread_name",
		 threads_name(chrome->trace, track, name));
	return known;
}

static void put_thread_time(struct chrome *chrome, struct chrome_track *track,
			    const struct call_event *event)
{
	uint64_t ns = event->event.ns;
	const struct trace_track *shown = event->event.track;
	struct trace_sched_sums since, call = { 0 };

	if (!call_reader_sched(chrome->reader, shown,
			       track->at_ns ? track->at_ns : ns, ns, &since))
		return;
	track->cpu_ns += since.on_cpu;
	track->at_ns = MAX(track->at_ns, ns);
	if (event->event.kind == TRACE_END)
		call_reader_sched(chrome->reader, shown, event->begin_ns, ns,
				  &call);
	if (call.unknown)
		return;
	put_text(",\"tts\":", chrome->out);
	put_thousandth(track->cpu_ns, chrome->out);
}

static int put_chrome_event(struct chrome *chrome, struct call_event *event)
{
	static const char phases[] = { [TRACE_BEGIN] = 'B',
				       [TRACE_END] = 'E',
				       [TRACE_INSTANT] = 'i',
				       [TRACE_COUNTER] = 'C',
				       [TRACE_STATE] = 'i' };
	enum trace_event_kind kind = event->event.kind;
	struct chrome_track *track;

	if (kind == TRACE_SAMPLE || !event->event.track)
		return 0;
	track = chrome_track_of(chrome, event->event.track);
	if (!track)
		return -ENOMEM;
	begin_event(chrome, phases[kind], track);
	put_text(",\"ts\":", chrome->out);
	put_thousandth(event->event.ns, chrome->out);
	if (kind == TRACE_BEGIN || kind == TRACE_END)
		put_thread_time(chrome, track, event);
	if (kind == TRACE_COUNTER) {
		put_text(",\"name\":", chrome->out);
		put_json_text(trace_reader_text(chrome->trace,
						event->event.track->name),
			      chrome->out);
		put_text(",\"args\":{\"value\":", chrome->out);
		if (event->event.is_double)
			put_json_real(event->event.real, chrome->out);
		else
			put_int(event->event.value, chrome->out);
		put_char('}', chrome->out);
	} else if (kind != TRACE_END) {
		put_text(",\"name\":", chrome->out);
		put_json_text(
			trace_reader_text(chrome->trace, event->event.name),
			chrome->out);
		if (event->event.category) {
			put_text(",\"cat\":", chrome->out);
			put_json_text(trace_reader_text(chrome->trace,
							event->event.category),
				      chrome->out);
		}
	}
	if (phases[kind] == 'i')
		put_text(",\"s\":\"t\"", chrome->out);
	if (kind != TRACE_END && kind != TRACE_COUNTER) {
		struct call_event copy = *event;
		struct trace_argument argument;

		if (call_argument_next(chrome->reader, &copy, &argument)) {
			put_text(",\"args\":", chrome->out);
			dump_arguments(chrome->reader, event, chrome->out);
		}
	}
	put_char('}', chrome->out);
	return ferror_unlocked(chrome->out) ? -EIO : 0;
}

int export_chrome(struct call_reader *reader, FILE *out)
{
	struct chrome chrome = { .reader = reader,
				 .trace = call_reader_trace(reader),
				 .out = out };
	struct call_event event;
	int got, err = 0;

	put_text("{\"displayTimeUnit\":\"ns\",\"otherData\":{\"made_by\":"
		 "\"perfrec " PERFREC_VERSION "\"},\n\"traceEvents\":[",
		 out);
	while ((got = call_reader_next(reader, &event)) > 0 && !err)
		err = put_chrome_event(&chrome, &event);
	put_text("\n]}\n", out);
	free(chrome.tracks);
	return err ? err : ferror(out) ? -EIO : got;
}
