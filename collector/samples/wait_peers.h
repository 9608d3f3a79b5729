/* SPDX-License-Identifier: Apache-2.0
 *
 * wait_peers - finds the recorded process that has a socket, or an end of a
 * pipe, by the links in /proc/PID/fd. It reads only links, because a file
 * behind one may never answer. One thread.
 */
#ifndef PERFREC_COLLECTOR_SAMPLES_WAIT_PEERS_H
#define PERFREC_COLLECTOR_SAMPLES_WAIT_PEERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* "NAME PID and others" with a NUL. */
#define WAIT_PEER_BYTES 48
/* The maximum number of processes whose descriptors are known. */
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

/* The recorded processes: list() sets up to @room of @out, first those recorded
 * together with @pid, and returns their number. */
struct wait_processes {
	size_t (*list)(void *context, pid_t pid, pid_t *out, size_t room);
	void *context;
};

/* Reads the link @path below @folder, a descriptor in /proc. Returns false if
 * it is neither a socket nor an end of a pipe. */
bool wait_end_read(int folder, const char *path, struct wait_end *end);

struct wait_peers;

/* Makes *@out and copies @processes. Returns 0 or -ENOMEM; the caller ends
 * *@out with wait_peers_free(). */
int wait_peers_new(const struct wait_processes *processes,
		   struct wait_peers **out);
/* Accepts NULL. */
void wait_peers_free(struct wait_peers **peers);

/* Writes the holder of @end to @out, for a thread of @pid that waits for the
 * other end: "gzip 4712". With several holders, the one with the lowest id,
 * "and others". @pid itself counts only for sockets without another holder.
 * Never names processes of other users. Returns false if no holder is known. */
bool wait_peers_find(struct wait_peers *peers, pid_t pid,
		     const struct wait_end *end, char out[WAIT_PEER_BYTES]);

/* A descriptor of a process. */
struct wait_holder {
	pid_t pid;
	int fd;
};

/* Sets up to @room of @out to the known descriptors of @end, for a thread of @pid
 * that waits for the other end. Finds only descriptors that an earlier
 * wait_peers_find() has read, and none of other users. Returns their number. */
size_t wait_peers_list(const struct wait_peers *peers, pid_t pid,
		       const struct wait_end *end, struct wait_holder *out,
		       size_t room);

#endif
