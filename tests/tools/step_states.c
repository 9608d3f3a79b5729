/* SPDX-License-Identifier: Apache-2.0
 *
 * step_states - changes the state of a function in a recorded program at each
 * instruction of a call.
 *
 * usage: step_states SOCKET PID FUNCTION FIRST STRIDE
 *
 * The program, whose main thread is PID, executes an int3 before the call, with
 * rax not 0 (0: it ends), and an int3 after it. step_states single-steps it
 * from the first int3: FIRST instructions the first time, then STRIDE more,
 * until the call has no more. There it sets another state of the function
 * through the socket of `perfrec ctl`, in each way from one state to another.
 * Prints the number of changes, and the number of instructions before the last
 * change.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

/* To be taken in a change takes much less; if not, it comes later. */
#define TAKEN_MS 40
/* One in so many waits until the function is off, though its call is open. */
#define WAITS_EVERY 16

/* States by the letters of ctl_wire.h. */
static const char ways[][2] = { { 's', 'c' }, { 's', 'o' }, { 'c', 'o' },
				{ 'c', 's' }, { 'o', 's' }, { 'o', 'c' } };

static const char *g_socket, *g_function;
static pid_t g_pid;

static void die(const char *what)
{
	fprintf(stderr, "step_states: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* --- the collector ------------------------------------------------------- */

static int request(char state)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	char line[256];

	strncpy(address.sun_path, g_socket, sizeof(address.sun_path) - 1);
	snprintf(line, sizeof(line), "functions\t%c%s\n", state, g_function);
	if (fd < 0 ||
	    connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    send(fd, line, strlen(line), MSG_NOSIGNAL) < 0)
		die("cannot ask the collector");
	return fd;
}

/* The answer comes when the state is the function's. */
static void wait_answer(int fd)
{
	char answer[65536];
	ssize_t got, sum = 0;
	bool error = false;

	while ((got = recv(fd, answer, sizeof(answer), 0)) > 0) {
		error |= !sum && !memcmp(answer, "{\"error", 7);
		sum += got;
	}
	close(fd);
	if (got < 0 || !sum || error)
		die("the collector does not answer");
}

/* --- the program --------------------------------------------------------- */

/* Whether it stopped at an int3, not after a step. */
static bool wait_stop(void)
{
	siginfo_t info;
	int status;

	for (;;) {
		if (waitpid(g_pid, &status, __WALL) < 0)
			die("waitpid");
		if (!WIFSTOPPED(status)) {
			fprintf(stderr, "step_states: it ended: %#x\n", status);
			exit(1);
		}
		if (WSTOPSIG(status) == SIGTRAP)
			break;
		ptrace(PTRACE_CONT, g_pid, NULL,
		       WSTOPSIG(status) == SIGSTOP ? 0L
						   : (long)WSTOPSIG(status));
	}
	if (ptrace(PTRACE_GETSIGINFO, g_pid, NULL, &info) < 0)
		die("PTRACE_GETSIGINFO");
	return info.si_code == SI_KERNEL;
}

/* To the next int3. */
static void run_on(void)
{
	do {
		if (ptrace(PTRACE_CONT, g_pid, NULL, NULL) < 0)
			die("PTRACE_CONT");
	} while (!wait_stop());
}

/* One instruction. False: it was the int3 behind the call. */
static bool step(void)
{
	if (ptrace(PTRACE_SINGLESTEP, g_pid, NULL, NULL) < 0)
		die("PTRACE_SINGLESTEP");
	return !wait_stop();
}

static void tell_to_go_on(bool go_on)
{
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, g_pid, NULL, &regs) < 0)
		die("PTRACE_GETREGS");
	regs.rax = go_on;
	if (ptrace(PTRACE_SETREGS, g_pid, NULL, &regs) < 0)
		die("PTRACE_SETREGS");
}

/* --- together ------------------------------------------------------------ */

/* The program is at the first int3, and afterwards there again. False: the call
 * has less than @steps instructions. */
static bool change_after(unsigned long steps, const char way[2], bool waits)
{
	struct pollfd event = { .events = POLLIN };
	bool inside = true;

	wait_answer(request(way[0]));
	tell_to_go_on(true);
	for (unsigned long i = 0; i < steps && inside; i++)
		inside = step();
	if (inside) {
		event.fd = request(way[1]);
		if (waits)
			wait_answer(event.fd);
		else
			poll(&event, 1, TAKEN_MS);
		run_on();
		if (!waits)
			wait_answer(event.fd);
	}
	run_on();
	return inside;
}

int main(int argc, char **argv)
{
	unsigned long steps, stride, changes = 0, last = 0;
	bool inside = true;

	if (argc < 6)
		return 2;
	g_socket = argv[1];
	g_pid = atoi(argv[2]);
	g_function = argv[3];
	stride = strtoul(argv[5], NULL, 10);
	if (ptrace(PTRACE_ATTACH, g_pid, NULL, NULL) < 0)
		die("PTRACE_ATTACH");
	while (!wait_stop())
		ptrace(PTRACE_CONT, g_pid, NULL, NULL);
	for (steps = strtoul(argv[4], NULL, 10); inside; steps += stride) {
		for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
			inside &= change_after(steps, ways[i],
					       changes % WAITS_EVERY == 0);
			changes += inside;
			last = inside ? steps : last;
		}
	}
	tell_to_go_on(false);
	ptrace(PTRACE_DETACH, g_pid, NULL, NULL);
	printf("%lu changes, the last after %lu instructions\n", changes, last);
	return 0;
}
