/* SPDX-License-Identifier: Apache-2.0
 *
 * wait_sockets - which addresses a socket has, by its inode, as the files in
 * /proc/PID/net tell. They are long where there are many sockets: what was
 * found is kept, and what is read is bounded. One thread.
 */
#ifndef PERFREC_COLLECTOR_WAITS_WAIT_SOCKETS_H
#define PERFREC_COLLECTOR_WAITS_WAIT_SOCKETS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/waits/wait_text.h"

struct wait_sockets;

struct wait_peers;

/* @peers outlives it. 0 or -ENOMEM; the caller ends *@out with
 * wait_sockets_free(). */
int wait_sockets_new(struct wait_peers *peers, struct wait_sockets **out);
/* Also for NULL. */
void wait_sockets_free(struct wait_sockets **sockets);

/* Writes what socket @inode is, of which process @pid has a descriptor, to
 * @out: "[tcp 127.0.0.1:6379 127.0.0.1:41234]" (its own address and that of its
 * peer), "[tcp 0.0.0.0:80 listens]", "[unix /run/x.sock]"; "[socket INODE]", if
 * nothing is known. Where the program at the other end is recorded, with "to
 * NAME PID" behind that; else with the name of a Unix socket there. */
void wait_sockets_name(struct wait_sockets *sockets, pid_t pid, uint64_t inode,
		       char out[WAIT_TEXT_BYTES]);

enum wait_socket_file {
	WAIT_SOCKET_TCP,
	WAIT_SOCKET_TCP6,
	WAIT_SOCKET_UDP,
	WAIT_SOCKET_UDP6,
	WAIT_SOCKET_UNIX,
};

/* For tests, too: if @line of @file is about @inode, writes what it is to @out
 * and returns true. */
bool wait_sockets_parse(enum wait_socket_file file, const char *line,
			uint64_t inode, char out[WAIT_TEXT_BYTES]);

#endif
