/* SPDX-License-Identifier: Apache-2.0
 *
 * ctl_ask - asks a running perfrec-collect (ctl_wire.h), for perfrec ctl and
 * perfrec top.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_CTL_ASK_H
#define PERFREC_COLLECTOR_COMMAND_CTL_ASK_H

#include <jansson.h>
#include <stdint.h>

struct ctl_request {
	/* How the user would ask again, for messages: "ctl" and "list". NULL
	 * for words: there are none. */
	const char *command, *words;
	/* Of these at most one is given; NULL and NULL: the usual socket. */
	const char *socket, *dir;
	const char *verb;
	const char *target; /* NULL: all programs */
	const char *list; /* what stands behind the TAB; NULL: nothing */
	uint64_t wait_ns; /* the collector may wait so long for files */
};

/* Asks, and waits for the answer. The texts have neither newlines nor more
 * than CTL_REQUEST_MAX bytes. Returns 0 with an answer that is an object
 * without "error", which the caller owns; or -errno: the log says why. Any
 * thread. */
int ctl_ask(const struct ctl_request *request, json_t **out);

#endif
