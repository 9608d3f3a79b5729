/* SPDX-License-Identifier: Apache-2.0
 *
 * of_sockets - attacks on the sockets: connections, messages, descriptors.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/attacks/client.h"

#define POLL_MS 10
#define CELLS RING_CELLS_MIN
#define SLOTS 16
#define LINGER_S 3600
#define SILENT_MAX 4096

static int count_of(int argc, char **argv)
{
	return argc > 0 ? atoi(argv[0]) : 1;
}

/* --- silent -------------------------------------------------------------- */

int attack_silent(int argc, char **argv)
{
	int count = count_of(argc, argv);
	bool again = argc > 1 && !strcmp(argv[1], "again");
	struct pollfd fd[SILENT_MAX + 1] = { { STDIN_FILENO, POLLIN, 0 } };

	if (count > SILENT_MAX)
		return 2;
	for (int i = 1; i <= count; i++)
		fd[i] = (struct pollfd){ client_dial(), 0, 0 };
	client_say_ready();
	if (!again)
		return client_wait_for_end();
	while (poll(fd, (nfds_t)count + 1, -1) >= 0 && !fd[0].revents) {
		for (int i = 1; i <= count; i++)
			if (fd[i].revents) {
				close(fd[i].fd);
				fd[i].fd = client_dial();
			}
		usleep(POLL_MS * 1000);
	}
	return 0;
}

/* --- storm --------------------------------------------------------------- */

int attack_storm(int argc, char **argv)
{
	char bytes[2 * sizeof(struct wire_hello)];
	struct wire_hello hello = client_good_hello(SLOTS, CELLS);
	int count = count_of(argc, argv), socket;
	int junk = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int i = 0; i < count; i++) {
		size_t size = (size_t)rand() % sizeof(bytes);

		memset(bytes, rand(), sizeof(bytes));
		if (i % 3)
			memcpy(bytes, &hello, sizeof(hello));
		if (i % 3 == 1)
			size = sizeof(hello);
		if (i % 6 == 1)
			bytes[(size_t)rand() % sizeof(hello)] = (char)rand();
		socket = client_dial();
		client_send(socket, bytes, size, junk,
			    (size_t)(rand() % CLIENT_FDS_MAX));
		close(socket);
	}
	return 0;
}

/* --- linger -------------------------------------------------------------- */

/* A socket that is connected and full, and whose close waits for a peer that
 * never reads. */
static int lingering_socket(int listener, const struct sockaddr_in *at)
{
	struct linger linger = { 1, LINGER_S };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char bytes[4096] = "";
	int small = sizeof(bytes);

	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	if (connect(fd, (const struct sockaddr *)at, sizeof(*at)) < 0 ||
	    accept(listener, NULL, NULL) < 0)
		die("TCP");
	while (send(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
	if (setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)) < 0)
		die("SO_LINGER");
	return fd;
}

/* Sends such a socket, writes to @done, and then closes it: the last close
 * takes an hour, and the collector may close earlier. Never returns, so that
 * the peer stays open. */
static void linger(int listener, const struct sockaddr_in *at, bool to_ctl,
		   int done)
{
	struct wire_hello hello = client_good_hello(SLOTS, CELLS);
	int fd = lingering_socket(listener, at);
	int to = to_ctl ? client_dial_ctl() : client_dial();

	if (to_ctl)
		client_send(to, "list\n", 5, fd, 1);
	else
		client_send(to, &hello, sizeof(hello), fd, 1);
	if (write(done, "", 1) != 1)
		die("write");
	close(fd);
	close(to);
	for (;;)
		pause();
}

int attack_linger(int argc, char **argv)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int count = count_of(argc, argv), listener, done[2];
	socklen_t size = sizeof(at);
	char byte;

	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(listener, (struct sockaddr *)&at, size) < 0 ||
	    listen(listener, count) < 0 || pipe(done) < 0 ||
	    getsockname(listener, (struct sockaddr *)&at, &size) < 0)
		die("listen");
	for (int i = 0; i < count; i++)
		if (client_fork() == 0)
			linger(listener, &at, i % 2, done[1]);
	for (int i = 0; i < count; i++)
		if (read(done[0], &byte, 1) != 1)
			die("read");
	client_say_ready();
	return client_wait_for_end();
}

/* --- hellos -------------------------------------------------------------- */

int attack_hellos(int argc, char **argv)
{
	int count = count_of(argc, argv);

	for (int i = 0; i < count; i++)
		if (client_fork() == 0)
			for (;;) {
				struct client client;

				if (client_fork() > 0) {
					wait(NULL);
					continue;
				}
				_exit(!client_hello(&client, SLOTS, CELLS));
			}
	client_say_ready();
	return client_wait_for_end();
}

/* --- ctl ----------------------------------------------------------------- */

static void ask(int number)
{
	static const char *const text[] = { "list\n", "flush\n", "stats\n",
					    "top\n" };
	const char *request = text[number % 4];
	int fd = client_dial_ctl();
	char answer[4096];

	(void)!send(fd, request, strlen(request), MSG_NOSIGNAL);
	/* Some do not listen. */
	while (number % 3 && read(fd, answer, sizeof(answer)) > 0)
		;
	close(fd);
}

int attack_ctl(int argc, char **argv)
{
	int count = count_of(argc, argv);

	for (int i = 0; i < count; i++)
		if (client_fork() == 0)
			for (int number = i;; number++)
				ask(number);
	client_say_ready();
	return client_wait_for_end();
}

/* --- mappings, children -------------------------------------------------- */

/* Forks @count processes with very many mappings, which repeat @what. */
static int fork_large(int count, void (*what)(const struct wire_child *child),
		      const struct wire_child *child)
{
	int ready[2];
	char byte;

	if (pipe(ready) < 0)
		die("pipe");
	for (int i = 0; i < count; i++) {
		if (client_fork() > 0)
			continue;
		client_be_large();
		if (write(ready[1], "", 1) != 1)
			die("write");
		for (;;)
			what(child);
	}
	for (int i = 0; i < count; i++)
		if (read(ready[0], &byte, 1) != 1)
			die("read");
	client_say_ready();
	return client_wait_for_end();
}

static void say_hello(const struct wire_child *unused)
{
	struct client client;

	(void)unused;
	if (client_hello(&client, SLOTS, CELLS))
		client_leave(&client);
}

int attack_mappings(int argc, char **argv)
{
	return fork_large(count_of(argc, argv), say_hello, NULL);
}

static void say_child(const struct wire_child *child)
{
	struct wire_child own = *child;
	int socket = client_dial(), mem;

	own.pid = getpid();
	mem = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	client_send(socket, &own, sizeof(own), mem, 1);
	close(mem);
	/* The answer is that it hangs up: the next one is not sent before. */
	(void)!recv(socket, &own, sizeof(own), 0);
	close(socket);
}

int attack_children(int argc, char **argv)
{
	struct wire_child child = { .magic = WIRE_CHILD_MAGIC,
				    .version = WIRE_VERSION };
	struct client client;

	if (!client_hello(&client, SLOTS, CELLS))
		return 1;
	child.device = client.device;
	child.inode = client.inode;
	/* Theirs it is not: all their mappings are looked at in vain. */
	madvise(client.arena, client.bytes, MADV_DONTFORK);
	return fork_large(count_of(argc, argv), say_child, &child);
}
