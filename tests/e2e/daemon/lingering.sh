# SPDX-License-Identifier: Apache-2.0
#
# Clients send sockets to the three sockets of the collector, received or not. The
# collector becomes the only owner, and closing them takes an hour. It continues,
# and ends on request.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"

# ./linger PATH TYPE TEXT: sends TEXT, and then TEXT again with such a socket. A
# child keeps the other end open.
cat >linger.c <<'SOURCE'
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#define MUST(x) ((x) ? (void)0 : exit(__LINE__))
int main(int argc, char **argv)
{
	struct sockaddr_un path = { .sun_family = AF_UNIX };
	struct sockaddr_in at = { .sin_family = AF_INET };
	struct linger linger = { 1, 3600 };
	socklen_t size = sizeof(at);
	pid_t child;
	int to = socket(AF_UNIX, argv[2][0] == 's' ? SOCK_STREAM : SOCK_SEQPACKET, 0);
	int listener = socket(AF_INET, SOCK_STREAM, 0), peer;
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	char bytes[4096] = "", control[CMSG_SPACE(sizeof(int))] = "";
	struct iovec data = { argv[3], strlen(argv[3]) };
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control) };
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	strcpy(path.sun_path, argv[1]);
	MUST(!bind(listener, (void *)&at, size) && !listen(listener, 1) &&
	     !getsockname(listener, (void *)&at, &size));
	MUST(!connect(fd, (void *)&at, size));
	MUST((peer = accept(listener, 0, 0)) >= 0);
	while (send(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
	MUST(!setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)));
	MUST(!connect(to, (void *)&path, sizeof(path)));
	MUST(send(to, argv[3], strlen(argv[3]), 0) > 0);
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &fd, sizeof(fd));
	MUST(sendmsg(to, &message, 0) > 0);
	child = fork();
	if (child == 0) {
		close(fd);
		close(to);
		for (;;)
			pause();
	}
	printf("%d\n", (int)child);
	return 0;
}
SOURCE
${CC:-cc} -o linger linger.c
# Ends processes that the shell does not wait for.
trap 'kill $(cat holders 2>/dev/null) 2>/dev/null; [ -z "$collector" ] || kill -KILL $collector' EXIT
build_calls
start_daemon --metrics unix:metrics.sock
# The collector comes to know of each only when the sender is gone.
kill -STOP $collector
./linger perfrec.sock packet hello >>holders || fail "hello: line $?"
./linger perfrec.sock.ctl stream list >>holders || fail "ctl: line $?"
./linger perfrec.sock.ctl stream 'list
' >>holders || fail "ctl: line $?"
./linger metrics.sock stream GET >>holders || fail "metrics: line $?"
kill -CONT $collector
run_ok timeout 200 "$PERFREC" ctl list --socket perfrec.sock
preload ./calls 1000
wait_for 60 has_summary calls
expect_eq 'spans' "$(json data/calls-*/summary.json .totals.spans)" 1002
stop_daemon
