/* SPDX-License-Identifier: Apache-2.0
 *
 * top_screen - the screen of perfrec top, by ncurses. One screen a process, one
 * thread.
 */
#ifndef PERFREC_COLLECTOR_SHOW_TOP_SCREEN_H
#define PERFREC_COLLECTOR_SHOW_TOP_SCREEN_H

#include <stdbool.h>

#include "collector/show/top_rates.h"
#include "collector/show/top_view.h"

/* Returns true if stdin and stdout are a terminal that ncurses supports. For an
 * unsupported terminal sets *@why to the reason, otherwise to NULL. */
bool top_screen_is_possible(const char **why);

/* Takes over the terminal. Returns 0 or -errno. Output to stderr is captured
 * until top_screen_end(), so it cannot damage the screen. */
int top_screen_begin(void);
/* Restores the terminal, and writes captured lines to stderr that
 * top_screen_message() has not returned. */
void top_screen_end(void);

/* Sets @text to the first line written to stderr since the last call, cut to
 * @size, or to "". Drops the lines after it. */
void top_screen_message(char *text, size_t size);

struct top_page {
	const struct top_rates *rates;
	const struct top_view *view;
	const char *target; /* "": all programs */
	const char *status; /* "": show the keys */
	bool is_paused, is_help;
	bool is_filter; /* the filter is being edited */
};

void top_screen_draw(const struct top_page *page);
/* Returns the number of functions that fit on the screen. */
int top_screen_rows(void);

enum top_key {
	TOP_KEY_NONE = -1,
	TOP_KEY_RESIZED = -2,
	TOP_KEY_UP = -3,
	TOP_KEY_DOWN = -4,
	TOP_KEY_PAGE_UP = -5,
	TOP_KEY_PAGE_DOWN = -6,
	TOP_KEY_ERASE = -7,
	TOP_KEY_ENTER = -8,
	TOP_KEY_ESCAPE = -9,
	TOP_KEY_CLOSED = -10, /* the terminal is gone */
};

/* Waits up to @ms for a key. Returns its character, or enum top_key. */
int top_screen_key(int ms);

#endif
