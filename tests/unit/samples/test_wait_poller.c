/* SPDX-License-Identifier: Apache-2.0
 *
 * The thread that reads other threads' waits, with a simulated source, and its
 * pace with simulated times.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/base/proc.h"
#include "collector/replay/kernel_event.h"
#include "collector/samples/cpu_samples.h"
#include "collector/samples/samples.h"
#include "collector/samples/wait_files.h"
#include "collector/samples/wait_pace.h"
#include "collector/samples/wait_poller.h"
#include "shared/atomic.h"
#include "tests/suite.h"

#define STACK_BYTES 4096u
#define MS UINT64_C(1000000)

/* --- a source ------------------------------------------------------------ */

static struct {
	pthread_mutex_t lock;
	struct cpu_blocked blocked[4]; /* given out once */
	size_t count;
	struct cpu_wait_sums sums;
	uint64_t before_ns; /* of the last request */
	unsigned int asked, anchors;
	struct sample *wait; /* last result */
} g = { .lock = PTHREAD_MUTEX_INITIALIZER };

static size_t take(void *context, uint64_t before_ns, struct cpu_blocked *out,
		   size_t room, struct cpu_wait_sums *sums)
{
	size_t count;

	ck_assert_ptr_eq(context, &g);
	pthread_mutex_lock(&g.lock);
	count = g.count;
	ck_assert_uint_le(count, room);
	memcpy(out, g.blocked, count * sizeof(*out));
	g.count = 0;
	g.asked++;
	g.before_ns = before_ns;
	g.sums.switches++;
	*sums = g.sums;
	pthread_mutex_unlock(&g.lock);
	return count;
}

static void tell(void *context, const struct cpu_blocked *blocked,
		 struct sample *wait)
{
	(void)context;
	pthread_mutex_lock(&g.lock);
	ck_assert_uint_eq(blocked->since_ns, wait->ns);
	free(g.wait);
	g.wait = wait;
	pthread_mutex_unlock(&g.lock);
}

static void anchor(void *context, const struct cpu_blocked *blocked,
		   uint64_t on_ns, uint64_t delay_ns)
{
	(void)context;
	(void)blocked;
	(void)delay_ns;
	pthread_mutex_lock(&g.lock);
	ck_assert_uint_gt(on_ns, 0);
	g.anchors++;
	pthread_mutex_unlock(&g.lock);
}

static size_t list(void *context, pid_t pid, pid_t *out, size_t room)
{
	(void)context;
	(void)pid;
	(void)out;
	(void)room;
	return 0;
}

static void wakers(void *context, const struct cpu_blocked *blocked,
		   const struct wait_wakers *found)
{
	(void)context;
	(void)blocked;
	(void)found;
}

static const struct wait_source source = {
	.take = take,
	.tell = tell,
	.wakers = wakers,
	.anchor = anchor,
	.list = list,
	.context = &g,
};

static void offer(pid_t pid, pid_t tid)
{
	pthread_mutex_lock(&g.lock);
	g.blocked[0] =
		(struct cpu_blocked){ .pid = pid, .tid = tid, .since_ns = 17 };
	g.count = 1;
	pthread_mutex_unlock(&g.lock);
}

static void wait_taken(const struct wait_poller *poller, uint64_t count)
{
	for (int i = 0; i < 50000; i++) {
		if (wait_poller_counts(poller).taken >= count)
			return;
		usleep(200);
	}
	ck_abort_msg("nothing was taken");
}

/* --- blocked programs ---------------------------------------------------- */

static int g_pipe[2];

static pid_t start_child(void (*prepare)(void))
{
	char path[48], text[256] = "";
	pid_t pid;

	ck_assert_int_eq(pipe(g_pipe), 0);
	pid = fork();
	if (!pid) {
		char byte;

		if (prepare)
			prepare();
		close(g_pipe[1]);
		(void)!read(g_pipe[0], &byte, 1);
		_exit(0);
	}
	/* It sleeps in read(). */
	snprintf(path, sizeof(path), "%d ", SYS_read);
	for (int i = 0; i < 50000; i++) {
		proc_read(pid, "syscall", text, sizeof(text));
		if (!text[0] || !strncmp(text, path, strlen(path)))
			break;
		usleep(200);
	}
	return pid;
}

static void end_child(pid_t pid)
{
	close(g_pipe[0]);
	close(g_pipe[1]);
	waitpid(pid, NULL, 0);
}

static bool may_read(pid_t pid)
{
	char text[256];

	return proc_read(pid, "syscall", text, sizeof(text)) > 0;
}

TEST(wait_poller_tells_object_and_stack)
{
	struct wait_poller *poller;
	pid_t pid = start_child(NULL);
	struct sample *wait;

	if (!may_read(pid)) {
		end_child(pid);
		return;
	}
	offer(pid, pid);
	ck_assert_int_eq(wait_poller_new(&source, STACK_BYTES, &poller), 0);
	wait_taken(poller, 1);
	wait_poller_free(&poller);
	ck_assert_ptr_null(poller);
	wait = g.wait;
	ck_assert_ptr_nonnull(wait);
	ck_assert_int_eq(wait->kind, SAMPLE_BLOCKED);
	ck_assert(!strncmp(sample_object(wait), "[pipe ", 6));
	ck_assert_int_eq(wait->tid, pid);
	ck_assert_uint_ne(wait->reg[RECORD_REG_SP], 0);
	ck_assert_uint_ne(wait->reg[RECORD_REG_IP], 0);
	ck_assert_uint_gt(wait->stack_bytes, 64);
	ck_assert_uint_le(wait->stack_bytes, STACK_BYTES);
	ck_assert_uint_eq(g.anchors, 1);
	free(wait);
	end_child(pid);
}

/* The thread runs, has ended, or never existed. */
TEST(wait_poller_leaves_threads_that_wait_no_more)
{
	struct wait_poller *poller;
	pid_t pid = start_child(NULL);

	kill(pid, SIGKILL);
	end_child(pid);
	ck_assert_int_eq(wait_poller_new(&source, STACK_BYTES, &poller), 0);
	offer(pid, pid);
	wait_taken(poller, 1);
	offer(1 << 23, 1 << 23);
	wait_taken(poller, 2);
	ck_assert_uint_eq(wait_poller_counts(poller).told, 0);
	ck_assert_ptr_null(g.wait);
	wait_poller_free(&poller);
}

static void refuse(void)
{
	prctl(PR_SET_DUMPABLE, 0);
}

static void become_nobody(void)
{
	if (!geteuid())
		ck_assert_int_eq(setuid(65534), 0);
}

TEST(wait_poller_does_not_ask_who_refuses_again)
{
	struct wait_poller *poller;
	pid_t pid;

	become_nobody();
	/* A changed user id clears the dumpable flag. */
	prctl(PR_SET_DUMPABLE, 1);
	pid = start_child(refuse);
	ck_assert_int_eq(wait_poller_new(&source, STACK_BYTES, &poller), 0);
	for (unsigned int i = 0; i < 3; i++) {
		offer(pid, pid);
		wait_taken(poller, i + 1);
	}
	ck_assert_uint_eq(wait_poller_counts(poller).told, 0);
	wait_poller_free(&poller);
	kill(pid, SIGKILL);
	end_child(pid);
}

TEST(wait_poller_asks_for_long_waits_only)
{
	struct wait_poller *poller;
	uint64_t asked = 0;

	ck_assert_int_eq(wait_poller_new(&source, STACK_BYTES, &poller), 0);
	while (!asked) {
		pthread_mutex_lock(&g.lock);
		asked = g.asked;
		pthread_mutex_unlock(&g.lock);
		usleep(200);
	}
	wait_poller_free(&poller);
	ck_assert_uint_ge(g.before_ns, CPU_LONG_NS);
}

/* --- a program with unreadable memory ------------------------------------ */

static int g_fault;

/* Waits on a futex in a page that nobody provides. */
static pid_t start_missing(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register all = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint32_t *word = mmap(NULL, page, PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char text[256] = "", call[16];
	pid_t pid = fork();

	if (!pid) {
		g_fault = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
		all.range = (struct uffdio_range){ (uintptr_t)word, page };
		if (g_fault < 0 || ioctl(g_fault, UFFDIO_API, &api) < 0 ||
		    ioctl(g_fault, UFFDIO_REGISTER, &all) < 0)
			_exit(77);
		syscall(SYS_futex, word, FUTEX_WAIT, 0, NULL, NULL, 0);
		_exit(0);
	}
	munmap(word, page);
	snprintf(call, sizeof(call), "%d ", SYS_futex);
	for (int i = 0; i < 50000; i++) {
		if (waitpid(pid, NULL, WNOHANG) == pid)
			return 0;
		proc_read(pid, "syscall", text, sizeof(text));
		if (!strncmp(text, call, strlen(call)))
			return pid;
		usleep(200);
	}
	ck_abort_msg("the child does not wait");
	return 0;
}

static void kill_missing(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	while (wait_poller_stuck())
		usleep(200);
}

static void wait_stuck(struct wait_poller *poller)
{
	while (!wait_poller_stuck()) {
		wait_poller_check(poller);
		usleep(1000);
	}
}

TEST(wait_poller_leaves_a_program_that_keeps_it_waiting)
{
	struct wait_poller *poller;
	pid_t missing = start_missing(), pid;

	if (!missing)
		return;
	pid = start_child(NULL);
	ck_assert_int_eq(wait_poller_new(&source, STACK_BYTES, &poller), 0);
	offer(missing, missing);
	wait_stuck(poller);
	offer(pid, pid);
	wait_taken(poller, 1);
	ck_assert_uint_eq(wait_poller_counts(poller).told, may_read(pid));
	offer(missing, missing);
	wait_taken(poller, 2);
	ck_assert_uint_eq(wait_poller_stuck(), 1);
	kill_missing(missing);
	wait_poller_free(&poller);
	free(g.wait);
	end_child(pid);
}

TEST(wait_poller_ends_while_a_program_keeps_it_waiting)
{
	struct wait_poller *poller;
	pid_t missing = start_missing();

	if (!missing)
		return;
	ck_assert_int_eq(wait_poller_new(&source, STACK_BYTES, &poller), 0);
	offer(missing, missing);
	/* taken without a result */
	for (bool taken = false; !taken; usleep(200)) {
		pthread_mutex_lock(&g.lock);
		taken = !g.count;
		pthread_mutex_unlock(&g.lock);
	}
	wait_poller_free(&poller);
	ck_assert_ptr_null(poller);
	kill_missing(missing);
}

TEST(wait_poller_of_nothing_can_be_freed)
{
	struct wait_poller *poller = NULL;

	wait_poller_free(&poller);
	ck_assert_ptr_null(poller);
}

/* --- files --------------------------------------------------------------- */

TEST(wait_files_of_the_next_thread_with_that_id_are_opened)
{
	struct wait_files_thread *thread;
	struct wait_files files;
	char text[256];
	pid_t pid = start_child(NULL);

	wait_files_init(&files);
	thread = wait_files_thread(&files, pid, pid);
	ck_assert_int_gt(
		wait_files_read(thread, WAIT_FILE_SUMS, text, sizeof(text)), 0);
	thread->sums_ns = 5;
	ck_assert_ptr_eq(wait_files_thread(&files, pid, pid), thread);
	ck_assert_uint_eq(thread->sums_ns, 5);
	end_child(pid);
	ck_assert_int_eq(
		wait_files_read(thread, WAIT_FILE_SUMS, text, sizeof(text)),
		-ENOENT);
	/* Another thread takes the slot. */
	thread = wait_files_thread(&files, getpid(),
				   pid + (pid_t)WAIT_FILES_THREADS);
	ck_assert_uint_eq(thread->sums_ns, 0);
	ck_assert_int_eq(
		wait_files_read(thread, WAIT_FILE_CALL, text, sizeof(text)),
		-ENOENT);
	thread = wait_files_thread(&files, getpid(), getpid());
	ck_assert_int_gt(
		wait_files_read(thread, WAIT_FILE_SUMS, text, sizeof(text)), 0);
	wait_files_release(&files);
}

/* --- pace ---------------------------------------------------------------- */

static struct {
	struct wait_pace pace;
	struct wait_pace_seen seen;
	uint64_t wall_ns, cpu_ns;
} p;

static void start_pace(void)
{
	memset(&p, 0, sizeof(p));
	p.wall_ns = 5000 * MS;
	p.cpu_ns = 70 * MS;
	p.pace.cpu_ns = p.cpu_ns;
}

/* The pass takes @cost_ns of CPU time. Returns the pause after it. */
static uint64_t pass(uint64_t cost_ns, bool active)
{
	uint64_t pause;

	wait_pace_begin(&p.pace, p.wall_ns, p.cpu_ns);
	p.wall_ns += cost_ns;
	p.cpu_ns += cost_ns;
	p.seen.active = active;
	pause = wait_pace_end(&p.pace, p.wall_ns, p.cpu_ns, &p.seen);
	p.wall_ns += pause;
	return pause;
}

TEST(wait_pace_of_a_sleeping_program_slows_down)
{
	uint64_t pause = 0, passes = 0;

	start_pace();
	ck_assert_uint_eq(pass(10000, true), WAIT_PACE_LEAST_NS);
	while (p.wall_ns < 20000 * MS) {
		uint64_t next = pass(10000, false);

		ck_assert_uint_ge(next, pause);
		pause = next;
		passes++;
	}
	ck_assert_uint_eq(pause, WAIT_PACE_MOST_NS);
	ck_assert_uint_lt(passes, 600);
	/* The program wakes up. */
	ck_assert_uint_le(pass(10000, true), 10 * MS);
}

TEST(wait_pace_is_as_fast_as_needed)
{
	uint64_t pause = 0;

	start_pace();
	/* Nothing is missed. */
	for (int i = 0; i < 1000; i++) {
		p.seen.long_ns += 5 * MS;
		pause = pass(10000, true);
	}
	ck_assert_uint_eq(pause, 10 * MS);
	/* A tenth is missed. */
	for (int i = 0; i < 1000; i++) {
		p.seen.long_ns += 5 * MS;
		p.seen.missed_ns += MS / 2;
		pause = pass(10000, true);
	}
	ck_assert_uint_eq(pause, WAIT_PACE_LEAST_NS);
	/* A program has ended. */
	p.seen.long_ns = p.seen.missed_ns = 0;
	ck_assert_uint_ge(pass(10000, true), WAIT_PACE_LEAST_NS);
}

TEST(wait_pace_keeps_to_its_budget)
{
	uint64_t begin, used;

	start_pace();
	begin = p.wall_ns;
	used = p.cpu_ns;
	for (int i = 0; i < 2000; i++) {
		p.seen.long_ns += 5 * MS;
		p.seen.missed_ns += 5 * MS;
		pass(1000000, true);
	}
	used = p.cpu_ns - used;
	ck_assert_uint_le(used,
			  (p.wall_ns - begin) / WAIT_PACE_PART +
				  2 * WAIT_PACE_SAVED_NS / WAIT_PACE_PART);
	ck_assert_uint_ge(used, (p.wall_ns - begin) / WAIT_PACE_PART * 9 / 10);
}
