/* SPDX-License-Identifier: Apache-2.0
 *
 * session - limits, and a program's control word.
 *
 * What all programs together ask for must not bring the collector down, however
 * modest each of them is. So there are limits on the number of sessions, on the
 * address space of their arenas, on how fast new ones may begin, and on the
 * disk space of all recordings. Each user has a share of them (users.h), and a
 * process a share of the sessions. A program beyond a limit is refused, which
 * one line of the log says, and runs unrecorded. A session that has begun is
 * never cut short for a limit. How many children a program has forked is no
 * limit for others: record/watches.h.
 *
 * The control word of a program is ON, PAUSED or, until filters are resolved,
 * HOLD. The jobs thread may end the HOLD while the main thread pauses. So both
 * what the word should be and the word itself are written under the lock of the
 * arena.
 */
#include "collector/serve/session.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/lock.h"
#include "collector/record/arena.h"
#include "collector/options/categories.h"
#include "collector/options/collect_options.h"
#include "collector/base/clock.h"
#include "collector/record/collector.h"
#include "collector/samples/cpu_samples.h"
#include "collector/base/log.h"
#include "collector/replay/pause.h"
#include "collector/drain/drain.h"
#include "collector/names/reader.h"
#include "collector/names/symbols.h"
#include "collector/record/process.h"
#include "collector/record/recording.h"
#include "collector/samples/samples.h"
#include "collector/states/states.h"
#include "collector/trace/trace_file.h"

#define PROGRAMS_MAX 1024 /* that said hello */
#define RECORDINGS_MAX 1024 /* that are not finished */
/* Of these, of one process: it calls exec(3) faster than we end them. */
#define OF_PROCESS_MAX 16
/* Of 128 TiB that a process can map. */
#define ARENA_BYTES_MAX (32ULL << 40)
/* Arenas that are larger than usual leave a quarter of that to others. */
#define ARENA_BYTES_USUAL (64ULL << 30)
#define LARGE_BYTES_MAX (ARENA_BYTES_MAX / 4 * 3)

/* A recording of one session that is not finished. */
struct open_recording {
	struct open_recording *next; /* under the collector's lock */
	struct collector *collector;
	struct recording *recording; /* no reference */
	struct user *user; /* whose it is */
	uint64_t session; /* its number */
	pid_t pid; /* that has said hello */
};

/* --- limits -----------------------------------------------------------------
 */

/* What all recordings have on disk; *@own: those of @user. */
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

/* Whether others than we are served. */
static bool is_shared(const struct collector *collector)
{
	return collector->options->allowed_count > 0;
}

static bool is_disk_full(struct collector *collector, const struct user *user)
{
	uint64_t most = collector->limits->max_total, own,
		 all = most ? bytes_on_disk(collector, user, &own) : 0;

	return most && !users_may_have(own, all, most, 1, is_shared(collector));
}

/* How many recordings of process @pid are not finished. */
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

static bool is_large(uint64_t arena_bytes)
{
	return arena_bytes > ARENA_BYTES_USUAL;
}

/* Why @user may not have one more session, among all that there are. */
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
		       "move them, and start perfrec-collect again)";
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
	/* One line for all at the end, by perfrec: not one for each process. */
	if (collector->recording) {
		recording_refuse(collector->recording, pid, why);
		log_at(LOG_DBG, "refused program with pid %d: %s", (int)pid,
		       why);
		return;
	}
	log_limited(&refusal->limit, LOG_WARN,
		    "refused program with pid %d: %s", (int)pid, why);
}

static uint64_t folder_bytes(int dir_fd)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;
	struct stat status;
	uint64_t bytes = 0;

	while (dir && (entry = readdir(dir)))
		if (!fstatat(dir_fd, entry->d_name, &status,
			     AT_SYMLINK_NOFOLLOW) &&
		    S_ISREG(status.st_mode))
			bytes += (uint64_t)status.st_size;
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
	return bytes;
}

/* A recording of one session is finished. Any thread. */
static void recording_ended(struct recording *recording, void *context)
{
	struct open_recording *open = context;
	struct collector *collector = open->collector;
	struct open_recording **link = &collector->recordings;
	uint64_t bytes = folder_bytes(recording_setup(recording)->dir_fd),
		 one = 1;

	lock_acquire(&collector->lock);
	while (*link != open)
		link = &(*link)->next;
	*link = open->next;
	collector->recording_count--;
	collector->limits->finished_bytes += bytes;
	open->user->has.recordings--;
	open->user->has.disk_bytes += bytes;
	lock_release(&collector->lock);
	free(open);
	readers_rest(symbol_cache_readers(collector->symbols));
	if (collector->sampler)
		sampler_rest(collector->sampler, recording);
	/* Somebody may wait for it: ctl_server.c. */
	if (write(collector->done_fd, &one, sizeof(one)) < 0)
		log_err("cannot wake the main thread: %m");
}

static struct user *user_of(struct collector *collector, struct arena *arena)
{
	return users_find(&collector->limits->users, arena_setup(arena)->uid);
}

/* 0 or -ENOMEM. */
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
	recording_on_end(arena_setup(arena)->recording, recording_ended, open);
	lock_acquire(&collector->lock);
	open->next = collector->recordings;
	collector->recordings = open;
	collector->recording_count++;
	open->user->has.recordings++;
	lock_release(&collector->lock);
	return 0;
}

struct recording *session_open_recording(struct collector *collector,
					 size_t index)
{
	const struct open_recording *open;
	struct recording *recording = NULL;

	lock_acquire(&collector->lock);
	open = collector->recordings;
	while (open && index-- > 0)
		open = open->next;
	/* One in the list has not been freed. */
	if (open && recording_get_if(open->recording))
		recording = open->recording;
	lock_release(&collector->lock);
	return recording;
}

/* --- life -------------------------------------------------------------------
 */

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
}

/* Write the control word as held and paused say. Under the arena's lock. */
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
	/* A program looks at the word now and then: what it records until it
	 * has seen it is left out by time. */
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
