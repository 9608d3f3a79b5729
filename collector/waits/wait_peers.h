/* SPDX-License-Identifier: Apache-2.0
 *
 * wait_peers - which recorded process has a socket, or an end of a pipe: the
 * links in /proc/PID/fd tell. Only links are read, as a file that they lead to
 * may never answer. One thread.
 */
#ifndef PERFREC_COLLECTOR_WAITS_WAIT_PEERS_H
#define PERFREC_COLLECTOR_WAITS_WAIT_PEERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* "NAME PID and others" with a NUL. */
#define WAIT_PEER_BYTES 48
/* Of at most so many processes the descriptors are known. */
#define WAIT_PEERS_PROCESSES 128u

enum wait_end_kind {
	WAIT_END_SOCKET,
	WAIT_END_READ, /* of a pipe */
	WAIT_END_WRITE,
};

struct wait_end {
	enum wait_end_kind kind;
	uint64_t inode;
};

/* Which processes are recorded: sets up to @room of @out, those first that are
 * recorded together with @pid. Returns how many. */
struct wait_processes {
	size_t (*list)(void *context, pid_t pid, pid_t *out, size_t room);
	void *context;
};

/* What the link @path below @folder leads to, a descriptor in /proc. False: no
 * end of a pipe, and no socket. */
bool wait_end_read(int folder, const char *path, struct wait_end *end);

struct wait_peers;

/* 0 or -ENOMEM; the caller ends *@out with wait_peers_free(). @processes is
 * copied. */
int wait_peers_new(const struct wait_processes *processes,
		   struct wait_peers **out);
/* Also for NULL. */
void wait_peers_free(struct wait_peers **peers);

/* Writes to @out who has @end, for a thread of @pid that waits for the other
 * one: "gzip 4712". Of several it is the one with the lowest id, "and others".
 * @pid itself is told of sockets only, if nobody else has it, and processes of
 * other users never are. False: nobody is known to have it. */
bool wait_peers_find(struct wait_peers *peers, pid_t pid,
		     const struct wait_end *end, char out[WAIT_PEER_BYTES]);

#endif
