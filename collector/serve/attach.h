/* SPDX-License-Identifier: Apache-2.0
 *
 * attach - take a program in that has said hello: check what it says, map its
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
 * Main thread. Fills in *@reply, which refuses the program when something is
 * wrong (the log then says what). @peer's pidfd is taken over; @memfd stays
 * the caller's. When it is accepted, *@out is its arena for attach_complete().
 */
void attach_hello(struct collector *collector, const struct wire_hello *hello,
		  int memfd, struct peer *peer, struct wire_reply *reply,
		  struct arena **out);
/* The reply is sent: what may take longer. */
void attach_complete(struct collector *collector, struct arena *arena);

#endif
