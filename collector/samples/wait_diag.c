/* SPDX-License-Identifier: Apache-2.0
 *
 * wait_diag - the kernel has written the answer when send() returns, so a
 * missing answer never comes. An answer takes 4 us. A kernel without sock_diag
 * gives no answer.
 */
#include "collector/samples/wait_diag.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "shared/atomic.h"
#include "shared/compiler.h"

#define ANSWER_BYTES 2048

int wait_diag_open(void)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK,
			NETLINK_SOCK_DIAG);

	return fd < 0 ? -errno : fd;
}

union answer {
	struct nlmsghdr header;
	char bytes[ANSWER_BYTES];
};

/* Sends the question that begins with @header, and receives at least @bytes
 * behind the header of *@answer. Returns 0 or -errno. */
static int ask_netlink(int fd, struct nlmsghdr *header, union answer *answer,
		       size_t bytes)
{
	static uint32_t number; /* relaxed: only matches answers to questions */
	const struct nlmsgerr *error = NLMSG_DATA(&answer->header);
	ssize_t got;

	header->nlmsg_type = SOCK_DIAG_BY_FAMILY;
	header->nlmsg_flags = NLM_F_REQUEST;
	/* relaxed: as above */
	header->nlmsg_seq = atom_add_rlx(&number, 1);
	if (send(fd, header, header->nlmsg_len, MSG_DONTWAIT) < 0)
		return -errno;
	do {
		got = recv(fd, answer, sizeof(*answer), MSG_DONTWAIT);
		if (got < 0)
			return -errno;
		if (!NLMSG_OK(&answer->header, (size_t)got))
			return -EBADMSG;
	} while (answer->header.nlmsg_seq != header->nlmsg_seq);
	if (answer->header.nlmsg_type == NLMSG_ERROR)
		return answer->header.nlmsg_len >= NLMSG_LENGTH(sizeof(*error))
			       ? (error->error ?: -EBADMSG)
			       : -EBADMSG;
	return answer->header.nlmsg_len >= NLMSG_LENGTH(bytes) ? 0 : -EBADMSG;
}

/* --- Unix ---------------------------------------------------------------- */

static const char *find_attribute(const char *next, size_t bytes, int type,
				  size_t *length)
{
	struct nlattr attribute;

	while (bytes >= sizeof(attribute)) {
		size_t whole;

		memcpy(&attribute, next, sizeof(attribute));
		if (attribute.nla_len < sizeof(attribute) ||
		    attribute.nla_len > bytes)
			return NULL;
		*length = attribute.nla_len - sizeof(attribute);
		if (attribute.nla_type == type)
			return next + sizeof(attribute);
		whole = MIN((size_t)NLA_ALIGN(attribute.nla_len), bytes);
		next += whole;
		bytes -= whole;
	}
	return NULL;
}

static int ask_unix(int fd, uint64_t inode, uint32_t show, int type,
		    union answer *answer, const char **attribute,
		    size_t *length)
{
	struct {
		struct nlmsghdr header;
		struct unix_diag_req ask;
	} question = { .header.nlmsg_len = sizeof(question),
		       .ask = { .sdiag_family = AF_UNIX,
				.udiag_states = UINT32_MAX,
				.udiag_ino = (uint32_t)inode,
				.udiag_cookie = { UINT32_MAX, UINT32_MAX },
				.udiag_show = show } };
	const struct unix_diag_msg *message = NLMSG_DATA(&answer->header);
	int err;

	if (inode > UINT32_MAX)
		return -ENOENT;
	err = ask_netlink(fd, &question.header, answer, sizeof(*message));
	if (err)
		return err;
	if (message->udiag_ino != inode)
		return -EBADMSG;
	*attribute = find_attribute((const char *)(message + 1),
				    answer->header.nlmsg_len -
					    NLMSG_LENGTH(sizeof(*message)),
				    type, length);
	return *attribute ? 0 : -ENOENT;
}

int wait_diag_unix(int fd, uint64_t inode, uint64_t *peer,
		   char name[WAIT_DIAG_NAME_BYTES])
{
	const char *attribute;
	union answer answer;
	uint32_t number;
	size_t length;
	int err = ask_unix(fd, inode, UDIAG_SHOW_PEER, UNIX_DIAG_PEER, &answer,
			   &attribute, &length);

	name[0] = '\0';
	if (err)
		return err;
	if (length < sizeof(number))
		return -EBADMSG;
	memcpy(&number, attribute, sizeof(number));
	if (!number)
		return -ENOENT;
	*peer = number;
	if (ask_unix(fd, number, UDIAG_SHOW_NAME, UNIX_DIAG_NAME, &answer,
		     &attribute, &length))
		return 0;
	/* A path ends with a NUL; an abstract name may include NULs. */
	length = MIN(length, (size_t)WAIT_DIAG_NAME_BYTES - 1);
	if (length && attribute[0])
		length = strnlen(attribute, length);
	memcpy(name, attribute, length);
	name[length] = '\0';
	for (size_t i = 0; i < length; i++)
		if (!name[i])
			name[i] = '@';
	return 0;
}

/* --- TCP ----------------------------------------------------------------- */

static bool is_mapped_address(const struct wait_diag_tcp *tcp)
{
	for (size_t i = 0; i < 2; i++)
		if (tcp->address[i][0] || tcp->address[i][1] ||
		    tcp->address[i][2] != htonl(0xffff))
			return false;
	return true;
}

/* Finds the socket whose own end is end @own of @tcp. Returns 0 or -errno. */
static int ask_tcp(int fd, const struct wait_diag_tcp *tcp, size_t own,
		   uint64_t *inode)
{
	struct {
		struct nlmsghdr header;
		struct inet_diag_req_v2 ask;
	} question = { .header.nlmsg_len = sizeof(question),
		       .ask = { .sdiag_protocol = IPPROTO_TCP,
				.idiag_states = UINT32_MAX } };
	struct inet_diag_sockid *id = &question.ask.id;
	union answer answer;
	const struct inet_diag_msg *message = NLMSG_DATA(&answer.header);
	bool is_v4 = tcp->family == AF_INET || is_mapped_address(tcp);
	size_t from = tcp->family != AF_INET && is_v4 ? 3 : 0;
	size_t bytes = is_v4 ? 4 : 16;
	int err;

	question.ask.sdiag_family = is_v4 ? AF_INET : AF_INET6;
	id->idiag_sport = htons(tcp->port[own]);
	id->idiag_dport = htons(tcp->port[!own]);
	memcpy(id->idiag_src, tcp->address[own] + from, bytes);
	memcpy(id->idiag_dst, tcp->address[!own] + from, bytes);
	id->idiag_cookie[0] = id->idiag_cookie[1] = INET_DIAG_NOCOOKIE;
	memset(&answer, 0, NLMSG_LENGTH(sizeof(*message)));
	err = ask_netlink(fd, &question.header, &answer, sizeof(*message));
	if (!err)
		*inode = message->idiag_inode;
	return err;
}

int wait_diag_tcp(int fd, const struct wait_diag_tcp *tcp, uint64_t inode,
		  uint64_t *peer)
{
	uint64_t own;
	int err = ask_tcp(fd, tcp, 0, &own);

	/* Another network namespace may have the same connection. */
	if (!err && own != inode)
		err = -ENOENT;
	if (!err)
		err = ask_tcp(fd, tcp, 1, peer);
	/* Without a connection the kernel may return a listener. A connection
	 * that is not accepted yet has no inode. */
	return err ? err : *peer && *peer != inode ? 0 : -ENOENT;
}
