/* SPDX-License-Identifier: Apache-2.0
 *
 * wait_sockets - inodes are unique over all network namespaces, and are not
 * reused soon. But bind() and connect() can change a socket, so an answer is
 * read again after a second, and at most once a second for each inode.
 */
#include "collector/samples/wait_sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "collector/base/proc.h"
#include "collector/samples/wait_diag.h"
#include "collector/samples/wait_peers.h"

#define KNOWN 1024u /* a power of two */
#define KEEP_NS UINT64_C(1000000000)
#define FILE_BYTES_MAX (512u << 10) /* maximum size of each file */
#define TCP_LISTEN 0x0a

struct known_socket {
	uint64_t inode; /* 0: none */
	uint64_t read_ns; /* MONOTONIC */
	uint64_t peer; /* inode of the other end; 0: unknown */
	char text[WAIT_TEXT_BYTES];
};

struct wait_sockets {
	struct wait_peers *peers;
	int diag_fd; /* wait_diag.h; negative: none */
	struct known_socket known[KNOWN]; /* by inode: the last one there */
	char buffer[FILE_BYTES_MAX];
};

int wait_sockets_new(struct wait_peers *peers, struct wait_sockets **out)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	(*out)->peers = peers;
	(*out)->diag_fd = wait_diag_open();
	return 0;
}

void wait_sockets_free(struct wait_sockets **sockets)
{
	struct wait_sockets *old = *sockets;

	*sockets = NULL;
	if (old && old->diag_fd >= 0)
		close(old->diag_fd);
	free(old);
}

/* --- lines --------------------------------------------------------------- */

#define ADDRESS_BYTES (INET6_ADDRSTRLEN + 8)

/* Writes the address @hex to @out, and as end number @end to @tcp.
 * "0100007F:1F90": each word of 32 bits is in the byte order of this machine.
 * Returns false if it is malformed. */
static bool read_socket_address(const char *hex, struct wait_diag_tcp *tcp,
				size_t end, char out[ADDRESS_BYTES])
{
	size_t digits = strcspn(hex, ":"), words = digits / 8;
	char text[INET6_ADDRSTRLEN], word[9] = "";
	uint32_t *address = tcp->address[end];
	unsigned int port;

	if ((words != 1 && words != 4) || digits % 8 ||
	    sscanf(hex + digits, ":%x", &port) != 1)
		return false;
	for (size_t i = 0; i < words; i++) {
		memcpy(word, hex + 8 * i, 8);
		address[i] = (uint32_t)strtoul(word, NULL, 16);
	}
	tcp->family = words == 1 ? AF_INET : AF_INET6;
	tcp->port[end] = (uint16_t)port;
	if (!inet_ntop(tcp->family, address, text, sizeof(text)))
		return false;
	snprintf(out, ADDRESS_BYTES, words == 1 ? "%s:%u" : "[%s]:%u", text,
		 port & 0xffff);
	return true;
}

static bool parse_inet(const char *kind, const char *line, uint64_t inode,
		       struct wait_diag_tcp *tcp, char out[WAIT_TEXT_BYTES])
{
	bool is_tcp = !strcmp(kind, "tcp");
	char local[64], remote[64], own[ADDRESS_BYTES], peer[ADDRESS_BYTES];
	unsigned int state;
	uint64_t number;

	if (sscanf(line, " %*[^:]: %63s %63s %x %*s %*s %*s %*s %*s %" SCNu64,
		   local, remote, &state, &number) != 4 ||
	    number != inode || !read_socket_address(local, tcp, 0, own) ||
	    !read_socket_address(remote, tcp, 1, peer))
		return false;
	if (!is_tcp || state == TCP_LISTEN)
		tcp->family = 0;
	if (is_tcp && state == TCP_LISTEN)
		wait_text_format(out, kind, "%s listens", own);
	else if (strstr(remote, ":0000"))
		wait_text_object(out, kind, own);
	else
		wait_text_format(out, kind, "%s %s", own, peer);
	return true;
}

static bool parse_unix(const char *line, uint64_t inode,
		       char out[WAIT_TEXT_BYTES])
{
	uint64_t number;
	int path = 0;

	if (sscanf(line, "%*[0-9a-fA-F]: %*s %*s %*s %*s %*s %" SCNu64 " %n",
		   &number, &path) != 1 ||
	    number != inode)
		return false;
	/* A socket without a name is one of a pair, or a client's. */
	if (path && line[path])
		wait_text_object(out, "unix", line + path);
	else
		wait_text_format(out, "unix socket", "%" PRIu64, inode);
	return true;
}

/* Like wait_sockets_parse(); sets @tcp to the connection, if there is one. */
static bool parse_socket_line(enum wait_socket_file file, const char *line,
			      uint64_t inode, struct wait_diag_tcp *tcp,
			      char out[WAIT_TEXT_BYTES])
{
	tcp->family = 0;
	switch (file) {
	case WAIT_SOCKET_TCP:
	case WAIT_SOCKET_TCP6:
		return parse_inet("tcp", line, inode, tcp, out);
	case WAIT_SOCKET_UDP:
	case WAIT_SOCKET_UDP6:
		return parse_inet("udp", line, inode, tcp, out);
	case WAIT_SOCKET_UNIX:
		return parse_unix(line, inode, out);
	default:
		return false;
	}
}

bool wait_sockets_parse(enum wait_socket_file file, const char *line,
			uint64_t inode, char out[WAIT_TEXT_BYTES])
{
	struct wait_diag_tcp tcp;

	return parse_socket_line(file, line, inode, &tcp, out);
}

/* --- files --------------------------------------------------------------- */

static bool find_in_file(struct wait_sockets *sockets, pid_t pid,
			 enum wait_socket_file file, uint64_t inode,
			 struct wait_diag_tcp *tcp, char out[WAIT_TEXT_BYTES])
{
	static const char *const names[] = {
		[WAIT_SOCKET_TCP] = "net/tcp",
		[WAIT_SOCKET_TCP6] = "net/tcp6",
		[WAIT_SOCKET_UDP] = "net/udp",
		[WAIT_SOCKET_UDP6] = "net/udp6",
		[WAIT_SOCKET_UNIX] = "net/unix",
	};
	char *line = sockets->buffer, *end, number[24];

	proc_read(pid, names[file], sockets->buffer, sizeof(sockets->buffer));
	snprintf(number, sizeof(number), " %" PRIu64, inode);
	for (; *line; line = end) {
		end = line + strcspn(line, "\n");
		if (*end)
			*end++ = '\0';
		/* Most lines need no parsing. */
		if (strstr(line, number) &&
		    parse_socket_line(file, line, inode, tcp, out))
			return true;
	}
	return false;
}

/* Adds the holder of the connected socket @peer to @out. Returns false if it is
 * unknown. */
static bool add_holder(struct wait_sockets *sockets, pid_t pid, uint64_t peer,
		       char out[WAIT_TEXT_BYTES])
{
	const struct wait_end end = { WAIT_END_SOCKET, peer };
	char holder[WAIT_PEER_BYTES];

	if (!wait_peers_find(sockets->peers, pid, &end, holder))
		return false;
	wait_text_add(out, "to", holder);
	return true;
}

/* Adds the other end of the socket @known to its text. */
static void add_peer(struct wait_sockets *sockets, pid_t pid,
		     const struct wait_diag_tcp *tcp,
		     struct known_socket *known)
{
	char name[WAIT_DIAG_NAME_BYTES] = "";
	int err;

	if (sockets->diag_fd < 0)
		return;
	err = tcp->family ? wait_diag_tcp(sockets->diag_fd, tcp, known->inode,
					  &known->peer)
			  : wait_diag_unix(sockets->diag_fd, known->inode,
					   &known->peer, name);
	if (err)
		known->peer = 0;
	else if (!add_holder(sockets, pid, known->peer, known->text) && name[0])
		wait_text_add(known->text, "to", name);
}

void wait_sockets_name(struct wait_sockets *sockets, pid_t pid, uint64_t inode,
		       char out[WAIT_TEXT_BYTES])
{
	struct known_socket *known = &sockets->known[inode % KNOWN];
	uint64_t now = clock_monotonic_ns();
	struct wait_diag_tcp tcp;
	int file = WAIT_SOCKET_TCP;

	if (known->inode != inode || now - known->read_ns >= KEEP_NS) {
		known->inode = inode;
		known->peer = 0;
		while (file <= WAIT_SOCKET_UNIX &&
		       !find_in_file(sockets, pid, (enum wait_socket_file)file,
				     inode, &tcp, known->text))
			file++;
		if (file > WAIT_SOCKET_UNIX)
			wait_text_format(known->text, "socket", "%" PRIu64,
					 inode);
		else if (tcp.family || file == WAIT_SOCKET_UNIX)
			add_peer(sockets, pid, &tcp, known);
		known->read_ns = now;
	}
	memcpy(out, known->text, WAIT_TEXT_BYTES);
}

uint64_t wait_sockets_peer(const struct wait_sockets *sockets, uint64_t inode)
{
	const struct known_socket *known = &sockets->known[inode % KNOWN];

	return known->inode == inode ? known->peer : 0;
}
