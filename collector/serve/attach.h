/* SPDX-License-Identifier: Apache-2.0
 *
 * attach - accept a program that has said hello: check what it says, map its
 * arena, open its files, begin its recording.
 */
#ifndef PERFREC_COLLECTOR_SERVE_ATTACH_H
#define PERFREC_COLLECTOR_SERVE_ATTACH_H

#include <sys/types.h>

#include "shared/wire.h"

struct arena;
struct collector;

/* Who is at the other end of a connection, as the kernel says. */
struct peer {
	pid_t pid;
	uid_t uid;
	int pidfd; /* -1: not known yet */
};

/*
 * Accept the program @peer, whose hello is @hello and whose arena is behind
 * the first of @fds, or refuse it: fills in *@reply, and if it refuses, the log
 * says why. peer->pidfd belongs to the callee; @fds stay the caller's. *@out is
 * the arena, for attach_complete(), or NULL if the program is refused. Main
 * thread.
 */
void attach_hello(struct collector *collector, const struct wire_hello *hello,
		  const int *fds, struct peer *peer, struct wire_reply *reply,
		  struct arena **out);
/* The process @peer says that it was forked from a program that is recorded,
 * and passes its memory, @mem, which stays the caller's. Nothing of that is
 * believed. Main thread. */
void attach_child(struct collector *collector, const struct wire_child *child,
		  int mem, const struct peer *peer);
/* The reply has been sent: have the jobs thread resolve the filters of @arena's
 * program, if there are any, and then let it record. Main thread. */
void attach_complete(struct collector *collector, struct arena *arena);

#endif
