/* SPDX-License-Identifier: Apache-2.0
 *
 * wait_sockets - finds the addresses of a socket by its inode, from the files
 * in /proc/PID/net. They are long with many sockets, so answers are cached, and
 * reads are bounded. One thread.
 */
#ifndef PERFREC_COLLECTOR_SAMPLES_WAIT_SOCKETS_H
#define PERFREC_COLLECTOR_SAMPLES_WAIT_SOCKETS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/samples/wait_text.h"

struct wait_sockets;

struct wait_peers;

/* @peers must outlive *@out. Returns 0 or -ENOMEM; the caller ends *@out with
 * wait_sockets_free(). */
int wait_sockets_new(struct wait_peers *peers, struct wait_sockets **out);
/* Accepts NULL. */
void wait_sockets_free(struct wait_sockets **sockets);

/* Writes the name of socket @inode, a descriptor of process @pid, to @out:
 * "[tcp 127.0.0.1:6379 127.0.0.1:41234]" (its own address and that of its
 * peer), "[tcp 0.0.0.0:80 listens]", "[unix /run/x.sock]"; "[socket INODE]" if
 * nothing is known. If the program at the other end is recorded, adds "to NAME
 * PID"; else the name of a Unix socket there. */
void wait_sockets_name(struct wait_sockets *sockets, pid_t pid, uint64_t inode,
		       char out[WAIT_TEXT_BYTES]);

enum wait_socket_file {
	WAIT_SOCKET_TCP,
	WAIT_SOCKET_TCP6,
	WAIT_SOCKET_UDP,
	WAIT_SOCKET_UDP6,
	WAIT_SOCKET_UNIX,
};

/* Also for tests: if @line of @file describes @inode, writes its name to @out
 * and returns true. */
bool wait_sockets_parse(enum wait_socket_file file, const char *line,
			uint64_t inode, char out[WAIT_TEXT_BYTES]);

/* Returns the inode of the other end of the socket @inode, which
 * wait_sockets_name() has just named; 0: unknown. */
uint64_t wait_sockets_peer(const struct wait_sockets *sockets, uint64_t inode);

#endif
