/* SPDX-License-Identifier: Apache-2.0
 *
 * starts - starts itself in each way of exec and posix_spawn, from each place
 * that permits it, with an environment that is not its own.
 *
 *	starts			all of them
 *	starts started		the started program: one call of started()
 *	starts ways		the number of ways
 *	starts largest		the largest size of an environment
 *	starts maps COUNT	by vfork(): mappings before and after
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MANY 10000

static char *few[] = { "A=1", "LANG=C", NULL };
static char *other[] = { "LD_PRELOAD=libm.so.6", "A=1", NULL };
static char *none[] = { NULL };
static char *many[MANY + 1];
static char *arguments[] = { "starts", "started", NULL };
static char *many_arguments[MANY + 1];
static char **const environments[] = { few, other, none, many };
static char self[PATH_MAX];
static int self_fd;

static void put(const char *text)
{
	if (write(STDOUT_FILENO, text, strlen(text)) < 0)
		abort();
}

enum form {
	EXECVE,
	EXECVPE,
	EXECLE,
	FEXECVE,
	EXECVEAT,
	EXECV,
	EXECVP,
	EXECL,
	EXECLP,
	SPAWN,
	SPAWNP,
	FORMS,
};

static void exec_by(enum form form, char **variables)
{
	char **args = variables == many ? many_arguments : arguments;

	if (form >= EXECV)
		environ = variables;
	switch (form) {
	case EXECVE:
		execve(self, args, variables);
		break;
	case EXECVPE:
		execvpe(self, args, variables);
		break;
	case EXECLE:
		execle(self, "starts", "started", "3", "4", "5", "6", "7", "8",
		       NULL, variables);
		break;
	case FEXECVE:
		fexecve(self_fd, args, variables);
		break;
	case EXECVEAT:
		execveat(self_fd, "", args, variables, AT_EMPTY_PATH);
		break;
	case EXECV:
		execv(self, args);
		break;
	case EXECVP:
		execvp(self, args);
		break;
	case EXECL:
		execl(self, "starts", "started", "3", "4", "5", "6", "7", "8",
		      NULL);
		break;
	case EXECLP:
		execlp(self, "starts", "started", NULL);
		break;
	default:
		break;
	}
	put("exec failed\n");
	_exit(9);
}

static void await(pid_t pid)
{
	int status = -1;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pid <= 0 || status)
		put("a child failed\n");
}

static enum form g_form;
static char **g_variables;

static void in_handler(int number)
{
	(void)number;
	exec_by(g_form, g_variables);
}

static void spawn(void)
{
	char **args = g_variables == many ? many_arguments : arguments;
	pid_t pid = -1;

	errno = 77;
	if (g_form == SPAWN)
		posix_spawn(&pid, self, NULL, NULL, args, g_variables);
	else
		posix_spawnp(&pid, self, NULL, NULL, args, g_variables);
	if (errno != 77)
		put("errno has changed\n");
	await(pid);
}

static void *in_thread(void *unused)
{
	pid_t pid;

	if (g_form >= SPAWN) {
		spawn();
		return unused;
	}
	pid = fork();
	if (!pid)
		exec_by(g_form, g_variables);
	await(pid);
	return unused;
}

static void by_fork(void)
{
	pid_t pid = fork();

	if (!pid)
		exec_by(g_form, g_variables);
	await(pid);
}

static void by_vfork(void)
{
	/* The child shares it. */
	char **before = environ;
	pid_t pid = vfork();

	if (!pid)
		exec_by(g_form, g_variables);
	environ = before;
	await(pid);
}

static void by_handler(void)
{
	pid_t pid = fork();

	if (!pid) {
		signal(SIGUSR1, in_handler);
		raise(SIGUSR1);
	}
	await(pid);
}

/* Where there is little stack. */
static void by_thread(void)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN);
	pthread_create(&thread, &attributes, in_thread, NULL);
	pthread_join(thread, NULL);
}

static void (*const ways[])(void) = { by_fork, by_vfork, by_handler,
				      by_thread };
#define WAYS (sizeof(ways) / sizeof(ways[0]))
#define ENVIRONMENTS (sizeof(environments) / sizeof(environments[0]))

static void all(void)
{
	for (size_t i = 0; i < ENVIRONMENTS; i++) {
		g_variables = environments[i];
		for (g_form = 0; g_form < SPAWN; g_form++)
			for (size_t way = 0; way < WAYS; way++)
				ways[way]();
		for (; g_form < FORMS; g_form++) {
			spawn();
			by_thread();
		}
	}
}

__attribute__((noinline)) static void started(void)
{
	const char *preload = getenv("LD_PRELOAD");
	int count = 0;

	for (; preload && (preload = strstr(preload, "libperfrec_preload"));
	     preload++)
		count++;
	if (count > 1)
		put("twice in LD_PRELOAD\n");
	put(getenv("A") || !environ[0] || getenv("PERFREC_SOCKET") ? "started\n"
								   : "empty\n");
}

/* True if a program starts with @variables. */
static int has_room(char **variables)
{
	pid_t pid;

	if (posix_spawn(&pid, "/bin/true", NULL, NULL, arguments, variables))
		return 0;
	await(pid);
	return 1;
}

/* The most that exec takes must not depend on what the shim adds. */
static void largest(void)
{
	static char text[128 << 10], last[128 << 10];
	char *variables[64] = { text, NULL };
	size_t count = 1, bytes = sizeof(last) - 1;

	memset(text, 'x', sizeof(text) - 1);
	memset(last, 'x', sizeof(last) - 1);
	while (count < 62 && has_room(variables))
		variables[count++] = text;
	variables[count - 1] = last;
	while (bytes && !has_room(variables))
		last[bytes--] = '\0';
	printf("%zu and %zu bytes\n", count, bytes);
}

static int count_maps(void)
{
	FILE *file = fopen("/proc/self/maps", "re");
	int count = 0, c;

	while (file && (c = getc(file)) != EOF)
		count += c == '\n';
	fclose(file);
	return count;
}

int main(int argc, char **argv)
{
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (length < 0)
		return 8;
	if (argc > 1 && !strcmp(argv[1], "started")) {
		started();
		return 0;
	}
	self_fd = open(self, O_RDONLY | O_CLOEXEC);
	for (int i = 0; i < MANY; i++) {
		many[i] = i ? "BB=2" : "A=1";
		many_arguments[i] = i < 2 ? arguments[i] : "3";
	}
	if (argc > 1 && !strcmp(argv[1], "ways")) {
		printf("%zu\n",
		       ENVIRONMENTS * (SPAWN * WAYS + (FORMS - SPAWN) * 2));
	} else if (argc > 1 && !strcmp(argv[1], "largest")) {
		largest();
	} else if (argc > 2) {
		int before = count_maps();

		g_variables = many;
		for (int i = 0; i < atoi(argv[2]); i++)
			by_vfork();
		fprintf(stderr, "%d\n", count_maps() > before + 5);
	} else {
		all();
	}
	return 0;
}
