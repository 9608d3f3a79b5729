/* SPDX-License-Identifier: Apache-2.0
 *
 * whom FAMILY - threads that wait for each other, and log whom they wait for:
 *
 *	W TID FROM TO OBJECT	a wait, from before to after the call
 *	V TID FROM TO OBJECT	a wait to read: for no other reader
 *	H TID FROM TO OBJECT	a lock was held: after the call, until before
 *				the release; others waited at that time
 *	h TID FROM TO OBJECT	the same, and nobody waited: the release woke
 *				no thread
 *	T TID FROM TO OBJECT	a wait that timed out
 *	C TID FROM TO OBJECT	a wait for a signal or a post
 *	S TID AT AT OBJECT	a signal, a post, the end of a thread or the like,
 *				before the call
 *	R TID FROM TO OBJECT	readers had a lock, and the last one was TID;
 *				others waited at the end
 *	r TID FROM TO OBJECT	the same, and nobody waited
 *	u TID AT AT OBJECT	a reader released the lock as not the last one
 *
 * H, h, R, r and u end with another time, after the release: a thread may lose its
 * CPU between the log and the release, and others come meanwhile.
 *
 * Times are CLOCK_BOOTTIME in ns. tests/tools/whom_check.py compares the lines
 * with the trace. FAMILY is a line of g_families.
 */
#include <linux/futex.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "shared/atomic.h"

#define PLAIN __attribute__((no_instrument_function)) static
#define LINES_MAX 200000
#define THREADS 4

static struct line {
	char kind;
	int tid;
	long from, to;
	const void *object;
	long after;
} g_lines[LINES_MAX];
static int g_line_count;
static long g_work_us, g_rounds;
static bool g_busy, g_timed;
static pthread_mutex_t g_lock;

PLAIN long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_BOOTTIME, &time);
	return time.tv_sec * 1000000000L + time.tv_nsec;
}

PLAIN void log_line(char kind, long from, long to, const void *object)
{
	/* relaxed: a number of its own */
	int at = atom_add_rlx(&g_line_count, 1);

	if (at < LINES_MAX)
		g_lines[at] =
			(struct line){ kind, gettid(), from, to, object, 0 };
}

/* Just after a release. */
PLAIN void log_release(char kind, long from, long to, const void *object)
{
	long after = now();
	/* relaxed: a number of its own */
	int at = atom_add_rlx(&g_line_count, 1);

	if (at < LINES_MAX)
		g_lines[at] = (struct line){ kind, gettid(), from,
					     to,   object,   after };
}

PLAIN void spin_us(long us)
{
	long end = now() + us * 1000;

	while (now() < end)
		;
}

static void work(long us)
{
	struct timespec time = { 0, us * 1000 };

	if (g_busy)
		spin_us(us);
	else
		nanosleep(&time, NULL);
}

/* --- locks --------------------------------------------------------------- */

static int lock_once(void)
{
	struct timespec until;
	long from = now();
	int result;

	if (!g_timed) {
		result = pthread_mutex_lock(&g_lock);
	} else {
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += g_work_us * 1500;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		result = pthread_mutex_timedlock(&g_lock, &until);
	}
	log_line(result ? 'T' : 'W', from, now(), &g_lock);
	return result;
}

/* An uncontended release of the lock, which is held, wakes no thread. */
PLAIN int has_waiters(void)
{
	/* relaxed: this thread holds the lock */
	int word = atom_load_rlx((int *)&g_lock);

	return word < 0 || word == 2;
}

static void hold_once(int (*release)(void))
{
	long from = now(), to;
	char kind;

	work(g_work_us);
	to = now();
	kind = has_waiters() ? 'H' : 'h';
	release();
	log_release(kind, from, to, &g_lock);
}

static int release_lock(void)
{
	return pthread_mutex_unlock(&g_lock);
}

static void *lock_thread(void *unused)
{
	(void)unused;
	for (int i = 0; i < g_rounds; i++) {
		if (lock_once() == 0)
			hold_once(release_lock);
		work(g_work_us / 4);
	}
	return NULL;
}

static void run_threads(void *(*run)(void *), int count)
{
	pthread_t thread[16];
	char name[16];

	for (int i = 0; i < count; i++) {
		pthread_create(&thread[i], NULL, run, (void *)(intptr_t)i);
		snprintf(name, sizeof(name), "worker-%d", i);
		pthread_setname_np(thread[i], name);
	}
	for (int i = 0; i < count; i++)
		pthread_join(thread[i], NULL);
}

static void run_locks(int type, int protocol, int robust)
{
	pthread_mutexattr_t attributes;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_settype(&attributes, type);
	pthread_mutexattr_setprotocol(&attributes, protocol);
	pthread_mutexattr_setrobust(&attributes, robust);
	pthread_mutex_init(&g_lock, &attributes);
	run_threads(lock_thread, THREADS);
}

static void mutex_long(void)
{
	g_work_us = 5000;
	g_rounds = 30;
	run_locks(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, 0);
}

/* Holds the lock without a record but those of the lock. */
PLAIN void *hold_silently(void *unused)
{
	const struct timespec hold = { 0, 8000000 }, pause = { 0, 1000000 };

	for (int i = 0; i < g_rounds; i++) {
		long from, to;
		char kind;

		pthread_mutex_lock(&g_lock);
		from = now();
		nanosleep(&hold, NULL);
		to = now();
		kind = has_waiters() ? 'H' : 'h';
		pthread_mutex_unlock(&g_lock);
		log_release(kind, from, to, &g_lock);
		nanosleep(&pause, NULL);
	}
	return unused;
}

static void silent(void)
{
	pthread_t thread;

	g_work_us = 1000;
	g_rounds = 120; /* a single wait is below the limit of wrong time */
	pthread_create(&thread, NULL, hold_silently, NULL);
	run_locks(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, 0);
	pthread_join(thread, NULL);
}

static void mutex_busy(void)
{
	g_work_us = 1000;
	g_rounds = 60;
	g_busy = true;
	run_locks(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, 0);
}

static void mutex_short(void)
{
	g_work_us = 200;
	g_rounds = 200;
	run_locks(PTHREAD_MUTEX_ADAPTIVE_NP, PTHREAD_PRIO_NONE, 0);
}

static void recursive(void)
{
	g_work_us = 1000;
	g_rounds = 50;
	run_locks(PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_NONE, 0);
}

static void checking(void)
{
	g_work_us = 1000;
	g_rounds = 50;
	run_locks(PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_NONE, 0);
}

static void robust(void)
{
	g_work_us = 1000;
	g_rounds = 50;
	run_locks(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE,
		  PTHREAD_MUTEX_ROBUST);
}

static void inherit(void)
{
	g_work_us = 1000;
	g_rounds = 50;
	run_locks(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT, 0);
}

static void timed(void)
{
	g_timed = true;
	g_work_us = 2000;
	g_rounds = 50;
	run_locks(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, 0);
}

/* --- queues -------------------------------------------------------------- */

static pthread_cond_t g_items = PTHREAD_COND_INITIALIZER;
static sem_t g_posted;
static int g_count;

static void *take_items(void *unused)
{
	(void)unused;
	for (int i = 0; i < g_rounds; i++) {
		long from = now();

		pthread_mutex_lock(&g_lock);
		while (!g_count)
			pthread_cond_wait(&g_items, &g_lock);
		g_count--;
		pthread_mutex_unlock(&g_lock);
		log_line('C', from, now(), &g_items);
	}
	return NULL;
}

static void *put_items(void *unused)
{
	(void)unused;
	for (int i = 0; i < g_rounds; i++) {
		long at;

		work(g_work_us);
		pthread_mutex_lock(&g_lock);
		g_count++;
		at = now();
		log_line('S', at, at, &g_items);
		pthread_cond_signal(&g_items);
		pthread_mutex_unlock(&g_lock);
	}
	return NULL;
}

static void *take_posts(void *unused)
{
	(void)unused;
	for (int i = 0; i < g_rounds; i++) {
		long from = now();

		sem_wait(&g_posted);
		log_line('C', from, now(), &g_posted);
	}
	return NULL;
}

static void *put_posts(void *unused)
{
	(void)unused;
	for (int i = 0; i < g_rounds; i++) {
		long at;

		work(g_work_us);
		at = now();
		log_line('S', at, at, &g_posted);
		sem_post(&g_posted);
	}
	return NULL;
}

static void *queue_thread(void *number)
{
	return number ? put_items(NULL) : take_items(NULL);
}

static void *posts_thread(void *number)
{
	return number ? put_posts(NULL) : take_posts(NULL);
}

static void queue(void)
{
	g_work_us = 2000;
	g_rounds = 100;
	run_threads(queue_thread, 2);
}

static void posts(void)
{
	g_work_us = 2000;
	g_rounds = 100;
	sem_init(&g_posted, 0, 0);
	run_threads(posts_thread, 2);
}

/* --- readers and writers -------------------------------------------------- */

static pthread_rwlock_t g_rwlock = PTHREAD_RWLOCK_INITIALIZER;
static int g_readers;
static long g_read_from;

/* As the C library counts: an unlock wakes readers that wait in the word, or a
 * writer. */
PLAIN int has_rwlock_waiters(bool writes)
{
	/* relaxed: this thread has the lock */
	uint32_t word = atom_load_rlx(&g_rwlock.__data.__readers);
	/* relaxed: as above */
	uint32_t writers = atom_load_rlx(&g_rwlock.__data.__writers_futex);

	return writes ? word >> 3 || writers & 2 : (word & 6) != 0;
}

static void write_once(void)
{
	long begin = now(), from, to;
	char kind;

	pthread_rwlock_wrlock(&g_rwlock);
	from = now();
	log_line('W', begin, from, &g_rwlock);
	work(g_work_us);
	to = now();
	kind = has_rwlock_waiters(true) ? 'H' : 'h';
	pthread_rwlock_unlock(&g_rwlock);
	log_release(kind, from, to, &g_rwlock);
}

static void read_once(void)
{
	long from = now(), to;
	char kind = 'u';

	pthread_rwlock_rdlock(&g_rwlock);
	/* relaxed: the first one's time is of no use to anybody else */
	if (!atom_add_rlx(&g_readers, 1))
		g_read_from = now();
	log_line('V', from, now(), &g_rwlock);
	work(g_work_us);
	/* relaxed: only the last one reads the time of the first */
	if (atom_add_rlx(&g_readers, -1) == 1) {
		kind = has_rwlock_waiters(false) ? 'R' : 'r';
		from = g_read_from;
	}
	to = now();
	pthread_rwlock_unlock(&g_rwlock);
	log_release(kind, kind == 'u' ? to : from, to, &g_rwlock);
}

static void *write_thread(void *unused)
{
	for (int i = 0; i < g_rounds; i++) {
		write_once();
		work(g_work_us / 4);
	}
	return unused;
}

static void *read_write_thread(void *number)
{
	bool writes = (uintptr_t)number % 2;

	for (int i = 0; i < g_rounds; i++) {
		if (writes)
			write_once();
		else
			read_once();
		work(g_work_us / 4);
	}
	return NULL;
}

static void writers(void)
{
	g_work_us = 2000;
	g_rounds = 50;
	run_threads(write_thread, 7);
}

static void readers(void)
{
	g_work_us = 2000;
	g_rounds = 50;
	run_threads(read_write_thread, 5);
}

/* --- points that other threads reach -------------------------------------- */

static pthread_barrier_t g_barrier;
static uint32_t g_word;
static pthread_once_t g_once[200];
static int g_objects[200]; /* stand for rounds */

/* The C library tells the thread that completed a round. */
static void *meet(void *number)
{
	for (int i = 0; i < g_rounds; i++) {
		long from;

		work((uintptr_t)number == (uintptr_t)i % THREADS
			     ? g_work_us
			     : g_work_us / 8);
		from = now();
		if (pthread_barrier_wait(&g_barrier))
			log_line('S', from, from, &g_objects[i]);
		log_line('C', from, now(), &g_objects[i]);
	}
	return NULL;
}

static void barrier(void)
{
	g_work_us = 4000;
	g_rounds = 80;
	pthread_barrier_init(&g_barrier, NULL, THREADS);
	run_threads(meet, THREADS);
}

static void *end_soon(void *object)
{
	long at;

	work(g_work_us);
	at = now();
	log_line('S', at, at, object);
	return NULL;
}

static void joins(void)
{
	g_work_us = 2000;
	g_rounds = 60;
	for (int i = 0; i < g_rounds; i++) {
		pthread_t thread;
		long from;

		pthread_create(&thread, NULL, end_soon, &g_objects[i]);
		from = now();
		pthread_join(thread, NULL);
		log_line('C', from, now(), &g_objects[i]);
	}
}

static int g_round;

static void run_once(void)
{
	long at;

	work(g_work_us);
	at = now();
	log_line('S', at, at, &g_objects[g_round]);
}

/* Half the work later than the thread that runs the routine. */
static void *once_thread(void *number)
{
	for (int i = 0; i < g_rounds; i++) {
		long from;

		if (number)
			work(g_work_us / 2);
		else
			g_round = i;
		from = now();
		pthread_once(&g_once[i], run_once);
		if (number)
			log_line('C', from, now(), &g_objects[i]);
		pthread_barrier_wait(&g_barrier);
	}
	return NULL;
}

static void once(void)
{
	g_work_us = 4000;
	g_rounds = 40;
	pthread_barrier_init(&g_barrier, NULL, 2);
	run_threads(once_thread, 2);
}

static void *futex_thread(void *number)
{
	for (int i = 0; i < g_rounds; i++) {
		long at = now();

		if (number) {
			work(g_work_us);
			at = now();
			log_line('S', at, at, &g_objects[i]);
			/* order: none; the system call has its own */
			atom_add_sc(&g_word, 1);
			syscall(SYS_futex, &g_word, FUTEX_WAKE_PRIVATE, 1);
		} else {
			/* order: as above */
			while ((int)atom_load_acq(&g_word) <= i)
				syscall(SYS_futex, &g_word, FUTEX_WAIT_PRIVATE,
					i, NULL, NULL, 0);
			log_line('C', at, now(), &g_objects[i]);
		}
	}
	return NULL;
}

static void futex(void)
{
	g_work_us = 2000;
	g_rounds = 100;
	run_threads(futex_thread, 2);
}

/* --- <threads.h> ---------------------------------------------------------- */

static int release_c11(void)
{
	return mtx_unlock((mtx_t *)&g_lock);
}

static int c11_thread(void *unused)
{
	(void)unused;
	for (int i = 0; i < g_rounds; i++) {
		long from = now();

		mtx_lock((mtx_t *)&g_lock);
		log_line('W', from, now(), &g_lock);
		hold_once(release_c11);
		work(g_work_us / 4);
	}
	return 0;
}

static void c11(void)
{
	thrd_t thread[THREADS];

	g_work_us = 2000;
	g_rounds = 50;
	for (int i = 0; i < THREADS; i++)
		thrd_create(&thread[i], c11_thread, NULL);
	for (int i = 0; i < THREADS; i++)
		thrd_join(thread[i], NULL);
}

/* The poster posts in a signal handler. */
static void post_by_signal(int signal)
{
	long at = now();

	(void)signal;
	log_line('S', at, at, &g_posted);
	sem_post(&g_posted);
}

static void *signalled_thread(void *number)
{
	if (!number)
		return take_posts(NULL);
	for (int i = 0; i < g_rounds; i++) {
		work(g_work_us);
		raise(SIGUSR1);
	}
	return NULL;
}

static void handler(void)
{
	g_work_us = 2000;
	g_rounds = 100;
	sem_init(&g_posted, 0, 0);
	signal(SIGUSR1, post_by_signal);
	run_threads(signalled_thread, 2);
}

/* --- data ----------------------------------------------------------------- */

#define WRITERS 3

/* Each writer sends its thread id, so the reader knows who ended its wait: the
 * message that came first. */
static int g_read[WRITERS], g_write[WRITERS];

static void await_data(struct pollfd *set, int *tid)
{
	int ready = poll(set, WRITERS, -1), i = 0;

	while (!set[i].revents)
		i++;
	if (read(set[i].fd, tid, sizeof(*tid)) < 0 || ready > 1)
		*tid = 0; /* nobody knows which one was first */
}

static void receive_data(int *tid)
{
	while (read(g_read[0], tid, sizeof(*tid)) < 0)
		;
}

/* Logs a wait that the thread @tid has ended; 0: unknown. */
PLAIN void log_data(long from, int tid, const void *object)
{
	long to = now();
	/* relaxed: numbers of its own */
	int at = tid ? atom_add_rlx(&g_line_count, 2) : LINES_MAX;

	if (at + 1 < LINES_MAX) {
		g_lines[at] = (struct line){ 'S', tid, from, from, object, 0 };
		g_lines[at + 1] =
			(struct line){ 'C', gettid(), from, to, object, 0 };
	}
}

static void read_messages(bool polls)
{
	struct pollfd set[WRITERS];

	for (int i = 0; i < WRITERS; i++)
		set[i] = (struct pollfd){ g_read[i], POLLIN, 0 };
	for (int i = 0; i < g_rounds; i++) {
		long from = now();
		int tid = 0;

		if (polls)
			await_data(set, &tid);
		else
			receive_data(&tid);
		log_data(from, tid, &g_objects[i]);
	}
}

static void send_data(int fd)
{
	int tid = gettid();

	if (write(fd, &tid, sizeof(tid)) < 0)
		abort();
}

static void *writer_thread(void *number)
{
	uint32_t random = (uint32_t)(uintptr_t)number + 1;

	for (int i = 0; i < g_rounds / WRITERS; i++) {
		random = random * 1103515245 + 12345;
		work(g_work_us + (random >> 16) % g_work_us);
		send_data(g_write[(uintptr_t)number]);
	}
	return NULL;
}

static void *messages_thread(void *number)
{
	if (!number)
		read_messages(g_read[0] != g_read[1]);
	else
		writer_thread((void *)((uintptr_t)number - 1));
	return NULL;
}

/* All writers have the same file, or each its own. */
static void run_data(int (*make)(int ends[2]), bool own)
{
	int ends[2];

	g_work_us = 4000;
	g_rounds = 60 * WRITERS;
	for (int i = 0; i < WRITERS; i++) {
		if ((!i || own) && make(ends))
			abort();
		g_read[i] = ends[0];
		g_write[i] = ends[1];
	}
}

static int make_pair(int ends[2])
{
	return socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
}

/* Two ends of a connection on this machine. */
static int connect_ends(int ends[2])
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t length = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ends[1] = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(listener, (void *)&address, length) || listen(listener, 1) ||
	    getsockname(listener, (void *)&address, &length) ||
	    connect(ends[1], (void *)&address, length))
		return -1;
	ends[0] = accept(listener, NULL, NULL);
	return 0;
}

static void pipes(void)
{
	run_data(pipe, false);
	run_threads(messages_thread, WRITERS + 1);
}

static void pairs(void)
{
	run_data(make_pair, false);
	run_threads(messages_thread, WRITERS + 1);
}

static void polls(void)
{
	run_data(pipe, true);
	run_threads(messages_thread, WRITERS + 1);
}

static void connections(void)
{
	run_data(connect_ends, true);
	run_threads(messages_thread, WRITERS + 1);
}

/* Another process writes. */
static void forked(void)
{
	run_data(pipe, false);
	if (!fork()) {
		run_threads(writer_thread, WRITERS);
		_exit(0);
	}
	read_messages(false);
	wait(NULL);
}

static void *event_thread(void *number)
{
	for (int i = 0; i < g_rounds; i++) {
		eventfd_t value = 1;
		long from = now();

		if (number) {
			work(g_work_us);
			from = now();
			log_line('S', from, from, &g_objects[i]);
			eventfd_write(g_write[0], value);
		} else {
			eventfd_read(g_read[0], &value);
			log_line('C', from, now(), &g_objects[i]);
		}
	}
	return NULL;
}

static void events(void)
{
	g_work_us = 2000;
	g_rounds = 100;
	g_read[0] = g_write[0] = eventfd(0, EFD_SEMAPHORE);
	run_threads(event_thread, 2);
}

/* One of two writers closes its end, mostly later the other: the last close ends
 * the wait. */
static void *closing_thread(void *number)
{
	for (int i = 0; i < g_rounds; i++) {
		long from;
		char byte;

		if (!number) {
			if (pipe(g_read))
				abort();
			g_write[1] = dup(g_read[1]);
		}
		pthread_barrier_wait(&g_barrier);
		from = now();
		if (!number) {
			if (read(g_read[0], &byte, 1))
				abort();
			log_line('C', from, now(), &g_objects[i]);
			close(g_read[0]);
		} else {
			work(g_work_us * (1 + (intptr_t)number));
			from = now();
			log_line('S', from, from, &g_objects[i]);
			close((intptr_t)number == 1 ? g_read[1] : g_write[1]);
		}
		pthread_barrier_wait(&g_barrier);
	}
	return NULL;
}

static void closes(void)
{
	g_work_us = 2000;
	g_rounds = 80;
	pthread_barrier_init(&g_barrier, NULL, 3);
	run_threads(closing_thread, 3);
}

static const struct {
	const char *name;
	void (*run)(void);
} g_families[] = {
	{ "mutex-long", mutex_long },
	{ "mutex-busy", mutex_busy },
	{ "silent", silent },
	{ "mutex-short", mutex_short },
	{ "recursive", recursive },
	{ "checking", checking },
	{ "robust", robust },
	{ "inherit", inherit },
	{ "timed", timed },
	{ "queue", queue },
	{ "posts", posts },
	{ "writers", writers },
	{ "readers", readers },
	{ "barrier", barrier },
	{ "joins", joins },
	{ "once", once },
	{ "futex", futex },
	{ "c11", c11 },
	{ "handler", handler },
	{ "pipes", pipes },
	{ "pairs", pairs },
	{ "polls", polls },
	{ "connections", connections },
	{ "forked", forked },
	{ "events", events },
	{ "closes", closes },
};

PLAIN void print_lines(void)
{
	for (int i = 0; i < g_line_count && i < LINES_MAX; i++)
		printf("%c %d %ld %ld %p %ld\n", g_lines[i].kind,
		       g_lines[i].tid, g_lines[i].from, g_lines[i].to,
		       g_lines[i].object, g_lines[i].after);
}

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(g_families) / sizeof(*g_families); i++)
		if (argc == 2 && !strcmp(argv[1], g_families[i].name)) {
			g_families[i].run();
			print_lines();
			return 0;
		}
	fprintf(stderr, "whom: which family?\n");
	return 2;
}
