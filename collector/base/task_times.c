/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/base/task_times.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "collector/base/proc.h"

#define NS_PER_S UINT64_C(1000000000)

/* Fields of a stat file: proc(5). */
enum stat_field {
	STAT_STATE = 3,
	STAT_MINOR_FAULTS = 10,
	STAT_MAJOR_FAULTS = 12,
	STAT_USER = 14,
	STAT_SYSTEM = 15,
};

static bool parse_number(const char **text, uint64_t *number)
{
	const char *at = *text;

	*number = 0;
	for (; *at >= '0' && *at <= '9'; at++) {
		uint64_t digit = (uint64_t)(*at - '0');

		if (__builtin_mul_overflow(*number, 10, number) ||
		    __builtin_add_overflow(*number, digit, number))
			return false;
	}
	if (at == *text)
		return false;
	*text = at;
	return true;
}

int task_times_parse_schedstat(const char *text, struct task_times *out)
{
	uint64_t on_cpu_ns, delay_ns, slices;

	if (!parse_number(&text, &on_cpu_ns) || *text++ != ' ' ||
	    !parse_number(&text, &delay_ns) || *text++ != ' ' ||
	    !parse_number(&text, &slices) || *text != '\n')
		return -EBADMSG;
	out->on_cpu_ns = on_cpu_ns;
	out->delay_ns = delay_ns;
	/* A kernel without these counters reports 0 everywhere, but so does a
	 * thread that never ran. */
	out->has_delay = on_cpu_ns || delay_ns || slices;
	return 0;
}

/* Parses field @field of @stat, a number with another field behind it. */
static bool stat_number(const char *stat, enum stat_field field,
			uint64_t *number)
{
	const char *text = proc_stat_field(stat, (int)field);

	return parse_number(&text, number) && *text == ' ';
}

static uint64_t ticks_ns(uint64_t ticks)
{
	uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK), ns;

	return __builtin_mul_overflow(ticks, NS_PER_S / hz, &ns) ? UINT64_MAX
								 : ns;
}

int task_times_parse_stat(const char *text, struct task_times *out)
{
	const char *state = proc_stat_field(text, STAT_STATE);
	uint64_t minor_faults, major_faults, user, system;

	if (!state[0] || state[1] != ' ' ||
	    !stat_number(text, STAT_MINOR_FAULTS, &minor_faults) ||
	    !stat_number(text, STAT_MAJOR_FAULTS, &major_faults) ||
	    !stat_number(text, STAT_USER, &user) ||
	    !stat_number(text, STAT_SYSTEM, &system))
		return -EBADMSG;
	out->state = state[0];
	out->minor_faults = minor_faults;
	out->major_faults = major_faults;
	out->user_ns = ticks_ns(user);
	out->system_ns = ticks_ns(system);
	return 0;
}

static int read_task_file(pid_t pid, pid_t tid, const char *name, char *text,
			  size_t size)
{
	char path[48];

	snprintf(path, sizeof(path), "task/%d/%s", (int)tid, name);
	errno = 0;
	if (proc_read(pid, path, text, size))
		return 0;
	return errno && errno != ENOENT ? -errno : -ESRCH;
}

/* Returns true if this kernel has the counters: our first thread has run, so
 * they are not 0 then. */
static bool kernel_counts(void)
{
	struct task_times times = { 0 };
	char text[PROC_STAT_BYTES];
	pid_t pid = getpid();

	return !read_task_file(pid, pid, "schedstat", text, sizeof(text)) &&
	       !task_times_parse_schedstat(text, &times) && times.has_delay;
}

int task_times_read(pid_t pid, pid_t tid, struct task_times *out)
{
	struct task_times times = { 0 };
	char text[PROC_STAT_BYTES];
	int err;

	*out = times;
	err = read_task_file(pid, tid, "stat", text, sizeof(text));
	if (!err)
		err = task_times_parse_stat(text, &times);
	if (err)
		return err;
	/* Some kernels lack this file. */
	err = read_task_file(pid, tid, "schedstat", text, sizeof(text));
	if (!err)
		err = task_times_parse_schedstat(text, &times);
	if (err && err != -ESRCH)
		return err;
	if (err)
		times.on_cpu_ns = times.user_ns + times.system_ns;
	else if (!times.has_delay)
		times.has_delay = kernel_counts();
	*out = times;
	return 0;
}
