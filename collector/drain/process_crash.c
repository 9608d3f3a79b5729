/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/drain/process_crash.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>

#include "collector/record/arena.h"
#include "collector/record/process.h"
#include "collector/record/recording.h"
#include "collector/record/triggers.h"

/* Signals that people send to end a program. */
static bool is_asked_for(int signal)
{
	return signal == SIGHUP || signal == SIGINT || signal == SIGQUIT ||
	       signal == SIGTERM;
}

static void fire_crash(struct recording *recording,
		       const struct trigger_place *place, const char *name,
		       int wait_status)
{
	if (WIFSIGNALED(wait_status) && !is_asked_for(WTERMSIG(wait_status)))
		triggers_crash(recording_setup(recording)->triggers, place,
			       name, WTERMSIG(wait_status));
}

void process_crash_look(struct process *process)
{
	const struct process_setup *setup = process_setup(process);
	struct recording *recording = setup->arena_setup->recording;
	const struct process_ending *ending = process_ending(process);
	struct trigger_place place = { .pid = setup->pid };
	char name[sizeof(setup->entry->name)];
	int wait_status;

	if (!recording_setup(recording)->triggers || !ending ||
	    ending->why != PROCESS_EXITED)
		return;
	wait_status = process_wait_status(process);
	if (wait_status < 0)
		return;
	place.ns = ending->ns;
	recording_lock(recording);
	memcpy(name, setup->entry->name, sizeof(name));
	recording_unlock(recording);
	fire_crash(recording, &place, name, wait_status);
}

void process_crash_told(struct recording *recording, pid_t pid, uint64_t ns,
			int wait_status)
{
	const struct trigger_place place = { .ns = ns, .pid = pid };

	fire_crash(recording, &place, "", wait_status);
}
