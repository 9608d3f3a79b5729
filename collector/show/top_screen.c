/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/show/top_screen.h"

#include <curses.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ncurses defines macros with these names. */
#include <term.h>
#undef columns
#undef lines

#include "collector/base/size.h"
#include "collector/show/terminal.h"
#include "shared/compiler.h"

/* Title, totals, names of the columns. */
#define HEAD_LINES 3
#define CELL_BYTES 48

enum { KEY_ESC = 27, KEY_DEL = 127, KEY_BACK = 8 };

static struct {
	int kept; /* the file that captures stderr */
	int old; /* the original stderr */
	off_t told; /* end of the part shown by top_screen_message() */
} g_screen = { -1, -1, 0 };

bool top_screen_is_possible(const char **why)
{
	int error = 0;

	*why = NULL;
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return false;
	if (setupterm(NULL, STDOUT_FILENO, &error) == OK && cursor_address)
		return true;
	*why = getenv("TERM") ? "this kind of terminal (TERM) has no screen"
			      : "TERM is not set";
	return false;
}

/* --- stderr -------------------------------------------------------------- */

static void give_stderr_back(void)
{
	char text[1024];
	ssize_t size;

	if (g_screen.old < 0)
		return;
	dup2(g_screen.old, STDERR_FILENO);
	close(g_screen.old);
	g_screen.old = -1;
	/* Lines shown on the screen are not repeated. */
	size = pread(g_screen.kept, text, sizeof(text), g_screen.told);
	if (size > 0)
		(void)!write(STDERR_FILENO, text, (size_t)size);
	close(g_screen.kept);
}

void top_screen_message(char *text, size_t size)
{
	ssize_t bytes;
	char *end;

	text[0] = '\0';
	bytes = pread(g_screen.kept, text, size - 1, g_screen.told);
	if (bytes <= 0)
		return;
	g_screen.told += bytes;
	text[bytes] = '\0';
	end = strchr(text, '\n');
	if (end)
		*end = '\0';
}

int top_screen_begin(void)
{
	int err;

	g_screen.told = 0;
	g_screen.kept = memfd_create("messages", MFD_CLOEXEC);
	g_screen.old = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	if (g_screen.kept >= 0 && g_screen.old >= 0 &&
	    dup2(g_screen.kept, STDERR_FILENO) >= 0)
		err = 0;
	else
		err = -errno;
	if (err) {
		give_stderr_back();
		return err;
	}
	/* Names are UTF-8 in any locale. */
	setlocale(LC_CTYPE, "C.UTF-8");
	initscr();
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	set_escdelay(50);
	curs_set(0);
	return 0;
}

void top_screen_end(void)
{
	endwin();
	give_stderr_back();
}

int top_screen_rows(void)
{
	return MAX(LINES - HEAD_LINES - 1, 1);
}

/* --- drawing ------------------------------------------------------------- */

/* Writes @text to line @y from column @x, cut in its middle if necessary, and
 * clears the rest of the line. */
static void put_screen_text(int y, int x, const char *text)
{
	char *cut = NULL;
	size_t size;
	FILE *stream;

	if (y >= LINES || x >= COLS)
		return;
	move(y, x);
	clrtoeol();
	stream = open_memstream(&cut, &size);
	if (!stream)
		return;
	/* A character in the last column would begin a new line. */
	terminal_put(text, (size_t)MAX(COLS - x - 1, 1), stream);
	if (fclose(stream) == 0)
		addstr(cut);
	free(cut);
}

struct column {
	const char *title;
	int width;
	int least; /* least width of the terminal */
	bool sched; /* only with known times on CPUs */
};

enum {
	COL_SELF,
	COL_ON_CPU,
	COL_BLOCKED,
	COL_CALLS,
	COL_ALL_SELF,
	COL_ALL_CALLS,
	COL_STATE,
	COLUMNS
};

static const struct column columns[COLUMNS] = {
	[COL_SELF] = { "SELF", 8, 0, false },
	[COL_ON_CPU] = { "ON CPU", 8, 100, true },
	[COL_BLOCKED] = { "BLOCKED", 9, 60, true },
	[COL_CALLS] = { "CALLS/S", 12, 40, false },
	[COL_ALL_SELF] = { "ALL SELF", 10, 80, false },
	[COL_ALL_CALLS] = { "ALL CALLS", 14, 90, false },
	[COL_STATE] = { "STATE", 9, 60, false },
};

/* Writes the visible @cells, which are never cut, and then @name. */
static void put_screen_row(int y, const struct top_rates *rates,
			   const char *const cells[COLUMNS], const char *name)
{
	char line[COLUMNS * CELL_BYTES] = "";
	size_t used = 0;

	for (size_t i = 0; i < COLUMNS; i++)
		if (COLS >= columns[i].least &&
		    (rates->sched || !columns[i].sched))
			used += (size_t)snprintf(
				line + used, sizeof(line) - used, " %*s",
				columns[i].width - 1, cells[i]);
	put_screen_text(y, 0, line);
	put_screen_text(y, (int)used + 2, name);
}

static void put_screen_function(int y, const struct top_page *page,
				size_t place)
{
	const size_t which = page->view->shown[place];
	const struct top_rates *rates = page->rates;
	const struct top_row *row = &rates->rows[which];
	const double seconds = (double)rates->ns / 1e9;
	char self[TOP_SHARE_TEXT], on_cpu[TOP_SHARE_TEXT];
	char blocked[TOP_SHARE_TEXT];
	char calls[CELL_BYTES], all[CELL_BYTES], total[CELL_BYTES];
	const char *const cells[COLUMNS] = {
		[COL_SELF] = top_rates_share(rates, row->new_ns, self),
		[COL_ON_CPU] =
			top_rates_share(rates, row->new_on_cpu_ns, on_cpu),
		[COL_BLOCKED] =
			top_rates_share(rates, row->new_blocked_ns, blocked),
		[COL_CALLS] = size_format_count(
			(uint64_t)((double)row->new_calls / seconds + 0.5),
			calls),
		[COL_ALL_SELF] = size_format_ns(row->self_ns, all),
		[COL_ALL_CALLS] = size_format_count(row->calls, total),
		[COL_STATE] = row->state,
	};

	if (place == page->view->place)
		attron(A_BOLD | A_UNDERLINE);
	put_screen_row(y, rates, cells, top_view_name(page->view, which));
	attroff(A_BOLD | A_UNDERLINE);
}

static void put_screen_functions(const struct top_page *page)
{
	const size_t rows = (size_t)top_screen_rows();
	const size_t page_of = page->view->place / rows * rows;

	for (size_t i = 0; i < rows; i++)
		if (page_of + i < page->view->count)
			put_screen_function(HEAD_LINES + (int)i, page,
					    page_of + i);
		else
			put_screen_text(HEAD_LINES + (int)i, 0, "");
	if (!page->view->count)
		put_screen_text(HEAD_LINES, 2,
				page->view->filter[0]
					? "no function has this text"
					: "no function was called yet");
}

static void put_help(void)
{
	static const char *const lines[] = {
		"up, down, page up, page down   choose a function",
		"s     the next order: self, calls, both of all time, name",
		"/     show functions whose name has a text (Esc: all again)",
		"1     record each call of the chosen function (span)",
		"2     only count its calls (counted)",
		"3     neither (off)",
		"p     pause this screen; the recording goes on",
		"f     flush: the files of the recording have all up to now",
		"q     leave; the recording goes on",
		"",
		"SELF is wall time in the function itself, as a part of the",
		"time since the last change of the screen: see perfrec-top(1).",
	};

	for (int i = 0; i < top_screen_rows(); i++)
		put_screen_text(HEAD_LINES + i, 2,
				i < (int)ARRAY_SIZE(lines) ? lines[i] : "");
}

static void put_screen_head(const struct top_page *page)
{
	char text[512];
	const char *titles[COLUMNS];

	snprintf(text, sizeof(text), "perfrec top%s%.200s, by %s%s%s%s",
		 page->target[0] ? " of " : "", page->target,
		 top_order_name(page->view->order),
		 page->view->filter[0] ? ", with " : "", page->view->filter,
		 page->is_paused ? ", paused" : "");
	put_screen_text(0, 0, text);
	top_rates_head(page->rates, text, sizeof(text));
	put_screen_text(1, 0, text);
	for (size_t i = 0; i < COLUMNS; i++)
		titles[i] = columns[i].title;
	attron(A_REVERSE);
	put_screen_row(2, page->rates, titles, "FUNCTION");
	attroff(A_REVERSE);
}

static void put_foot(const struct top_page *page)
{
	char text[TOP_FILTER_BYTES + 16];

	if (page->is_filter) {
		snprintf(text, sizeof(text), "name has: %s_",
			 page->view->filter);
		put_screen_text(LINES - 1, 0, text);
	} else {
		put_screen_text(LINES - 1, 0,
				page->status[0]
					? page->status
					: "q leave  s sort  / filter  1 span  "
					  "2 counted "
					  " 3 off  p pause  f flush  h help");
	}
}

void top_screen_draw(const struct top_page *page)
{
	put_screen_head(page);
	if (page->is_help)
		put_help();
	else
		put_screen_functions(page);
	put_foot(page);
	refresh();
}

/* --- keys ---------------------------------------------------------------- */

int top_screen_key(int ms)
{
	static const struct {
		int curses, key;
	} keys[] = {
		{ KEY_RESIZE, TOP_KEY_RESIZED },
		{ KEY_UP, TOP_KEY_UP },
		{ KEY_DOWN, TOP_KEY_DOWN },
		{ KEY_PPAGE, TOP_KEY_PAGE_UP },
		{ KEY_NPAGE, TOP_KEY_PAGE_DOWN },
		{ KEY_BACKSPACE, TOP_KEY_ERASE },
		{ KEY_DEL, TOP_KEY_ERASE },
		{ KEY_BACK, TOP_KEY_ERASE },
		{ KEY_ENTER, TOP_KEY_ENTER },
		{ '\r', TOP_KEY_ENTER },
		{ '\n', TOP_KEY_ENTER },
		{ KEY_ESC, TOP_KEY_ESCAPE },
	};
	int key;

	timeout(ms);
	errno = 0;
	key = getch();
	/* EIO: the terminal is gone. */
	if (key == ERR)
		return errno == EIO || !isatty(STDIN_FILENO) ? TOP_KEY_CLOSED
							     : TOP_KEY_NONE;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (keys[i].curses == key)
			return keys[i].key;
	return key < KEY_MIN ? key : TOP_KEY_NONE;
}
