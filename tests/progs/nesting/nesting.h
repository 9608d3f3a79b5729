/* SPDX-License-Identifier: Apache-2.0
 *
 * nesting - programs that write their own tree of calls. Every function gets
 * the struct frame of its caller and logs, when it is called, the line
 *
 *   TRACK CALLER/.../FUNCTION
 *
 * exit() writes the whole log to the file $NESTING_LOG. TRACK is the thread's
 * id, with "/+" on the stack of a context. The way that control takes does not
 * matter, a caller is a caller: the trace must have the same tree.
 */
#ifndef PERFREC_TESTS_PROGS_NESTING_H
#define PERFREC_TESTS_PROGS_NESTING_H

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define QUIET __attribute__((no_instrument_function))
#define NOINLINE __attribute__((noinline))

struct frame {
	const char *name;
	const struct frame *caller; /* NULL: the first on its stack */
	bool context; /* on the stack of a context */
};

#if defined(NESTING_LIBRARY)
/* The program sets it to its own. */
static void (*log_call)(const struct frame *frame);
#else
static char *g_log;
static size_t g_log_bytes;
static FILE *g_log_file;
static pthread_mutex_t g_log_lock = PTHREAD_MUTEX_INITIALIZER;

QUIET static void log_path(const struct frame *frame)
{
	if (frame->caller) {
		log_path(frame->caller);
		fputc('/', g_log_file);
	} else {
		fprintf(g_log_file, "%ld", (long)syscall(SYS_gettid));
		if (frame->context)
			fputs("/+", g_log_file);
		fputc(' ', g_log_file);
	}
	fputs(frame->name, g_log_file);
}

QUIET static inline void log_call(const struct frame *frame)
{
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	pthread_mutex_lock(&g_log_lock);
	log_path(frame);
	fputc('\n', g_log_file);
	pthread_mutex_unlock(&g_log_lock);
	pthread_setcancelstate(state, NULL);
}

QUIET static void log_save(void)
{
	FILE *file = fopen(getenv("NESTING_LOG"), "w");

	fflush(g_log_file);
	if (!file || fwrite(g_log, 1, g_log_bytes, file) != g_log_bytes ||
	    fclose(file))
		_exit(3);
}

/* The log is in memory, so that a trace of the program does not show it. */
__attribute__((constructor)) QUIET static void log_start(void)
{
	g_log_file = open_memstream(&g_log, &g_log_bytes);
	atexit(log_save);
}

#endif

/* The first statement of every function. "up" is its parameter. */
#define CALLED(function)                           \
	struct frame me = { function, up, false }; \
	log_call(&me)
/* The same where a thread's stack begins, and where a context's does. */
#define STARTED(function)                            \
	struct frame me = { function, NULL, false }; \
	log_call(&me)
#define STARTED_CONTEXT(function)                   \
	struct frame me = { function, NULL, true }; \
	log_call(&me)

#endif
