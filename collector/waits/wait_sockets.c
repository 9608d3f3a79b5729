/* SPDX-License-Identifier: Apache-2.0
 *
 * wait_sockets - an inode is one number for all network namespaces, and is not
 * given to another socket soon. What an inode is may change all the same, by
 * bind() and connect(), so an answer is asked for again after a second, and
 * nobody looks for one inode more often than that.
 */
#include "collector/waits/wait_sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/clock.h"
#include "collector/base/proc.h"
#include "shared/compiler.h"

#define KNOWN 1024u /* a power of two */
#define KEEP_NS UINT64_C(1000000000)
#define FILE_BYTES_MAX (512u << 10) /* of each file that are looked at */
#define TCP_LISTEN 0x0a

struct known_socket {
	uint64_t inode; /* 0: none */
	uint64_t read_ns; /* MONOTONIC */
	char text[WAIT_TEXT_BYTES];
};

struct wait_sockets {
	struct known_socket known[KNOWN]; /* by inode: the last one there */
	char buffer[FILE_BYTES_MAX];
};

int wait_sockets_new(struct wait_sockets **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

void wait_sockets_free(struct wait_sockets **sockets)
{
	free(*sockets);
	*sockets = NULL;
}

/* --- lines ------------------------------------------------------------------
 */

#define ADDRESS_BYTES (INET6_ADDRSTRLEN + 8)

/* Writes the address that @hex is ("0100007F:1F90", each word of 32 bits in the
 * byte order of this machine) to @out. False: it is none. */
static bool read_address(const char *hex, char out[ADDRESS_BYTES])
{
	size_t digits = strcspn(hex, ":"), words = digits / 8;
	char text[INET6_ADDRSTRLEN], word[9] = "";
	uint32_t address[4];
	unsigned int port;

	if ((words != 1 && words != 4) || digits % 8 ||
	    sscanf(hex + digits, ":%x", &port) != 1)
		return false;
	for (size_t i = 0; i < words; i++) {
		memcpy(word, hex + 8 * i, 8);
		address[i] = (uint32_t)strtoul(word, NULL, 16);
	}
	if (!inet_ntop(words == 1 ? AF_INET : AF_INET6, address, text,
		       sizeof(text)))
		return false;
	snprintf(out, ADDRESS_BYTES, words == 1 ? "%s:%u" : "[%s]:%u", text,
		 port & 0xffff);
	return true;
}

static bool parse_inet(const char *kind, bool is_tcp, const char *line,
		       uint64_t inode, char out[WAIT_TEXT_BYTES])
{
	char local[64], remote[64], own[ADDRESS_BYTES], peer[ADDRESS_BYTES];
	unsigned int state;
	uint64_t number;

	if (sscanf(line, " %*[^:]: %63s %63s %x %*s %*s %*s %*s %*s %" SCNu64,
		   local, remote, &state, &number) != 4 ||
	    number != inode || !read_address(local, own) ||
	    !read_address(remote, peer))
		return false;
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
	/* One without a name is one of a pair, or that of a client. */
	if (path && line[path])
		wait_text_object(out, "unix", line + path);
	else
		wait_text_format(out, "unix socket", "%" PRIu64, inode);
	return true;
}

bool wait_sockets_parse(enum wait_socket_file file, const char *line,
			uint64_t inode, char out[WAIT_TEXT_BYTES])
{
	switch (file) {
	case WAIT_SOCKET_TCP:
	case WAIT_SOCKET_TCP6:
		return parse_inet("tcp", true, line, inode, out);
	case WAIT_SOCKET_UDP:
	case WAIT_SOCKET_UDP6:
		return parse_inet("udp", false, line, inode, out);
	case WAIT_SOCKET_UNIX:
		return parse_unix(line, inode, out);
	default:
		return false;
	}
}

/* --- files ------------------------------------------------------------------
 */

/* Looks for @inode in the file of @pid. */
static bool find_in_file(struct wait_sockets *sockets, pid_t pid,
			 enum wait_socket_file file, uint64_t inode,
			 char out[WAIT_TEXT_BYTES])
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
		/* Most lines need not be taken apart. */
		if (strstr(line, number) &&
		    wait_sockets_parse(file, line, inode, out))
			return true;
	}
	return false;
}

static void find_socket(struct wait_sockets *sockets, pid_t pid, uint64_t inode,
			char out[WAIT_TEXT_BYTES])
{
	for (int file = WAIT_SOCKET_TCP; file <= WAIT_SOCKET_UNIX; file++)
		if (find_in_file(sockets, pid, (enum wait_socket_file)file,
				 inode, out))
			return;
	wait_text_format(out, "socket", "%" PRIu64, inode);
}

void wait_sockets_name(struct wait_sockets *sockets, pid_t pid, uint64_t inode,
		       char out[WAIT_TEXT_BYTES])
{
	struct known_socket *known = &sockets->known[inode % KNOWN];
	uint64_t now = clock_monotonic_ns();

	if (known->inode != inode || now - known->read_ns >= KEEP_NS) {
		known->inode = inode;
		find_socket(sockets, pid, inode, known->text);
		known->read_ns = now;
	}
	memcpy(out, known->text, WAIT_TEXT_BYTES);
}
