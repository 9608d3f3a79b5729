/* SPDX-License-Identifier: Apache-2.0
 *
 * ends - leaves behind a process that is in the middle of its end: the first
 * one of a pid namespace, kept from ending by another in it, which is traced.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
#define QUIET __attribute__((noinline, no_instrument_function))
__attribute__((noinline)) static void leaf(void)
{
	__asm__ volatile("");
}
QUIET static void wait_file(const char *name)
{
	while (access(name, F_OK) < 0)
		usleep(1000);
}
QUIET static void make_file(const char *name)
{
	close(open(name, O_WRONLY | O_CREAT, 0600));
}
/* "ends trace": traces the process whose number it reads. */
QUIET static int trace(void)
{
	int pid = 0;

	if (scanf("%d", &pid) != 1 || ptrace(PTRACE_SEIZE, pid, 0, 0))
		return 1;
	make_file("traced");
	wait_file("go");
	return 0;
}
/* Whether the kernel has begun to end @pid: PF_EXITING. */
QUIET static int is_ending(int pid)
{
	unsigned int flags = 0;
	char path[64], text[512] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "r");
	if (file) {
		if (fgets(text, sizeof(text), file) && strrchr(text, ')'))
			sscanf(strrchr(text, ')'),
			       ") %*c %*d %*d %*d %*d %*d %u", &flags);
		fclose(file);
	}
	return flags & 4;
}
QUIET static int child_of(int pid)
{
	char path[64];
	FILE *file;
	int child = 0;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	while (!child) {
		file = fopen(path, "r");
		if (!file || fscanf(file, "%d", &child) != 1)
			usleep(1000);
		if (file)
			fclose(file);
	}
	return child;
}
int main(int argc, char **argv)
{
	static char *unrecorded[] = { "PERFREC_DISABLE=1", NULL };
	char *tracer[] = { argv[0], "trace", NULL };
	int tube[2], first;

	if (argc > 1)
		return trace();
	if (pipe(tube))
		return 2;
	if (!fork()) {
		dup2(tube[0], 0);
		execve(argv[0], tracer, unrecorded);
		_exit(2);
	}
	if (unshare(CLONE_NEWPID))
		return 77;
	first = fork();
	if (!first) {
		if (!fork())
			for (;;)
				pause();
		leaf();
		make_file("called");
		wait_file("traced");
		_exit(0);
	}
	/* Makes the collector read the records before the end. */
	wait_file("called");
	if (system("env -i \"$PERFREC\" ctl -o record flush >flush.out"))
		return 3;
	dprintf(tube[1], "%d\n", child_of(first));
	while (!is_ending(first))
		usleep(1000);
	return 0;
}
