/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions of all shapes, built without hooks. Each counts its calls, in all
 * threads and children, and the program prints the counts and the results.
 */
#include <complex.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define NAMES(X)       \
	X(fib)         \
	X(nine)        \
	X(big)         \
	X(huge)        \
	X(wide)        \
	X(pass_wide)   \
	X(precise)     \
	X(spiral)      \
	X(pair)        \
	X(sum)         \
	X(even)        \
	X(odd)         \
	X(forward)     \
	X(stack_array) \
	X(choose)      \
	X(compare)     \
	X(handler)     \
	X(jumper)      \
	X(deep)        \
	X(climb)       \
	X(coroutine)   \
	X(worker)      \
	X(child)       \
	X(nothing)     \
	X(early)       \
	X(float_loop)

#define AS_ENUM(name) COUNT_##name,
enum { NAMES(AS_ENUM) COUNTS };
#define AS_TEXT(name) #name,
static const char *const names[] = { NAMES(AS_TEXT) };

static long *counts; /* shared with children */
#define COUNT(name) __atomic_fetch_add(&counts[COUNT_##name], 1, 0)
#define ALONE __attribute__((noinline, noclone))

static volatile long sink;

static ALONE long fib(long n)
{
	long one, other;

	COUNT(fib);
	if (n < 2)
		return n;
	one = fib(n - 1);
	other = fib(n - 2);
	/* So that no call becomes a loop. */
	__asm__ volatile("" : "+r"(other));
	return one + other;
}

static ALONE long nine(long a, long b, long c, long d, long e, long f, long g,
		       long h, long i)
{
	COUNT(nine);
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h +
	       9 * i;
}

struct big {
	long word[8];
};

static ALONE long big(struct big value, int more)
{
	COUNT(big);
	return value.word[0] * 3 + value.word[7] + more;
}

struct huge {
	long word[40];
};

static ALONE long huge(struct huge value)
{
	COUNT(huge);
	return value.word[39];
}

struct wide {
	long word[16];
};

static ALONE long wide(struct wide value)
{
	COUNT(wide);
	return value.word[0] + 2 * value.word[8] + 3 * value.word[15];
}

static long (*volatile g_wide)(struct wide) = wide;

/* Jumps to a function with as many words on the stack as can be copied. */
static ALONE long pass_wide(struct wide value)
{
	COUNT(pass_wide);
	return g_wide(value);
}

static ALONE long double precise(long double x, double y)
{
	COUNT(precise);
	return x * 1.5L + y;
}

static ALONE double complex spiral(double complex z, float f)
{
	COUNT(spiral);
	return z * z + f;
}

struct pair {
	long first, second;
};

static ALONE struct pair pair(long n)
{
	COUNT(pair);
	return (struct pair){ n, -n };
}

static ALONE long sum(int count, ...)
{
	va_list list;
	long all = 0;

	COUNT(sum);
	va_start(list, count);
	while (count--)
		all += va_arg(list, long);
	va_end(list);
	return all;
}

static ALONE int odd(long n);
/* Without optimization this loop needs a frame for each turn. */
static ALONE int even(long n)
{
	COUNT(even);
	return n ? odd(n - 1) : 1;
}

static ALONE int odd(long n)
{
	COUNT(odd);
	return n ? even(n - 1) : 0;
}

static long (*volatile g_nine)(long, long, long, long, long, long, long, long,
			       long) = nine;

static ALONE long forward(long a, long b, long c, long d, long e, long f,
			  long g, long h, long i)
{
	COUNT(forward);
	return g_nine(i, h, g, f, e, d, c, b, a);
}

static ALONE long stack_array(int n)
{
	char array[n + 1];

	COUNT(stack_array);
	memset(array, n, sizeof(array));
	return array[n];
}

static ALONE const char *choose(int n)
{
	COUNT(choose);
	switch (n) {
	case 0:
		return "none";
	case 1:
		return "one";
	case 2:
		return "two";
	case 3:
		sink++;
		return "three";
	case 4:
		return "four";
	case 5:
		sink--;
		return "five";
	case 6:
		return "six";
	default:
		return "many";
	}
}

static ALONE int compare(const void *a, const void *b)
{
	const int *one = a, *other = b;

	COUNT(compare);
	return (*one > *other) - (*one < *other);
}

static ALONE void handler(int signal)
{
	COUNT(handler);
	sink += signal;
}

static jmp_buf g_point;

static ALONE void deep(int n)
{
	COUNT(deep);
	if (!n)
		longjmp(g_point, 1);
	deep(n - 1);
	sink++;
}

static ALONE int jumper(int n)
{
	COUNT(jumper);
	if (setjmp(g_point) == 0)
		deep(n);
	return n;
}

static ucontext_t g_main, g_other;

static ALONE void climb(int n)
{
	COUNT(climb);
	if (n)
		climb(n - 1);
	else
		swapcontext(&g_other, &g_main);
	sink++;
}

static ALONE void coroutine(void)
{
	COUNT(coroutine);
	for (;;)
		climb(3);
}

static ALONE void nothing(void)
{
	COUNT(nothing);
}

/* The stack pointer moves only in one branch. */
static ALONE long early(long n)
{
	COUNT(early);
	if (__builtin_expect(!n, 1))
		return 1;
	nothing();
	return fib(n);
}

static ALONE float float_loop(float x, int n)
{
	COUNT(float_loop);
	while (n--)
		x = x * 0.5f + 1;
	return x;
}

static ALONE void *worker(void *n)
{
	COUNT(worker);
	return (void *)fib((long)n);
}

static ALONE int child(int n)
{
	COUNT(child);
	return (int)fib(n) % 100;
}

static void switch_contexts(void)
{
	static char stack[65536];

	getcontext(&g_other);
	g_other.uc_stack.ss_sp = stack;
	g_other.uc_stack.ss_size = sizeof(stack);
	makecontext(&g_other, coroutine, 0);
	for (int i = 0; i < 100; i++)
		swapcontext(&g_main, &g_other);
}

static void start_others(void)
{
	pthread_t thread[4];
	int status;

	for (long i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, worker, (void *)(10 + i));
	for (int i = 0; i < 4; i++) {
		void *result;

		pthread_join(thread[i], &result);
		printf("thread %ld\n", (long)result);
	}
	fflush(stdout);
	if (fork() == 0)
		_exit(child(15));
	wait(&status);
	printf("child %d\n", WEXITSTATUS(status));
}

int main(int argc, char **argv)
{
	struct big b = { { 1, 2, 3, 4, 5, 6, 7, 8 } };
	struct huge h = { .word = { [39] = 4 } };
	struct wide w = { .word = { 1, [8] = 20, [15] = 300 } };
	int numbers[50];
	long loops = argc > 1 ? atol(argv[1]) : 100;

	counts = mmap(NULL, sizeof(*counts) * COUNTS, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	printf("%ld %ld %ld %ld %ld\n", fib(15),
	       nine(1, 2, 3, 4, 5, 6, 7, 8, 9), big(b, 3), huge(h),
	       pass_wide(w));
	printf("%.6Lf %.6f %.6f\n", precise(1.25L, 2.5),
	       creal(spiral(1 + 2 * I, 0.5f)), float_loop(3, 10));
	printf("%ld %ld\n", pair(7).second, sum(3, 1L, 2L, 3L));
	printf("%d %ld %ld\n", even(loops * 100),
	       forward(1, 2, 3, 4, 5, 6, 7, 8, 9), stack_array(100));
	for (int i = 0; i < 9; i++)
		printf("%s ", choose(i));
	for (int i = 0; i < 50; i++)
		numbers[i] = i * 37 % 50;
	qsort(numbers, 50, sizeof(numbers[0]), compare);
	signal(SIGUSR1, handler);
	for (int i = 0; i < 20; i++)
		raise(SIGUSR1);
	for (int i = 0; i < 20; i++)
		sink += jumper(i) + early(i % 3);
	switch_contexts();
	for (long i = 0; i < loops; i++)
		nothing();
	printf("%d %ld\n", numbers[49], sink);
	start_others();
	for (int i = 0; i < COUNTS; i++)
		printf("calls %s %ld\n", names[i], counts[i]);
	return 7;
}
