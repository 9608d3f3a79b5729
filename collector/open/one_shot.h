/* SPDX-License-Identifier: Apache-2.0
 *
 * one_shot - an HTTP server on 127.0.0.1 for one file, and for the files of the
 * viewer beside it. Paths begin with a word that nobody can guess, so neither
 * other users of this machine nor other pages in the browser can read the file.
 * For a process of one thread; the server has a thread of its own meanwhile.
 */
#ifndef PERFREC_COLLECTOR_OPEN_ONE_SHOT_H
#define PERFREC_COLLECTOR_OPEN_ONE_SHOT_H

#include <stdint.h>
#include <sys/types.h>

struct one_shot;

struct one_shot_plan {
	const char *path; /* the file */
	const char *name; /* its name in URLs: one part of a path */
	const char *folder; /* of the viewer's files; NULL: there are none */
	const char *origin; /* "https://...": whose pages may fetch the file,
			     * too; NULL: nobody's */
	uint16_t port; /* 0: any that is free */
};

/*
 * Starts to serve. What @plan points to must outlive *@out, which the caller
 * ends with one_shot_stop(). Returns 0, or -errno after one line in the log.
 */
int one_shot_start(const struct one_shot_plan *plan, struct one_shot **out);
/* Ends the server, and sets *@server, which may be NULL, to NULL. */
void one_shot_stop(struct one_shot **server);

/* The URL of file @name, "http://127.0.0.1:9001/WORD/NAME". Its owner is
 * @server. */
const char *one_shot_url(struct one_shot *server, const char *name);
uint16_t one_shot_port(const struct one_shot *server);

enum one_shot_end {
	ONE_SHOT_FETCHED, /* the file was fetched, whole */
	ONE_SHOT_STOPPED, /* by SIGINT, SIGTERM or SIGHUP */
	ONE_SHOT_NO_BROWSER, /* process @browser failed before that */
};
/* Waits for one of these ends. @browser is a child of this process, or 0; a
 * browser that ends in good order ends nothing. Returns enum one_shot_end, or
 * -errno. */
int one_shot_wait(struct one_shot *server, pid_t browser);

#endif
