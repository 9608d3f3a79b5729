/* SPDX-License-Identifier: Apache-2.0
 *
 * wait_diag - finds the socket at the other end of a socket, by sock_diag(7),
 * which any user may use in its network namespace. Sockets are inodes here.
 * Never blocks. Any thread, one at a time for a descriptor.
 */
#ifndef PERFREC_COLLECTOR_SAMPLES_WAIT_DIAG_H
#define PERFREC_COLLECTOR_SAMPLES_WAIT_DIAG_H

#include <stddef.h>
#include <stdint.h>

#define WAIT_DIAG_NAME_BYTES 110

/* The two ends of a TCP connection, as a socket sees them: [0] its own. */
struct wait_diag_tcp {
	int family; /* AF_INET or AF_INET6; 0: no connection */
	uint32_t address[2][4]; /* network byte order; IPv4: [][0] only */
	uint16_t port[2]; /* host byte order */
};

/* Returns a descriptor for requests, which the caller closes, or -errno. */
int wait_diag_open(void);
/* Sets *@peer to the socket that the Unix socket @inode is connected to, and
 * @name to its name, "" if it has none. Returns 0 or -errno; -ENOENT: no such
 * socket, or not connected. */
int wait_diag_unix(int fd, uint64_t inode, uint64_t *peer,
		   char name[WAIT_DIAG_NAME_BYTES]);
/* Sets *@peer to the other end of the connection @tcp of socket @inode, if that
 * is on this machine. Returns 0 or -errno. */
int wait_diag_tcp(int fd, const struct wait_diag_tcp *tcp, uint64_t inode,
		  uint64_t *peer);

#endif
