/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/export/dump.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/pool.h"
#include "collector/base/put.h"
#include "collector/read/trace_switches.h"
#include "shared/compiler.h"

struct dump {
	struct call_reader *reader;
	const struct trace_reader *trace;
	FILE *out;
	/* By number: state of the tracks already written. */
	struct told {
		bool told;
		uint32_t name, command;
		const struct trace_track *process;
	} * told;
	uint32_t told_room;
	struct pool tids; /* of int64_t: threads whose stretches are written */
};

/* --- members of an object --- */

static void put_key(const char *key, FILE *out)
{
	put_text(",\"", out);
	put_text(key, out);
	put_text("\":", out);
}

static void dump_number(const char *key, uint64_t number, FILE *out)
{
	put_key(key, out);
	put_count(number, out);
}

static void put_number_if(const char *key, bool known, uint64_t number,
			  FILE *out)
{
	put_key(key, out);
	if (known)
		put_count(number, out);
	else
		put_text("null", out);
}

static void put_word(const char *key, const char *text, FILE *out)
{
	put_key(key, out);
	put_json_text(text, out);
}

static void put_named(const struct dump *dump, const char *key, uint32_t text)
{
	if (text)
		put_word(key, trace_reader_text(dump->trace, text), dump->out);
}

static void put_kind(const char *kind, FILE *out)
{
	put_text("{\"kind\":\"", out);
	put_text(kind, out);
	put_char('"', out);
}

/* --- arguments --- */

static void put_argument(const struct trace_argument *argument, FILE *out)
{
	switch (argument->kind) {
	case TRACE_ARGUMENT_BOOL:
		put_text(argument->number ? "true" : "false", out);
		return;
	case TRACE_ARGUMENT_INT:
		put_int((int64_t)argument->number, out);
		return;
	case TRACE_ARGUMENT_DOUBLE:
		put_json_real(argument->real, out);
		return;
	case TRACE_ARGUMENT_TEXT:
		put_json(argument->text, argument->text_bytes, out);
		return;
	case TRACE_ARGUMENT_POINTER:
		fprintf(out, "\"0x%" PRIx64 "\"", argument->number);
		return;
	default:
		put_count(argument->number, out);
	}
}

void dump_arguments(const struct call_reader *reader, struct call_event *event,
		    FILE *out)
{
	struct trace_argument argument;
	bool more = false;

	put_char('{', out);
	while (call_argument_next(reader, event, &argument)) {
		if (more)
			put_char(',', out);
		more = true;
		put_json(argument.name, argument.name_bytes, out);
		put_char(':', out);
		put_argument(&argument, out);
	}
	put_char('}', out);
}

/* Puts the arguments of @event as the last member, if it has any. */
static void put_all_arguments(const struct dump *dump, struct call_event *event)
{
	struct call_event copy = *event;
	struct trace_argument argument;

	if (!call_argument_next(dump->reader, &copy, &argument))
		return;
	put_key("arguments", dump->out);
	dump_arguments(dump->reader, event, dump->out);
}

/* --- tracks --- */

static const char *track_type(const struct trace_track *track)
{
	static const char *const types[] = {
		[TRACE_TRACK_OTHER] = "other",
		[TRACE_TRACK_PROCESS] = "process",
		[TRACE_TRACK_THREAD] = "thread",
		[TRACE_TRACK_CONTEXT] = "context",
		[TRACE_TRACK_COUNTER] = "counter",
		[TRACE_TRACK_WAITS] = "waits",
	};

	return types[track->kind];
}

/* Describes @track before its first event and after each change. */
static int tell_track(struct dump *dump, const struct trace_track *track)
{
	struct told *told;
	const struct trace_track *parent;
	FILE *out;

	if (!track)
		return 0;
	told = grow_array_at(dump->told, dump->told_room, track->number);
	if (!told)
		return -ENOMEM;
	if (likely(told->told && told->name == track->name &&
		   told->command == track->command &&
		   told->process == track->process))
		return 0;
	*told = (struct told){ true, track->name, track->command,
			       track->process };
	if (track->process && track->process != track &&
	    tell_track(dump, track->process))
		return -ENOMEM;
	parent = track->parent
			 ? trace_reader_find_track(dump->trace, track->parent)
			 : NULL;
	out = dump->out;
	put_kind("track", out);
	dump_number("track", track->number, out);
	put_word("type", track_type(track), out);
	if (parent)
		dump_number("parent", parent->number, out);
	if (track->process)
		dump_number("process", track->process->number, out);
	if (track->pid)
		dump_number("pid", (uint64_t)track->pid, out);
	if (track->tid)
		dump_number("tid", (uint64_t)track->tid, out);
	put_named(dump, "name", track->name);
	put_named(dump, "command", track->command);
	put_named(dump, "unit", track->unit);
	put_text("}\n", out);
	return 0;
}

static int tell_tracks(struct dump *dump, const struct trace_track *track)
{
	int err;

	if (!track)
		return 0;
	if (track->parent && track->kind != TRACE_TRACK_THREAD) {
		err = tell_track(dump, trace_reader_find_track(dump->trace,
							       track->parent));
		if (err)
			return err;
	}
	return tell_track(dump, track);
}

/* --- events --- */

static void put_location(const struct dump *dump, uint32_t number)
{
	struct trace_location location =
		trace_reader_location(dump->trace, number);

	put_named(dump, "file", location.file);
	if (location.line)
		dump_number("line", location.line, dump->out);
}

static void dump_stack(const struct dump *dump, const struct trace_event *event)
{
	const struct trace_frame *frames;
	uint32_t count = trace_reader_stack(call_reader_trace(dump->reader),
					    event->stack, &frames);
	FILE *out = dump->out;

	put_text(event->in_kernel ? ",\"kernel\":true,\"stack\":["
				  : ",\"stack\":[",
		 out);
	for (uint32_t i = 0; i < count; i++) {
		put_text(i ? ",{\"function\":" : "{\"function\":", out);
		put_json_text(
			trace_reader_text(dump->trace, frames[i].function),
			out);
		put_named(dump, "module", frames[i].module);
		put_key("address", out);
		fprintf(out, "\"0x%" PRIx64 "\"}", frames[i].address);
	}
	put_char(']', out);
}

static void put_members(const struct dump *dump, struct call_event *event)
{
	FILE *out = dump->out;
	struct wire fields;
	bool ends, any;
	uint64_t id;

	put_named(dump, "name", event->event.name);
	put_named(dump, "category", event->event.category);
	if (event->event.kind == TRACE_BEGIN || event->event.kind == TRACE_END)
		dump_number("depth", event->depth, out);
	if (event->event.kind == TRACE_END) {
		uint64_t took = event->event.ns - event->begin_ns;
		struct trace_sched_sums sums;

		dump_number("took_ns", event->took_ns, out);
		dump_number("self_ns", took - MIN(took, event->callee_ns), out);
		if (call_reader_sched(dump->reader, event->event.track,
				      event->begin_ns, event->event.ns,
				      &sums)) {
			dump_number("on_cpu_ns", sums.on_cpu, dump->out);
			dump_number("preempted_ns", sums.preempted, dump->out);
			dump_number("waited_ns", sums.waited, dump->out);
			dump_number("unknown_sched_ns",
				    sums.unknown + sums.suspended, dump->out);
		}
		if (event->event.unfinished)
			put_text(",\"unfinished\":true", out);
	} else
		put_location(dump, event->event.location);
	if (event->event.kind == TRACE_COUNTER) {
		put_key("value", out);
		if (event->event.is_double)
			put_json_real(event->event.real, out);
		else
			put_int(event->event.value, out);
	}
	if (event->event.kind == TRACE_SAMPLE)
		dump_stack(dump, &event->event);
	if (event->event.correlation)
		dump_number("correlation", event->event.correlation, out);
	fields = event->event.fields;
	any = false;
	while (trace_flow_next(&fields, &id, &ends)) {
		if (any)
			put_char(',', out);
		else
			put_text(",\"flows\":[", out);
		any = true;
		/* Ids have 64 bits, too many for a JSON number. */
		fprintf(out, "{\"id\":\"%" PRIx64 "\",\"ends\":%s}", id,
			ends ? "true" : "false");
	}
	if (any)
		put_char(']', out);
	put_all_arguments(dump, event);
}

static int dump_event(struct dump *dump, struct call_event *event)
{
	static const char *const kinds[] = {
		[TRACE_BEGIN] = "begin",     [TRACE_END] = "end",
		[TRACE_INSTANT] = "instant", [TRACE_COUNTER] = "counter",
		[TRACE_STATE] = "state",     [TRACE_SAMPLE] = "sample",
	};
	const struct trace_track *track = event->event.track;
	FILE *out = dump->out;
	int err;

	/* A wait is one line, at its end. It belongs to its thread and is no
	 * call. */
	if (track && track->kind == TRACE_TRACK_WAITS) {
		const struct trace_track *thread =
			call_track_thread(dump->trace, event->event.track);

		if (event->event.kind != TRACE_END)
			return 0;
		err = tell_tracks(dump, thread);
		if (err)
			return err;
		put_kind("wait", out);
		dump_number("ns", event->begin_ns, out);
		dump_number("track", thread->number, out);
		put_named(dump, "name", event->event.name);
		dump_number("took_ns", event->event.ns - event->begin_ns, out);
		if (event->event.unfinished)
			put_text(",\"unfinished\":true", out);
		put_all_arguments(dump, event);
		put_text("}\n", out);
		return ferror_unlocked(out) ? -EIO : 0;
	}
	err = tell_tracks(dump, track);
	if (err)
		return err;
	put_kind(kinds[event->event.kind], out);
	dump_number("ns", event->event.ns, out);
	if (event->event.track)
		dump_number("track", event->event.track->number, out);
	put_members(dump, event);
	put_text("}\n", out);
	return ferror_unlocked(out) ? -EIO : 0;
}

/* --- times on CPUs --- */

/* Writes the stretches of each thread with events. Thread numbers are reused,
 * so each number is written once. */
static int put_stretches(struct dump *dump)
{
	const struct trace_stretch *at;
	int got = 0;

	for (uint32_t i = 0; i < dump->told_room; i++) {
		const struct trace_track *track =
			trace_reader_track(dump->trace, i);
		uint32_t count, number;

		if (!dump->told[i].told)
			continue;
		count = call_reader_stretches(dump->reader, track, &at);
		if (count)
			got = pool_intern(&dump->tids, &track->tid, &number);
		if (got < 0)
			return got;
		for (uint32_t j = 0; got && j < count; j++) {
			static const char *const left[] = {
				[TRACE_LEFT_PREEMPTED] = "preempted",
				[TRACE_LEFT_WAITS] = "waits",
				[TRACE_LEFT_ENDED] = "ended",
				[TRACE_LEFT_UNKNOWN] = "unknown",
			};

			put_kind("stretch", dump->out);
			dump_number("ns", at[j].from, dump->out);
			dump_number("track", track->number, dump->out);
			dump_number("tid", (uint64_t)track->tid, dump->out);
			dump_number("cpu", at[j].cpu, dump->out);
			dump_number("took_ns", at[j].to - at[j].from,
				    dump->out);
			put_word("then", left[at[j].why], dump->out);
			put_text("}\n", dump->out);
		}
	}
	return ferror_unlocked(dump->out) ? -EIO : 0;
}

/* --- the first line and the last --- */

static int dump_all(struct dump *dump)
{
	const bool whole = !call_reader_has_range(dump->reader);
	struct call_event event;
	int got, err;
	struct trace_read_totals totals;
	FILE *out;
	const char *key, *text;
	int64_t number;

	put_kind("dump", dump->out);
	dump_number("version", DUMP_VERSION, dump->out);
	put_word("perfrec", PERFREC_VERSION, dump->out);
	dump_number("first_ns", call_reader_origin(dump->reader), dump->out);
	put_text("}\n", dump->out);
	while ((got = call_reader_next(dump->reader, &event)) > 0) {
		got = dump_event(dump, &event);
		if (got)
			return got;
	}
	err = put_stretches(dump);
	if (err)
		return err;
	totals = trace_reader_totals(dump->trace);
	out = dump->out;
	put_kind("totals", out);
	put_number_if("begins", whole, totals.begins, out);
	put_number_if("ends", whole, totals.ends, out);
	put_number_if("unfinished", whole, totals.unfinished, out);
	put_number_if("first_ns", whole, totals.first_ns, out);
	dump_number("last_ns", totals.last_ns, out);
	dump_number("lost_packets", totals.lost, out);
	dump_number("cut_bytes", totals.cut, out);
	dump_number("bad",
		    totals.bad_bundles + totals.bad_events + totals.refused,
		    out);
	put_text(got ? ",\"damaged\":true" : ",\"damaged\":false", out);
	put_key("attributes", dump->out);
	for (uint32_t i = 0;
	     trace_reader_attribute(dump->trace, i, &key, &text, &number);
	     i++) {
		put_char(i ? ',' : '{', dump->out);
		put_json_text(key, dump->out);
		put_char(':', dump->out);
		if (text)
			put_json_text(text, dump->out);
		else
			put_int(number, dump->out);
	}
	put_text(trace_reader_attribute(dump->trace, 0, &key, &text, &number)
			 ? "}"
			 : "{}",
		 dump->out);
	put_text("}\n", out);
	return fflush(dump->out) ? -EIO : got;
}

int dump_write(struct call_reader *reader, FILE *out)
{
	struct dump dump = { .reader = reader,
			     .trace = call_reader_trace(reader),
			     .out = out };
	int err;

	pool_init(&dump.tids, NULL, sizeof(int64_t), sizeof(int64_t));
	err = dump_all(&dump);
	pool_release(&dump.tids);
	free(dump.told);
	return err;
}
