/* SPDX-License-Identifier: Apache-2.0
 *
 * wait_stacks - a thread records no call while it waits, so the middle of a wait
 * is in the same calls as all of it, even if the clocks of the thread and of the
 * kernel are some us apart.
 */
#include "collector/read/wait_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/search.h"
#include "collector/read/open_calls.h"

struct stack_thread {
	bool is_known; /* its waits were looked up */
	size_t wait, wait_end, hold, hold_end; /* remaining ones */
	struct open_calls calls; /* names: texts of the reader */
};

struct stack_walk {
	struct trace_waits *waits;
	struct wait_stacks *stacks;
	struct trace_reader *reader;
	struct stack_thread *threads; /* by number of the track */
	uint32_t thread_room;
	uint32_t *texts; /* of waits, by text of the reader */
	uint32_t text_room;
};

/* Sets *@out to the number of the reader's text @number among those of the waits.
 * Returns 0 or -ENOMEM. */
static int find_frame_text(struct stack_walk *walk, uint32_t number,
			   uint32_t *out)
{
	const char *text = trace_reader_text(walk->reader, number);
	uint32_t *known = grow_array_at(walk->texts, walk->text_room, number);

	if (!known)
		return -ENOMEM;
	if (number && !*known)
		*known =
			trace_texts_number(&walk->waits->texts,
					   (const uint8_t *)text, strlen(text));
	*out = *known;
	return 0;
}

static int number_stack(struct stack_walk *walk, const struct open_calls *calls,
			uint32_t *stack)
{
	*stack = 0;
	for (uint32_t i = 0; i < calls->depth; i++) {
		struct wait_frame frame = { .caller = *stack };

		if (find_frame_text(walk, calls->values[i], &frame.function) ||
		    pool_intern(&walk->stacks->frames, &frame, stack) < 0)
			return -ENOMEM;
		++*stack;
	}
	return 0;
}

/* Sets the stacks of @thread before @ns, where its calls change. */
static int set_stacks_until(struct stack_walk *walk,
			    struct stack_thread *thread, uint64_t ns)
{
	struct trace_waits *waits = walk->waits;

	for (; thread->wait < thread->wait_end; thread->wait++) {
		struct trace_wait *wait = &waits->waits[thread->wait];

		if (wait->from_ns + (wait->to_ns - wait->from_ns) / 2 >= ns)
			break;
		if (number_stack(walk, &thread->calls, &wait->stack))
			return -ENOMEM;
	}
	for (; thread->hold < thread->hold_end; thread->hold++) {
		struct trace_hold *hold = &waits->holds[thread->hold];

		if (hold->to_ns >= ns)
			break;
		if (number_stack(walk, &thread->calls, &hold->stack))
			return -ENOMEM;
	}
	return 0;
}

/* The readers of waits and of calls may number tracks differently. */
static void find_waits_of_thread(const struct stack_walk *walk,
				 const struct trace_track *track,
				 struct stack_thread *thread)
{
	const struct trace_waits *waits = walk->waits;
	const struct trace_track *same =
		trace_reader_find_track(waits->reader, track->uuid);
	const struct trace_wait *first;

	thread->is_known = true;
	if (!same)
		return;
	thread->wait_end = trace_waits_of(waits, same, &first);
	thread->wait = (size_t)(first - waits->waits);
	thread->wait_end += thread->wait;
	thread->hold =
		search_first(i, waits->hold_count,
			     waits->holds[i].thread->number >= same->number);
	thread->hold_end =
		search_first(i, waits->hold_count,
			     waits->holds[i].thread->number > same->number);
}

static int take_stack_event(struct stack_walk *walk,
			    const struct trace_event *event)
{
	struct stack_thread *thread;

	if (!open_calls_change(event))
		return 0;
	thread = grow_array_at(walk->threads, walk->thread_room,
			       event->track->number);
	if (!thread)
		return -ENOMEM;
	if (!thread->is_known)
		find_waits_of_thread(walk, event->track, thread);
	if (thread->wait == thread->wait_end &&
	    thread->hold == thread->hold_end)
		return 0;
	return set_stacks_until(walk, thread, event->ns)
		       ?: open_calls_take(&thread->calls, event,
					  event->site ?: event->name);
}

int wait_stacks_read(const char *path, struct trace_waits *waits,
		     const struct read_progress *progress,
		     struct wait_stacks *out)
{
	struct stack_walk walk = { .waits = waits, .stacks = out };
	struct trace_event event;
	int err = trace_reader_open(path, &walk.reader);

	pool_init(&out->frames, &waits->budget, sizeof(struct wait_frame),
		  sizeof(struct wait_frame));
	if (!err && progress)
		trace_reader_set_progress(walk.reader, progress);
	while (!err && trace_reader_next(walk.reader, &event) > 0)
		err = take_stack_event(&walk, &event);
	for (uint32_t i = 0; !err && i < walk.thread_room; i++)
		err = set_stacks_until(&walk, &walk.threads[i], UINT64_MAX);
	/* Functions without their names would be one. */
	if (!err && waits->texts.refused)
		err = -ENOMEM;
	for (uint32_t i = 0; walk.threads && i < walk.thread_room; i++)
		free(walk.threads[i].calls.values);
	free(walk.threads);
	free(walk.texts);
	trace_reader_close(&walk.reader);
	if (err)
		wait_stacks_release(out);
	return err;
}

void wait_stacks_release(struct wait_stacks *stacks)
{
	pool_release(&stacks->frames);
}
