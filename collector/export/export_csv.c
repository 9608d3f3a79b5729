/* SPDX-License-Identifier: Apache-2.0
 *
 * export_csv - RFC 4180: lines end with CR LF, texts are quoted. A text that
 * looks like a formula gets an apostrophe in front. Invalid UTF-8 and control
 * characters become '?'.
 */
#include "collector/export/formats.h"

#include <errno.h>
#include <string.h>

#include "collector/base/put.h"
#include "collector/export/threads.h"
#include "collector/read/summary_read.h"
#include "shared/compiler.h"

static void put_cell(const char *text, FILE *out)
{
	size_t left = strlen(text);

	put_char('"', out);
	if (text[0] && strchr("=+-@\t\r\n", text[0]))
		put_char('\'', out);
	while (left) {
		size_t bytes = strcspn(text, "\"");

		put_line(text, bytes, NULL, out);
		if (bytes < left)
			put_text("\"\"", out);
		bytes += bytes < left;
		text += bytes;
		left -= bytes;
	}
	put_char('"', out);
}

static void put_comma_count(uint64_t number, FILE *out)
{
	put_char(',', out);
	put_count(number, out);
}

/* Times on CPUs; 0 without --sched. */
static void put_sched(const struct summary_function *one, FILE *out)
{
	put_comma_count(one->on_cpu_self_ns, out);
	put_comma_count(one->on_cpu_ns, out);
	put_comma_count(one->runnable_self_ns, out);
	put_comma_count(one->runnable_ns, out);
	put_comma_count(one->blocked_self_ns, out);
	put_comma_count(one->blocked_ns, out);
	put_comma_count(one->switches, out);
}

int export_csv_functions(const struct summary *summary, FILE *out)
{
	put_text("function,module,calls,self_ns,total_ns,cpu_ns,alloc_objects,"
		 "alloc_bytes,inuse_objects,inuse_bytes,on_cpu_self_ns,"
		 "on_cpu_ns,runnable_self_ns,runnable_ns,blocked_self_ns,"
		 "blocked_ns,switches\r\n",
		 out);
	for (size_t i = 0; i < summary->function_count; i++) {
		const struct summary_function *one = &summary->functions[i];

		put_cell(one->name ? one->name : "", out);
		put_char(',', out);
		put_cell(one->module ? one->module : "", out);
		put_comma_count(one->calls, out);
		put_comma_count(one->self_ns, out);
		put_comma_count(one->total_ns, out);
		put_comma_count(one->cpu_ns, out);
		put_comma_count(one->alloc_objects, out);
		put_comma_count(one->alloc_bytes, out);
		put_comma_count(one->inuse_objects, out);
		put_comma_count(one->inuse_bytes, out);
		put_sched(one, out);
		put_text("\r\n", out);
	}
	return ferror(out) ? -EIO : 0;
}

static void put_csv_call(const struct trace_reader *trace, uint64_t origin_ns,
			 const struct call_event *event, FILE *out)
{
	const struct trace_track *track = event->event.track;
	const struct trace_track *thread = call_track_thread(trace, track);
	uint64_t took = event->event.ns - event->begin_ns;

	put_int(threads_process(trace, track).pid, out);
	put_char(',', out);
	put_int(thread->tid, out);
	put_char(',', out);
	put_cell(trace_reader_text(trace, thread->name), out);
	put_comma_count(event->begin_ns - MIN(event->begin_ns, origin_ns), out);
	put_comma_count(event->took_ns, out);
	put_comma_count(took - MIN(took, event->callee_ns), out);
	put_comma_count(event->depth, out);
	put_char(',', out);
	put_cell(trace_reader_text(trace, event->event.name), out);
	put_text(event->event.unfinished ? ",0\r\n" : ",1\r\n", out);
}

int export_csv_calls(struct call_reader *reader, FILE *out)
{
	const struct trace_reader *trace = call_reader_trace(reader);
	uint64_t origin_ns = call_reader_origin(reader);
	struct call_event event;
	int got;

	put_text("pid,tid,thread,start_ns,duration_ns,self_ns,depth,function,"
		 "finished\r\n",
		 out);
	while ((got = call_reader_next(reader, &event)) > 0) {
		if (event.event.kind == TRACE_END)
			put_csv_call(trace, origin_ns, &event, out);
		if (ferror_unlocked(out))
			return -EIO;
	}
	return got;
}
