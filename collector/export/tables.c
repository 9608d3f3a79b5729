/* SPDX-License-Identifier: Apache-2.0
 *
 * tables - columns use the names of Perfetto's tables where these exist: ts,
 * dur, name, depth, utid, upid. A call becomes a row at its end. Until then the
 * writer stores its arguments and its number, the parent_id of its callees.
 *
 * A call belongs to the request of the innermost slice with the argument
 * trace_id that is around it in its own context. Without such a slice it
 * belongs to the request that its thread has set last. The context of a sample
 * is unknown: it belongs to the request of the open slice of its thread that
 * began last. Contexts and samples are not ordered relative to each other, so
 * samples become rows after all calls. Until then samples and changes of
 * requests share KEPT_BYTES_MAX. Without room, a change leaves requests of its
 * thread unknown from then on, and a sample becomes a row at once, without a
 * request.
 */
#include "collector/export/tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/budget.h"
#include "collector/base/bytes.h"
#include "collector/base/grow.h"
#include "collector/base/log.h"
#include "collector/base/path.h"
#include "collector/base/pool.h"
#include "collector/base/search.h"
#include "collector/base/size.h"
#include "collector/export/dump.h"
#include "collector/export/parquet.h"
#include "collector/read/request_choice.h"
#include "shared/compiler.h"

#define INT(name)                        \
	{                                \
		name, PARQUET_INT, false \
	}
#define INT_OR_NULL(name)               \
	{                               \
		name, PARQUET_INT, true \
	}
#define TEXT(name)                        \
	{                                 \
		name, PARQUET_TEXT, false \
	}
#define TEXT_OR_NULL(name)               \
	{                                \
		name, PARQUET_TEXT, true \
	}
#define OF_THREAD                                                             \
	INT_OR_NULL("utid"), INT_OR_NULL("tid"), TEXT_OR_NULL("thread_name"), \
		INT_OR_NULL("upid"), INT_OR_NULL("pid"),                      \
		TEXT_OR_NULL("process_name")

#ifndef KEPT_BYTES_MAX
#define KEPT_BYTES_MAX (1ULL << 30)
#endif

#define OF_REQUEST TEXT_OR_NULL("trace_id"), TEXT_OR_NULL("span_id")

static const struct parquet_column recordings[] = {
	TEXT("recording"),
	TEXT_OR_NULL("started"),
	TEXT_OR_NULL("program"),
	TEXT_OR_NULL("command"),
	TEXT("perfrec_version"),
	INT("dur"),
	INT_OR_NULL("user_dur"),
	INT_OR_NULL("system_dur"),
	INT_OR_NULL("exit_status"),
	INT_OR_NULL("exit_signal"),
	INT("calls"),
	INT("lost_calls"),
};

static const struct parquet_column calls[] = {
	TEXT("recording"),
	INT("id"),
	INT_OR_NULL("parent_id"),
	INT("ts"),
	INT_OR_NULL("dur"),
	INT_OR_NULL("self_dur"),
	TEXT_OR_NULL("category"),
	TEXT("name"),
	INT("depth"),
	OF_THREAD,
	TEXT_OR_NULL("args"),
	OF_REQUEST,
};

static const struct parquet_column functions[] = {
	TEXT("recording"),	   TEXT("name"),
	TEXT_OR_NULL("mapping"),   INT("calls"),
	INT("self_dur"),	   INT("total_dur"),
	INT_OR_NULL("median_dur"), INT_OR_NULL("p99_dur"),
	INT_OR_NULL("max_dur"),	   INT("cpu_dur"),
	INT("on_cpu_self_dur"),	   INT("runnable_self_dur"),
	INT("blocked_self_dur"),   INT("switches"),
	INT("alloc_count"),	   INT("alloc_size"),
	INT("live_count"),	   INT("live_size"),
};

static const struct parquet_column samples[] = {
	TEXT("recording"),
	INT("ts"),
	OF_THREAD,
	TEXT("cpu_mode"),
	TEXT_OR_NULL("name"),
	TEXT_OR_NULL("mapping"),
	TEXT_OR_NULL("stack"),
	OF_REQUEST,
};

static const struct parquet_column waits[] = {
	TEXT("recording"),	    INT("ts"),
	INT_OR_NULL("dur"),	    TEXT("name"),
	TEXT_OR_NULL("call"),	    OF_THREAD,
	TEXT_OR_NULL("lock"),	    TEXT_OR_NULL("held_by"),
	INT_OR_NULL("held_by_tid"), TEXT_OR_NULL("held_in"),
	TEXT_OR_NULL("woken_by"),   INT_OR_NULL("woken_by_tid"),
	TEXT_OR_NULL("woken_in"),   TEXT_OR_NULL("result"),
};

#define OF_STACK                                                         \
	TEXT_OR_NULL("name"), TEXT_OR_NULL("mapping"),                   \
		TEXT_OR_NULL("source_file"), INT_OR_NULL("line_number"), \
		TEXT("stack")

static const struct parquet_column blocked[] = {
	TEXT("recording"),
	OF_STACK,
	INT("count"),
	INT("dur"),
};

static const struct parquet_column allocations[] = {
	TEXT("recording"), OF_STACK,	     INT("count"), INT("size"),
	INT("live_count"), INT("live_size"), OF_REQUEST,
};

static const struct table {
	const char *file;
	const struct parquet_column *columns;
	size_t count;
} tables[TABLES] = {
#define TABLE(name)                                      \
	{                                                \
#name ".parquet", name, ARRAY_SIZE(name) \
	}
	[TABLE_RECORDINGS] = TABLE(recordings),
	[TABLE_CALLS] = TABLE(calls),
	[TABLE_FUNCTIONS] = TABLE(functions),
	[TABLE_SAMPLES] = TABLE(samples),
	[TABLE_WAITS] = TABLE(waits),
	[TABLE_BLOCKED] = TABLE(blocked),
	[TABLE_ALLOCATIONS] = TABLE(allocations),
};

const char *tables_file_name(enum tables_file table)
{
	return tables[table].file;
}

struct open_call {
	int64_t id;
	struct call_arguments *kept;
	bool owns; /* its own arguments have @ids */
	struct request_ids ids; /* of the innermost call that owns some */
};

/* The open calls of a track. */
struct open_calls {
	struct open_call *call;
	uint32_t room;
};

/* An item of the pool of ids. */
union kept_ids {
	struct request_ids ids;
	uint64_t key[(sizeof(struct request_ids) + 7) / 8];
};

/* An instant sets the request of its thread; a slice with ids of its own begins
 * or ends. */
struct request_event {
	uint64_t ns;
	const struct trace_track *track;
	uint32_t depth, order; /* order: of events at the same time */
	uint32_t ids; /* in the pool; in the end: of the thread from here on */
	enum trace_event_kind kind;
};

/* The requests of a thread. */
struct requests {
	struct request_event *event;
	uint32_t count, room;
	struct request_event *said; /* instants, ordered by time */
	uint32_t said_count, said_room;
	uint64_t unknown_ns; /* 0, or unknown from here on */
};

/* A sample before it becomes a row. */
struct kept_sample {
	uint64_t ns;
	const struct trace_track *track;
	uint32_t stack;
	bool in_kernel;
};

struct writer {
	const struct tables_source *source;
	const struct trace_reader *trace;
	struct parquet *file[TABLES];
	struct open_calls *tracks; /* by track number */
	uint32_t track_room;
	struct requests *requests; /* by number of a thread's track */
	uint32_t request_room;
	struct budget budget; /* of changes, ids and samples */
	struct pool ids; /* union kept_ids */
	struct kept_sample *samples;
	uint32_t sample_count, sample_room;
	uint64_t unknown_requests; /* of calls and samples */
	int64_t last_id;
	struct bytes stack; /* reused buffer */
};

/* --- a row --------------------------------------------------------------- */

/* The values of a row must follow the order of the columns. */
struct row {
	struct parquet *file;
	size_t column;
};

static struct row begin_row(const struct writer *writer, enum tables_file table)
{
	struct row row = { .file = writer->file[table] };

	parquet_text(row.file, row.column++, writer->source->recording);
	return row;
}

static void put_row_int(struct row *row, uint64_t value)
{
	parquet_int(row->file, row->column++, (int64_t)value);
}

static void put_int_if(struct row *row, bool known, uint64_t value)
{
	if (known)
		put_row_int(row, value);
	else
		parquet_null(row->file, row->column++);
}

static void put_row_text(struct row *row, const char *text)
{
	parquet_text(row->file, row->column++, text);
}

/* "" becomes NULL. */
static void put_text_if(struct row *row, const char *text)
{
	put_row_text(row, text && text[0] ? text : NULL);
}

static int end_row(const struct row *row)
{
	return parquet_end_row(row->file);
}

/* Columns OF_THREAD. @track may be NULL. */
static void put_row_thread(struct row *row, const struct writer *writer,
			   const struct trace_track *track)
{
	const struct trace_track *thread =
		track ? call_track_thread(writer->trace, track) : NULL;
	const struct trace_track *process = thread ? thread->process : NULL;
	bool is_thread = thread && thread->kind == TRACE_TRACK_THREAD;

	/* The parent of asynchronous slices is a process. */
	if (!process && thread && thread->parent)
		process =
			trace_reader_find_track(writer->trace, thread->parent);
	if (process && process->kind != TRACE_TRACK_PROCESS)
		process = process->process;
	put_int_if(row, is_thread, is_thread ? thread->number : 0);
	put_int_if(row, is_thread, is_thread ? (uint64_t)thread->tid : 0);
	put_text_if(row,
		    is_thread ? trace_reader_text(writer->trace, thread->name)
			      : NULL);
	put_int_if(row, process, process ? process->number : 0);
	put_int_if(row, process, process ? (uint64_t)process->pid : 0);
	put_text_if(row,
		    process ? trace_reader_text(writer->trace, process->name)
			    : NULL);
}

/* Columns OF_REQUEST. @ids may be NULL. */
static void put_request(struct row *row, const struct request_ids *ids)
{
	put_text_if(row, ids ? ids->trace : NULL);
	put_text_if(row, ids ? ids->span : NULL);
}

/* --- requests ------------------------------------------------------------ */

static struct request_ids read_ids(const struct writer *writer,
				   struct call_event *event)
{
	struct trace_argument argument;
	struct request_ids ids = { 0 };

	while (call_argument_next(writer->source->reader, event, &argument))
		if (argument.kind == TRACE_ARGUMENT_TEXT)
			request_ids_take(&ids, argument.name,
					 argument.name_bytes, argument.text,
					 argument.text_bytes);
	if (!ids.trace[0])
		ids.span[0] = '\0';
	return ids;
}

/* The result is valid until the next call. NULL: no memory. */
static struct requests *requests_of(struct writer *writer,
				    const struct trace_track *track)
{
	return grow_array_at(writer->requests, writer->request_room,
			     call_track_thread(writer->trace, track)->number);
}

/* Keeps a change of the request of a thread: an instant, or the start or end of
 * a slice with ids of its own. Without room, requests of the thread are unknown
 * from here on. Returns 0 or -ENOMEM. */
static int keep_request(struct writer *writer, const struct trace_event *event,
			uint32_t depth, const struct request_ids *ids)
{
	struct requests *requests = requests_of(writer, event->track);
	union kept_ids item = { .key = { 0 } };
	struct request_event kept = {
		.ns = event->ns,
		.track = event->track,
		.depth = depth,
		.kind = event->kind,
	};
	uint32_t i;
	int err = 0;

	if (!requests)
		return -ENOMEM;
	/* order_requests() must find these, even when the pool is full. */
	if (!writer->ids.count)
		err = pool_intern(&writer->ids, &item, &kept.ids);
	item.ids = *ids;
	kept.order = requests->count;
	if (err < 0 || pool_intern(&writer->ids, &item, &kept.ids) < 0 ||
	    grow_array_from(&writer->budget, requests->event, requests->room,
			    requests->count + 1) ||
	    grow_array_from(&writer->budget, requests->said,
			    requests->said_room, requests->said_count + 1)) {
		if (!requests->unknown_ns || event->ns < requests->unknown_ns)
			requests->unknown_ns = event->ns;
		return 0;
	}
	requests->event[requests->count++] = kept;
	if (event->kind != TRACE_INSTANT)
		return 0;
	/* Contexts may be behind each other. */
	i = search_first(k, requests->said_count,
			 requests->said[k].ns > kept.ns);
	memmove(&requests->said[i + 1], &requests->said[i],
		(requests->said_count - i) * sizeof(kept));
	requests->said[i] = kept;
	requests->said_count++;
	return 0;
}

/* Returns the ids in the last of @count events that is not after @ns; NULL
 * without one, or if they are unknown. */
static const struct request_ids *ids_at(struct writer *writer,
					const struct requests *requests,
					const struct request_event *list,
					uint32_t count, uint64_t ns)
{
	const union kept_ids *ids = writer->ids.items;
	uint32_t low = search_first(i, count, list[i].ns > ns);

	if (requests->unknown_ns && ns >= requests->unknown_ns) {
		writer->unknown_requests++;
		return NULL;
	}
	return low ? &ids[list[low - 1].ids].ids : NULL;
}

static int compare_request_events(const void *a, const void *b)
{
	const struct request_event *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* Orders the events of all threads by time. Sets the ids of each to those that
 * its thread has from then on. Returns 0 or -ENOMEM. */
static int order_requests(struct writer *writer)
{
	int err = 0;

	for (uint32_t i = 0; i < writer->request_room; i++) {
		struct requests *requests = &writer->requests[i];
		struct request_choice now = { 0 };

		if (requests->count)
			qsort(requests->event, requests->count,
			      sizeof(*requests->event), compare_request_events);
		for (uint32_t k = 0; k < requests->count && !err; k++) {
			struct request_event *event = &requests->event[k];
			union kept_ids item = { .key = { 0 } };

			item.ids = ((union kept_ids *)
					    writer->ids.items)[event->ids]
					   .ids;
			err = request_choice_follow(&now, writer->trace,
						    event->track, event->depth,
						    event->kind, &item.ids);
			item.ids = *request_choice_ids(&now, writer->trace,
						       event->track);
			/* The pool has them: keep_request() has added them, or
			 * the ids of no request. */
			if (!err)
				err = MIN(0, pool_intern(&writer->ids, &item,
							 &event->ids));
		}
		request_choice_release(&now);
	}
	return err;
}

/* --- the trace ----------------------------------------------------------- */

static struct open_call *open_call(struct writer *writer,
				   const struct trace_track *track,
				   uint32_t depth)
{
	struct open_calls *open = grow_array_at(
		writer->tracks, writer->track_room, track->number);

	return open ? grow_array_at(open->call, open->room, depth) : NULL;
}

static int take_begin(struct writer *writer, struct call_event *event)
{
	const struct trace_track *track = event->event.track;
	struct open_call *call = open_call(writer, track, event->depth);
	struct call_event kept = { 0 };

	if (!call)
		return -ENOMEM;
	free(call->kept);
	call->kept = call_arguments_keep(writer->source->reader, event);
	call->id = ++writer->last_id;
	kept.kept = call->kept;
	call->ids = call->kept ? read_ids(writer, &kept)
			       : (struct request_ids){ 0 };
	call->owns = call->ids.trace[0];
	if (!call->owns && event->depth && track_has_calls(track))
		call->ids = call[-1].ids;
	return call->owns && track_has_calls(track)
		       ? keep_request(writer, &event->event, event->depth,
				      &call->ids)
		       : 0;
}

/* Formats the arguments of @call and of its end as JSON for the caller to free;
 * *@text is NULL without arguments. Returns 0 or -ENOMEM. */
static int format_arguments(const struct writer *writer, struct open_call *call,
			    struct call_event *end, char **text)
{
	struct call_event kept = { 0 };
	struct trace_argument argument;
	size_t bytes;
	FILE *out;

	*text = NULL;
	while (call_argument_next(writer->source->reader, end, &argument))
		call->kept = call_arguments_add(call->kept, &argument);
	if (!call->kept)
		return 0;
	out = open_memstream(text, &bytes);
	if (!out)
		return -ENOMEM;
	kept.kept = call->kept;
	dump_arguments(writer->source->reader, &kept, out);
	free(call->kept);
	call->kept = NULL;
	return fclose(out) ? -ENOMEM : 0;
}

static int put_call_row(struct writer *writer, struct call_event *event)
{
	const struct trace_event *end = &event->event;
	struct open_call *call = open_call(writer, end->track, event->depth);
	uint64_t took = end->ns - event->begin_ns;
	bool has_request = track_has_calls(end->track);
	const struct requests *requests;
	struct row row;
	char *arguments;
	int err;

	err = call ? format_arguments(writer, call, event, &arguments)
		   : -ENOMEM;
	if (err)
		return err;
	row = begin_row(writer, TABLE_CALLS);
	put_row_int(&row, (uint64_t)call->id);
	put_int_if(&row, event->depth,
		   event->depth ? (uint64_t)call[-1].id : 0);
	put_row_int(&row, event->begin_ns);
	put_int_if(&row, !end->unfinished, event->took_ns);
	put_int_if(&row, !end->unfinished, took - MIN(took, event->callee_ns));
	put_text_if(&row, trace_reader_text(writer->trace, end->category));
	put_row_text(&row, trace_reader_text(writer->trace, end->name));
	put_row_int(&row, event->depth);
	put_row_thread(&row, writer, end->track);
	put_row_text(&row, arguments);
	free(arguments);
	requests = has_request ? requests_of(writer, end->track) : NULL;
	if (has_request && !requests)
		return -ENOMEM;
	put_request(&row,
		    call->ids.trace[0] || !has_request
			    ? &call->ids
			    : ids_at(writer, requests, requests->said,
				     requests->said_count, event->begin_ns));
	if (call->owns && has_request)
		err = keep_request(writer, end, event->depth, &call->ids);
	return err ? err : end_row(&row);
}

/* The system call of a wait, its lock, holder and waker are arguments. */
static int put_wait(struct writer *writer, struct call_event *event)
{
	static const char *const names[] = {
		"perfrec.call", "lock",	    "held_by",
		"held_by_tid",	"held_in",  "woken_by",
		"woken_by_tid", "woken_in", "result",
	};
	const struct trace_event *end = &event->event;
	struct trace_argument argument;
	char *texts[ARRAY_SIZE(names)] = { NULL };
	uint64_t numbers[ARRAY_SIZE(names)] = { 0 };
	struct row row;
	int err = 0;

	while (!err &&
	       call_argument_next(writer->source->reader, event, &argument))
		for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
			if (!trace_argument_is(&argument, names[i]))
				continue;
			numbers[i] = argument.number;
			if (argument.kind != TRACE_ARGUMENT_TEXT)
				continue;
			free(texts[i]);
			texts[i] = strndup(argument.text, argument.text_bytes);
			err = texts[i] ? 0 : -ENOMEM;
		}
	row = begin_row(writer, TABLE_WAITS);
	put_row_int(&row, event->begin_ns);
	put_int_if(&row, !end->unfinished, event->took_ns);
	put_row_text(&row, trace_reader_text(writer->trace, end->name));
	put_text_if(&row, texts[0]);
	put_row_thread(&row, writer, end->track);
	for (size_t i = 1; i < ARRAY_SIZE(names); i++) {
		if (strstr(names[i], "_tid"))
			put_int_if(&row, numbers[i], numbers[i]);
		else
			put_text_if(&row, texts[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		free(texts[i]);
	return err ? err : end_row(&row);
}

static void add_frame(struct writer *writer, const char *name)
{
	if (writer->stack.count)
		bytes_put(&writer->stack, ";", 1);
	if (name[0])
		bytes_put(&writer->stack, name, strlen(name));
}

static const char *end_stack(struct writer *writer)
{
	bytes_put(&writer->stack, "", 1);
	return writer->stack.failed ? NULL : (const char *)writer->stack.at;
}

static int put_sample_row(struct writer *writer,
			  const struct kept_sample *sample, bool with_request)
{
	struct row row = begin_row(writer, TABLE_SAMPLES);
	const struct request_ids *ids = NULL;
	const struct requests *requests;
	const struct trace_frame *frames;
	uint32_t count =
		trace_reader_stack(call_reader_trace(writer->source->reader),
				   sample->stack, &frames);
	const struct trace_frame *leaf = count ? &frames[count - 1] : NULL;

	bytes_clear(&writer->stack);
	for (uint32_t i = 0; i < count; i++)
		add_frame(writer,
			  trace_reader_text(writer->trace, frames[i].function));
	put_row_int(&row, sample->ns);
	put_row_thread(&row, writer, sample->track);
	put_row_text(&row, sample->in_kernel ? "kernel" : "user");
	put_text_if(&row,
		    leaf ? trace_reader_text(writer->trace, leaf->function)
			 : NULL);
	put_text_if(&row, leaf ? trace_reader_text(writer->trace, leaf->module)
			       : NULL);
	put_text_if(&row, end_stack(writer));
	if (with_request && sample->track) {
		requests = requests_of(writer, sample->track);
		if (!requests)
			return -ENOMEM;
		ids = ids_at(writer, requests, requests->event, requests->count,
			     sample->ns);
	}
	put_request(&row, ids);
	return writer->stack.failed ? -ENOMEM : end_row(&row);
}

static int keep_said(struct writer *writer, struct call_event *event)
{
	/* "no request" has no ids. */
	const struct request_ids ids = read_ids(writer, event);

	return keep_request(writer, &event->event, 0, &ids);
}

static int put_event_row(struct writer *writer, struct call_event *event)
{
	const struct trace_event *inner = &event->event;

	if (inner->kind == TRACE_SAMPLE) {
		const struct kept_sample sample = {
			.ns = inner->ns,
			.track = inner->track,
			.stack = inner->stack,
			.in_kernel = inner->in_kernel,
		};

		if (grow_array_from(&writer->budget, writer->samples,
				    writer->sample_room,
				    writer->sample_count + 1)) {
			writer->unknown_requests++;
			return put_sample_row(writer, &sample, false);
		}
		writer->samples[writer->sample_count++] = sample;
		return 0;
	}
	if (inner->kind == TRACE_INSTANT)
		return request_choice_sets(writer->trace, inner) &&
				       track_has_calls(inner->track)
			       ? keep_said(writer, event)
			       : 0;
	if (inner->kind != TRACE_BEGIN && inner->kind != TRACE_END)
		return 0;
	if (inner->track->kind == TRACE_TRACK_WAITS)
		return inner->kind == TRACE_END ? put_wait(writer, event) : 0;
	return inner->kind == TRACE_BEGIN ? take_begin(writer, event)
					  : put_call_row(writer, event);
}

static int write_trace_tables(struct writer *writer)
{
	struct call_event event;
	int got, err;

	while ((got = call_reader_next(writer->source->reader, &event)) > 0) {
		err = put_event_row(writer, &event);
		if (err)
			return err;
	}
	err = order_requests(writer);
	if (err)
		return err;
	for (uint32_t i = 0; i < writer->sample_count; i++) {
		err = put_sample_row(writer, &writer->samples[i], true);
		if (err)
			return err;
	}
	return got;
}

/* --- the summary --------------------------------------------------------- */

static int write_recording(struct writer *writer)
{
	const struct summary *summary = writer->source->summary;
	const char *program = summary->command[0];
	struct row row = begin_row(writer, TABLE_RECORDINGS);
	bool exited = summary->exited;

	bytes_clear(&writer->stack);
	for (size_t i = 0; summary->command[i]; i++) {
		if (i)
			bytes_put(&writer->stack, " ", 1);
		bytes_put(&writer->stack, summary->command[i],
			  strlen(summary->command[i]));
	}
	put_text_if(&row, summary->started);
	put_text_if(&row, program ? path_name(program) : NULL);
	put_text_if(&row, end_stack(writer));
	put_row_text(&row, summary->version);
	put_row_int(&row, summary->wall_ns);
	put_int_if(&row, summary->knows_cpu, summary->user_ns);
	put_int_if(&row, summary->knows_cpu, summary->sys_ns);
	put_int_if(&row, exited, (uint64_t)summary->exit_status);
	put_int_if(&row, !exited && summary->exit_signal,
		   (uint64_t)summary->exit_signal);
	put_row_int(&row, summary->totals.spans);
	put_row_int(&row, summary->totals.dropped_spans);
	return writer->stack.failed ? -ENOMEM : end_row(&row);
}

static void put_figure(struct row *row, uint64_t value)
{
	put_int_if(row, value != COUNTER_UNKNOWN, value);
}

static int write_functions(struct writer *writer)
{
	const struct summary *summary = writer->source->summary;
	int err = 0;

	for (size_t i = 0; i < summary->function_count && !err; i++) {
		const struct summary_function *one = &summary->functions[i];
		struct row row = begin_row(writer, TABLE_FUNCTIONS);

		put_row_text(&row, one->name ? one->name : "");
		put_text_if(&row, one->module);
		put_row_int(&row, one->calls);
		put_row_int(&row, one->self_ns);
		put_row_int(&row, one->total_ns);
		put_figure(&row, one->median_ns);
		put_figure(&row, one->p99_ns);
		put_figure(&row, one->max_ns);
		put_row_int(&row, one->cpu_ns);
		put_row_int(&row, one->on_cpu_self_ns);
		put_row_int(&row, one->runnable_self_ns);
		put_row_int(&row, one->blocked_self_ns);
		put_row_int(&row, one->switches);
		put_row_int(&row, one->alloc_objects);
		put_row_int(&row, one->alloc_bytes);
		put_row_int(&row, one->inuse_objects);
		put_row_int(&row, one->inuse_bytes);
		err = end_row(&row);
	}
	return err;
}

/* --- profiles ------------------------------------------------------------ */

static void put_row_stack(struct row *row, struct writer *writer,
			  const struct pprof *profile,
			  const struct pprof_sample *sample)
{
	const struct pprof_location *leaf =
		sample->depth ? &profile->locations[sample->stack[0]] : NULL;
	const struct pprof_line *line =
		leaf && leaf->line_count ? leaf->lines : NULL;
	const struct pprof_function *function =
		line ? &profile->functions[line->function] : NULL;

	bytes_clear(&writer->stack);
	for (uint32_t i = sample->depth; i-- > 0;) {
		const struct pprof_location *at =
			&profile->locations[sample->stack[i]];

		for (uint32_t j = at->line_count; j-- > 0;)
			add_frame(
				writer,
				profile->functions[at->lines[j].function].name);
	}
	put_text_if(row, function ? function->name : NULL);
	put_text_if(row, leaf ? leaf->module : NULL);
	put_text_if(row, function ? function->file : NULL);
	put_int_if(row, line && line->line, line ? line->line : 0);
	put_row_text(row, end_stack(writer));
}

/* Writes a row for each stack of @profile (may be NULL) with its values of
 * @types, a list that ends with NULL. */
static int write_profile(struct writer *writer, enum tables_file table,
			 const struct pprof *profile, const char *const *types)
{
	int err = 0;

	for (size_t i = 0; profile && i < profile->sample_count && !err; i++) {
		const struct pprof_sample *sample = &profile->samples[i];
		struct row row = begin_row(writer, table);

		put_row_stack(&row, writer, profile, sample);
		for (const char *const *type = types; *type; type++) {
			uint32_t number = pprof_find_type(profile, *type);

			put_row_int(&row,
				    number == PPROF_NONE
					    ? 0
					    : (uint64_t)sample->value[number]);
		}
		if (table == TABLE_ALLOCATIONS) {
			struct request_ids ids = { 0 };

			for (uint32_t j = 0; j < sample->label_count; j++) {
				const struct pprof_label *label =
					&sample->labels[j];

				request_ids_take(
					&ids, label->key, strlen(label->key),
					label->text, strlen(label->text));
			}
			put_request(&row, &ids);
		}
		err = writer->stack.failed ? -ENOMEM : end_row(&row);
	}
	return err;
}

int tables_write(const struct tables_source *source, FILE *const out[TABLES])
{
	struct writer writer = {
		.source = source,
		.trace = call_reader_trace(source->reader),
		.budget = { .left = KEPT_BYTES_MAX },
	};
	char count[SIZE_TEXT], bytes[SIZE_TEXT];
	int err = 0, result = 0;

	pool_init(&writer.ids, &writer.budget, sizeof(union kept_ids),
		  sizeof(union kept_ids));

	for (size_t i = 0; i < TABLES && !err; i++)
		err = parquet_open(out[i], tables[i].columns, tables[i].count,
				   &writer.file[i]);
	if (!err)
		err = write_recording(&writer);
	if (!err)
		err = write_functions(&writer);
	if (!err) {
		static const char *const waits_types[] = { "waits", "blocked",
							   NULL };
		static const char *const heap_types[] = { "alloc_objects",
							  "alloc_space",
							  "inuse_objects",
							  "inuse_space", NULL };

		err = write_profile(&writer, TABLE_BLOCKED,
				    writer.source->blocked, waits_types);
		err = err ? err
			  : write_profile(&writer, TABLE_ALLOCATIONS,
					  writer.source->heap, heap_types);
	}
	if (!err)
		result = write_trace_tables(&writer);
	for (size_t i = 0; i < TABLES; i++) {
		int closed = parquet_close(&writer.file[i]);

		err = err ? err : closed;
	}
	if (writer.unknown_requests)
		log_warn("the requests of %s calls and samples are unknown: "
			 "requests and samples of the trace need more than %s",
			 size_format_count(writer.unknown_requests, count),
			 size_format_bytes(KEPT_BYTES_MAX, bytes));
	for (uint32_t i = 0; i < writer.track_room; i++) {
		for (uint32_t j = 0; j < writer.tracks[i].room; j++)
			free(writer.tracks[i].call[j].kept);
		free(writer.tracks[i].call);
	}
	free(writer.tracks);
	for (uint32_t i = 0; i < writer.request_room; i++) {
		free(writer.requests[i].event);
		free(writer.requests[i].said);
	}
	free(writer.requests);
	pool_release(&writer.ids);
	free(writer.samples);
	bytes_release(&writer.stack);
	return err ? err : result;
}
