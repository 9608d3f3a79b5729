// SPDX-License-Identifier: Apache-2.0
// Calls library functions that perfrec record --calls-to takes, of all shapes, and
// prints their results, then how often it called each one.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "many.h"

static struct {
	long read, write, open, close, qsort, snprintf, getppid, puts;
} calls;
#define COUNT(name) (calls.name++, name)

static jmp_buf jump;
static int sorted;

static int compare(const void *a, const void *b)
{
	/* Leaves qsort(), which never returns then. */
	if (sorted++ == 3)
		longjmp(jump, 1);
	return *(const int *)a - *(const int *)b;
}

static int compare_plain(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static void leave_early(void)
{
	int list[] = { 5, 3, 9, 1, 7, 2 };

	sorted = 0;
	if (!setjmp(jump))
		COUNT(qsort)(list, 6, sizeof(list[0]), compare);
	COUNT(qsort)(list, 6, sizeof(list[0]), compare_plain);
	printf("%d%d%d%d%d%d\n", list[0], list[1], list[2], list[3], list[4],
	       list[5]);
}

static void files(void)
{
	char text[16] = "";
	int fd;
	long got;

	fd = COUNT(open)("made", O_CREAT | O_RDWR | O_TRUNC, 0640);
	printf("%ld\n", (long)COUNT(write)(fd, "some bytes", 10));
	lseek(fd, 0, SEEK_SET);
	for (int i = 0; i < 5; i++) {
		got = COUNT(read)(fd, text, 4);
		printf("%ld %.*s\n", got, (int)got, text);
	}
	COUNT(close)(fd);
	errno = 77;
	COUNT(getppid)();
	printf("errno stays %d\n", errno);
	fd = COUNT(open)("/nonexistent/file", O_RDONLY);
	printf("%d %s\n", fd, strerror(errno));
	fd = COUNT(open)((const char *)8, O_RDONLY);
	printf("%d %s\n", fd, strerror(errno));
	got = COUNT(read)(-1, text, 4);
	printf("%ld %s\n", got, strerror(errno));
}

static void many_arguments(void)
{
	char text[512];
	struct large large = { { 0 } };

	COUNT(snprintf)
	(text, sizeof(text),
	 "%d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d "
	 "%d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %g %s %Lg",
	 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20,
	 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38,
	 39, 1.5, "text", 2.5L);
	COUNT(puts)(text);
	printf("%ld\n", many_sum(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14,
				 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26,
				 27, 28, 29, 30));
	for (int i = 0; i < LARGE; i++)
		large.word[i] = i;
	printf("%ld\n", many_large(large, 7));
	large = many_back(3);
	printf("%ld\n", large.word[LARGE - 1]);
	printf("%g %Lg\n", many_double(1, 2, 3, 4, 5, 6, 7, 8, 9.5),
	       many_long(2.5L));
	printf("%ld\n",
	       many_va(20, 1L, 2L, 3L, 4L, 5L, 6L, 7L, 8L, 9L, 10L, 11L, 12L,
		       13L, 14L, 15L, 16L, 17L, 18L, 19L, 20L));
}

/* At the end of a stack there is nothing to copy. */
static ucontext_t back, edge;

__attribute__((noipa)) static void at_the_edge(void)
{
	getppid();
	many_sum(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18,
		 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30);
	puts("at the edge");
}

static void edges(void)
{
	char *stack = mmap(NULL, 81920, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);

	mprotect(stack, 65536, PROT_READ | PROT_WRITE);
	getcontext(&edge);
	edge.uc_stack.ss_sp = stack;
	edge.uc_stack.ss_size = 65536;
	edge.uc_link = &back;
	makecontext(&edge, at_the_edge, 0);
	swapcontext(&back, &edge);
	munmap(stack, 81920);
}

static void *reader(void *pipe)
{
	char byte;

	read(*(int *)pipe, &byte, 1);
	return NULL;
}

/* A thread that is cancelled in read(), and a child that reads. */
static void ends(void)
{
	int ends[2], status;
	pthread_t thread;
	void *result;

	if (pipe(ends))
		exit(1);
	pthread_create(&thread, NULL, reader, &ends[0]);
	pthread_cancel(thread);
	pthread_join(thread, &result);
	printf("cancelled %d\n", result == PTHREAD_CANCELED);
	fflush(stdout);
	if (!fork()) {
		char byte;
		int fd = open("made", O_RDONLY);

		_exit(read(fd, &byte, 1) == 1 ? 7 : 8);
	}
	wait(&status);
	printf("child %d\n", WEXITSTATUS(status));
	if (!vfork())
		_exit(6);
	wait(&status);
	printf("vforked %d\n", WEXITSTATUS(status));
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		void *plugin = dlopen(argv[1], RTLD_LAZY);
		int (*run)(void) =
			plugin ? (int (*)(void))dlsym(plugin, "plugin_run")
			       : NULL;

		printf("plugin %d\n", run ? run() : -1);
	}
	leave_early();
	files();
	many_arguments();
	edges();
	ends();
	printf("calls close %ld\ncalls getppid %ld\ncalls open %ld\ncalls puts "
	       "%ld\n"
	       "calls qsort %ld\ncalls snprintf %ld\ncalls write %ld\n",
	       calls.close, calls.getppid, calls.open, calls.puts, calls.qsort,
	       calls.snprintf, calls.write);
	printf("calls many_back 1\ncalls many_double 1\ncalls many_large 1\n"
	       "calls many_long 1\ncalls many_sum 1\ncalls many_va 1\n");
	return 9;
}
