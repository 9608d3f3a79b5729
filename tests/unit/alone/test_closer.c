/* SPDX-License-Identifier: Apache-2.0
 *
 * The closer closes received descriptors in threads of its own. A close(2) that
 * blocks delays neither connections nor the receiving thread.
 */
#include "collector/base/closer.h"

#include <errno.h>
#include <sched.h>
#include <sys/resource.h>

#include "collector/base/clock.h"
#include "tests/suite.h"
#include "tests/unit/slow_close.h"

#define FDS 3

static int g_socket[2]; /* ours, the peer's */

static void setup(void)
{
	ck_assert_int_eq(
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, g_socket),
		0);
}

/* The peer keeps no copy of @fd. */
static void send_to_us(int fd, int count)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(8 * sizeof(int))];
	} control = { .bytes = "" };
	struct iovec data = { "hello", 5 };
	struct msghdr message = { .msg_iov = &data,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = CMSG_SPACE((size_t)count *
							       sizeof(int)) };

	control.header =
		(struct cmsghdr){ CMSG_LEN((size_t)count * sizeof(int)),
				  SOL_SOCKET, SCM_RIGHTS };
	for (int i = 0; i < count; i++)
		memcpy(CMSG_DATA(&control.header) + (size_t)i * sizeof(fd), &fd,
		       sizeof(fd));
	ck_assert_int_eq(sendmsg(g_socket[1], &message, 0), 5);
}

/* Sends one end of a pipe without keeping it. The returned end reports EOF once
 * our side has closed all copies. */
static int send_pipe(int count)
{
	int pipes[2];

	ck_assert_int_eq(pipe2(pipes, O_CLOEXEC), 0);
	send_to_us(pipes[1], count);
	close(pipes[1]);
	return pipes[0];
}

static void await_end(int pipe)
{
	char byte;

	ck_assert_int_eq(read(pipe, &byte, 1), 0);
	close(pipe);
}

static ssize_t receive(int *fds, size_t fd_max, size_t *count, int *cut)
{
	char bytes[16];
	ssize_t length = closer_receive(g_socket[0], bytes, sizeof(bytes), fds,
					fd_max, count, cut);

	if (length > 0)
		ck_assert_mem_eq(bytes, "hello", 5);
	return length;
}

FIXTURE(setup, NULL);

TEST(closer_receives_descriptors)
{
	int fds[FDS], cut, pipe = send_pipe(FDS);
	size_t count;

	ck_assert_int_eq(receive(fds, FDS, &count, &cut), 5);
	ck_assert_int_eq(cut, 0);
	ck_assert_uint_eq(count, FDS);
	for (int i = 0; i < FDS; i++) {
		ck_assert_int_eq(fcntl(fds[i], F_GETFD), FD_CLOEXEC);
		closer_close(fds[i]);
	}
	await_end(pipe);
	ck_assert_int_eq(receive(fds, FDS, &count, &cut), -EAGAIN);
	ck_assert_uint_eq(count, 0);
}

TEST(closer_leaves_too_many_descriptors_alone, EACH(0, FDS + 1))
{
	int fds[FDS], cut, pipe = send_pipe(_i + 1);
	size_t count;

	ck_assert_int_eq(receive(fds, (size_t)_i, &count, &cut), 5);
	ck_assert_int_eq(cut, -E2BIG);
	ck_assert_uint_eq(count, 0);
	closer_close_socket(g_socket[0]);
	await_end(pipe);
}

/* Lowers the limit to the open files. Returns the old limit. */
static rlim_t use_up_files(void)
{
	int next = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct rlimit limit;
	rlim_t before;

	close(next);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	before = limit.rlim_cur;
	limit.rlim_cur = (rlim_t)next;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	return before;
}

/* Raises the limit again: a sanitizer's leak check at exit reads /proc. */
static void allow_files(rlim_t count)
{
	struct rlimit limit;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = count;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* The kernel closes descriptors without room in the receiving thread, which
 * waited while the socket lingered. */
TEST(closer_does_not_end_what_found_no_room)
{
	int fds[FDS], cut, peer, fd = slow_close_socket(&peer);
	rlim_t files;
	size_t count;

	send_to_us(fd, 1);
	/* The message holds a copy, so this returns at once. */
	close(fd);
	files = use_up_files();
	ck_assert_int_eq(receive(fds, FDS, &count, &cut), 5);
	allow_files(files);
	ck_assert_int_eq(cut, -EMFILE);
	ck_assert_uint_eq(count, 0);
	closer_close_socket(g_socket[0]);
}

/* The peer used to get ECONNRESET when it had sent more than we received. */
TEST(closer_lets_a_peer_read_its_answer)
{
	int pipe = send_pipe(1);
	char answer[8];

	ck_assert_int_eq(send(g_socket[0], "no", 2, 0), 2);
	closer_close_socket(g_socket[0]);
	await_end(pipe);
	ck_assert_int_eq(recv(g_socket[1], answer, sizeof(answer), 0), 2);
}

TEST(closer_ends_connections_while_descriptors_hold_it)
{
	int pipe = send_pipe(1);

	ck_assert(!closer_is_full());
	slow_close_fill();
	ck_assert(closer_is_full());
	closer_close_socket(g_socket[0]);
	await_end(pipe);
	slow_close_release();
	while (closer_is_full())
		usleep(1000);
}

TEST(closer_is_not_full_of_a_few)
{
	for (int i = 0; i < SLOW_CLOSE_FULL - 1; i++) {
		if (i == CLOSER_THREADS)
			slow_close_await(CLOSER_THREADS);
		slow_close_hold(open("/dev/null", O_RDONLY | O_CLOEXEC));
	}
	/* Waits longer than a full closer needs to count as full. */
	usleep(100000);
	ck_assert(!closer_is_full());
	slow_close_release();
}

/* The queue is full, but one close() has just returned. */
TEST(closer_that_has_just_closed_one_is_not_full)
{
	uint64_t begin;
	bool full;

	slow_close_fill();
	/* Repeats if this thread was kept from looking for 50 ms. */
	do {
		begin = clock_monotonic_ns();
		slow_close_release_one();
		full = closer_is_full();
	} while (clock_monotonic_ns() - begin >= 50000000);
	ck_assert(!full);
	slow_close_release();
}

/* Takes the closer's CPU with real-time priority and does not wait. Returns
 * false without the permission. */
static bool keep_others_from_running(void)
{
	const struct sched_param priority = { .sched_priority = 1 };
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET((size_t)sched_getcpu(), &cpus);
	return !sched_setaffinity(0, sizeof(cpus), &cpus) &&
	       !sched_setscheduler(0, SCHED_FIFO, &priority);
}

/* On a busy machine many programs said hello before the closer got a CPU, and
 * fuzz_hello's good program was refused. */
TEST(closer_is_not_full_while_it_has_no_cpu)
{
	if (!keep_others_from_running())
		return;
	for (int i = 0; i < 2 * SLOW_CLOSE_FULL; i++)
		closer_close(open("/dev/null", O_RDONLY | O_CLOEXEC));
	ck_assert(!closer_is_full());
}
