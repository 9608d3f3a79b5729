/* SPDX-License-Identifier: Apache-2.0
 *
 * process_who - reading the environment or the context of a program can block
 * on its file system or its memory. So only the jobs thread of its own
 * recording reads them. The main thread posts a look, and no other one before
 * it is over.
 *
 * Attributes of the environment come after those of the context and replace
 * them: OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES, context, program.
 *
 * Forked children are not read: a child is the same program as its parent.
 */
#include "collector/drain/process_who.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "collector/base/bytes.h"
#include "collector/base/clock.h"
#include "collector/base/jobs.h"
#include "collector/base/log.h"
#include "collector/base/path.h"
#include "collector/base/proc.h"
#include "collector/drain/process_context.h"
#include "collector/drain/process_describe.h"
#include "collector/drain/process_words.h"
#include "collector/names/modules.h"
#include "collector/options/collect_options.h"
#include "collector/record/arena.h"
#include "collector/record/attributes.h"
#include "collector/record/collector.h"
#include "collector/record/process.h"
#include "collector/record/who.h"
#include "shared/compiler.h"

/* The kernel's limit for arguments and environment with a stack limit of 8 MiB
 * (execve(2)). */
#define ENVIRONMENT_MAX (2u << 20)
#define MOUNTS_MAX (64u << 10) /* bytes of mountinfo */
#define AGAIN_NS UINT64_C(250000000) /* first pause; doubles each time */
#define AGAIN_MAX_NS UINT64_C(64000000000)

struct process_who {
	struct job job; /* first */
	/* Under the recording's lock: */
	bool busy; /* the job runs, with a reference to recording */
	/* the process ended; the job, or else its end, frees this */
	bool ended;
	/* Main thread: */
	uint64_t due_ns, again_ns;
	/* Job: */
	struct recording *recording;
	struct modules *modules;
	struct process_card card;
	uid_t uid; /* of the program; root sees all */
	uint64_t began;
	struct process_context context;
	bool known;
};

static void free_who(struct process_who *who)
{
	modules_put(&who->modules);
	free(who);
}

/* --- attributes of a process --------------------------------------------- */

static void set_text(struct who *out, bool told, const char *key,
		     const char *value)
{
	(void)who_set(out, told, key, strlen(key), value, strlen(value));
}

/* Sets the attributes that every program has. @is_there: /proc has its
 * executable. */
static void set_program(const struct process_who *who, bool is_there,
			struct who *out)
{
	static const char deleted[] = " (deleted)";
	char path[64], target[4096];
	struct utsname host;
	const char *name = who->card.entry->name;
	ssize_t length = 0;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)who->card.pid);
	if (is_there)
		length = readlink(path, target, sizeof(target) - 1);
	if (length > 0) {
		target[length] = '\0';
		if ((size_t)length > strlen(deleted) &&
		    !strcmp(target + length - strlen(deleted), deleted))
			target[(size_t)length - strlen(deleted)] = '\0';
		name = path_name(target);
	}
	set_text(out, false, WHO_SERVICE, name);
	set_text(out, false, WHO_EXECUTABLE, name);
	if (uname(&host) == 0)
		set_text(out, false, "host.name", host.nodename);
}

/* Copies our own environment, which is also that of the command of perfrec
 * record: a command that has ended has none in /proc. Returns the number of
 * bytes; 0 without a command. */
static size_t own_environment(const struct process_who *who, char *out)
{
	size_t count = 0, bytes;

	if (!recording_setup(who->recording)->options->command)
		return 0;
	for (char **entry = environ; *entry; entry++, count += bytes) {
		bytes = strlen(*entry) + 1;
		if (bytes > ENVIRONMENT_MAX - count)
			break;
		memcpy(out + count, *entry, bytes);
	}
	return count;
}

/* Returns true if this id is still the recorded program, with no more rights
 * than its user. */
static bool is_same_process(const struct process_who *who)
{
	return proc_began(who->card.pid) == who->began &&
	       proc_is_of_user(who->card.pid, who->uid);
}

static void set_environment(const struct process_who *who, struct who *out)
{
	char *text = malloc(ENVIRONMENT_MAX), note[256];
	size_t count, bad;

	if (!text)
		return;
	count = proc_read(who->card.pid, "environ", text, ENVIRONMENT_MAX);
	if (count && is_same_process(who))
		/* the last variable may be cut; proc_read() terminates it */
		count++;
	else
		count = own_environment(who, text);
	bad = process_words_environment(text, count, out);
	free(text);
	if (!bad)
		return;
	snprintf(note, sizeof(note),
		 "%zu of the attributes in OTEL_RESOURCE_ATTRIBUTES of '%s' %s "
		 "no KEY=VALUE of allowed length, and ignored",
		 bad, who->card.entry->name, bad == 1 ? "is" : "are");
	recording_note(who->recording, note);
}

/* Sets the attributes that the process reports. Returns false if another
 * process got its id meanwhile. */
static bool set_process(const struct process_who *who, struct who *out)
{
	uint64_t began;
	char *text;
	uint64_t auxv[64][2];
	size_t bytes;

	set_program(who, true, out);
	text = malloc(MOUNTS_MAX);
	if (text && proc_read(who->card.pid, "cgroup", text, MOUNTS_MAX) &&
	    !process_words_container(text, false, out) &&
	    proc_read(who->card.pid, "mountinfo", text, MOUNTS_MAX))
		(void)process_words_container(text, true, out);
	free(text);
	/* Where the code of the executable lies, from its entry point. */
	bytes = proc_read(who->card.pid, "auxv", (char *)auxv, sizeof(auxv));
	for (size_t i = 0; i < bytes / sizeof(*auxv); i++)
		if (auxv[i][0] == AT_ENTRY)
			who_set_code(out, who->modules, auxv[i][1]);
	began = proc_began(who->card.pid);
	return began == who->began || !began;
}

static void report_who(struct process_who *who, const struct bytes *payload)
{
	struct who *out;

	if (who_new(who->card.pid, &out) < 0)
		return;
	if (proc_began(who->card.pid) != who->began || !set_process(who, out)) {
		who_free(&out);
		if (who_new(who->card.pid, &out) < 0)
			return;
		set_program(who, false, out);
	}
	process_context_tell(payload, out);
	set_environment(who, out);
	if (!who->known || is_same_process(who)) {
		if (who_is_told(out))
			process_describe(&who->card, who->recording, out);
		log_dbg("process %d: %zu bytes of context, %s",
			(int)who->card.pid, payload->count,
			who_is_told(out) ? "told" : "not told");
		who_tell(who->recording, &out);
		who->known = true;
	}
	who_free(&out);
}

/* --- life ---------------------------------------------------------------- */

static void run_look(struct job *job)
{
	struct process_who *who = (struct process_who *)job;
	struct recording *recording = who->recording;
	bool ended;
	struct bytes payload = { 0 };
	char note[256];
	int err = process_context_read(who->card.pid, &who->context, &payload);

	if (err == -EBADMSG) {
		snprintf(note, sizeof(note),
			 "the context that '%s' publishes for profilers (OTEP "
			 "4719) is malformed, and ignored",
			 who->card.entry->name);
		recording_note(who->recording, note);
	}
	if (err || !is_same_process(who))
		bytes_clear(&payload);
	if (payload.count || !who->known)
		report_who(who, &payload);
	bytes_release(&payload);
	recording_lock(recording);
	who->busy = false;
	ended = who->ended;
	recording_unlock(recording);
	if (ended)
		free_who(who);
	recording_put(&recording);
}

static void post_look(struct process_who *who)
{
	bool busy;

	recording_lock(who->recording);
	busy = who->busy;
	who->busy = true;
	recording_unlock(who->recording);
	who->due_ns = clock_boottime_ns() + who->again_ns;
	who->again_ns = MIN(2 * who->again_ns, AGAIN_MAX_NS);
	if (busy)
		return;
	(void)recording_get(who->recording);
	jobs_post(recording_setup(who->recording)->jobs, &who->job);
}

void process_who_begin(struct process *process)
{
	const struct process_setup *setup = process_setup(process);
	struct process_who *who;

	/* An entry that is not listed may be freed before the job ends. */
	if (!process_is_listed(process))
		return;
	who = calloc(1, sizeof(*who));
	if (!who)
		return;
	*who = (struct process_who){
		.job = { .run = run_look },
		.again_ns = AGAIN_NS,
		.recording = setup->arena_setup->recording,
		.modules = modules_get(setup->modules),
		.card = { setup->entry, setup->pid, setup->uuid },
		.uid = setup->arena_setup->uid,
		.began = proc_began(setup->pid),
	};
	process_parts(process)->who = who;
	post_look(who);
}

void process_who_look(struct collector *collector)
{
	uint64_t now_ns = clock_boottime_ns();
	struct process *process;

	lock_acquire(&collector->lock);
	process = collector->processes;
	lock_release(&collector->lock);
	/* Only this thread removes processes; new ones go to the front. */
	for (; process; process = process_next_all(process)) {
		struct process_who *who = process_parts(process)->who;

		if (who && who->due_ns <= now_ns && !process_is_ending(process))
			post_look(who);
	}
}

void process_who_end(struct process_who **who)
{
	struct process_who *old = *who;
	bool busy;

	*who = NULL;
	if (!old)
		return;
	recording_lock(old->recording);
	old->ended = true;
	busy = old->busy;
	recording_unlock(old->recording);
	if (!busy)
		free_who(old);
}
