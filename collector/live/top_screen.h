/* SPDX-License-Identifier: Apache-2.0
 *
 * top_screen - the screen of perfrec top, by ncurses. The process has one
 * screen, of one thread.
 */
#ifndef PERFREC_COLLECTOR_LIVE_TOP_SCREEN_H
#define PERFREC_COLLECTOR_LIVE_TOP_SCREEN_H

#include <stdbool.h>

#include "collector/live/top_rates.h"
#include "collector/live/top_view.h"

/* Whether a screen can be had: stdin and stdout are a terminal, and ncurses
 * knows its kind. If it does not, *@why says so; else *@why is NULL. */
bool top_screen_is_possible(const char **why);

/* Takes the terminal. 0 or -errno. Until top_screen_end() what is written to
 * stderr is kept, and does not destroy the screen. */
int top_screen_begin(void);
/* Gives the terminal back as it was. What top_screen_message() has not told of
 * is written to stderr. */
void top_screen_end(void);

/* The last line that was written to stderr, up to @size bytes of it; "": there
 * was none since this was called last. */
void top_screen_message(char *text, size_t size);

/* What is drawn. */
struct top_page {
	const struct top_rates *rates;
	const struct top_view *view;
	const char *target; /* "": all programs */
	const char *status; /* "": the keys are shown */
	bool is_paused, is_help;
	bool is_filter; /* the filter is being typed */
};

void top_screen_draw(const struct top_page *page);
/* How many functions the screen has room for. */
int top_screen_rows(void);

/* Keys that are no characters. */
enum top_key {
	TOP_KEY_NONE = -1, /* the time is over */
	TOP_KEY_RESIZED = -2,
	TOP_KEY_UP = -3,
	TOP_KEY_DOWN = -4,
	TOP_KEY_PAGE_UP = -5,
	TOP_KEY_PAGE_DOWN = -6,
	TOP_KEY_ERASE = -7,
	TOP_KEY_ENTER = -8,
	TOP_KEY_ESCAPE = -9,
	TOP_KEY_CLOSED = -10, /* the terminal has gone */
};

/* Waits for a key, up to @ms. Returns its character, or one of enum top_key. */
int top_screen_key(int ms);

#endif
