/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/command/top_session.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "collector/base/clock.h"
#include "collector/base/log.h"
#include "collector/options/ctl_wire.h"
#include "collector/options/limits.h"
#include "collector/show/top_rates.h"
#include "collector/show/top_screen.h"
#include "collector/show/top_view.h"

#define FIRST_NS 200000000 /* until the first figures */
#define NS_PER_MS 1000000
#define LAST_ROWS 20 /* of the table after the end of a recording */

struct session {
	const struct ctl_request *request;
	uint64_t interval_ns, next_ns;
	json_t *before, *after; /* after: rates point into it */
	struct top_rates rates;
	struct top_view view;
	char status[256];
	bool is_paused, is_help, is_filter, has_left;
	bool is_over; /* the figures are the last ones */
};

/* --- asking -------------------------------------------------------------- */

static int take_top_answer(struct session *session, json_t *answer)
{
	struct top_rates rates;
	int err = top_rates_make(session->after, answer, &rates);

	if (err) {
		json_decref(answer);
		log_err(err == -EPROTO ? "perfrec-collect gives no sums: it is "
					 "of another version, or out of memory"
				       : "out of memory");
		return err;
	}
	top_rates_release(&session->rates);
	session->rates = rates;
	json_decref(session->before);
	session->before = session->after;
	session->after = answer;
	err = top_view_fill(&session->view, &session->rates);
	if (err)
		log_err("out of memory");
	return err;
}

/* Sends @verb. Returns true if it was done, otherwise sets the status line. */
static bool do_verb(struct session *session, const char *verb, const char *list)
{
	struct ctl_request request = *session->request;
	json_t *answer;
	bool whole;

	request.command = request.words = NULL;
	request.verb = verb;
	request.list = list;
	request.wait_ns = FLUSH_NS_USUAL;
	if (ctl_ask(&request, &answer) < 0) {
		top_screen_message(session->status, sizeof(session->status));
		return false;
	}
	whole = !json_array_size(json_object_get(answer, "not_flushed"));
	if (!whole)
		snprintf(session->status, sizeof(session->status),
			 "not everything is flushed: a disk or names are "
			 "behind");
	json_decref(answer);
	return whole;
}

/* --- keys ---------------------------------------------------------------- */

/* Writes a CHANGE of ctl_wire.h for the function @name to @text. Returns false
 * if it is too long. */
static bool make_change(char *text, size_t size, char letter, const char *name)
{
	size_t used = 0;

	text[used++] = letter;
	for (; *name && used + 2 < size; name++) {
		if (strchr("*?[]\\", *name))
			text[used++] = '\\';
		text[used++] = *name;
	}
	text[used] = '\0';
	return !*name;
}

static int move(struct session *session, long by)
{
	return top_view_move(&session->view, &session->rates, by);
}

static void change_state(struct session *session, char letter,
			 const char *state)
{
	const struct top_row *row =
		top_view_chosen(&session->view, &session->rates);
	const char *name;
	char change[CTL_REQUEST_MAX / 2];

	/* The row stays selected after it moves. */
	if (!row || move(session, 0) < 0)
		return;
	name = top_view_name(&session->view,
			     (size_t)(row - session->rates.rows));
	if (!make_change(change, sizeof(change), letter, row->name))
		snprintf(session->status, sizeof(session->status),
			 "the name is too long");
	else if (do_verb(session, "functions", change))
		snprintf(session->status, sizeof(session->status), "%s: %.200s",
			 state, name);
}

static int refill(struct session *session)
{
	return top_view_fill(&session->view, &session->rates);
}

static int take_filter_key(struct session *session, int key)
{
	char *filter = session->view.filter;
	size_t length = strlen(filter);

	if (key == TOP_KEY_ENTER) {
		session->is_filter = false;
	} else if (key == TOP_KEY_ESCAPE) {
		session->is_filter = false;
		filter[0] = '\0';
	} else if (key == TOP_KEY_ERASE && length) {
		filter[length - 1] = '\0';
	} else if (key >= ' ' && length + 1 < TOP_FILTER_BYTES) {
		filter[length] = (char)key;
		filter[length + 1] = '\0';
	}
	return refill(session);
}

static int take_arrow(struct session *session, int key)
{
	switch (key) {
	case TOP_KEY_UP:
		return move(session, -1);
	case TOP_KEY_DOWN:
		return move(session, 1);
	case TOP_KEY_PAGE_UP:
		return move(session, -top_screen_rows());
	case TOP_KEY_PAGE_DOWN:
		return move(session, top_screen_rows());
	default:
		return 0;
	}
}

static int take_letter(struct session *session, int key)
{
	switch (key) {
	case 'q':
		session->has_left = true;
		return 0;
	case 's':
		session->view.order = (session->view.order + 1) % TOP_ORDERS;
		return refill(session);
	case '/':
		session->is_filter = true;
		return 0;
	case '1':
		change_state(session, CTL_FUNCTIONS_SPAN, "span");
		return 0;
	case '2':
		change_state(session, CTL_FUNCTIONS_COUNT, "counted");
		return 0;
	case '3':
		change_state(session, CTL_FUNCTIONS_OFF, "off");
		return 0;
	case 'p':
		session->is_paused = !session->is_paused;
		return 0;
	case 'f':
		if (do_verb(session, "flush", NULL))
			snprintf(session->status, sizeof(session->status),
				 "flushed: the files of the recording have all "
				 "up to now");
		return 0;
	case 'h':
	case '?':
		session->is_help = !session->is_help;
		return 0;
	default:
		return take_arrow(session, key);
	}
}

static int take_key(struct session *session, int key)
{
	if (key == TOP_KEY_CLOSED) {
		session->has_left = true;
		return 0;
	}
	if (key == TOP_KEY_NONE || key == TOP_KEY_RESIZED)
		return 0;
	if (session->is_filter)
		return take_filter_key(session, key);
	session->status[0] = '\0';
	if (key == TOP_KEY_ESCAPE) {
		session->is_help = false;
		session->view.filter[0] = '\0';
		return refill(session);
	}
	return take_letter(session, key);
}

/* --- the loop ------------------------------------------------------------ */

static void draw(const struct session *session)
{
	const struct top_page page = {
		.rates = &session->rates,
		.view = &session->view,
		.target = session->request->target ? session->request->target
						   : "",
		.status = session->status,
		.is_paused = session->is_paused,
		.is_help = session->is_help,
		.is_filter = session->is_filter,
	};

	top_screen_draw(&page);
}

static int patience(const struct session *session)
{
	uint64_t now = clock_monotonic_ns();

	if (session->is_paused || session->is_over)
		return 1000;
	return session->next_ns > now
		       ? (int)((session->next_ns - now) / NS_PER_MS + 1)
		       : 0;
}

/* Asks for new figures. Without an answer, those on the screen stay. */
static int ask_again(struct session *session)
{
	json_t *answer;
	int err = ctl_ask(session->request, &answer);

	if (!err)
		return take_top_answer(session, answer);
	top_screen_message(session->status, sizeof(session->status));
	session->is_over = err == -ENOENT || err == -ECONNREFUSED;
	if (session->is_over)
		snprintf(session->status, sizeof(session->status),
			 "the recording has ended: these are its last figures "
			 "(q leave)");
	return 0;
}

static int run_session(struct session *session)
{
	int err = 0;

	while (!err && !session->has_left) {
		draw(session);
		err = take_key(session, top_screen_key(patience(session)));
		if (!err && !session->is_paused && !session->is_over &&
		    !session->has_left &&
		    clock_monotonic_ns() >= session->next_ns) {
			err = ask_again(session);
			session->next_ns =
				clock_monotonic_ns() + session->interval_ns;
		}
	}
	return err;
}

int top_session(const struct ctl_request *request, uint64_t interval_ns,
		bool full_names)
{
	struct session session = { .request = request,
				   .interval_ns = interval_ns,
				   .view = { .full_names = full_names } };
	int err = ctl_ask(request, &session.after);

	if (err)
		return err;
	err = top_screen_begin();
	if (err) {
		log_err("no screen: %s", strerror(-err));
	} else {
		session.rates.ns = 1;
		session.next_ns = clock_monotonic_ns() + FIRST_NS;
		err = run_session(&session);
		top_screen_end();
		/* The screen is gone, the figures stay. */
		if (!err && session.is_over)
			err = top_rates_print(&session.rates, LAST_ROWS,
					      full_names, stdout);
	}
	top_rates_release(&session.rates);
	top_view_release(&session.view);
	json_decref(session.before);
	json_decref(session.after);
	return err;
}
