/* SPDX-License-Identifier: Apache-2.0
 *
 * wait_diag - which socket is at the other end of one, as the kernel tells
 * everybody of those of his network namespace (sock_diag(7)). Sockets are
 * inodes here. It never waits. Any thread, one at a time for a descriptor.
 */
#ifndef PERFREC_COLLECTOR_WAITS_WAIT_DIAG_H
#define PERFREC_COLLECTOR_WAITS_WAIT_DIAG_H

#include <stddef.h>
#include <stdint.h>

#define WAIT_DIAG_NAME_BYTES 110

/* The two ends of a TCP connection, as a socket sees them: [0] its own. */
struct wait_diag_tcp {
	int family; /* AF_INET or AF_INET6; 0: it is none */
	uint32_t address[2][4]; /* in network byte order; IPv4: [][0] only */
	uint16_t port[2]; /* in host byte order */
};

/* A descriptor to ask with, which the caller closes; or -errno. */
int wait_diag_open(void);
/* Sets *@peer to what the Unix socket @inode is connected to, and @name to the
 * name of that one, "" if it has none. 0 or -errno; -ENOENT: there is no such
 * socket, or it is not connected. */
int wait_diag_unix(int fd, uint64_t inode, uint64_t *peer,
		   char name[WAIT_DIAG_NAME_BYTES]);
/* Sets *@peer to the other end of the connection @tcp of socket @inode, where
 * it is on this machine, too. 0 or -errno. */
int wait_diag_tcp(int fd, const struct wait_diag_tcp *tcp, uint64_t inode,
		  uint64_t *peer);

#endif
