/* SPDX-License-Identifier: Apache-2.0
 *
 * session - limits, and the control word of a program.
 *
 * Many modest programs together must not exhaust the collector. So there are
 * limits on the number of sessions, on the address space of their arenas, on
 * the rate of new sessions, and on the disk space of all recordings. Each user
 * has a share of them (users.h), and each process a share of the sessions. A
 * program beyond a limit is refused with one line in the log, and runs
 * unrecorded. Running sessions never end because of a limit. Forked children do
 * not count here: see record/watches.h.
 *
 * The control word of a program is ON, PAUSED or, until filters are resolved,
 * HOLD. The jobs thread may end HOLD while the main thread pauses. So the lock
 * of the arena guards both the wanted state and the word.
 */
#include "collector/serve/session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "collector/base/grow.h"
#include "collector/base/lock.h"
#include "collector/base/log.h"
#include "collector/drain/drain.h"
#include "collector/names/reader.h"
#include "collector/names/symbols.h"
#include "collector/options/categories.h"
#include "collector/options/collect_options.h"
#include "collector/output/own_files.h"
#include "collector/record/arena.h"
#include "collector/record/collector.h"
#include "collector/record/process.h"
#include "collector/record/recording.h"
#include "collector/replay/pause.h"
#include "collector/samples/cpu_samples.h"
#include "collector/samples/samples.h"
#include "collector/serve/on_finish.h"
#include "collector/serve/retention.h"
#include "collector/states/states.h"
#include "collector/trace/trace_file.h"

#define PROGRAMS_MAX 1024 /* after hello */
#define RECORDINGS_MAX 1024 /* unfinished */
/* Limit for one process, which may call exec(3) faster than sessions end. */
#define OF_PROCESS_MAX 16
/* A process can map 128 TiB. */
#define ARENA_BYTES_MAX (32ULL << 40)
/* Larger arenas together leave a quarter of the space to others. */
#define ARENA_BYTES_USUAL (64ULL << 30)
#define LARGE_BYTES_MAX (ARENA_BYTES_MAX / 4 * 3)

struct open_recording {
	struct open_recording *next; /* under the collector's lock */
	struct collector *collector;
	struct recording *recording; /* no reference */
	struct user *user; /* its owner */
	uint64_t session; /* session number */
	pid_t pid; /* that sent hello */
	uid_t uid; /* of pid */
	bool ended; /* its programs have ended; under the collector's lock */
};

/* --- limits -------------------------------------------------------------- */

static uint64_t bytes_on_disk(struct collector *collector,
			      const struct user *user, uint64_t *own)
{
	uint64_t bytes;

	lock_acquire(&collector->lock);
	bytes = collector->limits->finished_bytes;
	*own = user->has.disk_bytes;
	lock_release(&collector->lock);
	for (const struct arena *arena = collector->arenas; arena;
	     arena = arena_next(arena)) {
		const struct arena_setup *setup = arena_setup(arena);
		uint64_t trace = trace_file_bytes(
			recording_setup(setup->recording)->trace);

		bytes += trace;
		*own += setup->uid == user->uid ? trace : 0;
	}
	return bytes;
}

static bool is_shared(const struct collector *collector)
{
	return collector->options->allowed_count > 0;
}

static bool is_large(uint64_t arena_bytes)
{
	return arena_bytes > ARENA_BYTES_USUAL;
}

static const char *refuse_one_more(struct collector *collector,
				   const struct user *user,
				   uint64_t arena_bytes)
{
	const struct session_limits *limits = collector->limits;
	bool shared = is_shared(collector), may;

	lock_acquire(&collector->lock);
	may = users_may_have(user->has.recordings, collector->recording_count,
			     RECORDINGS_MAX, 1, shared);
	lock_release(&collector->lock);
	if (!may || !users_may_have(user->has.sessions, limits->sessions,
				    PROGRAMS_MAX, 1, shared))
		return "too many programs at once";
	if (!users_may_have(user->has.arena_bytes, limits->arena_bytes,
			    ARENA_BYTES_MAX, arena_bytes, shared) ||
	    (is_large(arena_bytes) &&
	     arena_bytes > LARGE_BYTES_MAX - limits->large_bytes))
		return "the rings of all programs are too large already";
	return NULL;
}

static bool is_disk_full(struct collector *collector, const struct user *user)
{
	uint64_t most = collector->limits->max_total, own,
		 all = most ? bytes_on_disk(collector, user, &own) : 0;

	return most && !users_may_have(own, all, most, 1, is_shared(collector));
}

static uint32_t count_of_process(struct collector *collector, pid_t pid)
{
	const struct open_recording *open;
	uint32_t count = 0;

	lock_acquire(&collector->lock);
	for (open = collector->recordings; open; open = open->next)
		count += open->pid == pid;
	lock_release(&collector->lock);
	return count;
}

const char *session_refuse(struct collector *collector, uid_t uid, pid_t pid,
			   uint64_t arena_bytes)
{
	struct user *user = users_find(&collector->limits->users, uid);
	const char *why = refuse_one_more(collector, user, arena_bytes);

	if (why)
		return why;
	if (pace_is_too_fast(&user->pace, getsid(pid), clock_boottime_ns()))
		return "too many programs in a second";
	if (count_of_process(collector, pid) >= OF_PROCESS_MAX)
		return "too many recordings of this process are not finished";
	if (is_disk_full(collector, user))
		return "the recordings have reached --max-total (remove or "
		       "move them, and start perfrec-collect again; see "
		       "--keep-recordings)";
	return NULL;
}

void session_log_refusal(struct collector *collector, pid_t pid,
			 const char *why)
{
	struct refusal *refusal = collector->limits->refusal;
	struct refusal *last =
		refusal + ARRAY_SIZE(collector->limits->refusal) - 1;

	while (refusal < last && refusal->why && refusal->why != why)
		refusal++;
	refusal->why = why;
	refusal->programs++;
	/* perfrec prints one summary line instead of one line per process. */
	if (collector->recording) {
		recording_refuse(collector->recording, pid, why);
		log_at(LOG_DBG, "refused program with pid %d: %s", (int)pid,
		       why);
		return;
	}
	log_limited(&refusal->limit, LOG_WARN,
		    "refused program with pid %d: %s", (int)pid, why);
}

void session_removed(void *context, dev_t dev, ino_t ino)
{
	struct collector *collector = context;
	struct session_limits *limits = collector->limits;
	struct finished_recording *one = limits->finished;

	lock_acquire(&collector->lock);
	for (size_t i = 0; i < limits->finished_count; i++, one++)
		if (one->dev == dev && one->ino == ino) {
			limits->finished_bytes -= one->bytes;
			one->user->has.disk_bytes -= one->bytes;
			*one = limits->finished[--limits->finished_count];
			break;
		}
	lock_release(&collector->lock);
}

/* Saves the size of recording @dir_fd, to subtract it when retention removes
 * the recording. Collector lock held. */
static void list_finished(struct collector *collector, int dir_fd,
			  uint64_t bytes, struct user *user)
{
	struct session_limits *limits = collector->limits;
	struct finished_recording *one;
	struct stat status;

	/* Without memory it counts until the collector ends. */
	if (!collector->retention || fstat(dir_fd, &status) < 0 ||
	    grow_array(limits->finished, limits->finished_room,
		       limits->finished_count + 1))
		return;
	one = &limits->finished[limits->finished_count++];
	*one = (struct finished_recording){ status.st_dev, status.st_ino, bytes,
					    user };
}

/* A recording of one session is finished. Any thread. */
static void recording_ended(struct recording *recording, int err, void *context)
{
	struct open_recording *open = context;
	struct collector *collector = open->collector;
	struct open_recording **link = &collector->recordings;
	const struct on_finish_recording finished = {
		.path = recording_setup(recording)->path,
		.dir_fd = recording_setup(recording)->dir_fd,
		.uid = open->uid,
		.whole = !err,
	};
	uint64_t bytes = own_files_bytes(finished.dir_fd), one = 1;

	lock_acquire(&collector->lock);
	while (*link != open)
		link = &(*link)->next;
	*link = open->next;
	collector->recording_count--;
	collector->limits->finished_bytes += bytes;
	open->user->has.recordings--;
	open->user->has.disk_bytes += bytes;
	list_finished(collector, finished.dir_fd, bytes, open->user);
	lock_release(&collector->lock);
	if (err != -ECANCELED)
		on_finish_run(collector->on_finish, &finished);
	retention_look(collector->retention);
	free(open);
	readers_rest(symbol_cache_readers(collector->symbols));
	if (collector->sampler)
		sampler_rest(collector->sampler, recording);
	/* A client of ctl_server.c may wait for this end. */
	if (write(collector->done_fd, &one, sizeof(one)) < 0)
		log_err("cannot wake the main thread: %m");
}

static struct user *user_of(struct collector *collector, struct arena *arena)
{
	return users_find(&collector->limits->users, arena_setup(arena)->uid);
}

static int list_recording(struct collector *collector, struct arena *arena)
{
	struct open_recording *open = calloc(1, sizeof(*open));

	if (!open)
		return -ENOMEM;
	open->collector = collector;
	open->recording = arena_setup(arena)->recording;
	open->user = user_of(collector, arena);
	open->session = arena_session(arena)->number;
	open->pid = arena_setup(arena)->pid;
	open->uid = arena_setup(arena)->uid;
	recording_on_end(arena_setup(arena)->recording, recording_ended, open);
	lock_acquire(&collector->lock);
	open->next = collector->recordings;
	collector->recordings = open;
	collector->recording_count++;
	open->user->has.recordings++;
	lock_release(&collector->lock);
	return 0;
}

size_t session_open_recordings(struct collector *collector,
			       struct recording ***out)
{
	const struct open_recording *open;
	struct recording **list;
	size_t count = 0;

	lock_acquire(&collector->lock);
	list = calloc(collector->recording_count + 1ULL, sizeof(*list));
	/* Skips ended recordings: overlapping requests would keep them
	 * forever. */
	for (open = collector->recordings; list && open; open = open->next)
		/* A recording in the list is not freed, but may be ending. */
		if (!open->ended && recording_get_if(open->recording))
			list[count++] = open->recording;
	lock_release(&collector->lock);
	*out = list;
	return count;
}

void session_put_recordings(struct recording ***list, size_t count)
{
	struct recording **old = *list;

	*list = NULL;
	while (count)
		recording_put(&old[--count]);
	free(old);
}

/* --- life ---------------------------------------------------------------- */

int session_open(struct collector *collector, struct arena *arena, bool own)
{
	arena_session(arena)->number = ++collector->last_session;
	return own ? list_recording(collector, arena) : 0;
}

void session_begin(struct collector *collector, struct arena *arena)
{
	struct session_limits *limits = collector->limits;
	struct user *user = user_of(collector, arena);
	uint64_t bytes = arena_setup(arena)->bytes;

	arena_session(arena)->held = true;
	limits->sessions++;
	limits->begun++;
	limits->arena_bytes += bytes;
	limits->large_bytes += is_large(bytes) ? bytes : 0;
	user->has.sessions++;
	user->has.arena_bytes += bytes;
	pace_count(&user->pace, getsid(arena_setup(arena)->pid),
		   clock_boottime_ns());
}

void session_unlist(struct collector *collector, struct arena *arena)
{
	struct session_limits *limits = collector->limits;
	struct user *user = user_of(collector, arena);
	struct arena_live live = arena_live(arena);
	uint64_t bytes = arena_setup(arena)->bytes;

	user->has.sessions--;
	user->has.arena_bytes -= bytes;
	limits->sessions--;
	limits->arena_bytes -= bytes;
	limits->large_bytes -= is_large(bytes) ? bytes : 0;
	limits->left_spans += live.spans;
	limits->left_lost += live.lost;
	lock_acquire(&collector->lock);
	for (struct open_recording *open = collector->recordings; open;
	     open = open->next)
		open->ended |= open->session == arena_session(arena)->number;
	lock_release(&collector->lock);
}

/* Writes the control word for the state of held and paused. Arena lock held. */
static void set_control(struct arena *arena)
{
	if (!arena_session(arena)->held)
		arena_control(arena, arena_session(arena)->paused
					     ? CONTROL_PAUSED
					     : CONTROL_ON);
}

void session_release(struct arena *arena)
{
	arena_lock(arena);
	arena_session(arena)->held = false;
	set_control(arena);
	arena_unlock(arena);
}

void session_pause(struct arena *arena, bool paused)
{
	uint64_t now = clock_boottime_ns();

	arena_lock(arena);
	arena_session(arena)->paused = paused;
	/* A program polls the word. Records until it sees the pause are dropped
	 * by their times. */
	if (paused)
		pause_begin(arena_setup(arena)->pauses, now);
	else
		pause_end(arena_setup(arena)->pauses, now);
	set_control(arena);
	categories_renew(arena_setup(arena)->page);
	arena_unlock(arena);
	cpu_group_pause(arena_setup(arena)->cpu, paused);
}

void session_categories(struct arena *arena, const char *text)
{
	arena_lock(arena);
	categories_write(arena_setup(arena)->page, text);
	arena_unlock(arena);
}

void session_stop(struct arena *arena)
{
	struct drain *drain = NULL;

	arena_control(arena, CONTROL_OFF);
	states_restore(arena);
	cpu_group_pause(arena_setup(arena)->cpu, true);
	arena_lock(arena);
	for (struct process *process = arena_first_process(arena); process;
	     process = process_next(process)) {
		drain = process_setup(process)->collector->drain;
		process_stop(process);
	}
	arena_unlock(arena);
	if (drain)
		drain_kick(drain);
}

bool session_is_over(struct collector *collector, uint64_t number)
{
	const struct open_recording *open;
	bool over;

	if (!states_are_restored(collector->states, number))
		return false;
	for (struct arena *arena = collector->arenas; arena;
	     arena = arena_next(arena))
		if (arena_session(arena)->number == number)
			return false;
	lock_acquire(&collector->lock);
	for (open = collector->recordings; open; open = open->next)
		if (open->session == number)
			break;
	over = !open;
	lock_release(&collector->lock);
	return over;
}
