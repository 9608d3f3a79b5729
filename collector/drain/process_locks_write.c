/* SPDX-License-Identifier: Apache-2.0
 *
 * process_locks_write - a wait is a slice on its thread's track of waits, a hold
 * one on a track of locks. Two holds of a thread may overlap, so it has several
 * such tracks. A flow leads from a release to an instant in the wait that it
 * ended.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/budget.h"
#include "collector/base/random.h"
#include "collector/base/utf8.h"
#include "collector/drain/note.h"
#include "collector/drain/process_locks_inner.h"
#include "collector/names/modules.h"
#include "collector/names/name_fold.h"
#include "collector/record/recording.h"
#include "collector/record/thread_state.h"
#include "collector/samples/wait_places.h"
#include "collector/samples/wait_text.h"
#include "collector/trace/out_perfetto.h"
#include "collector/trace/out_track.h"
#include "collector/trace/trace_file.h"
#include "shared/compiler.h"

#define FLUSH_BYTES 4096
#define PACKET_BYTES 512
#define FIRST_SITES_MAX 4096u /* locks in no file that have a site */
#define NAME_BYTES_MAX 192 /* of a variable or function in a lock's name */
#define DESCRIPTION_BYTES (2 * NAME_BYTES_MAX + 64)
#define LOCK_TEXT_BYTES (WAIT_TEXT_BYTES + DESCRIPTION_BYTES + 8)

/* Names of the kinds of objects, and of what a thread does by a release. */
static const struct {
	const char *name, *release;
} kind_texts[SYNC_KINDS] = {
	[0] = { "", "" },
	[SYNC_MUTEX] = { "mutex", "holds" },
	[SYNC_CONDITION] = { "condition", "signals" },
	[SYNC_SEMAPHORE] = { "semaphore", "posts" },
	[SYNC_READ] = { "rwlock", "readers hold" },
	[SYNC_WRITE] = { "rwlock", "holds" },
	[SYNC_BARRIER] = { "barrier", "completes" },
	[SYNC_THREAD] = { "join thread", "ends" },
	[SYNC_ONCE] = { "once", "has run" },
	[SYNC_FUTEX] = { "futex", "wakes" },
};

static struct written_thread *thread_numbered(struct process_locks *locks,
					      uint32_t number, char name[16])
{
	struct written_thread *thread = NULL;

	lock_acquire(&locks->lock);
	if (number && number < locks->thread_count) {
		thread = locks->thread[number];
		memcpy(name, thread->known.name, 16);
	}
	lock_release(&locks->lock);
	return thread;
}

/* Writes the object at the lock of @event, with brackets. */
static void name_object(struct process_locks *locks,
			const struct lock_event *event,
			const struct symbol *variable,
			char out[WAIT_TEXT_BYTES])
{
	const char *kind = kind_texts[event->kind].name;
	const struct hold *end = event->is_hold ? &event->held : &event->woke;
	const struct written_thread *joined = NULL;
	char place[WAIT_PLACE_BYTES], name[16];

	if (variable->module) {
		wait_places_format(place, variable->module, variable->offset);
		wait_text_object(out, kind, place);
		return;
	}
	/* The kernel's may be of another object in the same place. */
	if (event->object &&
	    strncmp(event->object + 1, kind, strlen(kind)) == 0) {
		snprintf(out, WAIT_TEXT_BYTES, "%s", event->object);
		return;
	}
	if (event->kind == SYNC_THREAD) {
		if (end->ns)
			joined = thread_numbered(locks, end->by.thread, name);
		place[0] = 0;
		if (joined)
			snprintf(place, sizeof(place), "%d",
				 (int)joined->known.tid);
		wait_text_object(out, kind, place);
		return;
	}
	snprintf(place, sizeof(place), "0x%llx",
		 (unsigned long long)event->address);
	if (locks->places || wait_places_new(&locks->places) == 0)
		wait_places_name(locks->places, locks->pid, event->address,
				 place);
	wait_text_object(out, kind, place);
}

/* Returns where the lock of @event was first waited for, or NULL. */
static const struct lock_site *first_site(struct process_locks *locks,
					  const struct lock_event *event)
{
	const struct first_site site = { event->address, event->site };
	uint32_t number;

	if (!pool_find(&locks->sites, &site, &number) &&
	    (locks->sites.count == FIRST_SITES_MAX ||
	     pool_intern(&locks->sites, &site, &number) < 0))
		return NULL;
	return &((struct first_site *)locks->sites.items)[number].site;
}

/* Writes "queue_lock", or "first waited for in take, called by run", to @out.
 * @place is that of the lock. Returns false if neither is known. */
static bool describe_lock(struct process_locks *locks,
			  const struct lock_event *event,
			  const struct symbol *variable, const char *place,
			  char out[DESCRIPTION_BYTES])
{
	const struct lock_site *site = NULL;
	struct symbol function, caller = { .name = "" };
	char name[NAME_FOLD_BYTES], by[NAME_FOLD_BYTES];

	if (variable->found) {
		name_fold(variable->name, name);
		snprintf(out, DESCRIPTION_BYTES, "%.*s", NAME_BYTES_MAX, name);
		return true;
	}
	if (!variable->module && !strncmp(place, "0x", 2))
		site = first_site(locks, event);
	if (!site || !site->function)
		return false;
	modules_resolve(locks->modules, site->function,
			site->function_generation, &function);
	if (site->caller)
		modules_resolve(locks->modules, site->caller,
				site->caller_generation, &caller);
	name_fold(function.name, name);
	name_fold(caller.name, by);
	snprintf(out, DESCRIPTION_BYTES, "first waited for in %.*s%s%.*s",
		 NAME_BYTES_MAX, name, by[0] ? ", called by " : "",
		 NAME_BYTES_MAX, by);
	return true;
}

/* Writes the name of the lock of @event, whose @object is, without brackets:
 * "mutex queue_lock (app+0x4080)". */
static void name_lock(struct process_locks *locks,
		      const struct lock_event *event,
		      const struct symbol *variable, const char *object,
		      char out[LOCK_TEXT_BYTES])
{
	char text[WAIT_TEXT_BYTES], description[DESCRIPTION_BYTES], *place;

	snprintf(text, sizeof(text), "%.*s", (int)MAX(strlen(object), 2u) - 2,
		 object + 1);
	snprintf(out, LOCK_TEXT_BYTES, "%s", text);
	place = strchr(text, ' ');
	if (!event->kind || event->kind == SYNC_THREAD || !place)
		return;
	*place++ = '\0';
	if (!describe_lock(locks, event, variable, place, description))
		return;
	snprintf(out, LOCK_TEXT_BYTES, "%s %s (%s)", text, description, place);
	/* A name may be cut within a character. */
	utf8_copy(out, out, strlen(out));
}

static void put_lock_text(struct process_locks *locks, const char *key,
			  const char *text)
{
	note_text(key, text, &locks->out.names, &locks->out.fields,
		  &locks->out.interned);
}

static void put_lock_function(struct process_locks *locks, const char *key,
			      const struct lock_place *place)
{
	struct symbol symbol;

	if (!place->function)
		return;
	modules_resolve(locks->modules, place->function, place->generation,
			&symbol);
	put_lock_text(locks, key, symbol.name);
}

/* Adds the thread of @hold as @what ("held"), with its tid and function. */
static void put_party(struct process_locks *locks, const char *what,
		      const struct hold *hold, const char *otherwise)
{
	char key[32], name[16];
	const struct written_thread *thread =
		hold->ns ? thread_numbered(locks, hold->by.thread, name) : NULL;

	snprintf(key, sizeof(key), "%s_by", what);
	put_lock_text(locks, key, thread ? name : otherwise);
	if (!thread)
		return;
	snprintf(key, sizeof(key), "%s_by_tid", what);
	note_number(key, (uint64_t)thread->known.tid, &locks->out.names,
		    &locks->out.fields, &locks->out.interned);
	snprintf(key, sizeof(key), "%s_in", what);
	put_lock_function(locks, key, &hold->by);
}

/* Adds the thread of @wake, and its function. */
static void put_write(struct process_locks *locks, const struct wake *wake)
{
	struct symbol symbol;
	char name[32];

	if (wake->pid == locks->pid)
		snprintf(name, sizeof(name), "%s", wake->name);
	else
		snprintf(name, sizeof(name), "%s %d", wake->name,
			 (int)wake->pid);
	put_lock_text(locks, "woken_by", name);
	note_number("woken_by_tid", (uint64_t)wake->tid, &locks->out.names,
		    &locks->out.fields, &locks->out.interned);
	if (!wake->function)
		return;
	modules_resolve(wake->modules, wake->function, wake->generation,
			&symbol);
	put_lock_text(locks, "woken_in", symbol.name);
}

static void write_lock_wait(struct process_locks *locks,
			    const struct lock_event *event, const char *object,
			    const char *lock)
{
	char name[16];
	const struct written_thread *thread =
		thread_numbered(locks, event->thread, name);
	const bool got = event->result == SYNC_GOT;
	const uint64_t uuid = thread->known.waits_uuid;

	if (!event->kind) {
		if (event->wake.modules)
			put_write(locks, &event->wake);
		wait_events_put_wait(&locks->out, uuid,
				     &(struct thread_wait){
					     .from_ns = event->from_ns,
					     .to_ns = event->to_ns,
					     .object = object,
					     .call = event->call,
					     .waker = event->waker,
				     });
		return;
	}
	if (event->kind != SYNC_THREAD)
		put_lock_text(locks, "lock", lock);
	if (event->held.shared)
		put_lock_text(locks, "held_by", OUT_READERS);
	else if (lock_has_holders(event->kind))
		put_party(locks, "held", &event->held, "unknown");
	if (got && !event->woke.ns && event->waker.name)
		wait_events_put_waker(&locks->out, &event->waker);
	else if (event->result != LOCK_WAIT_PROCESS_ENDED)
		put_party(locks, "woken",
			  got ? &event->woke : &(struct hold){ 0 },
			  event->result == SYNC_TIMED_OUT ? "outside"
							  : "unknown");
	if (event->result == SYNC_TIMED_OUT)
		put_lock_text(locks, "result", "timed out");
	else if (event->result == LOCK_WAIT_PROCESS_ENDED)
		put_lock_text(locks, "result", "end of process");
	else if (!got)
		put_lock_text(locks, "result", "failed");
	wait_events_put(&locks->out, TYPE_SLICE_BEGIN, uuid, event->from_ns,
			object);
	if (got && event->woke.ns) {
		bytes_fixed64(&locks->out.fields,
			      TAG_TRACK_EVENT_TERMINATING_FLOW_IDS,
			      event->woke.flow);
		wait_events_put(&locks->out, TYPE_INSTANT, uuid,
				MIN(MAX(event->woke.ns, event->from_ns) + 1,
				    event->to_ns),
				"woken");
	}
	wait_events_put(&locks->out, TYPE_SLICE_END, uuid, event->to_ns, NULL);
}

/* Returns a track of @thread that is free when @event begins, or 0. */
static uint64_t hold_track(struct process_locks *locks,
			   struct written_thread *thread,
			   const struct lock_event *event)
{
	uint8_t packet[PACKET_BYTES];
	uint32_t at = 0;

	while (at < HOLD_TRACKS && thread->last_ns[at] > event->from_ns)
		at++;
	if (at == HOLD_TRACKS)
		return 0;
	thread->last_ns[at] = event->to_ns;
	if (thread->track[at])
		return thread->track[at];
	thread->track[at] = random_u64();
	trace_file_append(recording_setup(locks->recording)->trace,
			  OUT_SEQUENCE_GLOBAL, packet,
			  out_track_track(packet, sizeof(packet),
					  &(struct out_track){
						  .uuid = thread->track[at],
						  .parent = thread->known.uuid,
						  .name = OUT_TRACK_LOCKS,
					  }));
	return thread->track[at];
}

static void write_lock_hold(struct process_locks *locks,
			    const struct lock_event *event, const char *object,
			    const char *lock)
{
	char name[WAIT_TEXT_BYTES + 16];
	struct written_thread *thread =
		thread_numbered(locks, event->thread, name);
	uint64_t uuid = hold_track(locks, thread, event);

	if (!uuid)
		return;
	if (event->kind == SYNC_THREAD) {
		snprintf(name, sizeof(name), "%s",
			 kind_texts[event->kind].release);
	} else {
		snprintf(name, sizeof(name), "%s %.*s",
			 kind_texts[event->kind].release,
			 (int)MAX(strlen(object), 2u) - 2, object + 1);
		put_lock_text(locks, "lock", lock);
	}
	if (event->held.shared)
		put_lock_text(locks, "held_by", OUT_READERS);
	else
		put_lock_function(locks, "in", &event->held.by);
	if (!lock_has_holders(event->kind)) {
		bytes_fixed64(&locks->out.fields, TAG_TRACK_EVENT_FLOW_IDS,
			      event->held.flow);
		wait_events_put(&locks->out, TYPE_INSTANT, uuid, event->to_ns,
				name);
		return;
	}
	wait_events_put(&locks->out, TYPE_SLICE_BEGIN, uuid, event->from_ns,
			name);
	bytes_fixed64(&locks->out.fields, TAG_TRACK_EVENT_FLOW_IDS,
		      event->held.flow);
	wait_events_put(&locks->out, TYPE_SLICE_END, uuid, event->to_ns, NULL);
}

void process_locks_write(struct process_locks *locks)
{
	const struct recording_setup *setup = recording_setup(locks->recording);
	struct trace_file *trace = setup->trace;
	char object[WAIT_TEXT_BYTES], lock[LOCK_TEXT_BYTES];
	struct lock_event *event;
	struct symbol variable;
	uint32_t count, room;

	lock_acquire(&locks->lock);
	event = locks->event;
	count = locks->event_count;
	room = locks->event_room;
	locks->event = NULL;
	locks->event_count = locks->event_room = 0;
	locks->posted = false;
	lock_release(&locks->lock);
	for (uint32_t i = 0; i < count; i++) {
		if (!trace_file_admits(trace)) {
			modules_put(&event[i].wake.modules);
			continue;
		}
		variable = (struct symbol){ 0 };
		if (event[i].kind && event[i].kind != SYNC_THREAD)
			modules_object(locks->modules, event[i].address,
				       event[i].site.generation, &variable);
		name_object(locks, &event[i], &variable, object);
		name_lock(locks, &event[i], &variable, object, lock);
		if (event[i].is_hold)
			write_lock_hold(locks, &event[i], object, lock);
		else
			write_lock_wait(locks, &event[i], object, lock);
		modules_put(&event[i].wake.modules);
		if (locks->out.out.count >= FLUSH_BYTES)
			wait_events_flush(&locks->out, trace);
	}
	wait_events_flush(&locks->out, trace);
	free(event);
	budget_give(setup->budget, room * sizeof(*event));
}
