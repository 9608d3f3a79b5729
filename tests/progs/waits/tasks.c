/* SPDX-License-Identifier: Apache-2.0
 *
 * tasks FAMILY - threads and processes that sleep, or wait for data of others,
 * and the truth about their time (truth.h). FAMILY is a line of g_families.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "truth.h"

static int check(int result)
{
	if (result < 0)
		abort();
	return result;
}

/* sleeps: short ones and long ones -------------------------------------- */

static void short_sleep(void)
{
	truth_sleep_us(300);
}

static void long_sleep(void)
{
	truth_sleep_us(20000);
}

static void some_work(void)
{
	truth_spend_us(100);
}

static void *sleeper(void *unused)
{
	(void)unused;
	for (int i = 0; i < 600; i++) {
		TRUTH_CALL(some_work);
		TRUTH_CALL(short_sleep);
	}
	for (int i = 0; i < 8; i++)
		TRUTH_CALL(long_sleep);
	return NULL;
}

static void sleeps(void)
{
	truth_join(truth_start(sleeper, NULL));
}

/* pipe: a parent that sends to its child -------------------------------- */

static void read_pipe(int from)
{
	char byte;

	check((int)read(from, &byte, 1));
}

static void child_of_pipe(int from, long made_ns)
{
	truth_main(made_ns);
	for (int i = 0; i < 100; i++)
		TRUTH_CALL(read_pipe, from);
	truth_print();
	_exit(0);
}

static void wait_child(pid_t child)
{
	int status;

	if (waitpid(child, &status, 0) != child || status)
		abort();
}

static void pipe_to_child(void)
{
	int ends[2];
	long made_ns = truth_clock(CLOCK_BOOTTIME);
	pid_t child;

	check(pipe(ends));
	child = check(fork());
	if (!child)
		child_of_pipe(ends[0], made_ns);
	for (int i = 0; i < 100; i++) {
		truth_sleep_us(2000);
		check((int)write(ends[1], "x", 1));
	}
	TRUTH_CALL(wait_child, child);
}

/* forks: a parent that waits for its children --------------------------- */

static void forks(void)
{
	for (int i = 0; i < 12; i++) {
		long made_ns = truth_clock(CLOCK_BOOTTIME);
		pid_t child = check(fork());

		if (!child) {
			truth_main(made_ns);
			TRUTH_CALL(some_work);
			TRUTH_CALL(long_sleep);
			truth_print();
			_exit(0);
		}
		TRUTH_CALL(wait_child, child);
	}
}

/* epoll: a server and a client on loopback ------------------------------ */

static int g_listener;
static int g_requests = 150;
static long g_answer_us = 1000;

static int await_event(int epoll, int *fd)
{
	struct epoll_event event;

	check(epoll_wait(epoll, &event, 1, -1));
	*fd = event.data.fd;
	return 0;
}

static void watch(int epoll, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	check(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event));
}

static void answer(int fd)
{
	char byte;

	if (read(fd, &byte, 1) == 1) {
		truth_sleep_us(g_answer_us);
		check((int)write(fd, &byte, 1));
	}
}

static void *server(void *unused)
{
	int epoll = check(epoll_create1(0)), fd, answers = 0;

	(void)unused;
	watch(epoll, g_listener);
	while (answers < g_requests) {
		TRUTH_CALL(await_event, epoll, &fd);
		if (fd == g_listener) {
			watch(epoll, check(accept(fd, NULL, NULL)));
			continue;
		}
		TRUTH_CALL(answer, fd);
		answers++;
	}
	return NULL;
}

static void ask(int fd)
{
	char byte = 'x';

	check((int)write(fd, &byte, 1));
	check((int)read(fd, &byte, 1));
}

static void *client(void *address)
{
	int fd = check(socket(AF_INET, SOCK_STREAM, 0));

	check(connect(fd, address, sizeof(struct sockaddr_in)));
	for (int i = 0; i < g_requests; i++) {
		TRUTH_CALL(ask, fd);
		truth_sleep_us(500);
	}
	return NULL;
}

static void listen_on_loopback(struct sockaddr_in *address)
{
	socklen_t length = sizeof(*address);

	*address = (struct sockaddr_in){ .sin_family = AF_INET };
	address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	g_listener = check(socket(AF_INET, SOCK_STREAM, 0));
	check(bind(g_listener, (void *)address, length));
	check(listen(g_listener, 8));
	check(getsockname(g_listener, (void *)address, &length));
}

static void epoll(void)
{
	struct sockaddr_in address;
	struct truth_thread *threads[2];

	listen_on_loopback(&address);
	threads[0] = truth_start(server, NULL);
	threads[1] = truth_start(client, &address);
	truth_join(threads[0]);
	truth_join(threads[1]);
}

/* objects: a child that waits for its parent by a pipe and a pair of sockets,
 * and by a connection to an epoll server there. It prints its id, and what the
 * inodes are of what each waits on -------------------------------------- */

enum { ROUNDS = 20 };

static long long inode_of(int fd)
{
	struct stat status;

	check(fstat(fd, &status));
	return (long long)status.st_ino;
}

static void child_of_objects(const int *pipe_ends, const int *pair,
			     struct sockaddr_in *address, long made_ns)
{
	int fd = check(socket(AF_INET, SOCK_STREAM, 0));

	truth_main(made_ns);
	close(pipe_ends[1]);
	close(pair[1]);
	close(g_listener);
	for (int i = 0; i < ROUNDS; i++) {
		TRUTH_CALL(read_pipe, pipe_ends[0]);
		TRUTH_CALL(read_pipe, pair[0]);
	}
	check(connect(fd, (void *)address, sizeof(*address)));
	for (int i = 0; i < g_requests; i++) {
		TRUTH_CALL(ask, fd);
		truth_sleep_us(3000);
	}
	truth_print();
	_exit(0);
}

static void objects(void)
{
	struct sockaddr_in address;
	int pipe_ends[2], pair[2];
	long made_ns = truth_clock(CLOCK_BOOTTIME);
	pid_t child;

	g_requests = ROUNDS;
	g_answer_us = 10000;
	check(pipe(pipe_ends));
	check(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	listen_on_loopback(&address);
	child = check(fork());
	if (!child)
		child_of_objects(pipe_ends, pair, &address, made_ns);
	close(pipe_ends[0]);
	close(pair[0]);
	fprintf(stderr, "parent %d child %d pipe %lld socket %lld\n",
		(int)getpid(), (int)child, inode_of(pipe_ends[1]),
		inode_of(pair[1]));
	for (int i = 0; i < ROUNDS; i++) {
		truth_sleep_us(10000);
		check((int)write(pipe_ends[1], "x", 1));
		truth_sleep_us(10000);
		check((int)write(pair[1], "x", 1));
	}
	server(NULL);
	TRUTH_CALL(wait_child, child);
}

/* short: a thousand threads --------------------------------------------- */

static void short_life(void)
{
	truth_spend_us(20);
	truth_sleep_us(50);
}

static void *short_thread(void *unused)
{
	(void)unused;
	TRUTH_CALL(short_life);
	return NULL;
}

static void short_threads(void)
{
	struct truth_thread *threads[8];

	for (int i = 0; i < 125; i++) {
		for (int j = 0; j < 8; j++)
			threads[j] = truth_start(short_thread, NULL);
		for (int j = 0; j < 8; j++)
			truth_join(threads[j]);
	}
}

/* reused: threads that have the id of an earlier one; status 77 where nobody
 * may choose ids -------------------------------------------------------- */

static int g_last_id;

static void *reusing_thread(void *unused)
{
	(void)unused;
	g_last_id = (int)syscall(SYS_gettid);
	TRUTH_CALL(some_work);
	TRUTH_CALL(short_sleep);
	return NULL;
}

static void next_id_is(int id)
{
	FILE *file = fopen("/proc/sys/kernel/ns_last_pid", "w");

	if (!file || fprintf(file, "%d", id - 1) < 0 || fclose(file))
		exit(77);
}

/* A joined thread keeps its id for a moment, so the next thread takes the id of
 * an earlier one. If that is not free yet, a later thread takes it. */
static void reused(void)
{
	int ids[8] = { 0 }, again = 0;

	for (int i = 0; i < 200 || (again < 20 && i < 1000); i++) {
		int *id = &ids[i % 8];

		if (*id)
			next_id_is(*id);
		truth_join(truth_start(reusing_thread, NULL));
		again += g_last_id == *id;
		/* A thread of perfrec may have taken the id, and keep it. */
		*id = g_last_id;
	}
	if (again < 20)
		exit(77);
}

/* stays: sleeps until it is killed, and says when it does --------------- */

static void stay(void)
{
	puts("stays");
	fflush(stdout);
	for (;;)
		pause();
}

static void *staying(void *unused)
{
	(void)unused;
	some_work();
	stay();
	return NULL;
}

static void stays(void)
{
	truth_join(truth_start(staying, NULL));
}

/* credentials: root becomes nobody in the middle ------------------------ */

static void *becomes_nobody(void *unused)
{
	(void)unused;
	for (int i = 0; i < 20; i++) {
		TRUTH_CALL(some_work);
		TRUTH_CALL(long_sleep);
		if (i == 9 && (setgid(65534) || setuid(65534)))
			exit(77);
	}
	return NULL;
}

static void credentials(void)
{
	truth_join(truth_start(becomes_nobody, NULL));
}

static const struct {
	const char *name;
	void (*run)(void);
} g_families[] = {
	{ "sleeps", sleeps },	    { "pipe", pipe_to_child },
	{ "forks", forks },	    { "epoll", epoll },
	{ "short", short_threads }, { "credentials", credentials },
	{ "reused", reused },	    { "stays", stays },
	{ "objects", objects },
};

int main(int argc, char **argv)
{
	truth_main(0);
	for (size_t i = 0; i < sizeof(g_families) / sizeof(g_families[0]); i++)
		if (argc > 1 && strcmp(argv[1], g_families[i].name) == 0) {
			g_families[i].run();
			truth_print();
			return 0;
		}
	return 2;
}
