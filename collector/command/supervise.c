/* SPDX-License-Identifier: Apache-2.0
 *
 * One thread waits for two descriptors: the control socket of the collector,
 * and a signalfd. SIGCHLD reports the end of either process.
 *
 * Signals. perfrec and the program share a process group, so terminal and shell
 * treat them as one job. A signal from the terminal (sent by the kernel)
 * reaches both: perfrec ignores it and waits for the program's reaction.
 * perfrec passes signals from other processes on to the program. Stop signals
 * keep their default action: ^Z stops both. After the end of the program, a
 * signal makes perfrec stop waiting for the collector, which reads the end of
 * file and finishes on its own. While the collector only waits for
 * perfrec-push, the first signal ends that.
 *
 * With --follow the command itself has ended, so a fatal signal ends the
 * following and finishes the recording.
 *
 * SIGPIPE is blocked and never read: a closed stderr or control socket is an
 * error of write(2). So is a file beyond ulimit -f: cmd_record() blocks SIGXFSZ
 * before its first line of output.
 */
#include "collector/command/supervise.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "collector/base/log.h"
#include "collector/base/size.h"
#include "collector/base/socket_path.h"
#include "collector/command/descendants.h"
#include "collector/command/spawn.h"
#include "collector/options/record_wire.h"
#include "collector/show/progress.h"
#include "shared/compiler.h"
#include "shared/wire.h"

#define READY_TIMEOUT_MS 10000
/* A process with closed sockets is soon reaped. */
#define REAP_TRIES 100
#define REAP_PAUSE_NS 10000000
/* A collector without recordings ends at once, unless it hangs. */
#define STOP_TIMEOUT_S 5
/* Time between two lines while the collector finishes. */
#define FINISHING_MS 500

struct supervise {
	const struct supervise_plan *plan;
	struct spawn_signals signals; /* as they were before */
	int signal_fd;
	int control; /* -1: the collector has ended */
	pid_t collector;

	char socket[CONTROL_TEXT_MAX]; /* "": not ready */
	bool failed; /* the collector has logged the reason */
	bool watched; /* the program may exec */
	bool sending; /* files are complete; profiles are being sent */
	bool done;
	int collector_exit; /* valid if done */
	bool reaped; /* collector_status is valid */
	int collector_status;
	int stop_signal; /* signal that ended the wait, or 0 */

	pid_t program; /* 0: not started, or ended */
	bool following; /* the program has ended, but not its descendants */
	int wait_status;
	struct rusage usage;
	uint64_t start_ns, end_ns;
	bool progress_shown;
};

static uint64_t timeval_ns(struct timeval time)
{
	return (uint64_t)time.tv_sec * 1000000000 +
	       (uint64_t)time.tv_usec * 1000;
}

static int block_signals(struct supervise *s)
{
	static const int passed_on[] = { SIGHUP,  SIGINT,  SIGQUIT, SIGTERM,
					 SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM,
					 SIGPROF, SIGIO,   SIGPWR,  SIGWINCH,
					 SIGURG,  SIGCHLD };
	struct sigaction action = { .sa_handler = SIG_DFL };
	sigset_t set;

	/* If SIGCHLD were ignored, the kernel would reap the children. */
	sigaction(SIGCHLD, &action, &s->signals.child);
	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(passed_on); i++)
		sigaddset(&set, passed_on[i]);
	for (int signal = SIGRTMIN; signal <= SIGRTMAX; signal++)
		sigaddset(&set, signal);
	s->signal_fd = signalfd(-1, &set, SFD_CLOEXEC);
	if (s->signal_fd < 0) {
		log_err("cannot watch signals: %m");
		return -errno;
	}
	sigaddset(&set, SIGPIPE);
	sigprocmask(SIG_BLOCK, &set, NULL);
	s->signals.mask = *s->plan->mask;
	return 0;
}

/* --- the line on the terminal --------------------------------------------- */

static void clear_progress(struct supervise *s)
{
	if (s->progress_shown && progress_has_terminal())
		progress_clear_line();
	s->progress_shown = false;
}

static void show_finishing(struct supervise *s, uint64_t since_ns)
{
	char time[SIZE_TEXT];

	if (!s->plan->progress || s->sending || !progress_has_terminal())
		return;
	fprintf(stderr, "\r\033[Kperfrec: finishing the recording: %s",
		size_format_ns(clock_boottime_ns() - since_ns, time));
	s->progress_shown = true;
}

/* --- the collector -------------------------------------------------------- */

static void close_control(struct supervise *s)
{
	if (s->control >= 0)
		close(s->control);
	s->control = -1;
}

static void send_message(struct supervise *s, struct control_message *message)
{
	message->version = WIRE_VERSION;
	/* The end of file reports a collector that is gone. */
	if (s->control >= 0)
		send(s->control, message, sizeof(*message), MSG_NOSIGNAL);
}

static void lose_collector(struct supervise *s, const char *how)
{
	close_control(s);
	if (s->failed || s->done)
		return;
	socket_path_clean_up(s->socket);
	clear_progress(s);
	if (s->program)
		log_err("perfrec-collect %s: the program goes on unrecorded",
			how);
	else
		log_err("perfrec-collect %s", how);
	s->failed = true;
}

static void lose_ended_collector(struct supervise *s)
{
	char how[128] = "has ended unexpectedly";

	if (!s->failed && !s->done) {
		const struct timespec pause = { .tv_nsec = REAP_PAUSE_NS };

		/* Waits briefly: the collector has closed its socket. */
		for (int i = 0; !s->reaped && i < REAP_TRIES; i++) {
			if (waitpid(s->collector, &s->collector_status,
				    WNOHANG) == s->collector)
				s->reaped = true;
			else
				nanosleep(&pause, NULL);
		}
	}
	if (s->reaped && WIFSIGNALED(s->collector_status))
		snprintf(how, sizeof(how), "was killed by signal %d (%s)",
			 WTERMSIG(s->collector_status),
			 strsignal(WTERMSIG(s->collector_status)));
	lose_collector(s, how);
}

static void take_message(struct supervise *s, struct control_message *message)
{
	char spans[SIZE_TEXT], bytes[SIZE_TEXT], lost[SIZE_TEXT] = "nothing";

	switch (message->type) {
	case CONTROL_READY:
		message->ready.socket_path[CONTROL_TEXT_MAX - 1] = '\0';
		strcpy(s->socket, message->ready.socket_path);
		break;
	case CONTROL_FAILED:
		message->failed.text[CONTROL_TEXT_MAX - 1] = '\0';
		clear_progress(s);
		/* Empty: the collector has already logged it on the shared
		 * stderr. */
		if (message->failed.text[0])
			log_err("%s", message->failed.text);
		s->failed = true;
		break;
	case CONTROL_PROGRESS:
		if (s->plan->progress && progress_has_terminal()) {
			if (message->progress.dropped_spans)
				size_format_count(
					message->progress.dropped_spans, lost);
			fprintf(stderr,
				"\r\033[Kperfrec: %s calls, %s, %s lost",
				size_format_count(message->progress.spans,
						  spans),
				size_format_bytes(message->progress.bytes,
						  bytes),
				lost);
			s->progress_shown = true;
		}
		break;
	case CONTROL_WATCHED:
		s->watched = true;
		break;
	case CONTROL_STOPPED:
		clear_progress(s);
		if (s->program || s->following)
			log_warn("process %lld has sent signal %lld (%s) to "
				 "perfrec-collect: the recording ends here, "
				 "and the program goes on unrecorded",
				 (long long)message->stopped.pid,
				 (long long)message->stopped.signal,
				 strsignal((int)message->stopped.signal));
		break;
	case CONTROL_SENDING:
		clear_progress(s);
		s->sending = true;
		break;
	case CONTROL_DONE:
		s->collector_exit = (int)message->done.exit_code;
		s->done = true;
		break;
	default:
		lose_collector(s, "sent something unknown");
	}
}

static void read_control(struct supervise *s)
{
	struct control_message message;
	ssize_t size = recv(s->control, &message, sizeof(message), 0);

	/* ECONNRESET: perfrec ctl ended the collector before it read our
	 * message. Its earlier messages can still be read. */
	if (size < 0 &&
	    (errno == EINTR || errno == EAGAIN || errno == ECONNRESET))
		return;
	if (size <= 0)
		lose_ended_collector(s);
	else if (size != sizeof(message) || message.version != WIRE_VERSION)
		lose_collector(s, "is of another version: install perfrec "
				  "and perfrec-collect from one build");
	else
		take_message(s, &message);
}

/* Closing the control socket ends the collector. If it hangs, it is killed,
 * because it must not outlive perfrec. */
static void stop_collector(struct supervise *s)
{
	struct timespec timeout = { .tv_sec = STOP_TIMEOUT_S };
	sigset_t child;

	close_control(s);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	while (!s->reaped && waitpid(s->collector, NULL, WNOHANG) == 0) {
		if (sigtimedwait(&child, NULL, &timeout) < 0 && errno == EAGAIN)
			kill(s->collector, SIGKILL);
	}
}

/* --- signals ------------------------------------------------------------- */

static bool is_fatal(uint32_t signal)
{
	return signal == SIGHUP || signal == SIGINT || signal == SIGQUIT ||
	       signal == SIGTERM;
}

static void add_timeval(struct timeval *sum, const struct timeval *time)
{
	sum->tv_sec += time->tv_sec;
	sum->tv_usec += time->tv_usec;
	sum->tv_sec += sum->tv_usec / 1000000;
	sum->tv_usec %= 1000000;
}

/* Reaps one ended child: the program, or with plan->follow any. Returns false
 * if there is none. */
static bool reap_child(struct supervise *s)
{
	pid_t whom = s->plan->follow ? -1 : s->program;
	struct rusage usage;
	int wait_status;
	pid_t pid = wait4(whom, &wait_status, WNOHANG, &usage);

	if (pid <= 0)
		return false;
	if (pid == s->collector) {
		s->reaped = true;
		s->collector_status = wait_status;
		return true;
	}
	add_timeval(&s->usage.ru_utime, &usage.ru_utime);
	add_timeval(&s->usage.ru_stime, &usage.ru_stime);
	s->end_ns = clock_boottime_ns();
	if (pid == s->program) {
		s->wait_status = wait_status;
		s->program = 0;
	}
	return true;
}

static void reap_children(struct supervise *s)
{
	bool running = s->program;
	size_t left;

	if (!running && !s->following)
		return;
	while ((s->program || s->plan->follow) && reap_child(s))
		;
	if (s->program || !s->plan->follow)
		return;
	left = descendants_count(s->collector);
	if (running && left && s->plan->progress) {
		clear_progress(s);
		fprintf(stderr,
			"perfrec: '%s' has ended; recording goes on until its "
			"descendants have, too (%zu now; Ctrl-C ends it)\n",
			s->plan->program->argv[0], left);
	}
	s->following = left;
}

static void pass_signal_on(struct supervise *s,
			   const struct signalfd_siginfo *info)
{
	int signal = (int)info->ssi_signo;

	/* From the terminal, or from the program to its entire group. */
	if (info->ssi_code == SI_KERNEL || (pid_t)info->ssi_pid == s->program)
		return;
	if (info->ssi_code == SI_QUEUE)
		sigqueue(s->program, signal,
			 (union sigval){
				 .sival_ptr =
					 (void *)(uintptr_t)info->ssi_ptr });
	else
		kill(s->program, signal);
}

static void take_own_signal(struct supervise *s)
{
	struct signalfd_siginfo info;

	if (read(s->signal_fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGCHLD)
		reap_children(s);
	else if (s->program)
		pass_signal_on(s, &info);
	else if (s->following && is_fatal(info.ssi_signo))
		s->following = false;
	else if (is_fatal(info.ssi_signo) && s->sending) {
		/* perfrec-push leaves unsent windows in the spool. Another
		 * signal also ends the wait for the collector. */
		s->sending = false;
		if (!s->reaped)
			kill(s->collector, SIGINT);
	} else if (is_fatal(info.ssi_signo))
		s->stop_signal = (int)info.ssi_signo;
}

/* Runs one round of the loop. Returns false after @timeout_ms without
 * events. */
static bool supervise_turn(struct supervise *s, int timeout_ms)
{
	struct pollfd fds[] = {
		{ .fd = s->signal_fd, .events = POLLIN },
		{ .fd = s->control, .events = POLLIN },
	};
	int ready = poll(fds, ARRAY_SIZE(fds), timeout_ms);

	if (ready <= 0)
		return ready < 0;
	/* A signal may answer what the collector has said, so reads all of it
	 * first. */
	while (fds[1].revents) {
		read_control(s);
		fds[1].fd = s->control;
		if (poll(&fds[1], 1, 0) <= 0)
			break;
	}
	if (fds[0].revents)
		take_own_signal(s);
	return true;
}

/* --- from start to end --------------------------------------------------- */

static int start_collector(struct supervise *s)
{
	int pair[2];
	int err;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		log_err("cannot make a socket pair: %m");
		return -errno;
	}
	err = spawn_collector(s->plan->parts->collector,
			      s->plan->collector_argv, pair[1], &s->signals,
			      &s->collector);
	close(pair[1]);
	s->control = pair[0];
	if (err)
		close_control(s);
	return err;
}

static int wait_ready(struct supervise *s)
{
	while (!s->socket[0] && !s->failed && !s->stop_signal) {
		if (!supervise_turn(s, READY_TIMEOUT_MS)) {
			log_err("perfrec-collect does not answer: see what "
				"process %d does",
				(int)s->collector);
			return -ETIMEDOUT;
		}
	}
	if (s->stop_signal)
		return s->stop_signal;
	return s->failed ? -ECONNREFUSED : 0;
}

static int say_program_cannot_run(const struct supervise *s, int err)
{
	const char *name = s->plan->program->argv[0];

	log_err("cannot run '%s': %s%s", name, strerror(-err),
		spawn_way_out(name, -err));
	return err;
}

static int start_program(struct supervise *s)
{
	const struct spawn_recording recording = {
		.shim = s->plan->parts->shim,
		.socket = s->socket,
		.ring_kb = s->plan->ring_kb,
	};
	struct control_message message = { .type = CONTROL_CHILD };
	struct spawn_child child;
	int err;

	s->start_ns = clock_boottime_ns();
	err = spawn_fork(s->plan->program, &recording, &s->signals, &child);
	if (err)
		return say_program_cannot_run(s, err);
	message.child.pid = child.pid;
	send_message(s, &message);
	/* If the collector is gone or late, the program runs anyway. */
	while (!s->watched && !s->failed && !s->stop_signal)
		if (!supervise_turn(s, READY_TIMEOUT_MS))
			break;
	err = spawn_exec(&child);
	if (err) {
		waitpid(child.pid, NULL, 0);
		return say_program_cannot_run(s, err);
	}
	s->program = child.pid;
	return 0;
}

int supervise_start(const struct supervise_plan *plan, struct supervise **out)
{
	struct supervise *s = calloc(1, sizeof(*s));
	int err;

	if (!s) {
		log_err("out of memory");
		return -ENOMEM;
	}
	s->plan = plan;
	s->control = -1;
	err = plan->follow ? descendants_adopt() : 0;
	if (!err)
		err = block_signals(s);
	if (!err)
		err = start_collector(s);
	if (err) {
		free(s);
		return err;
	}
	err = wait_ready(s);
	if (!err)
		err = start_program(s);
	if (err) {
		stop_collector(s);
		free(s);
		return err;
	}
	*out = s;
	return 0;
}

static void send_finish(struct supervise *s)
{
	struct control_message message = {
		.type = CONTROL_FINISH,
		.finish = {
			.wait_status = s->wait_status,
			.start_ns = s->start_ns,
			.end_ns = s->end_ns,
			.user_ns = timeval_ns(s->usage.ru_utime),
			.sys_ns = timeval_ns(s->usage.ru_stime),
		},
	};

	send_message(s, &message);
}

int supervise_wait(struct supervise **supervise, enum supervise_end *end)
{
	struct supervise *s = *supervise;
	int wait_status;

	/* The program may have ended before SIGCHLD was watched. Without a
	 * collector there is no reason to follow. */
	for (reap_children(s); s->program || (s->following && s->control >= 0);)
		supervise_turn(s, -1);
	if (s->plan->follow)
		s->end_ns = clock_boottime_ns();
	send_finish(s);
	while (!s->done && !s->failed && !s->stop_signal)
		if (!supervise_turn(s, FINISHING_MS))
			show_finishing(s, s->end_ns);
	clear_progress(s);
	if (s->stop_signal)
		log_warn("not waiting for perfrec-collect, which is still "
			 "writing: the recording is there when it has ended");
	*end = !s->done && !s->failed ? SUPERVISE_LEFT
	       : !s->done	      ? SUPERVISE_LOST
	       : s->collector_exit    ? SUPERVISE_UNWRITTEN
				      : SUPERVISE_WHOLE;
	wait_status = s->wait_status;
	close_control(s);
	close(s->signal_fd);
	free(s);
	*supervise = NULL;
	return wait_status;
}

_Noreturn void supervise_exit(int wait_status)
{
	struct sigaction action = { .sa_handler = SIG_DFL };
	sigset_t set;
	int signal;

	if (WIFEXITED(wait_status))
		exit(WEXITSTATUS(wait_status));
	signal = WTERMSIG(wait_status);
	fflush(NULL);
	/* perfrec must not dump its own core. */
	prctl(PR_SET_DUMPABLE, 0);
	sigaction(signal, &action, NULL);
	sigemptyset(&set);
	sigaddset(&set, signal);
	kill(getpid(), signal);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	_exit(128 + signal);
}
