/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/base/connections.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/suite.h"

#define LONG_NS 1000000000000

struct guest {
	struct connection connection;
	int said;
	pid_t pid;
};

static struct {
	struct connections connections;
	int peer; /* the other end of the last socket */
	int late, released;
} g;

/* The watch is the first member of the first member. */
static void hear(struct watch *watch)
{
	struct guest *guest = (struct guest *)watch;
	char byte;

	ck_assert_int_eq(read(watch->fd, &byte, 1), 1);
	guest->said++;
}

static void note_late(struct connection *connection)
{
	ck_assert(!connection->ended);
	g.late++;
}

static void free_guest(struct connection *connection)
{
	g.released++;
	free(connection);
}

static void set_up(void)
{
	g.connections.loop = loop_new();
	ck_assert_int_ge(g.connections.loop, 0);
}

static void tear_down(void)
{
	connections_close(&g.connections, free_guest);
	ck_assert_uint_eq(g.connections.count, 0);
	close(g.connections.loop);
}

static struct guest *add_guest(uint64_t timeout_ns)
{
	struct guest *guest = calloc(1, sizeof(*guest));
	int fd[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	g.peer = fd[1];
	connections_add(&g.connections, &guest->connection, fd[0], hear,
			timeout_ns);
	return guest;
}

static void say(void)
{
	ck_assert_int_eq(write(g.peer, "x", 1), 1);
	loop_run_once(g.connections.loop, 0);
}

static void reap(void)
{
	connections_reap(&g.connections, note_late, free_guest);
}

static bool is_closed(void)
{
	char byte;

	return recv(g.peer, &byte, 1, MSG_DONTWAIT) == 0;
}

FIXTURE(set_up, tear_down);

TEST(connections_added_one_is_heard_and_stays)
{
	struct guest *guest = add_guest(LONG_NS);

	say();
	reap();
	say();
	ck_assert_int_eq(guest->said, 2);
	ck_assert_uint_eq(g.connections.count, 1);
	ck_assert_int_eq(g.released, 0);
	ck_assert(!is_closed());
}

TEST(connections_ended_one_is_not_heard_and_freed_later)
{
	struct guest *guest = add_guest(LONG_NS);

	connections_end(&g.connections, &guest->connection);
	connections_end(&g.connections, &guest->connection);
	say();
	ck_assert_int_eq(guest->said, 0);
	ck_assert_uint_eq(g.connections.count, 1);
	reap();
	ck_assert_uint_eq(g.connections.count, 0);
	ck_assert_int_eq(g.released, 1);
	ck_assert_int_eq(g.late, 0);
}

TEST(connections_reap_ends_those_that_are_late)
{
	add_guest(LONG_NS);
	add_guest(0);
	add_guest(LONG_NS)->connection.deadline_ns = UINT64_MAX;
	reap();
	ck_assert_int_eq(g.late, 1);
	ck_assert_int_eq(g.released, 1);
	ck_assert_uint_eq(g.connections.count, 2);
}

TEST(connections_that_cannot_be_watched_have_ended)
{
	struct guest *guest = calloc(1, sizeof(*guest));
	/* epoll refuses regular files. */
	int fd = open("/proc/self/exe", O_RDONLY);

	connections_add(&g.connections, &guest->connection, fd, hear, LONG_NS);
	ck_assert(guest->connection.ended);
	reap();
	ck_assert_int_eq(g.released, 1);
	/* The closer's thread closes it. */
	while (fcntl(fd, F_GETFD) >= 0)
		poll(NULL, 0, 1);
}

static pid_t pid_of(const struct connection *connection)
{
	return ((const struct guest *)connection)->pid;
}

static struct connection *add_of(pid_t pid)
{
	struct guest *guest = add_guest(LONG_NS);

	guest->pid = pid;
	return &guest->connection;
}

TEST(connections_of_most_is_the_oldest_of_who_has_most)
{
	struct connection *one, *two;

	ck_assert_ptr_null(connections_of_most(&g.connections, pid_of));
	one = add_of(1);
	two = add_of(2);
	/* On a tie the older connection wins. */
	ck_assert_ptr_eq(connections_of_most(&g.connections, pid_of), one);
	add_of(2);
	ck_assert_ptr_eq(connections_of_most(&g.connections, pid_of), two);
	ck_assert_uint_eq(connections_of(&g.connections, pid_of, 2), 2);
	connections_end(&g.connections, two);
	ck_assert_uint_eq(connections_of(&g.connections, pid_of, 2), 1);
	ck_assert_ptr_eq(connections_of_most(&g.connections, pid_of), one);
}

TEST(connections_close_ends_all)
{
	add_guest(LONG_NS);
	add_guest(LONG_NS);
	connections_close(&g.connections, free_guest);
	ck_assert_int_eq(g.released, 2);
	ck_assert(is_closed());
}
