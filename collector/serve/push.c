/* SPDX-License-Identifier: Apache-2.0
 *
 * push - a round ends the windows of all recordings at once. As for perfrec top
 * (ctl_top.c), the drain workers empty the rings and copy their trees. Then the
 * jobs thread of each recording writes its window; the main thread does not
 * wait. A recording whose last window is still being written is skipped. Wall
 * time that a snapshot under way holds back goes into the next window.
 */
#include "collector/serve/push.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "collector/base/jobs.h"
#include "collector/base/log.h"
#include "collector/base/loop.h"
#include "collector/drain/drain.h"
#include "collector/files/push_spool.h"
#include "collector/files/snapshot.h"
#include "collector/files/windows.h"
#include "collector/names/helper.h"
#include "collector/options/collect_options.h"
#include "collector/record/collector.h"
#include "collector/record/recording.h"
#include "collector/serve/session.h"
#include "shared/atomic.h"
#include "shared/compiler.h"

#define DRAIN_NS 1000000000u /* limit of the wait for rings */
#define NS_PER_MS 1000000u
#define LINGER_MS UINT64_C(11000) /* of perfrec-push, plus a second */
#define BACK_OFF_NS 1000000000u /* the first time */
#define BACK_OFF_MAX_NS (60 * UINT64_C(1000000000))
#define PROGRAM "perfrec-push"

struct ending {
	struct job job; /* must be first */
	struct ending *next;
	struct recording *recording; /* a reference */
	struct snapshot *snapshot; /* NULL: without wall time */
	struct sampler *sampler;
	uint64_t end_ns; /* CLOCK_REALTIME */
};

struct push {
	struct collector *collector;
	const struct push_options *options;
	struct push_spool *spool;
	uint64_t window; /* number of the current interval */
	struct ending *endings; /* of the current round, or NULL */
	struct drain_wait wait;
	uint64_t deadline_ns; /* of the current round; CLOCK_BOOTTIME */

	struct watch ended; /* a pidfd; -1: perfrec-push does not run */
	pid_t pid;
	char **argv;
	char path[PATH_MAX];
	uint64_t started_ns, start_ns; /* last and next start; CLOCK_BOOTTIME */
	uint64_t back_off_ns;
};

/* --- perfrec-push -------------------------------------------------------- */

static void dismiss(struct push *push)
{
	loop_remove(push->collector->loop, &push->ended);
	close(push->ended.fd);
	push->ended.fd = -1;
}

static void ended_ready(struct watch *watch)
{
	struct push *push =
		(void *)((char *)watch - offsetof(struct push, ended));
	uint64_t now = clock_boottime_ns();
	int status = 0;

	if (waitpid(push->pid, &status, WNOHANG) != push->pid)
		return;
	dismiss(push);
	if (now - push->started_ns > BACK_OFF_MAX_NS)
		push->back_off_ns = BACK_OFF_NS;
	push->start_ns = now + push->back_off_ns;
	log_warn(PROGRAM " has ended (%s %d) and is started again in %llu s: "
			 "windows stay in '%s' until then",
		 WIFSIGNALED(status) ? "signal" : "status",
		 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
		 (unsigned long long)(push->back_off_ns / 1000000000),
		 push_spool_path(push->spool));
	push->back_off_ns = MIN(2 * push->back_off_ns, BACK_OFF_MAX_NS);
}

static int spawn(struct push *push)
{
	const int fds[] = { push_spool_pipe(push->spool), -1, STDERR_FILENO };
	int err = helper_spawn(push->argv, environ, fds, ARRAY_SIZE(fds),
			       &push->pid);

	push->started_ns = clock_boottime_ns();
	push->start_ns = push->started_ns + push->back_off_ns;
	if (err)
		return err;
	push->ended.fd = (int)syscall(SYS_pidfd_open, push->pid, 0);
	push->ended.ready = ended_ready;
	err = push->ended.fd < 0
		      ? -errno
		      : loop_add(push->collector->loop, &push->ended);
	if (!err)
		return 0;
	/* Without a pidfd its end would go unnoticed. */
	kill(push->pid, SIGKILL);
	(void)waitpid(push->pid, NULL, 0);
	if (push->ended.fd >= 0)
		close(push->ended.fd);
	push->ended.fd = -1;
	return err;
}

int push_start(struct push *push)
{
	int err;

	if (!push)
		return 0;
	err = push_spool_open(push->spool, push->collector->options->output);
	if (err)
		return err;
	push->argv = push_options_command(push->options, push->path,
					  push_spool_path(push->spool));
	err = push->argv ? spawn(push) : -ENOMEM;
	if (err)
		log_err("cannot start '%s', for --push: %s", push->path,
			strerror(-err));
	return err;
}

/* --- rounds -------------------------------------------------------------- */

static void write_job(struct job *job)
{
	struct ending *ending = (struct ending *)job;

	windows_write(ending->recording, ending->sampler, ending->snapshot,
		      ending->end_ns);
	/* order: rel, TICK: this one is over */
	atom_store_rel(recording_windows_busy(ending->recording), 0);
	recording_put(&ending->recording);
	free(ending);
}

/* Skips a recording whose last window is not finished. */
static void add_ending(struct push *push, struct recording *recording,
		       uint64_t end_ns)
{
	uint32_t *busy = recording_windows_busy(recording);
	struct ending *ending;

	/* order: acq, TICK: the last one is over */
	if (atom_load_acq(busy))
		return;
	ending = calloc(1, sizeof(*ending));
	if (!ending)
		return;
	/* A snapshot of perfrec ctl or perfrec top may be under way. */
	if (snapshot_begin(recording, false, &ending->snapshot))
		ending->snapshot = NULL;
	/* relaxed: jobs_post() orders it */
	atom_store_rlx(busy, 1);
	ending->job.run = write_job;
	ending->recording = recording_get(recording);
	ending->sampler = push->collector->sampler;
	ending->end_ns = end_ns;
	ending->next = push->endings;
	push->endings = ending;
}

static bool is_ending(const void *context, const struct recording *recording)
{
	const struct push *push = context;
	const struct ending *ending = push->endings;

	while (ending && ending->recording != recording)
		ending = ending->next;
	return ending;
}

static void end_round(struct push *push)
{
	struct ending *ending;

	while ((ending = push->endings)) {
		push->endings = ending->next;
		jobs_post(recording_setup(ending->recording)->jobs,
			  &ending->job);
	}
	drain_wait_release(&push->wait);
}

static void begin_round(struct push *push, uint64_t end_ns)
{
	struct collector *collector = push->collector;
	struct recording **list;
	size_t count = session_open_recordings(collector, &list);

	if (collector->recording)
		add_ending(push, collector->recording, end_ns);
	for (size_t i = 0; i < count; i++)
		add_ending(push, list[i], end_ns);
	session_put_recordings(&list, count);
	push->deadline_ns = clock_boottime_ns() + DRAIN_NS;
	if (push->endings &&
	    drain_wait_begin(&push->wait, collector->drain, collector->arenas,
			     is_ending, push) < 0)
		log_err("out of memory: a window may leave something to the "
			"next");
}

void push_beat(struct push *push)
{
	uint64_t every, window;

	if (!push)
		return;
	if (push->ended.fd < 0 && clock_boottime_ns() >= push->start_ns)
		(void)spawn(push);
	if (push->endings &&
	    (drain_wait_is_over(&push->wait, push->collector->drain) ||
	     clock_boottime_ns() >= push->deadline_ns))
		end_round(push);
	every = push->options->interval_ns;
	window = clock_read_ns(CLOCK_REALTIME) / every;
	if (window == push->window || push->endings)
		return;
	push->window = window;
	begin_round(push, window * every);
}

bool push_is_waiting(const struct push *push)
{
	return push && push->ended.fd < 0;
}

/* --- life ---------------------------------------------------------------- */

int push_new(struct collector *collector, struct push **out)
{
	const struct push_options *options = &collector->options->push;
	struct push *push;
	int err;

	if (!options->url_count)
		return 0;
	push = calloc(1, sizeof(*push));
	if (!push)
		return -ENOMEM;
	push->collector = collector;
	push->options = options;
	push->ended.fd = -1;
	push->back_off_ns = BACK_OFF_NS;
	push->window = clock_read_ns(CLOCK_REALTIME) / options->interval_ns;
	err = push_spool_new(options->spool_bytes, &push->spool);
	if (err)
		log_err("cannot start " PROGRAM ", for --push: %s",
			strerror(-err));
	else
		err = push_options_find(push->path);
	if (err) {
		push_spool_free(&push->spool);
		free(push);
		return err;
	}
	collector->push = push->spool;
	*out = push;
	return 0;
}

void push_rest(struct push *push)
{
	if (push && push->endings)
		end_round(push);
}

static bool wait_for_program(struct push *push, int signal_fd)
{
	const uint64_t end_ns = clock_boottime_ns() + LINGER_MS * NS_PER_MS;
	struct pollfd fds[] = { { .fd = push->ended.fd, .events = POLLIN },
				{ .fd = signal_fd, .events = POLLIN } };
	struct signalfd_siginfo info;

	while (!fds[0].revents) {
		uint64_t now_ns = clock_boottime_ns();

		if (now_ns >= end_ns)
			return false;
		(void)poll(fds, ARRAY_SIZE(fds),
			   (int)((end_ns - now_ns) / NS_PER_MS) + 1);
		if (fds[1].revents &&
		    read(signal_fd, &info, sizeof(info)) == sizeof(info) &&
		    (info.ssi_signo == SIGINT || info.ssi_signo == SIGTERM))
			kill(push->pid, SIGINT);
	}
	return true;
}

/* Closes the pipe. perfrec-push then sends the remaining windows, reports their
 * fate and exits. Returns its wait status. */
static int end_program(struct push *push, int signal_fd)
{
	int status = -1;

	push_spool_close(push->spool);
	if (push->ended.fd < 0)
		return status;
	if (!wait_for_program(push, signal_fd)) {
		log_warn(PROGRAM " does not end: it is killed");
		kill(push->pid, SIGKILL);
	}
	(void)waitpid(push->pid, &status, 0);
	dismiss(push);
	return status;
}

void push_free(struct push **push, int signal_fd)
{
	struct push *old = *push;
	unsigned int left = 0;
	int status;

	*push = NULL;
	if (!old)
		return;
	status = end_program(old, signal_fd);
	if (old->collector->options->control_fd >= 0)
		left = push_spool_remove(old->spool,
					 push_spool_has_lost(old->spool));
	/* Otherwise perfrec-push has reported it. */
	if (left && status)
		log_warn("%u window%s not sent: %s in '%s'", left,
			 left == 1 ? " was" : "s were",
			 left == 1 ? "it is" : "they are",
			 push_spool_path(old->spool));
	push_spool_free(&old->spool);
	free(old->argv);
	free(old);
}
