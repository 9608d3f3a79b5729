/* SPDX-License-Identifier: Apache-2.0
 *
 * perfrec-collect: drains the rings of all programs that say hello and writes
 * their traces.
 *
 * Threads, none of which ever waits for a program, but perfrec-states:
 *
 *   main         events: hellos, ends of processes, signals, the control
 *                connection to `perfrec record`, a timer of 25 ms for the
 *                heartbeat
 *   drain, nice  workers that empty the rings (worker.c)
 *   jobs         one for each recording: what takes its time, such as names,
 *                sums and its end (jobs.c)
 *   ticks        resident sizes (heap_ticks.c)
 *   flight       one for each recording: writes snapshots (flights.c)
 *   dog          logs threads that make no progress (watchdog.c)
 *   states       one for each program of whose functions anybody asks
 *                (states_thread.c)
 *   sampler      unwinds copied stacks (sampler.c), where there are any
 *   perf         reads the kernel's samples (cpu_samples.c), where it takes any
 *   metrics      answers who wants figures, with --metrics (metrics.c)
 *   writers      of each trace: compress and write (trace_writers.c)
 *   closers      close what clients have sent (closer.c)
 *   parked       does nothing but prove that we live (liveness.c)
 *
 * The end is asked for by a signal or by `perfrec record`. No program is
 * accepted any more, and every process ends (process.c). When the last one is
 * done, the recordings are closed and this program exits.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

#include "collector/record/arena.h"
#include "collector/base/clock.h"
#include "collector/base/lock.h"
#include "collector/replay/clock_sync.h"
#include "collector/options/collect_options.h"
#include "collector/options/trigger.h"
#include "collector/record/collector.h"
#include "collector/serve/record_wire.h"
#include "collector/trace/flight_share.h"
#include "collector/samples/cpu_samples.h"
#include "collector/samples/perf_counters.h"
#include "collector/serve/ctl_server.h"
#include "collector/drain/drain.h"
#include "collector/drain/process_crash.h"
#include "collector/drain/process_reap.h"
#include "collector/flight/triggers.h"
#include "collector/drain/worker.h"
#include "collector/serve/flights.h"
#include "collector/serve/heap_ticks.h"
#include "collector/base/jobs.h"
#include "collector/base/limit_hint.h"
#include "collector/record/liveness.h"
#include "collector/serve/metrics.h"
#include "collector/base/log.h"
#include "collector/base/watchdog.h"
#include "collector/base/loop.h"
#include "collector/base/proc.h"
#include "collector/base/stack_size.h"
#include "collector/record/process.h"
#include "collector/files/recording_finish.h"
#include "collector/patch/text_guard.h"
#include "collector/record/recording.h"
#include "collector/record/watches.h"
#include "collector/samples/samples.h"
#include "collector/serve/sample_rate.h"
#include "collector/serve/server.h"
#include "collector/serve/session.h"
#include "collector/states/states.h"
#include "collector/names/helper.h"
#include "collector/names/reader.h"
#include "collector/names/symbols.h"
#include "collector/trace/trace_file.h"
#include "collector/output/unwritten.h"
#include "collector/serve/went_on.h"
#include "collector/waits/wait_poller.h"
#include "shared/atomic.h"
#include "shared/compiler.h"
#include "shared/own_cost.h"

#define HEARTBEAT_NS 25000000
/* A process that reads files, and has nothing to read for so long, ends. */
#define READER_IDLE_NS 10000000000ull
/* A daemon that a signal ends waits so long for names. */
#define HURRY_NS 5000000000ull
#define MMAP_BYTES (128 * 1024)
/* Heartbeats from one progress message to the next. */
#define PROGRESS_BEATS 8
#define LOOK_BEATS 10

struct daemon {
	struct collector collector;
	struct collect_options options;
	struct session_limits limits;
	struct server *server;
	struct ctl_server *ctl;
	struct watch signals, timer, done, control;
	struct workers *workers;
	struct heap_ticks *ticks;
	struct flights *flights; /* NULL: not with --flight */
	struct wait_poller *waits; /* NULL: nobody wants to know */
	struct metrics *metrics; /* NULL: nobody wants any */
	struct jobs_group endings; /* the jobs threads of recordings */
	uint32_t beats;
	bool beating;
	pid_t command; /* of perfrec record; 0: not known yet */
	bool hung_up; /* perfrec is gone */
	bool ending; /* went_on_list() has been called */
};

static struct daemon g_daemon = {
	.signals.fd = -1,
	.timer.fd = -1,
	.done.fd = -1,
	.control.fd = -1,
};

/* --- perfrec record, at the other end of the control connection -------------
 */

static void send_control(struct daemon *daemon, struct control_message *message)
{
	if (daemon->control.fd < 0 || daemon->hung_up)
		return;
	message->version = WIRE_VERSION;
	/* A perfrec that is gone is noticed by its end of file. */
	(void)!send(daemon->control.fd, message, sizeof(*message),
		    MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void send_ready(struct daemon *daemon)
{
	struct control_message message = { .type = CONTROL_READY };

	snprintf(message.ready.socket_path, sizeof(message.ready.socket_path),
		 "%s", server_path(daemon->server));
	send_control(daemon, &message);
}

static void send_progress(struct daemon *daemon)
{
	const struct recording *recording = daemon->collector.recording;
	struct control_message message = { .type = CONTROL_PROGRESS };
	struct recording_live live;

	if (!recording)
		return;
	live = recording_live(recording);
	message.progress.spans = live.spans;
	message.progress.dropped_spans = live.dropped;
	message.progress.bytes =
		trace_file_bytes(recording_setup(recording)->trace);
	send_control(daemon, &message);
}

/* Without a text, since the log says already what is wrong. */
static void send_failed(struct daemon *daemon)
{
	struct control_message message = { .type = CONTROL_FAILED };

	send_control(daemon, &message);
}

static void send_stopped(struct daemon *daemon,
			 const struct signalfd_siginfo *info)
{
	struct control_message message = { .type = CONTROL_STOPPED,
					   .stopped = { info->ssi_signo,
							info->ssi_pid } };

	send_control(daemon, &message);
}

static void send_done(struct daemon *daemon, int exit_code)
{
	struct control_message message = { .type = CONTROL_DONE,
					   .done = { exit_code } };

	send_control(daemon, &message);
}

static void note_command_end(struct daemon *daemon,
			     const struct control_finish *finish)
{
	const struct command_end end = {
		.known = true,
		.wait_status = (int)finish->wait_status,
		.start_ns = finish->start_ns,
		.end_ns = finish->end_ns,
		.user_ns = finish->user_ns,
		.sys_ns = finish->sys_ns,
	};

	recording_set_command_end(daemon->collector.recording, &end);
	process_crash_told(daemon->collector.recording, daemon->command,
			   end.end_ns, end.wait_status);
	daemon->collector.closing = true;
}

/* Count the CPU time of the command. The child waits with its exec for the
 * answer, so that no process of the command is missed. */
static void watch_child(struct daemon *daemon, pid_t pid)
{
	struct control_message message = { .type = CONTROL_WATCHED };

	daemon->command = pid;
	cpu_tree_start(daemon->collector.cpu, daemon->collector.recording, pid);
	send_control(daemon, &message);
}

static void control_ready(struct watch *watch)
{
	struct daemon *daemon = &g_daemon;
	struct control_message message;
	ssize_t bytes =
		recv(watch->fd, &message, sizeof(message), MSG_DONTWAIT);

	if (bytes < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (bytes != sizeof(message) || message.version != WIRE_VERSION) {
		if (bytes > 0)
			log_err("perfrec is of another version than "
				"perfrec-collect: the recording ends");
		loop_remove(daemon->collector.loop, watch);
		daemon->hung_up = true;
		daemon->collector.closing = true;
		return;
	}
	if (message.type == CONTROL_CHILD)
		watch_child(daemon, (pid_t)message.child.pid);
	else if (message.type == CONTROL_FINISH)
		note_command_end(daemon, &message.finish);
}

/* --- other events -----------------------------------------------------------
 */

/* Whether @recording is that of an arena before @end in the list. */
static bool is_listed_before(struct arena *list, const struct arena *end,
			     const struct recording *recording)
{
	for (; list != end; list = arena_next(list))
		if (arena_setup(list)->recording == recording)
			return true;
	return false;
}

/* Fires the triggers of signal @number in all recordings. */
static void fire_signal(struct collector *collector, int number)
{
	struct arena *list = collector->arenas;
	uint64_t ns = clock_boottime_ns();
	struct recording *recording = collector->recording;

	if (recording)
		triggers_signal(recording_setup(recording)->triggers, ns,
				number);
	for (struct arena *arena = list; arena; arena = arena_next(arena)) {
		struct recording *other = arena_setup(arena)->recording;

		if (other != recording && !is_listed_before(list, arena, other))
			triggers_signal(recording_setup(other)->triggers, ns,
					number);
	}
}

static void signals_ready(struct watch *watch)
{
	struct signalfd_siginfo info;

	if (read(watch->fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGUSR1 || info.ssi_signo == SIGUSR2) {
		fire_signal(&g_daemon.collector, (int)info.ssi_signo);
		return;
	}
	/* Ctrl-C of a terminal reaches perfrec record and its program, too. */
	if (!g_daemon.collector.closing && info.ssi_code != SI_KERNEL)
		send_stopped(&g_daemon, &info);
	g_daemon.collector.closing = true;
	/* perfrec record's may take the time that its names need. */
	if (g_daemon.options.control_fd < 0)
		helper_hurry(clock_monotonic_ns() + HURRY_NS);
}

static void beat_heart(struct daemon *daemon)
{
	liveness_beat(daemon->collector.liveness);
	heap_ticks_beat(daemon->ticks);
	flights_beat(daemon->flights);
	readers_tire(symbol_cache_readers(daemon->collector.symbols),
		     clock_monotonic_ns() - READER_IDLE_NS);
	if (++daemon->beats % LOOK_BEATS == 0) {
		process_look(&daemon->collector);
		wait_poller_check(daemon->waits);
	}
	if (daemon->beats % PROGRESS_BEATS == 0)
		send_progress(daemon);
}

static void timer_ready(struct watch *watch)
{
	uint64_t ticks;

	(void)!read(watch->fd, &ticks, sizeof(ticks));
	beat_heart(&g_daemon);
}

static void done_ready(struct watch *watch)
{
	uint64_t count;

	/* process_reap() comes after every round of the loop. */
	(void)!read(watch->fd, &count, sizeof(count));
}

/*
 * Tell whoever started us that we are in @state, by the protocol of
 * sd_notify(3): one datagram to the socket that NOTIFY_SOCKET names, if it is
 * set.
 */
static void notify_starter(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t length = path ? strlen(path) : 0;
	int fd;

	if (!length || length >= sizeof(address.sun_path))
		return;
	memcpy(address.sun_path, path, length);
	/* Of the abstract ones, '@' stands for the NUL. */
	if (path[0] == '@')
		address.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	(void)!sendto(
		fd, state, strlen(state), MSG_NOSIGNAL | MSG_DONTWAIT,
		(const struct sockaddr *)&address,
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
	close(fd);
}

/* Start or stop the timer of the heartbeat. The heart need not beat while no
 * program is recorded and nobody is connected: an idle daemon sleeps. */
static void set_timer(struct daemon *daemon, bool beating)
{
	const struct itimerspec period = {
		.it_interval = { 0, HEARTBEAT_NS },
		.it_value = { 0, HEARTBEAT_NS },
	};
	const struct itimerspec off = { 0 };

	if (beating == daemon->beating)
		return;
	daemon->beating = beating;
	timerfd_settime(daemon->timer.fd, 0, beating ? &period : &off, NULL);
	/* What fifty programs at once took is not needed for none. */
	if (!beating)
		malloc_trim(0);
}

/* --- start ------------------------------------------------------------------
 */

static int add_watch(struct daemon *daemon, struct watch *watch, int fd,
		     void (*ready)(struct watch *watch))
{
	if (fd < 0)
		return -errno;
	*watch = (struct watch){ fd, ready };
	return loop_add(daemon->collector.loop, watch);
}

static int watch_signals(struct daemon *daemon)
{
	const struct flight_options *flight = &daemon->options.flight;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	for (size_t i = 0; i < MIN(flight->trigger_count, TRIGGERS_MAX); i++)
		if (flight->triggers[i].kind == TRIGGER_SIGNAL)
			sigaddset(&set, flight->triggers[i].signal);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return add_watch(daemon, &daemon->signals,
			 signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK),
			 signals_ready);
}

/* Each program takes a few descriptors. */
static void raise_file_limit(struct collector *collector)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
		collector->watches.most = watches_most(limit.rlim_max);
	}
}

static int start_events(struct daemon *daemon)
{
	struct collector *collector = &daemon->collector;
	int err;

	collector->loop = loop_new();
	if (collector->loop < 0)
		return collector->loop;
	err = watch_signals(daemon);
	if (!err)
		err = add_watch(daemon, &daemon->timer,
				timerfd_create(CLOCK_MONOTONIC,
					       TFD_CLOEXEC | TFD_NONBLOCK),
				timer_ready);
	if (!err)
		err = add_watch(daemon, &daemon->done,
				eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
				done_ready);
	collector->done_fd = daemon->done.fd;
	if (!err && daemon->options.control_fd >= 0)
		err = add_watch(daemon, &daemon->control,
				daemon->options.control_fd, control_ready);
	return err;
}

/* 0, or -ENOENT after logging one line: ids of programs lead to others there,
 * or to none. */
static int check_proc(void)
{
	if (proc_is_ours())
		return 0;
	log_err("cannot start: %s",
		access("/proc/self", F_OK) < 0
			? "there is no /proc; mount it"
			: "/proc shows another pid namespace; mount one of "
			  "this (unshare --mount-proc)");
	return -ENOENT;
}

static int start_parts(struct daemon *daemon)
{
	struct collector *collector = &daemon->collector;
	char limit[UNWRITTEN_LIMIT_TEXT];
	int err;

	collector->options = &daemon->options;
	jobs_group_init(&daemon->endings);
	collector->endings = &daemon->endings;
	collector->limits = &daemon->limits;
	collector->start_ns = clock_boottime_ns();
	collector->finish_recording = recording_finish;
	if (daemon->options.categories)
		snprintf(collector->categories, sizeof(collector->categories),
			 "%s", daemon->options.categories);
	collector->ticks = clock_ticks_usable();
	collector->span_ns = own_cost_ns(OWN_COST_SPAN, collector->ticks);
	collector->halves = own_cost_halves(OWN_COST_SPAN, collector->ticks);
	lock_init(&collector->lock, LOCK_COLLECTOR);
	err = start_events(daemon);
	if (!err && check_proc() < 0)
		return -ENOENT;
	if (!err)
		err = clock_sync_new(&collector->clock);
	if (!err)
		err = symbol_cache_new(&collector->symbols);
	if (!err && daemon->options.flight.on)
		err = flight_share_new(daemon->options.flight.bytes,
				       &collector->flight);
	if (!err)
		err = liveness_new(&collector->liveness);
	if (err == -EFBIG && unwritten_file_limit(limit))
		log_err("cannot start: %s (%s)", strerror(-err), limit);
	else if (err)
		log_err("cannot start: %s%s", strerror(-err), limit_hint(err));
	return err;
}

/* Whether there will be stacks to unwind. */
static bool wants_samples(const struct collect_options *options)
{
	return options->cpu_hz || options->sched || options->alloc != ALLOC_OFF;
}

static void start_waits(struct daemon *daemon)
{
	const struct wait_source source = wait_source_of(daemon->collector.cpu);
	int err =
		wait_poller_new(&source, daemon->collector.options->stack_bytes,
				&daemon->waits);

	if (err)
		log_warn("cannot read what threads wait on: %s%s",
			 strerror(-err), limit_hint(err));
}

static int start_threads(struct daemon *daemon)
{
	struct collector *collector = &daemon->collector;
	/* People who look at their program wait for names all the time. */
	int err = watchdog_start(daemon->options.control_fd < 0 ? LOG_WARN
								: LOG_DBG);

	if (!err)
		err = jobs_new("perfrec-ticks", NULL, &collector->jobs);
	if (!err)
		err = heap_ticks_new(collector, &daemon->ticks);
	if (!err)
		err = flights_new(collector, &daemon->flights);
	sample_rate_choose(&daemon->options, collector);
	if (!err && wants_samples(collector->options))
		err = sampler_new(&collector->sampler);
	collector->counters = perf_counters_there(collector->options->counters,
						  &collector->counters_err);
	if (!err)
		collector->cpu_err =
			cpu_sampler_new(collector, &collector->cpu);
	sample_rate_refused(&daemon->options, collector);
	/* Without it, nobody knows what threads wait on. */
	if (!err && collector->cpu && collector->options->sched)
		start_waits(daemon);
	if (!err)
		err = drain_new(daemon->options.workers, collector->done_fd,
				&collector->drain);
	if (!err)
		err = states_thread_start(collector, &collector->states);
	if (!err)
		err = workers_start(collector, &daemon->workers);
	if (err)
		log_err("cannot start a thread: %s%s", strerror(-err),
			limit_hint(err));
	return err;
}

static uint64_t half_of_free_space(const char *path)
{
	struct statvfs free_space;

	if (statvfs(path, &free_space) < 0)
		return 0;
	return free_space.f_bavail * free_space.f_frsize / 2;
}

/* False: errno says why. */
static bool is_folder(const char *path)
{
	struct stat status;

	if (stat(path, &status) < 0)
		return false;
	errno = ENOTDIR;
	return S_ISDIR(status.st_mode);
}

/* Begin the one recording of `perfrec record`, or make the folder that will
 * hold the daemon's recordings. */
static int start_output(struct daemon *daemon)
{
	const char *path = daemon->options.output;

	if (daemon->options.control_fd >= 0)
		return recording_new(&daemon->collector, path, false,
				     &daemon->collector.recording);
	if (mkdir(path, 0700) < 0 && errno != EEXIST) {
		int err = -errno;

		log_err("cannot make folder '%s': %m (choose another with -o)",
			path);
		return err;
	}
	/* Of a file, access() may say that it could be executed. */
	if (!is_folder(path) || access(path, W_OK | X_OK) < 0) {
		int err = -errno;

		log_err("cannot write to folder '%s': %m (choose another with "
			"-o)",
			path);
		return err;
	}
	daemon->limits.max_total = daemon->options.max_total
					   ? daemon->options.max_total
					   : half_of_free_space(path);
	return 0;
}

/* The socket first: one that is in use leaves no folder behind. */
static int start_services(struct daemon *daemon)
{
	int err = server_new(&daemon->collector, &daemon->server);

	if (!err)
		err = ctl_server_new(&daemon->collector,
				     server_path(daemon->server), &daemon->ctl);
	if (!err)
		err = metrics_new(&daemon->collector, daemon->options.metrics,
				  &daemon->metrics);
	if (!err)
		err = start_output(daemon);
	/* They log all other errors themselves. */
	if (err == -ENOMEM)
		log_err("cannot start: %s%s", strerror(ENOMEM),
			limit_hint(-ENOMEM));
	return err;
}

/* --- life and end -----------------------------------------------------------
 */

static void list_went_on(struct daemon *daemon)
{
	if (!daemon->ending)
		went_on_list(&daemon->collector, server_path(daemon->server));
	daemon->ending = true;
}

static void end_processes(struct daemon *daemon)
{
	struct collector *collector = &daemon->collector;
	struct process *process;
	bool ending;

	list_went_on(daemon);
	for (struct arena *arena = collector->arenas; arena;
	     arena = arena_next(arena))
		arena_control(arena, CONTROL_OFF);
	lock_acquire(&collector->lock);
	process = collector->processes;
	lock_release(&collector->lock);
	ending = process;
	/* Only this thread takes any out; new ones come in at the front. */
	for (; process; process = process_next_all(process)) {
		struct arena *arena = process_setup(process)->arena;

		/* So that a child that was gone when it was met has ended, and
		 * is not taken for one that goes on (process_fork()). */
		arena_lock(arena);
		process_stop(process);
		arena_unlock(arena);
	}
	if (ending)
		drain_kick(collector->drain);
}

static void run_loop(struct daemon *daemon)
{
	struct collector *collector = &daemon->collector;

	while (!collector->closing || collector->arenas ||
	       ctl_server_is_busy(daemon->ctl) ||
	       flights_are_busy(daemon->flights)) {
		set_timer(daemon,
			  states_are_ending(collector->states) ||
				  flights_are_busy(daemon->flights) ||
				  collector->arenas || collector->recording ||
				  server_has_connections(daemon->server) ||
				  ctl_server_has_connections(daemon->ctl));
		if (collector->closing)
			end_processes(daemon);
		loop_run_once(collector->loop, -1);
		server_reap(daemon->server);
		process_reap(collector, session_unlist);
		ctl_server_reap(daemon->ctl);
	}
	server_hear_rest(daemon->server);
	list_went_on(daemon);
}

/* Waits for what is left to do for recordings: all of it for those of a daemon,
 * which then have ended. */
static void end_recordings(struct collector *collector)
{
	if (collector->recording)
		jobs_wait(recording_setup(collector->recording)->jobs);
	else
		jobs_group_wait(collector->endings);
}

static int stop_daemon(struct daemon *daemon, int err)
{
	struct collector *collector = &daemon->collector;
	bool ended;

	/* Its socket is in the other one's folder. */
	ctl_server_close(daemon->ctl);
	metrics_free(&daemon->metrics);
	if (daemon->server)
		server_free(&daemon->server);
	workers_stop(&daemon->workers);
	ended = states_thread_stop(&collector->states);
	drain_free(&collector->drain);
	wait_poller_free(&daemon->waits);
	cpu_sampler_free(&collector->cpu);
	jobs_free(&collector->jobs);
	heap_ticks_free(&daemon->ticks);
	flights_free(&daemon->flights);
	end_recordings(collector);
	if (collector->sampler)
		sampler_free(&collector->sampler);
	end_recordings(collector);
	if (collector->recording && !err)
		err = recording_finish(collector->recording);
	if (collector->recording)
		recording_put(&collector->recording);
	jobs_group_wait(collector->endings);
	ctl_server_free(&daemon->ctl);
	liveness_free(&collector->liveness);
	if (collector->symbols && ended)
		symbol_cache_put(&collector->symbols);
	if (ended)
		flight_share_free(&collector->flight);
	clock_sync_free(&collector->clock);
	watchdog_stop();
	return err;
}

int main(int argc, char **argv)
{
	struct daemon *daemon = &g_daemon;
	int status, err;

	if (argc == 1 && !strcmp(argv[0], TEXT_GUARD_NAME))
		return text_guard_main();
	/* A full disk, a limit of file sizes (stderr may be a file) and a
	 * reader that is gone are errors of write(2) to us. */
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	/* All that is made has its mode, which no umask is to take from. */
	umask(077);
	log_init("perfrec-collect", LOG_INFO);
	status = collect_options_parse(argc, argv, &daemon->options);
	if (status >= 0)
		return status;
	log_init("perfrec-collect", daemon->options.log_level);
	if (!daemon->options.workers)
		daemon->options.workers = workers_default();
	raise_file_limit(&daemon->collector);
	stack_size_set();
	/* Buffers of a recording go back to the system with it: left to
	 * itself, the limit grows with the largest that was freed. */
	mallopt(M_MMAP_THRESHOLD, MMAP_BYTES);
	err = start_parts(daemon);
	if (!err)
		err = start_services(daemon);
	if (!err)
		err = start_threads(daemon);
	if (err) {
		send_failed(daemon);
		stop_daemon(daemon, err);
		return 1;
	}
	if (daemon->options.control_fd < 0)
		log_info("listening on '%s', recording to '%s'",
			 server_path(daemon->server), daemon->options.output);
	ctl_server_link(daemon->ctl, daemon->options.output);
	send_ready(daemon);
	notify_starter("READY=1");
	run_loop(daemon);
	notify_starter("STOPPING=1");
	err = stop_daemon(daemon, 0);
	send_done(daemon, err ? 1 : 0);
	return err ? 1 : 0;
}
