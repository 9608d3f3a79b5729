/* SPDX-License-Identifier: Apache-2.0
 *
 * attach - accepts a program that sent hello: checks the message, maps the
 * arena, opens files and begins the recording.
 */
#ifndef PERFREC_COLLECTOR_SERVE_ATTACH_H
#define PERFREC_COLLECTOR_SERVE_ATTACH_H

#include <sys/types.h>

#include "shared/wire.h"

struct arena;
struct collector;

/* The peer of a connection, as reported by the kernel. */
struct peer {
	pid_t pid;
	uid_t uid;
	int pidfd; /* -1: not known yet */
};

/*
 * Accepts or refuses the program @peer. The first of @fds is its arena. Fills
 * in *@reply; logs the reason of a refusal. The caller keeps @fds. Sets
 * peer->pidfd to -1 if it takes the descriptor over; otherwise the caller
 * closes it. Sets *@out to the arena for attach_complete(), or to NULL after a
 * refusal. Main thread.
 */
void attach_hello(struct collector *collector, const struct wire_hello *hello,
		  const int *fds, struct peer *peer, struct wire_reply *reply,
		  struct arena **out);
/* Handles the message of a child that claims to be forked from a recorded
 * program. The caller keeps @mem, the memory of the child. All claims are
 * verified. Main thread. */
void attach_child(struct collector *collector, const struct wire_child *child,
		  int mem, const struct peer *peer);
/* Call it after the reply was sent. Lets the jobs thread resolve filters if
 * there are any, then lets the program record. Main thread. */
void attach_complete(struct collector *collector, struct arena *arena);

#endif
