/* SPDX-License-Identifier: Apache-2.0
 *
 * within SECONDS COMMAND [ARGUMENT...] - run COMMAND, which has so many seconds of
 * its own time. The exit status is the command's, or 124 if the time is over.
 *
 * Own time is the CPU time of the command and its descendants while one of them can
 * run, and time by the clock while all of them sleep. So other load on the machine
 * does not count: a test that waits for a CPU has as much time as on an idle
 * machine, and a test that waits in vain ends as soon.
 *
 * Orphans among the descendants become children of this program, which kills
 * them when the command has ended.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	STEP = 2, /* seconds from one look to the next */
	GRACE = 5, /* seconds from SIGTERM to SIGKILL */
	EXIT_LATE = 124, /* as timeout(1) */
	PROCESSES_MAX = 65536,
};

/* proc_pid_stat(5): state and parent, and utime, stime, cutime, cstime. */
#define FIELDS " %c %d" SKIP_9 " %lu %lu %lu %lu"
#define SKIP_9 " %*s %*s %*s %*s %*s %*s %*s %*s %*s"

struct process {
	int pid, parent;
	char state; /* of its main thread */
	double cpu; /* seconds, with the children that it has waited for */
	bool ours;
};

static struct process g_processes[PROCESSES_MAX];
static size_t g_count;

static double clock_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Reads a stat file of /proc. Returns false if the process is gone. */
static bool read_stat(const char *path, struct process *process)
{
	unsigned long ticks[4];
	char line[1024], *rest;
	FILE *file = fopen(path, "re");
	size_t length;

	if (!file)
		return false;
	length = fread(line, 1, sizeof(line) - 1, file);
	fclose(file);
	line[length] = '\0';
	/* A name may have blanks and parentheses. */
	rest = strrchr(line, ')');
	if (!rest || sscanf(rest + 1, FIELDS, &process->state, &process->parent,
			    &ticks[0], &ticks[1], &ticks[2], &ticks[3]) != 6)
		return false;
	process->cpu = (double)(ticks[0] + ticks[1] + ticks[2] + ticks[3]) /
		       (double)sysconf(_SC_CLK_TCK);
	return true;
}

/* Calls @visit for each number that is a name in folder @path, until it returns
 * true. Returns what the last call returned.
 */
static bool for_numbers(const char *path,
			bool (*visit)(const char *path, int number))
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	bool found = false;
	int number;

	if (!dir)
		return false;
	while (!found && (entry = readdir(dir))) {
		number = atoi(entry->d_name);
		found = number > 0 && visit(path, number);
	}
	closedir(dir);
	return found;
}

static bool add_process(const char *path, int pid)
{
	struct process *process = &g_processes[g_count];
	char name[160];

	snprintf(name, sizeof(name), "%s/%d/stat", path, pid);
	*process = (struct process){ .pid = pid };
	g_count += read_stat(name, process);
	return g_count == PROCESSES_MAX;
}

static bool is_descendant(const struct process *process)
{
	bool found = process->parent == getpid();

	for (size_t i = 0; !found && i < g_count; i++)
		found = g_processes[i].ours &&
			g_processes[i].pid == process->parent;
	return found;
}

/* Fills the table, and marks the descendants of this process. */
static void list_processes(void)
{
	bool more;

	g_count = 0;
	for_numbers("/proc", add_process);
	do {
		more = false;
		for (size_t i = 0; i < g_count; i++) {
			struct process *one = &g_processes[i];

			if (one->ours || !is_descendant(one))
				continue;
			one->ours = true;
			more = true;
		}
	} while (more);
}

static bool thread_can_run(const char *path, int tid)
{
	struct process thread;
	char name[160];

	snprintf(name, sizeof(name), "%s/%d/stat", path, tid);
	return read_stat(name, &thread) && thread.state == 'R';
}

/* Can a thread of a descendant run? @cpu becomes the CPU time of all descendants. */
static bool look(double *cpu)
{
	struct rusage ended;
	bool can_run = false;
	char path[96];

	list_processes();
	getrusage(RUSAGE_CHILDREN, &ended);
	*cpu = (double)(ended.ru_utime.tv_sec + ended.ru_stime.tv_sec) +
	       (double)(ended.ru_utime.tv_usec + ended.ru_stime.tv_usec) / 1e6;
	for (size_t i = 0; i < g_count; i++) {
		if (!g_processes[i].ours)
			continue;
		*cpu += g_processes[i].cpu;
		snprintf(path, sizeof(path), "/proc/%d/task",
			 g_processes[i].pid);
		can_run = can_run || g_processes[i].state == 'R' ||
			  for_numbers(path, thread_can_run);
	}
	return can_run;
}

static void kill_all(int sig)
{
	list_processes();
	for (size_t i = 0; i < g_count; i++)
		if (g_processes[i].ours)
			kill(g_processes[i].pid, sig);
}

/* Waits for all children that have ended. Returns true if @pid is one. */
static bool reap(pid_t pid, int *status)
{
	bool ended = false;
	int one;
	pid_t child;

	while ((child = waitpid(-1, &one, WNOHANG)) > 0) {
		if (child != pid)
			continue;
		*status = one;
		ended = true;
	}
	return ended;
}

/* Until there is no descendant, SIGKILL is sent again: one may just have forked. */
static void end_all(int sig)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	double until = clock_s() + GRACE;
	int status;

	kill_all(sig);
	while (reap(-1, &status), waitpid(-1, &status, WNOHANG) >= 0) {
		nanosleep(&pause, NULL);
		if (sig == SIGKILL || clock_s() > until)
			kill_all(SIGKILL);
	}
}

/* Waits until child @pid ends, and returns the exit status; or until its time is
 * over.
 */
static int watch(pid_t pid, double seconds, const sigset_t *signals)
{
	const struct timespec step = { .tv_sec = STEP };
	double begin = clock_s(), last = begin, last_cpu = 0, own = 0, now, cpu;
	int sig, status;

	while (own < seconds) {
		sig = sigtimedwait(signals, NULL, &step);
		if (sig > 0 && sig != SIGCHLD) {
			end_all(sig);
			return 128 + sig;
		}
		if (reap(pid, &status))
			return WIFEXITED(status) ? WEXITSTATUS(status)
						 : 128 + WTERMSIG(status);
		now = clock_s();
		if (now - last < STEP / 2.0)
			continue;
		if (look(&cpu) && cpu - last_cpu < now - last)
			own += cpu > last_cpu ? cpu - last_cpu : 0;
		else
			own += now - last;
		last = now;
		last_cpu = cpu;
	}
	fprintf(stderr,
		"not done after %.0f seconds of own time, %.0f by the clock\n",
		seconds, clock_s() - begin);
	end_all(SIGTERM);
	return EXIT_LATE;
}

int main(int argc, char **argv)
{
	double seconds = argc > 2 ? atof(argv[1]) : 0;
	sigset_t signals, before;
	int status;
	pid_t pid;

	if (seconds <= 0) {
		fprintf(stderr,
			"usage: within SECONDS COMMAND [ARGUMENT...]\n");
		return 2;
	}
	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &signals, &before);
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	pid = fork();
	if (pid < 0) {
		perror("within: fork");
		return 2;
	}
	if (!pid) {
		setpgid(0, 0);
		sigprocmask(SIG_SETMASK, &before, NULL);
		execvp(argv[2], argv + 2);
		fprintf(stderr, "within: %s: %s\n", argv[2], strerror(errno));
		_exit(127);
	}
	status = watch(pid, seconds, &signals);
	end_all(SIGKILL);
	return status;
}
