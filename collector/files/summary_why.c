/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/files/summary_why.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "collector/base/json_text.h"
#include "collector/base/size.h"
#include "collector/output/own_files.h"
#include "collector/record/flight_folder.h"
#include "shared/compiler.h"
#include "shared/wire.h"

#define TEXT_BYTES 256

/* --- in words --- */

static void say_event(const struct flight_event *event, char *text, size_t room)
{
	const char *what = event->what;
	char ns[SIZE_TEXT];

	switch (event->cause) {
	case FLIGHT_CALL:
		snprintf(text, room, "%s took %s", what,
			 size_format_ns((uint64_t)MAX(event->value, 0), ns));
		break;
	case FLIGHT_ANNOTATION:
		snprintf(text, room, "the program asked for it%s%s",
			 *what ? ": " : "", what);
		break;
	case FLIGHT_COUNTER:
		snprintf(text, room, "%s was %" PRId64, what, event->value);
		break;
	case FLIGHT_SIGNAL:
		snprintf(text, room, "a signal asked for it%s%s",
			 *what ? ": " : "", what);
		break;
	case FLIGHT_CRASH:
		snprintf(text, room, "the program crashed%s%s",
			 *what ? ": " : "", what);
		break;
	default:
		snprintf(text, room, "perfrec ctl snapshot asked for it%s%s",
			 *what ? ": " : "", what);
	}
}

const char *summary_why_say(const struct flight_window *window,
			    char text[FLIGHT_SENTENCE_BYTES])
{
	const struct flight_event *first = &window->event[0];
	char words[TEXT_BYTES], more[64] = "";

	if (!window->listed) {
		snprintf(text, FLIGHT_SENTENCE_BYTES,
			 "%" PRIu64 " triggers came too fast to be told",
			 window->events);
		return text;
	}
	say_event(first, words, sizeof(words));
	if (window->events > 1)
		snprintf(more, sizeof(more), ", and %" PRIu64 " more",
			 window->events - 1);
	snprintf(text, FLIGHT_SENTENCE_BYTES, "%s%s%s%s%s", words,
		 first->trigger[0] ? " (" : "", first->trigger,
		 first->trigger[0] ? ")" : "", more);
	return text;
}

/* --- as JSON --- */

/* @ns of CLOCK_BOOTTIME as a time of day, UTC. */
static json_t *time_json(uint64_t ns)
{
	int64_t ahead =
		(int64_t)(clock_read_ns(CLOCK_REALTIME) - clock_boottime_ns());
	uint64_t real = ns + (uint64_t)ahead;
	time_t seconds = (time_t)(real / 1000000000);
	char date[32], text[64];
	struct tm utc;

	gmtime_r(&seconds, &utc);
	strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &utc);
	snprintf(text, sizeof(text), "%s.%03uZ", date,
		 (unsigned int)(real / 1000000 % 1000));
	return json_string(text);
}

static json_t *event_json(const struct flight_event *event)
{
	return json_pack(
		"{s:s, s:o, s:o, s:o, s:o, s:o, s:i, s:i, s:I, s:I}", "cause",
		flight_cause_name(event->cause), "what", json_text(event->what),
		"trigger", json_text(event->trigger), "time",
		time_json(event->begin_ns), "begin_ns",
		json_number(event->begin_ns), "end_ns",
		json_number(event->end_ns), "pid", (int)event->pid, "tid",
		(int)event->tid, "value", (json_int_t)event->value, "bound",
		(json_int_t)event->bound);
}

static json_t *events_json(const struct flight_window *window)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < window->listed; i++)
		json_array_append_new(list, event_json(&window->event[i]));
	return list;
}

static void add_missing_text(json_t *list, const char *format,
			     const char *value)
{
	char text[TEXT_BYTES];

	snprintf(text, sizeof(text), format, value);
	json_array_append_new(list, json_text(text));
}

static json_t *missing_json(const struct flight_taken *taken)
{
	const struct flight_window *window = taken->window;
	uint64_t kept = taken->result->kept_from_ns;
	uint64_t lost = taken->result->totals.lost;
	uint64_t refused = taken->result->totals.refused;
	json_t *list = json_array();
	char text[SIZE_TEXT];

	if (kept >= window->to_ns)
		add_missing_text(
			list,
			"%s may be missing: memory did not reach back so "
			"far (--memory, --keep).",
			"Much of it");
	else if (kept > window->from_ns)
		add_missing_text(
			list,
			"The first %s are missing: memory did not reach "
			"back so far (--memory, --keep).",
			size_format_ns(kept - window->from_ns, text));
	if (!taken->drained)
		add_missing_text(
			list,
			"%s was recorded last may be missing: it could not "
			"be read in time.",
			"What");
	if (lost)
		add_missing_text(list, "Calls that were lost: %s.",
				 size_format_count(lost, text));
	if (refused)
		add_missing_text(
			list,
			"Parts that found no memory: %s. Calls, names or "
			"threads are missing.",
			size_format_count(refused, text));
	return list;
}

static json_t *why_json(const struct flight_taken *taken, const char *name)
{
	const struct flight_window *window = taken->window;
	const struct packet_window_totals *totals = &taken->result->totals;
	char text[FLIGHT_SENTENCE_BYTES];

	return json_pack(
		"{s:{s:s, s:i}, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, "
		"s:{s:o, s:o, s:o, s:o, s:o}}",
		"perfrec", "version", PERFREC_VERSION, "wire",
		(int)WIRE_VERSION, "snapshot", name, "of", json_text(taken->of),
		"why", json_text(summary_why_say(window, text)), "time",
		time_json(window->from_ns), "from_ns",
		json_number(window->from_ns), "to_ns",
		json_number(window->to_ns), "events",
		json_number(window->events), "listed", events_json(window),
		"missing", missing_json(taken), "trace", "bytes",
		json_number(taken->result->bytes), "slices",
		json_number(totals->slices), "clipped_slices",
		json_number(totals->clipped), "threads",
		json_number(totals->threads), "lost_spans",
		json_number(totals->lost));
}

int summary_why_write(const struct flight_taken *taken,
		      const struct flight_draft *draft)
{
	int fd = own_files_create(draft->fd, WHY_NAME, 0), err;
	json_t *json;

	if (fd < 0)
		return fd;
	json_text_watch();
	json = why_json(taken, draft->name);
	err = json_text_write_fd(json, fd);
	json_decref(json);
	if (!json || json_text_lacked())
		err = -ENOMEM;
	if (!err)
		return own_files_keep(draft->fd, WHY_NAME);
	own_files_discard(draft->fd, WHY_NAME);
	return err;
}
