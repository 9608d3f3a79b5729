/* SPDX-License-Identifier: Apache-2.0
 *
 * perfrec-collect: drains the rings of all programs that send hello, and writes
 * their traces.
 *
 * Threads. Only perfrec-states ever waits for a program:
 *
 *   main         events: hellos, ends of processes, signals, the control
 *                connection of `perfrec record`, a timer of 25 ms for the
 *                heartbeat
 *   drain, nice  workers that drain the rings (worker.c)
 *   jobs         one for each recording: slow work such as names, sums and
 *                final files (jobs.c)
 *   ticks        resident sizes (heap_ticks.c)
 *   flight       one for each recording: writes snapshots (flights.c)
 *   dog          logs threads that make no progress (watchdog.c)
 *   states       one for each program with requests for its functions
 *                (states_thread.c)
 *   sampler      unwinds copied stacks, if there are any (sampler.c)
 *   perf         reads the kernel's samples, if enabled (cpu_samples.c)
 *   finish       runs the command of --on-finish (on_finish.c)
 *   keep         removes old recordings, with --keep-recordings (retention.c)
 *   metrics      serves figures, with --metrics (metrics.c)
 *   MHD          one for each connection of --listen (pull.c)
 *   writers      compress and write each trace (trace_writers.c)
 *   closers      close descriptors that clients have sent (closer.c)
 *   parked       proves to programs that the collector lives (liveness.c)
 *
 * A signal or `perfrec record` ends the collector. It then accepts no more
 * programs and ends every process (process.c). After the last process it closes
 * the recordings and exits.
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

#include "collector/base/clock.h"
#include "collector/base/jobs.h"
#include "collector/base/limit_hint.h"
#include "collector/base/lock.h"
#include "collector/base/log.h"
#include "collector/base/loop.h"
#include "collector/base/perf_wakings.h"
#include "collector/base/proc.h"
#include "collector/base/stack_size.h"
#include "collector/base/watchdog.h"
#include "collector/code/text_guard.h"
#include "collector/drain/drain.h"
#include "collector/drain/process_crash.h"
#include "collector/drain/process_reap.h"
#include "collector/drain/process_who.h"
#include "collector/drain/worker.h"
#include "collector/files/recording_finish.h"
#include "collector/names/helper.h"
#include "collector/names/reader.h"
#include "collector/names/symbols.h"
#include "collector/options/collect_options.h"
#include "collector/options/record_wire.h"
#include "collector/options/trigger.h"
#include "collector/output/unwritten.h"
#include "collector/record/arena.h"
#include "collector/record/collector.h"
#include "collector/record/liveness.h"
#include "collector/record/process.h"
#include "collector/record/recording.h"
#include "collector/record/triggers.h"
#include "collector/record/watches.h"
#include "collector/replay/clock_sync.h"
#include "collector/samples/cpu_samples.h"
#include "collector/samples/perf_counters.h"
#include "collector/samples/samples.h"
#include "collector/samples/wait_poller.h"
#include "collector/serve/ctl_server.h"
#include "collector/serve/flights.h"
#include "collector/serve/heap_ticks.h"
#include "collector/serve/metrics.h"
#include "collector/serve/on_finish.h"
#include "collector/serve/pull.h"
#include "collector/serve/push.h"
#include "collector/serve/retention.h"
#include "collector/serve/sample_rate.h"
#include "collector/serve/server.h"
#include "collector/serve/session.h"
#include "collector/serve/went_on.h"
#include "collector/states/states.h"
#include "collector/trace/flight_share.h"
#include "collector/trace/trace_file.h"
#include "shared/compiler.h"
#include "shared/own_cost.h"

#define HEARTBEAT_NS 25000000
#define READER_IDLE_NS 10000000000ull
#define HURRY_NS 5000000000ull
#define MMAP_BYTES (128 * 1024)
#define PROGRESS_BEATS 8
#define LOOK_BEATS 10
#define AGES_S 600

struct daemon {
	struct collector collector;
	struct collect_options options;
	struct session_limits limits;
	struct server *server;
	struct ctl_server *ctl;
	struct watch signals, timer, done, control;
	struct watch ages; /* timer of AGES_S */
	struct workers *workers;
	struct heap_ticks *ticks;
	struct flights *flights; /* NULL without --flight */
	struct wait_poller *waits; /* NULL without waits */
	struct metrics *metrics; /* NULL without --metrics */
	struct push *push; /* NULL without --push */
	struct jobs_group endings; /* jobs threads of recordings */
	uint32_t beats;
	bool beating;
	pid_t command; /* pid of perfrec record's command; 0: unknown */
	bool hung_up; /* perfrec is gone */
	bool ending; /* went_on_list() was called */
};

static struct daemon g_daemon = {
	.signals.fd = -1,
	.timer.fd = -1,
	.done.fd = -1,
	.ages.fd = -1,
	.control.fd = -1,
};

/* --- the control connection to perfrec record ---------------------------- */

static void send_control(struct daemon *daemon, struct control_message *message)
{
	if (daemon->control.fd < 0 || daemon->hung_up)
		return;
	message->version = WIRE_VERSION;
	/* The end of file reports a perfrec that is gone. */
	(void)!send(daemon->control.fd, message, sizeof(*message),
		    MSG_NOSIGNAL | MSG_DONTWAIT);
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
	if (message.type == CONTROL_CHILD) {
		pid_t pid = (pid_t)message.child.pid;
		struct control_message answer = { .type = CONTROL_WATCHED };

		/* The child delays its exec until the answer, so no process of
		 * the command is missed. */
		daemon->command = pid;
		cpu_tree_start(daemon->collector.cpu,
			       daemon->collector.recording, pid);
		send_control(daemon, &answer);
	} else if (message.type == CONTROL_FINISH) {
		const struct command_end end = {
			.known = true,
			.wait_status = (int)message.finish.wait_status,
			.start_ns = message.finish.start_ns,
			.end_ns = message.finish.end_ns,
			.user_ns = message.finish.user_ns,
			.sys_ns = message.finish.sys_ns,
		};

		recording_set_command_end(daemon->collector.recording, &end);
		process_crash_told(daemon->collector.recording, daemon->command,
				   end.end_ns, end.wait_status);
		daemon->collector.closing = true;
	}
}

/* --- other events -------------------------------------------------------- */

static bool is_listed_before(struct arena *list, const struct arena *end,
			     const struct recording *recording)
{
	for (; list != end; list = arena_next(list))
		if (arena_setup(list)->recording == recording)
			return true;
	return false;
}

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
	/* Ctrl-C in a terminal also reaches perfrec record and its program. */
	if (!g_daemon.collector.closing && info.ssi_code != SI_KERNEL) {
		struct control_message message = {
			.type = CONTROL_STOPPED,
			.stopped = { info.ssi_signo, info.ssi_pid }
		};

		send_control(&g_daemon, &message);
	}
	g_daemon.collector.closing = true;
	/* perfrec record may take all the time that names need. */
	if (g_daemon.options.control_fd < 0)
		helper_hurry(clock_monotonic_ns() + HURRY_NS);
}

static void timer_ready(struct watch *watch)
{
	uint64_t ticks;
	struct daemon *daemon = &g_daemon;

	(void)!read(watch->fd, &ticks, sizeof(ticks));
	liveness_beat(daemon->collector.liveness);
	heap_ticks_beat(daemon->ticks);
	flights_beat(daemon->flights);
	push_beat(daemon->push);
	readers_tire(symbol_cache_readers(daemon->collector.symbols),
		     clock_monotonic_ns() - READER_IDLE_NS);
	if (++daemon->beats % LOOK_BEATS == 0) {
		process_look(&daemon->collector);
		process_who_look(&daemon->collector);
		wait_poller_check(daemon->waits);
	}
	if (daemon->beats % PROGRESS_BEATS == 0) {
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
}

static void ages_ready(struct watch *watch)
{
	uint64_t ticks;

	(void)!read(watch->fd, &ticks, sizeof(ticks));
	retention_look(g_daemon.collector.retention);
}

static void done_ready(struct watch *watch)
{
	uint64_t count;

	/* process_reap() runs after every round of the loop. */
	(void)!read(watch->fd, &count, sizeof(count));
}

/* Reports @state to the service manager by the protocol of sd_notify(3): one
 * datagram to the socket in NOTIFY_SOCKET, if it is set. */
static void notify_starter(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t length = path ? strlen(path) : 0;
	int fd;

	if (!length || length >= sizeof(address.sun_path))
		return;
	memcpy(address.sun_path, path, length);
	/* '@' stands for the NUL of an abstract socket. */
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

/* --- start --------------------------------------------------------------- */

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

static int start_event_loop(struct daemon *daemon)
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

/* Returns -ENOENT after logging one line if /proc belongs to another pid
 * namespace, where ids of programs lead to other processes or to none. */
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
	err = start_event_loop(daemon);
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

/* Logs why --wakers=kernel cannot be had, and returns true. */
static bool has_no_wakers(const struct collector *collector)
{
	const struct collect_options *options = collector->options;

	if (!options->kernel_wakers || (options->sched && !collector->cpu_err))
		return false;
	log_err("--wakers=kernel: %s",
		options->sched ? perf_wakings_refusal(collector->cpu_err)
			       : "only with --sched on");
	return true;
}

static int start_threads(struct daemon *daemon)
{
	struct collector *collector = &daemon->collector;
	/* In a daemon a slow thread is a warning. Under perfrec record, people
	 * often wait for names. */
	int err = watchdog_start(daemon->options.control_fd < 0 ? LOG_WARN
								: LOG_DBG);

	if (!err)
		err = jobs_new("perfrec-ticks", NULL, &collector->jobs);
	if (!err)
		err = heap_ticks_new(collector, &daemon->ticks);
	if (!err)
		err = flights_new(collector, &daemon->flights);
	sample_rate_choose(&daemon->options, collector);
	if (!err && (collector->options->cpu_hz || collector->options->sched ||
		     collector->options->alloc != ALLOC_OFF))
		err = sampler_new(&collector->sampler);
	collector->counters = perf_counters_there(collector->options->counters,
						  &collector->counters_err);
	if (!err)
		collector->cpu_err =
			cpu_sampler_new(collector, &collector->cpu);
	if (!err && has_no_wakers(collector))
		return -EPERM;
	sample_rate_refused(&daemon->options, collector);
	/* Without perf events, waits cannot be identified. */
	if (!err && collector->cpu && collector->options->sched) {
		const struct wait_source source =
			wait_source_of(daemon->collector.cpu);
		int failed = wait_poller_new(
			&source, daemon->collector.options->stack_bytes,
			&daemon->waits);

		if (failed)
			log_warn("cannot read what threads wait on: %s%s",
				 strerror(-failed), limit_hint(failed));
	}
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

/* Sets errno if it returns false. */
static bool is_output_folder(const char *path)
{
	struct stat status;

	if (stat(path, &status) < 0)
		return false;
	errno = ENOTDIR;
	return S_ISDIR(status.st_mode);
}

static int start_retention(struct daemon *daemon)
{
	const struct retention_owner owner = { session_removed,
					       &daemon->collector };
	const struct keep_limits *limits = &daemon->options.keep_limits;
	int err;

	if (!keep_limits_given(limits))
		return 0;
	err = retention_new(daemon->options.output, limits, &owner,
			    &daemon->collector.retention);
	/* The only timer that wakes an idle daemon. */
	if (!err && (limits->all.age_ns || limits->each.age_ns)) {
		const struct itimerspec period = { { AGES_S, 0 },
						   { AGES_S, 0 } };
		int fd = timerfd_create(CLOCK_BOOTTIME,
					TFD_CLOEXEC | TFD_NONBLOCK);

		if (fd >= 0)
			timerfd_settime(fd, 0, &period, NULL);
		err = add_watch(daemon, &daemon->ages, fd, ages_ready);
	}
	if (err)
		log_err("cannot keep the recordings in '%s' within "
			"--keep-recordings: %s%s",
			daemon->options.output, strerror(-err),
			limit_hint(err));
	retention_look(daemon->collector.retention);
	return err;
}

static int start_on_finish(struct daemon *daemon)
{
	const struct collect_options *options = &daemon->options;
	int err = 0;

	if (options->on_finish)
		err = on_finish_new(
			options->on_finish, options->on_finish_ns,
			options->push.url_count ? push_options_secrets : NULL,
			daemon->collector.retention,
			&daemon->collector.on_finish);
	if (err)
		log_err("cannot start the threads of --on-finish: %s%s",
			strerror(-err), limit_hint(err));
	return err;
}

static int start_output(struct daemon *daemon)
{
	const char *path = daemon->options.output;
	int err;

	if (daemon->options.control_fd >= 0)
		return recording_new(&daemon->collector, path, false,
				     &daemon->collector.recording);
	if (mkdir(path, 0700) < 0 && errno != EEXIST) {
		err = -errno;

		log_err("cannot make folder '%s': %m (choose another with -o)",
			path);
		return err;
	}
	/* access() may report a file as executable. */
	if (!is_output_folder(path) || access(path, W_OK | X_OK) < 0) {
		err = -errno;

		log_err("cannot write to folder '%s': %m (choose another with "
			"-o)",
			path);
		return err;
	}
	daemon->limits.max_total = daemon->options.max_total
					   ? daemon->options.max_total
					   : half_of_free_space(path);
	err = start_retention(daemon);
	return err ? err : start_on_finish(daemon);
}

/* Opens the sockets first, so a socket in use leaves no folder behind. */
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
		err = push_new(&daemon->collector, &daemon->push);
	if (!err)
		err = start_output(daemon);
	if (!err)
		err = push_start(daemon->push);
	if (err == -ENOMEM)
		log_err("cannot start: %s%s", strerror(ENOMEM),
			limit_hint(-ENOMEM));
	return err;
}

/* --- main loop and end --------------------------------------------------- */

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
	/* Only this thread removes processes; new ones are added at the
	 * front. */
	for (; process; process = process_next_all(process)) {
		struct arena *arena = process_setup(process)->arena;

		/* A child that was gone when it was found must count as ended,
		 * not as running on (process_fork()). */
		arena_lock(arena);
		process_stop(process);
		arena_unlock(arena);
	}
	if (ending)
		drain_kick(collector->drain);
}

/* Starts or stops the heartbeat. An idle daemon sleeps: without programs and
 * connections no heartbeat is needed. */
static void set_beat_timer(struct daemon *daemon, bool beating)
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
	/* Returns the memory of past programs to the system. */
	if (!beating)
		malloc_trim(0);
}

static void run_loop(struct daemon *daemon)
{
	struct collector *collector = &daemon->collector;

	while (!collector->closing || collector->arenas ||
	       ctl_server_is_busy(daemon->ctl) ||
	       flights_are_busy(daemon->flights)) {
		set_beat_timer(daemon,
			       states_are_ending(collector->states) ||
				       flights_are_busy(daemon->flights) ||
				       push_is_waiting(daemon->push) ||
				       collector->arenas ||
				       collector->recording ||
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

	pull_stop();
	push_rest(daemon->push);
	/* The socket of ctl lies in the folder of the server. */
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
	if (daemon->push && !err) {
		struct control_message message = { .type = CONTROL_SENDING };

		send_control(daemon, &message);
	}
	push_free(&daemon->push, daemon->signals.fd);
	on_finish_free(&collector->on_finish);
	retention_free(&collector->retention);
	free(daemon->limits.finished);
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
	struct control_message ready = { .type = CONTROL_READY };
	struct control_message done = { .type = CONTROL_DONE };
	struct rlimit limit;

	if (argc == 1 && !strcmp(argv[0], TEXT_GUARD_NAME))
		return text_guard_main();
	/* A full disk, a file size limit (stderr may be a file) and a closed
	 * reader shall be errors of write(2). */
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	/* All files are created with explicit modes. */
	umask(077);
	log_init("perfrec-collect", LOG_INFO);
	status = collect_options_parse(argc, argv, &daemon->options);
	if (status >= 0)
		return status;
	log_init("perfrec-collect", daemon->options.log_level);
	if (!daemon->options.workers)
		daemon->options.workers = workers_default();
	/* Each program needs a few descriptors. */
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
		daemon->collector.watches.most = watches_most(limit.rlim_max);
	}
	stack_size_set();
	/* Returns buffers of a recording to the system. By default, malloc
	 * raises this threshold to the largest block freed. */
	mallopt(M_MMAP_THRESHOLD, MMAP_BYTES);
	err = start_parts(daemon);
	if (!err)
		err = start_services(daemon);
	if (!err)
		err = start_threads(daemon);
	if (!err)
		err = pull_start(&daemon->collector);
	if (err) {
		struct control_message message = { .type = CONTROL_FAILED };

		/* Without a text, because the log has the error. */
		send_control(daemon, &message);
		stop_daemon(daemon, err);
		return 1;
	}
	if (daemon->options.control_fd < 0)
		log_info("listening on '%s', recording to '%s'",
			 server_path(daemon->server), daemon->options.output);
	ctl_server_link(daemon->ctl, daemon->options.output);
	snprintf(ready.ready.socket_path, sizeof(ready.ready.socket_path), "%s",
		 server_path(daemon->server));
	send_control(daemon, &ready);
	notify_starter("READY=1");
	run_loop(daemon);
	notify_starter("STOPPING=1");
	err = stop_daemon(daemon, 0);
	done.done.exit_code = err ? 1 : 0;
	send_control(daemon, &done);
	return err ? 1 : 0;
}
