/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts of wait objects: threads of this program wait on objects of this C
 * library, and hand-written texts of /proc.
 */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/base/proc.h"
#include "collector/samples/wait_memory.h"
#include "collector/samples/wait_object.h"
#include "collector/samples/wait_peers.h"
#include "collector/samples/wait_places.h"
#include "collector/samples/wait_sockets.h"
#include "shared/atomic.h"
#include "tests/suite.h"

/* --- a waiting thread ---------------------------------------------------- */

static struct {
	void (*wait)(void);
	pthread_t thread;
	pid_t tid; /* set by the thread */
	struct wait_objects *objects;
	char text[WAIT_TEXT_BYTES];
	struct wait_wakers wakers;
} g;

/* Recorded processes: this one, unless g_alone, and its children. */
static pid_t g_child[2];
static bool g_alone;
static unsigned int g_lists; /* times that they were listed */

static size_t list(void *context, pid_t pid, pid_t *out, size_t room)
{
	(void)context;
	g_lists++;
	ck_assert_int_eq(pid, getpid());
	ck_assert_uint_ge(room, 3);
	out[0] = pid;
	out[1] = g_child[1];
	out[2] = g_child[0];
	return g_alone ? 0 : 3;
}

static const struct wait_processes processes = { .list = list };

static void *waiter(void *context)
{
	/* order: rel, as a test asks */
	atom_store_rel(&g.tid, (pid_t)syscall(SYS_gettid));
	g.wait();
	return context;
}

static void begin_wait(void (*wait)(void))
{
	g.wait = wait;
	g.tid = 0;
	ck_assert_int_eq(wait_objects_new(&processes, &g.objects), 0);
	ck_assert_int_eq(pthread_create(&g.thread, NULL, waiter, NULL), 0);
}

static void end_wait(void)
{
	pthread_join(g.thread, NULL);
	wait_objects_free(&g.objects);
}

/* Depends on the system's settings. */
static bool may_read(void)
{
	char text[WAIT_CALL_BYTES];

	return proc_read(getpid(), "syscall", text, sizeof(text)) > 0;
}

/* False: the thread is not blocked. */
static bool name_wait(pid_t pid, pid_t tid)
{
	const struct wait_thread thread = { .pid = pid, .tid = tid };
	char path[48], line[WAIT_CALL_BYTES];
	struct wait_call call;

	snprintf(path, sizeof(path), "task/%d/syscall", (int)tid);
	proc_read(pid, path, line, sizeof(line));
	if (wait_call_parse(line, &call))
		return false;
	wait_object_name(g.objects, &thread, &call, g.text);
	wait_object_wakers(g.objects, &thread, &call, &g.wakers);
	return true;
}

/* The thread may first wait on other objects, such as memory. */
static void expect_wait(const char *text)
{
	for (int i = 0; i < 50000; i++) {
		/* order: acq, the thread is there */
		pid_t tid = atom_load_acq(&g.tid);

		if (tid && name_wait(getpid(), tid) &&
		    !strncmp(g.text, text, strlen(text)))
			return;
		usleep(200);
	}
	ck_abort_msg("'%s' and not '%s'", g.text, text);
}

/* "[@kind test_wait_object+0x...]" for object @address of this program. */
static const char *object_text(const char *kind, const void *address)
{
	static char text[WAIT_TEXT_BYTES];
	const Elf64_Ehdr *header;
	const char *name;
	uint64_t bias;
	Dl_info info;

	ck_assert(dladdr(address, &info));
	header = info.dli_fbase;
	name = strrchr(info.dli_fname, '/');
	bias = header->e_type == ET_EXEC ? 0 : (uintptr_t)header;
	snprintf(text, sizeof(text), "[%s %s+0x%" PRIx64 "]", kind,
		 name ? name + 1 : info.dli_fname, (uintptr_t)address - bias);
	return text;
}

#define SKIP_IF_UNREADABLE()     \
	do {                     \
		if (!may_read()) \
			return;  \
	} while (0)

/* --- objects of the C library -------------------------------------------- */

static pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t g_cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t g_rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t g_barrier;
static sem_t g_sem;
static bool g_go;

static void wait_mutex(void)
{
	pthread_mutex_lock(&g_mutex);
	pthread_mutex_unlock(&g_mutex);
}

static void check_mutex(const pthread_mutexattr_t *attributes)
{
	SKIP_IF_UNREADABLE();
	pthread_mutex_init(&g_mutex, attributes);
	pthread_mutex_lock(&g_mutex);
	begin_wait(wait_mutex);
	expect_wait(object_text("mutex", &g_mutex));
	pthread_mutex_unlock(&g_mutex);
	end_wait();
	pthread_mutex_destroy(&g_mutex);
}

TEST(wait_object_names_mutexes)
{
	pthread_mutexattr_t attributes;

	check_mutex(NULL);
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
	check_mutex(&attributes);
	pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	check_mutex(&attributes);
	pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	check_mutex(&attributes);
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
	check_mutex(&attributes);
}

static void wait_condition(void)
{
	pthread_mutex_lock(&g_mutex);
	while (!g_go)
		pthread_cond_wait(&g_cond, &g_mutex);
	pthread_mutex_unlock(&g_mutex);
}

static void wait_condition_timed(void)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 1000;
	pthread_mutex_lock(&g_mutex);
	while (!g_go)
		pthread_cond_timedwait(&g_cond, &g_mutex, &end);
	pthread_mutex_unlock(&g_mutex);
}

static void check_condition(const pthread_condattr_t *attributes,
			    void (*wait)(void))
{
	SKIP_IF_UNREADABLE();
	pthread_cond_init(&g_cond, attributes);
	/* The groups of waiters swap each time. */
	for (int i = 0; i < 3; i++) {
		g_go = false;
		begin_wait(wait);
		expect_wait(object_text("condition", &g_cond));
		pthread_mutex_lock(&g_mutex);
		g_go = true;
		pthread_cond_broadcast(&g_cond);
		pthread_mutex_unlock(&g_mutex);
		end_wait();
	}
	pthread_cond_destroy(&g_cond);
}

TEST(wait_object_names_conditions)
{
	pthread_condattr_t attributes;

	check_condition(NULL, wait_condition);
	check_condition(NULL, wait_condition_timed);
	pthread_condattr_init(&attributes);
	pthread_condattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	check_condition(&attributes, wait_condition);
}

static void wait_semaphore(void)
{
	while (sem_wait(&g_sem) && errno == EINTR)
		;
}

TEST(wait_object_names_semaphores)
{
	SKIP_IF_UNREADABLE();
	for (int shared = 0; shared < 2; shared++) {
		sem_init(&g_sem, shared, 0);
		begin_wait(wait_semaphore);
		expect_wait(object_text("semaphore", &g_sem));
		sem_post(&g_sem);
		end_wait();
		sem_destroy(&g_sem);
	}
}

static void wait_reader(void)
{
	pthread_rwlock_rdlock(&g_rwlock);
	pthread_rwlock_unlock(&g_rwlock);
}

static void wait_writer(void)
{
	pthread_rwlock_wrlock(&g_rwlock);
	pthread_rwlock_unlock(&g_rwlock);
}

TEST(wait_object_names_rwlocks)
{
	SKIP_IF_UNREADABLE();
	pthread_rwlock_wrlock(&g_rwlock);
	begin_wait(wait_reader);
	expect_wait(object_text("rwlock", &g_rwlock));
	pthread_rwlock_unlock(&g_rwlock);
	end_wait();
	pthread_rwlock_wrlock(&g_rwlock);
	begin_wait(wait_writer);
	expect_wait(object_text("rwlock", &g_rwlock));
	pthread_rwlock_unlock(&g_rwlock);
	end_wait();
	pthread_rwlock_rdlock(&g_rwlock);
	begin_wait(wait_writer);
	expect_wait(object_text("rwlock", &g_rwlock));
	pthread_rwlock_unlock(&g_rwlock);
	end_wait();
}

static void wait_barrier(void)
{
	pthread_barrier_wait(&g_barrier);
}

TEST(wait_object_names_barriers)
{
	SKIP_IF_UNREADABLE();
	pthread_barrier_init(&g_barrier, NULL, 2);
	for (int i = 0; i < 3; i++) {
		begin_wait(wait_barrier);
		expect_wait(object_text("barrier", &g_barrier));
		pthread_barrier_wait(&g_barrier);
		end_wait();
	}
	pthread_barrier_destroy(&g_barrier);
}

static pthread_t g_joined;
static pid_t g_joined_tid;

static void *joined(void *context)
{
	/* order: rel, as a test asks */
	atom_store_rel(&g_joined_tid, (pid_t)syscall(SYS_gettid));
	wait_semaphore();
	return context;
}

static void wait_join(void)
{
	pthread_join(g_joined, NULL);
}

TEST(wait_object_names_the_thread_that_is_joined)
{
	char text[WAIT_TEXT_BYTES];

	SKIP_IF_UNREADABLE();
	sem_init(&g_sem, 0, 0);
	pthread_create(&g_joined, NULL, joined, NULL);
	/* order: acq, the thread is there */
	while (!atom_load_acq(&g_joined_tid))
		usleep(200);
	snprintf(text, sizeof(text), "[join thread %d]", (int)g_joined_tid);
	begin_wait(wait_join);
	expect_wait(text);
	sem_post(&g_sem);
	end_wait();
}

/* Looks like a mutex. */
static uint32_t g_word[16] = { 2, 0, 4711, 1 };

static void wait_futex(void)
{
	/* 128: private */
	syscall(SYS_futex, g_word, 128, 2, NULL, NULL, 0);
}

TEST(wait_object_leaves_other_futexes_plain)
{
	SKIP_IF_UNREADABLE();
	begin_wait(wait_futex);
	expect_wait(object_text("futex", g_word));
	/* order: rel, the futex call sees it */
	atom_store_rel(&g_word[0], 0);
	syscall(SYS_futex, g_word, 129, 1, NULL, NULL, 0);
	end_wait();
}

/* --- descriptors --------------------------------------------------------- */

static int g_fd, g_write_fd, g_event_fd;

static void wait_read(void)
{
	char bytes[8];

	(void)!read(g_fd, bytes, sizeof(bytes));
}

static void wait_poll(void)
{
	struct pollfd one = { .fd = g_fd, .events = POLLIN };

	poll(&one, 1, -1);
}

static void wait_poll_two(void)
{
	struct pollfd two[3] = { { .fd = g_fd, .events = POLLIN },
				 { .fd = -1, .events = POLLIN },
				 { .fd = g_event_fd, .events = POLLIN } };

	poll(two, 3, -1);
}

static void wait_poll_many(void)
{
	struct pollfd many[40];

	for (size_t i = 0; i < 40; i++)
		many[i] = (struct pollfd){ .fd = i % 2 ? g_fd : g_event_fd,
					   .events = POLLIN };
	poll(many, 40, -1);
}

static void wait_select(void)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(g_fd, &set);
	select(g_fd + 1, &set, NULL, NULL, NULL);
}

static void check_descriptor(void (*wait)(void), const char *text)
{
	const uint64_t one = 1;

	begin_wait(wait);
	expect_wait(text);
	ck_assert_int_eq(write(g_write_fd, &one, sizeof(one)), sizeof(one));
	end_wait();
}

TEST(wait_object_names_pipes_and_sets)
{
	char text[WAIT_TEXT_BYTES];
	struct stat status;
	int fds[2];

	SKIP_IF_UNREADABLE();
	ck_assert_int_eq(pipe(fds), 0);
	g_fd = fds[0];
	g_write_fd = fds[1];
	fstat(g_fd, &status);
	snprintf(text, sizeof(text), "[pipe %llu]",
		 (unsigned long long)status.st_ino);
	g_event_fd = eventfd(0, 0);
	check_descriptor(wait_read, text);
	check_descriptor(wait_poll, text);
	wait_read();
	check_descriptor(wait_select, text);
	wait_read();
	snprintf(text, sizeof(text), "[poll of pipe %llu, eventfd %d]",
		 (unsigned long long)status.st_ino, g_event_fd);
	check_descriptor(wait_poll_two, text);
	wait_read();
	check_descriptor(wait_poll_many, "[poll of pipes, eventfds]");
	close(g_event_fd);
	close(fds[0]);
	close(fds[1]);
}

static void wait_epoll(void)
{
	struct epoll_event event;

	epoll_wait(g_fd, &event, 1, -1);
}

TEST(wait_object_names_what_has_only_a_descriptor)
{
	struct epoll_event event = { .events = EPOLLIN };
	char text[WAIT_TEXT_BYTES];

	SKIP_IF_UNREADABLE();
	g_fd = g_write_fd = eventfd(0, 0);
	snprintf(text, sizeof(text), "[eventfd %d]", g_fd);
	check_descriptor(wait_read, text);
	g_fd = epoll_create1(0);
	epoll_ctl(g_fd, EPOLL_CTL_ADD, g_write_fd, &event);
	snprintf(text, sizeof(text), "[epoll %d]", g_fd);
	check_descriptor(wait_epoll, text);
	close(g_fd);
	close(g_write_fd);
}

TEST(wait_object_names_sockets_by_their_addresses)
{
	struct sockaddr_in own = { .sin_family = AF_INET }, peer;
	socklen_t size = sizeof(own);
	char text[WAIT_TEXT_BYTES];
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	g_alone = true;

	SKIP_IF_UNREADABLE();
	own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ck_assert_int_eq(bind(listener, (struct sockaddr *)&own, size), 0);
	ck_assert_int_eq(listen(listener, 1), 0);
	getsockname(listener, (struct sockaddr *)&own, &size);
	g_write_fd = socket(AF_INET, SOCK_STREAM, 0);
	ck_assert_int_eq(connect(g_write_fd, (struct sockaddr *)&own, size), 0);
	size = sizeof(peer);
	g_fd = accept(listener, (struct sockaddr *)&peer, &size);
	snprintf(text, sizeof(text), "[tcp 127.0.0.1:%d 127.0.0.1:%d]",
		 ntohs(own.sin_port), ntohs(peer.sin_port));
	check_descriptor(wait_read, text);
	close(g_fd);
	close(g_write_fd);
	close(listener);
}

/* --- peers --------------------------------------------------------------- */

/* It inherits all descriptors. */
static void start_child(size_t number)
{
	g_child[number] = fork();
	if (!g_child[number])
		for (;;)
			pause();
}

static void end_children(void)
{
	for (size_t i = 0; i < 2; i++)
		if (g_child[i]) {
			kill(g_child[i], SIGKILL);
			waitpid(g_child[i], NULL, 0);
			g_child[i] = 0;
		}
}

static uint64_t inode_of(int fd)
{
	struct stat status;

	ck_assert_int_eq(fstat(fd, &status), 0);
	return status.st_ino;
}

/* "[@kind INODE of @fd @word NAME PID@more]"; @pid 0: no peer. */
static const char *peer_text(const char *kind, int fd, const char *word,
			     pid_t pid, const char *more)
{
	static char text[WAIT_TEXT_BYTES];
	char name[32], peer[64] = "";

	proc_read(getpid(), "comm", name, sizeof(name));
	name[strcspn(name, "\n")] = '\0';
	if (pid)
		snprintf(peer, sizeof(peer), " %s %s %d%s", word, name,
			 (int)pid, more);
	snprintf(text, sizeof(text), "[%s %" PRIu64 "%s]", kind, inode_of(fd),
		 peer);
	return text;
}

TEST(wait_object_says_who_writes_to_a_pipe)
{
	int fds[2];
	pid_t pid;

	SKIP_IF_UNREADABLE();
	ck_assert_int_eq(pipe(fds), 0);
	g_fd = fds[0];
	g_write_fd = fds[1];
	/* Having both ends does not make this process a writer. */
	check_descriptor(wait_read, peer_text("pipe", g_fd, "", 0, ""));
	start_child(0);
	check_descriptor(wait_read,
			 peer_text("pipe", g_fd, "from", g_child[0], ""));
	start_child(1);
	pid = g_child[0] < g_child[1] ? g_child[0] : g_child[1];
	check_descriptor(wait_read,
			 peer_text("pipe", g_fd, "from", pid, " and others"));
	g_alone = true;
	check_descriptor(wait_read, peer_text("pipe", g_fd, "", 0, ""));
	end_children();
	close(fds[0]);
	close(fds[1]);
}

static void wait_write(void)
{
	char bytes[4096] = "";

	while (write(g_fd, bytes, sizeof(bytes)) > 0)
		;
}

TEST(wait_object_says_who_reads_from_a_pipe)
{
	int fds[2];

	SKIP_IF_UNREADABLE();
	ck_assert_int_eq(pipe(fds), 0);
	g_fd = fds[1];
	start_child(0);
	signal(SIGPIPE, SIG_IGN);
	begin_wait(wait_write);
	expect_wait(peer_text("pipe", g_fd, "to", g_child[0], ""));
	end_children();
	close(fds[0]);
	end_wait();
	close(fds[1]);
}

TEST(wait_object_says_who_has_the_other_unix_socket)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	socklen_t size = offsetof(struct sockaddr_un, sun_path) + 32;
	char text[WAIT_TEXT_BYTES];
	int fds[2], listener;

	SKIP_IF_UNREADABLE();
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	g_fd = fds[0];
	g_write_fd = fds[1];
	/* Another thread of this process may answer. */
	check_descriptor(wait_read,
			 peer_text("unix socket", g_fd, "to", getpid(), ""));
	start_child(0);
	check_descriptor(wait_read,
			 peer_text("unix socket", g_fd, "to", g_child[0], ""));
	g_alone = true;
	check_descriptor(wait_read, peer_text("unix socket", g_fd, "", 0, ""));
	end_children();
	close(fds[0]);
	close(fds[1]);
	/* An unrecorded server has a name. */
	listener = socket(AF_UNIX, SOCK_STREAM, 0);
	snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "perfrec-%d",
		 (int)getpid());
	ck_assert_int_eq(bind(listener, (struct sockaddr *)&name, size), 0);
	ck_assert_int_eq(listen(listener, 1), 0);
	g_fd = socket(AF_UNIX, SOCK_STREAM, 0);
	ck_assert_int_eq(connect(g_fd, (struct sockaddr *)&name, size), 0);
	g_write_fd = accept(listener, NULL, NULL);
	snprintf(text, sizeof(text), "[unix socket %" PRIu64 " to @perfrec-%d@",
		 inode_of(g_fd), (int)getpid());
	check_descriptor(wait_read, text);
	close(g_fd);
	close(g_write_fd);
	close(listener);
}

/* IPv4, IPv6, and IPv4 to a dual-stack server. */
static void check_tcp_peer(int family, int server_family)
{
	struct sockaddr_in6 address = { .sin6_family = AF_INET6 };
	socklen_t size = sizeof(address);
	int listener = socket(server_family, SOCK_STREAM, 0);
	char peer[32];

	if (listener < 0)
		return; /* no IPv6 */
	address.sin6_family = (sa_family_t)server_family;
	ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, size), 0);
	ck_assert_int_eq(listen(listener, 1), 0);
	getsockname(listener, (struct sockaddr *)&address, &size);
	address.sin6_family = (sa_family_t)family;
	g_write_fd = socket(family, SOCK_STREAM, 0);
	if (connect(g_write_fd, (struct sockaddr *)&address, sizeof(address))) {
		close(listener);
		return;
	}
	g_fd = accept(listener, NULL, NULL);
	start_child(0);
	snprintf(peer, sizeof(peer), " %d]", (int)g_child[0]);
	begin_wait(wait_read);
	expect_wait("[tcp ");
	ck_assert_msg(strstr(g.text, " to ") && strstr(g.text, peer), "%s",
		      g.text);
	ck_assert_int_eq(write(g_write_fd, "12345678", 8), 8);
	end_wait();
	end_children();
	close(g_fd);
	close(g_write_fd);
	close(listener);
}

TEST(wait_object_says_who_has_the_other_tcp_socket)
{
	SKIP_IF_UNREADABLE();
	check_tcp_peer(AF_INET, AF_INET);
	check_tcp_peer(AF_INET6, AF_INET6);
	check_tcp_peer(AF_INET, AF_INET6);
}

/* To look for it in all processes would use up the links that a second may
 * read, and the ends of pipes would not be found. */
TEST(wait_object_looks_for_no_unknown_end)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t size = sizeof(address);

	SKIP_IF_UNREADABLE();
	g_fd = socket(AF_INET, SOCK_DGRAM, 0);
	g_write_fd = g_fd;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ck_assert_int_eq(bind(g_fd, (struct sockaddr *)&address, size), 0);
	getsockname(g_fd, (struct sockaddr *)&address, &size);
	ck_assert_int_eq(connect(g_fd, (struct sockaddr *)&address, size), 0);
	g_lists = 0;
	check_descriptor(wait_read, "[udp ");
	ck_assert_uint_eq(g.wakers.files, 0);
	ck_assert_uint_eq(g_lists, 0);
	close(g_fd);
}

static size_t list_none_of_mine(void *context, pid_t pid, pid_t *out,
				size_t room)
{
	(void)context;
	(void)pid;
	(void)room;
	out[0] = 1 << 23; /* unused */
	out[1] = out[2] = 1;
	return 3;
}

TEST(wait_peers_of_others_are_not_told)
{
	const struct wait_processes none = { .list = list_none_of_mine };
	struct wait_end end = { .kind = WAIT_END_SOCKET, .inode = 1 };
	char text[WAIT_PEER_BYTES];
	struct wait_peers *peers;

	ck_assert_int_eq(wait_peers_new(&none, &peers), 0);
	for (int i = 0; i < 3; i++)
		ck_assert(!wait_peers_find(peers, getpid(), &end, text));
	ck_assert(!wait_peers_find(peers, 1 << 23, &end, text));
	wait_peers_free(&peers);
	wait_peers_free(&peers);
}

TEST(wait_text_adds_what_is_at_the_other_end)
{
	char path[120];

	wait_text_object(g.text, "pipe", "7");
	wait_text_add(g.text, "from", "a\x1b[b 4");
	ck_assert_str_eq(g.text, "[pipe 7 from a?[b 4]");
	wait_text_object(g.text, "unix", "");
	wait_text_add(g.text, "to", "b 5");
	ck_assert_str_eq(g.text, "[unix  to b 5]");
	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	wait_text_object(g.text, "unix", path);
	wait_text_add(g.text, "to", "b 5");
	ck_assert_uint_eq(strlen(g.text), WAIT_TEXT_BYTES - 1);
	ck_assert(!strncmp(g.text, "[unix ...xx", 11));
	ck_assert(strstr(g.text, "xx to b 5]"));
}

/* --- other waits --------------------------------------------------------- */

static volatile sig_atomic_t g_woken;

static void wake_up(int signal)
{
	(void)signal;
	g_woken = 1;
}

static void wait_sleep(void)
{
	struct timespec time = { 1000, 0 };

	while (!g_woken)
		nanosleep(&time, NULL);
}

TEST(wait_object_names_sleep)
{
	const struct sigaction action = { .sa_handler = wake_up };

	SKIP_IF_UNREADABLE();
	sigaction(SIGUSR1, &action, NULL);
	begin_wait(wait_sleep);
	expect_wait("[sleep]");
	pthread_kill(g.thread, SIGUSR1);
	end_wait();
}

static void wait_child(void)
{
	waitpid(g_child[0], NULL, 0);
}

TEST(wait_object_names_children)
{
	SKIP_IF_UNREADABLE();
	start_child(0);
	begin_wait(wait_child);
	expect_wait("[child processes]");
	kill(g_child[0], SIGKILL);
	end_wait();
}

static void expect_child_waits(pid_t pid, const char *text)
{
	for (int i = 0; i < 50000; i++) {
		if (name_wait(pid, pid) && !strcmp(g.text, text))
			return;
		usleep(200);
	}
	ck_abort_msg("'%s' and not '%s'", g.text, text);
}

/* The file "syscall" of a stopped child still shows pause(). */
TEST(wait_object_names_stopped_threads)
{
	SKIP_IF_UNREADABLE();
	start_child(0);
	ck_assert_int_eq(wait_objects_new(&processes, &g.objects), 0);
	expect_child_waits(g_child[0], "[signal]");
	kill(g_child[0], SIGSTOP);
	expect_child_waits(g_child[0], "[stopped]");
	kill(g_child[0], SIGCONT);
	expect_child_waits(g_child[0], "[signal]");
	wait_objects_free(&g.objects);
	end_children();
}

TEST(wait_object_of_nobody_says_less)
{
	const struct wait_thread thread = { .pid = 1 << 23, .tid = 1 << 23 };
	struct wait_call call = { .in_call = true, .number = SYS_futex };

	ck_assert_int_eq(wait_objects_new(&processes, &g.objects), 0);
	call.arg[0] = 0x1000;
	call.arg[1] = 128;
	wait_object_name(g.objects, &thread, &call, g.text);
	ck_assert_str_eq(g.text, "[futex 0x1000]");
	call.number = SYS_read;
	wait_object_name(g.objects, &thread, &call, g.text);
	ck_assert_str_eq(g.text, "[descriptor 4096]");
	call.number = SYS_ppoll;
	call.arg[1] = 1;
	wait_object_name(g.objects, &thread, &call, g.text);
	ck_assert_str_eq(g.text, "[poll of 1 descriptor]");
	call.number = SYS_pselect6;
	call.arg[0] = UINT64_MAX;
	call.arg[1] = call.arg[2] = call.arg[3] = UINT64_MAX - 8;
	wait_object_name(g.objects, &thread, &call, g.text);
	ck_assert_str_eq(g.text, "[sleep]");
	call.number = SYS_sync;
	wait_object_name(g.objects, &thread, &call, g.text);
	ck_assert_str_eq(g.text, "[system call sync]");
	call.number = 1000;
	wait_object_name(g.objects, &thread, &call, g.text);
	ck_assert_str_eq(g.text, "[system call 1000]");
	call.in_call = false;
	wait_object_name(g.objects, &thread, &call, g.text);
	ck_assert_str_eq(g.text, "[page fault]");
	wait_objects_free(&g.objects);
}

/* --- texts --------------------------------------------------------------- */

TEST(wait_object_cleans_names_of_files)
{
	char path[5000];

	wait_object_target("/tmp/a\x1b[2Jb\xff\n", 3, g.text);
	ck_assert_str_eq(g.text, "[file /tmp/a?[2Jb??]");
	wait_object_target("anon_inode:[timerfd]", 3, g.text);
	ck_assert_str_eq(g.text, "[timerfd 3]");
	wait_object_target("anon_inode:inotify", 4, g.text);
	ck_assert_str_eq(g.text, "[inotify 4]");
	wait_object_target("anon_inode:", 4, g.text);
	ck_assert_str_eq(g.text, "[ 4]");
	wait_object_target("pipe:[x]", 4, g.text);
	ck_assert_str_eq(g.text, "[file pipe:[x]]");
	memset(path, 'x', sizeof(path));
	strcpy(path + sizeof(path) - 5, "/end");
	wait_object_target(path, 3, g.text);
	ck_assert_uint_eq(strlen(g.text), WAIT_TEXT_BYTES - 1);
	ck_assert(!strncmp(g.text, "[file ...xxx", 12));
	ck_assert(!strcmp(g.text + WAIT_TEXT_BYTES - 7, "x/end]"));
}

#define MAPS                                                               \
	"5600000000-5600001000 r--p 00000000 fe:00 17   /usr/bin/my app\n" \
	"5600001000-5600003000 r-xp 00001000 fe:00 17   /usr/bin/my app\n" \
	"5600003000-5600004000 rw-p 00003000 fe:00 17   /usr/bin/my app\n" \
	"5600004000-5600006000 rw-p 00000000 00:00 0 \n"                   \
	"5600010000-5600020000 rw-p 00000000 00:00 0   [heap]\n"           \
	"7f0000000000-7f0000001000 r--p 00000000 fe:00 18 /a/libx.so "     \
	"(deleted)\n"                                                      \
	"7f0000001000-7f0000002000 r-xp 00001000 fe:00 18 /a/libx.so "     \
	"(deleted)\n"                                                      \
	"7f0000002000-7f0000003000 rw-p 00000000 00:00 0 \n"               \
	"7f0000003000-7f0000004000 r--p 00000000 fe:00 19 /b/libx.so\n"    \
	"7f0000004000-7f0000005000 rw-p 00001000 fe:00 19 /b/libx.so\n"

static const char *place(const char *maps, uint64_t address)
{
	static char text[WAIT_PLACE_BYTES];

	wait_places_name_by(maps, address, text);
	return text;
}

TEST(wait_places_are_in_files_and_behind_them)
{
	ck_assert_str_eq(place(MAPS, 0x5600000010), "my app+0x10");
	ck_assert_str_eq(place(MAPS, 0x5600003fff), "my app+0x3fff");
	ck_assert_str_eq(place(MAPS, 0x5600005000), "my app+0x5000");
	ck_assert_str_eq(place(MAPS, 0x5600006000), "0x5600006000");
	ck_assert_str_eq(place(MAPS, 0x5600010000), "0x5600010000");
	ck_assert_str_eq(place(MAPS, 0x7f0000001000), "libx.so+0x1000");
	/* It follows a mapping that is not writable, so it is no .bss. */
	ck_assert_str_eq(place(MAPS, 0x7f0000002000), "0x7f0000002000");
	ck_assert_str_eq(place(MAPS, 0x7f0000004010), "libx.so+0x1010");
	ck_assert_str_eq(place(MAPS, 0), "0x0");
	ck_assert_str_eq(place(MAPS, UINT64_MAX), "0xffffffffffffffff");
}

TEST(wait_places_of_a_map_that_is_no_map_are_addresses)
{
	static const char *const odd[] = {
		"",
		"\n\n",
		"1000-2000\n",
		"1000-2000 rw-p 0 0:0 1 /a", /* truncated */
		"2000-1000 r--p 0 0:0 1 /a\n",
		"x-y r--p 0 0:0 1 /a\n",
	};

	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		ck_assert_str_eq(place(odd[i], 0x1800), "0x1800");
	ck_assert_str_eq(place("1000-2000 r--p 0 0:0 1 /a/\n", 0x1800),
			 "+0x800");
}

TEST(wait_sockets_are_found_by_their_inode)
{
	static const char tcp[] =
		"   0: 0100007F:1F90 0200007F:C350 01 00000000:00000000 "
		"00:00000000 00000000  1000        0 4242 1 0000000000000000 "
		"20 4 30 10 -1";
	static const char listens[] =
		"   1: 00000000:0050 00000000:0000 0A 00000000:00000000 "
		"00:00000000 00000000     0        0 77 1 0000000000000000";
	static const char tcp6[] =
		"   0: 00000000000000000000000001000000:0050 "
		"00000000000000000000000001000000:1234 01 00000000:00000000 "
		"00:00000000 00000000     0        0 9 1 0000000000000000";
	static const char path[] =
		"0000000000000000: 00000002 00000000 00010000 0001 01 17 "
		"/run/a b.sock";
	static const char pair[] =
		"0000000000000000: 00000003 00000000 00000000 0001 03 18";

	ck_assert(wait_sockets_parse(WAIT_SOCKET_TCP, tcp, 4242, g.text));
	ck_assert_str_eq(g.text, "[tcp 127.0.0.1:8080 127.0.0.2:50000]");
	ck_assert(!wait_sockets_parse(WAIT_SOCKET_TCP, tcp, 424, g.text));
	ck_assert(wait_sockets_parse(WAIT_SOCKET_TCP, listens, 77, g.text));
	ck_assert_str_eq(g.text, "[tcp 0.0.0.0:80 listens]");
	ck_assert(wait_sockets_parse(WAIT_SOCKET_UDP, listens, 77, g.text));
	ck_assert_str_eq(g.text, "[udp 0.0.0.0:80]");
	ck_assert(wait_sockets_parse(WAIT_SOCKET_TCP6, tcp6, 9, g.text));
	ck_assert_str_eq(g.text, "[tcp [::1]:80 [::1]:4660]");
	ck_assert(wait_sockets_parse(WAIT_SOCKET_UNIX, path, 17, g.text));
	ck_assert_str_eq(g.text, "[unix /run/a b.sock]");
	ck_assert(wait_sockets_parse(WAIT_SOCKET_UNIX, pair, 18, g.text));
	ck_assert_str_eq(g.text, "[unix socket 18]");
}

TEST(wait_sockets_refuse_lines_that_are_none)
{
	static const char line[] =
		"   0: 0100007F:1F90 0200007F:C350 01 00000000:00000000 "
		"00:00000000 00000000  1000        0 4242 1";
	char copy[sizeof(line)];

	for (size_t i = 0; i < sizeof(line) - 8; i++) {
		memcpy(copy, line, sizeof(line));
		copy[i] = '\0';
		ck_assert(!wait_sockets_parse(WAIT_SOCKET_TCP, copy, 4242,
					      g.text));
		ck_assert(!wait_sockets_parse(WAIT_SOCKET_UNIX, copy, 4242,
					      g.text));
		memcpy(copy, line, sizeof(line));
		copy[i] = 'z';
		(void)wait_sockets_parse(WAIT_SOCKET_TCP6, copy, 4242, g.text);
		copy[i] = ':';
		(void)wait_sockets_parse(WAIT_SOCKET_TCP, copy, 4242, g.text);
	}
}

TEST(wait_memory_reads_up_to_where_memory_ends)
{
	const size_t page = 4096;
	char *two = aligned_alloc(page, 2 * page), *copy = malloc(3 * page);
	pid_t pid = getpid();

	memset(two, 7, 2 * page);
	ck_assert_uint_eq(wait_memory_read(pid, (uintptr_t)two + 1, copy, 5000),
			  5000);
	ck_assert_int_eq(copy[4999], 7);
	ck_assert_uint_eq(wait_memory_read(pid, 0, copy, page), 0);
	ck_assert_uint_eq(wait_memory_read(pid, UINT64_MAX - 7, copy, page), 0);
	ck_assert_uint_eq(wait_memory_read(1 << 23, (uintptr_t)two, copy, 8),
			  0);
	free(two);
	free(copy);
}
