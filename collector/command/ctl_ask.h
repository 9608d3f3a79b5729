/* SPDX-License-Identifier: Apache-2.0
 *
 * ctl_ask - sends a request to a running perfrec-collect (ctl_wire.h) for
 * perfrec ctl and perfrec top.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_CTL_ASK_H
#define PERFREC_COLLECTOR_COMMAND_CTL_ASK_H

#include <jansson.h>
#include <stdint.h>

#include "collector/base/socket_path.h"

struct ctl_request {
	/* Words to repeat the request, for messages: "ctl" and "list". words
	 * may be NULL. */
	const char *command, *words;
	/* At most one of these. Both NULL: PERFREC_SOCKET or the default
	 * socket. */
	const char *socket, *dir;
	const char *verb;
	const char *target; /* NULL: all programs */
	const char *list; /* text after the TAB; may be NULL */
	uint64_t wait_ns; /* time that the collector may wait for files */
};

/* If @request names no collector and none serves the default socket, sets the
 * folder or socket of the perfrec record that runs here, or else of the only one
 * of this user. @path outlives @request. Returns 0, also if there is none, or
 * -errno after a message. */
int ctl_find(struct ctl_request *request, char path[SOCKET_PATH_BYTES]);

/* Sends a request and waits for the answer. Texts have no newlines and at most
 * CTL_REQUEST_MAX bytes. Returns 0 with an object without "error" for the
 * caller to free, or -errno after a message. Any thread. */
int ctl_ask(const struct ctl_request *request, json_t **out);

#endif
