/* SPDX-License-Identifier: Apache-2.0
 *
 * one_shot - an HTTP server on 127.0.0.1 for one file and the files of its
 * viewer. Paths begin with a random secret word, so other users of this machine
 * and other pages in the browser cannot read the file. For a process of one
 * thread; the server starts its own.
 */
#ifndef PERFREC_COLLECTOR_PAGE_ONE_SHOT_H
#define PERFREC_COLLECTOR_PAGE_ONE_SHOT_H

#include <stdint.h>
#include <sys/types.h>

struct one_shot;

struct one_shot_plan {
	const char *path;
	const char *name; /* file name in URLs: one component */
	const char *folder; /* of the viewer's files, or NULL */
	const char *origin; /* "https://...": site that may also fetch the
			     * file, or NULL */
	uint16_t port; /* 0: any free port */
};

/* Starts the server. The pointers of @plan must outlive *@out. The caller calls
 * one_shot_stop(). Returns 0, or -errno after one line in the log. */
int one_shot_start(const struct one_shot_plan *plan, struct one_shot **out);
/* Stops the server and sets *@server to NULL; it may be NULL. */
void one_shot_stop(struct one_shot **server);

/* Returns the URL of file @name, "http://127.0.0.1:9001/WORD/NAME". @server
 * owns the text. */
const char *one_shot_url(struct one_shot *server, const char *name);
uint16_t one_shot_port(const struct one_shot *server);

enum one_shot_end {
	/* The file was fetched to its end, and no request came after that. */
	ONE_SHOT_FETCHED,
	ONE_SHOT_STOPPED, /* by SIGINT, SIGTERM or SIGHUP */
	ONE_SHOT_NO_BROWSER, /* @browser failed before that */
};
/* Waits for one of these ends. @browser is a child of this process, or 0;
 * its successful exit does not end the wait. Returns enum one_shot_end or
 * -errno. */
int one_shot_wait(struct one_shot *server, pid_t browser);

#endif
