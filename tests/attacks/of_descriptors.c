/* SPDX-License-Identifier: Apache-2.0
 *
 * of_descriptors - attacks by files that a message carries: whoever opens them,
 * asks about them or closes them waits.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/attacks/client.h"

#define SLOTS 4
#define CELLS RING_CELLS_MIN

/* --- lease --------------------------------------------------------------- */

/* Opening @memfd to write waits until we give up the lease, or for
 * /proc/sys/fs/lease-break-time. */
static void take_lease(int memfd)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", memfd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fcntl(fd, F_SETLEASE, F_RDLCK) < 0)
		die("lease");
}

int attack_lease(int argc, char **argv)
{
	int count = argc > 0 ? atoi(argv[0]) : 1;

	/* The kernel sends it to the holder of a lease. */
	signal(SIGIO, SIG_IGN);
	for (int i = 0; i < count; i++) {
		struct wire_hello hello = client_good_hello(SLOTS, CELLS);
		struct client client;
		int memfd = client_make_arena(&client, SLOTS, CELLS);

		take_lease(memfd);
		client_send(client_dial(), &hello, sizeof(hello), memfd, 1);
	}
	client_say_ready();
	return client_wait_for_end();
}

/* --- held ---------------------------------------------------------------- */

/* Sends a hello with three descriptors; number @which is @file. */
static void send_hello(int which, int file)
{
	struct wire_hello hello = client_good_hello(SLOTS, CELLS);
	struct client client;
	int fds[] = { client_make_arena(&client, SLOTS, CELLS),
		      open("/dev/null", O_RDWR | O_CLOEXEC),
		      open("/proc/self/mem", O_RDWR | O_CLOEXEC) };

	hello.fds = WIRE_FD_THUNKS | WIRE_FD_MEMORY;
	fds[which] = file;
	client_send_fds(client_dial(), &hello, sizeof(hello), fds, 3);
}

int attack_held(int argc, char **argv)
{
	struct wire_child child = { .magic = WIRE_CHILD_MAGIC,
				    .version = WIRE_VERSION,
				    .pid = getpid() };
	struct wire_regret regret = { .magic = WIRE_REGRET_MAGIC,
				      .why = WIRE_REGRET_MAP };
	struct client client;
	int file = argc > 0 ? open(argv[0], O_RDWR | O_CLOEXEC) : -1;

	if (file < 0)
		die("the file");
	if (!client_hello(&client, SLOTS, CELLS))
		return 1;
	client_claim(&client, 0, getpid(), getpid());
	child.device = client.device;
	child.inode = client.inode;
	client_send(client_dial(), &child, sizeof(child), file, 1);
	client_send(client_dial(), &regret, sizeof(regret), file, 1);
	client_send(client_dial(), "", 1, file, 3);
	client_send(client_dial_ctl(), "list\n", 5, file, 1);
	for (int i = 0; i < 3; i++)
		send_hello(i, file);
	client_say_ready();
	return client_wait_for_end();
}

/* --- becomes ------------------------------------------------------------- */

int attack_becomes(int argc, char **argv)
{
	struct wire_hello hello = client_good_hello(SLOTS, CELLS);
	struct client client;
	int memfd = client_make_arena(&client, SLOTS, CELLS);
	int socket = client_dial();

	if (argc < 1)
		return 2;
	client_send(socket, &hello, sizeof(hello), memfd, 1);
	client_say_ready();
	/* Inherited: so the caller has not hung up. */
	fcntl(socket, F_SETFD, 0);
	execv(argv[0], argv);
	die(argv[0]);
}
