/* SPDX-License-Identifier: Apache-2.0
 *
 * repair_me THREADS [FILE] - threads that call, recurse and jump. With FILE
 * they go on until FILE is there. Ends with status 0.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <unistd.h>

#define THREADS_MAX 64

static volatile long sum;
static const char *end_file;

__attribute__((noinline)) static void leaf(long i)
{
	sum = sum + i;
}

__attribute__((noinline)) static int fib(int n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

__attribute__((noinline)) static void down(int n)
{
	if (n)
		down(n - 1);
	leaf(n);
}

__attribute__((noinline)) static void jump(jmp_buf *to)
{
	longjmp(*to, 1);
}

__attribute__((noinline)) static void work(void)
{
	jmp_buf back;

	for (long i = 0; i < 1000; i++)
		leaf(i);
	sum = sum + fib(10);
	down(100);
	if (!setjmp(back))
		jump(&back);
}

static void *run(void *unused)
{
	do
		work();
	while (end_file && access(end_file, F_OK) < 0);
	return unused;
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 1;
	pthread_t thread[THREADS_MAX];

	end_file = argc > 2 ? argv[2] : NULL;
	alarm(600);
	if (count > THREADS_MAX)
		return 1;
	for (int i = 0; i < count; i++)
		if (pthread_create(&thread[i], NULL, run, NULL))
			return 1;
	for (int i = 0; i < count; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
