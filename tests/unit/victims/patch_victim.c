/* SPDX-License-Identifier: Apache-2.0
 *
 * patch_victim - a program with all kinds of hooks: recursion, tail calls,
 * jumps out of functions, arguments in all registers, inlined functions. Three
 * threads repeat the same work and compare the results.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/atomic.h"
#include "tests/unit/victims/patch_control.h"

#define BARE __attribute__((no_instrument_function))
#define ALONE __attribute__((noinline, noclone))

struct control *hooks_attach(int thread);
struct control *hooks_begin(const void *text);

static __thread uint64_t t_sum;

static inline uint64_t mix(uint64_t x)
{
	return (x ^ x >> 7) * 31;
}

static ALONE int fib(int n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static ALONE void add(uint64_t x)
{
	t_sum = mix(t_sum + x);
}

/* Ends with a jump to the hook, or to add(). */
static ALONE void tail(uint64_t x)
{
	if (x & 1)
		t_sum ^= x;
	add(x);
}

/* Only jumped to, from two functions. */
static ALONE void last(uint64_t x)
{
	t_sum = mix(t_sum ^ x);
	if (x & 2)
		t_sum++;
}

static ALONE void first_half(uint64_t x)
{
	if (x & 4)
		add(x);
	last(x);
}

static ALONE void second_half(uint64_t x)
{
	add(x + 2);
	last(x + 1);
}

static ALONE long double wide(long double x, double y, int a, int b, int c,
			      int d, int e, int f, int g)
{
	return x * y + a + b + c + d + e + f + g;
}

static ALONE int many(int count, ...)
{
	va_list args;
	double sum = 0;

	va_start(args, count);
	for (int i = 0; i < count; i++)
		sum += va_arg(args, double);
	va_end(args);
	return (int)sum;
}

static ALONE void leap(jmp_buf *point, int n)
{
	if (n)
		leap(point, n - 1);
	else
		longjmp(*point, 1);
	add(1);
}

static ALONE uint64_t jumps(void)
{
	jmp_buf point;

	if (!setjmp(point))
		leap(&point, 3);
	return 5;
}

#ifdef MERGED
/* They share the exit hook's call, as compilers merge them. */
uint64_t merged_one(uint64_t x), merged_two(uint64_t x);

__asm__(".text\n"
	".macro merged name, value\n"
	".type	\\name, @function\n"
	"\\name:\n"
	".cfi_startproc\n"
	"	pushq	%rbx\n"
	".cfi_adjust_cfa_offset 8\n"
	".cfi_rel_offset rbx, 0\n"
	"	leaq	\\value(%rdi), %rbx\n"
	"	leaq	\\name(%rip), %rdi\n"
	"	movq	8(%rsp), %rsi\n"
	"	call	__cyg_profile_func_enter@PLT\n"
	"	leaq	\\name(%rip), %rdi\n"
	"	jmp	merged_exit\n"
	".cfi_endproc\n"
	".size	\\name, . - \\name\n"
	".endm\n"
	"merged	merged_one, 1\n"
	"merged	merged_two, 2\n"
	"merged_exit:\n"
	".cfi_startproc\n"
	".cfi_def_cfa_offset 16\n"
	".cfi_offset rbx, -16\n"
	"	movq	8(%rsp), %rsi\n"
	"	call	__cyg_profile_func_exit@PLT\n"
	"	movq	%rbx, %rax\n"
	"	popq	%rbx\n"
	".cfi_adjust_cfa_offset -8\n"
	"	ret\n"
	".cfi_endproc\n"
	".previous\n");
#else
static uint64_t merged_one(uint64_t x)
{
	return x + 1;
}

static uint64_t merged_two(uint64_t x)
{
	return x + 2;
}
#endif

typedef void step(uint64_t x);

static ALONE void through(step *next, uint64_t x)
{
	next(x + 1);
}

static ALONE uint64_t one_round(void)
{
	static step *volatile next = tail;

	t_sum = 1;
	add((uint64_t)fib(10));
	for (uint64_t i = 0; i < 20; i++)
		through(next, i);
	add((uint64_t)wide(1.5L, 2, 3, 4, 5, 6, 7, 8, 9));
	add((uint64_t)many(3, 1.0, 2.0, 4.5));
	add(jumps());
	add(merged_one(t_sum) ^ merged_two(merged_two(t_sum)));
	first_half(t_sum);
	second_half(t_sum);
	return t_sum;
}

static BARE void work(struct control *control)
{
	uint64_t first = one_round();

	/* relaxed, all: the other side looks again and again */
	for (uint64_t i = 1; !atom_load_rlx(&control->stop) &&
			     (!control->limit || i < control->limit);
	     i++) {
		if (one_round() != first)
			/* relaxed: a count */
			atom_add_rlx(&control->wrong, 1);
		/* relaxed: a count */
		atom_add_rlx(&control->rounds, 1);
	}
}

static BARE void *thread(void *number)
{
	struct control *control = hooks_attach((int)(intptr_t)number);

	/* relaxed: a count */
	atom_add_rlx(&control->ready, 1);
	/* relaxed: looked at again */
	while (!atom_load_rlx(&control->go))
		usleep(100);
	work(control);
	return NULL;
}

static BARE void fork_child(struct control *control)
{
	pid_t child = fork();

	if (!child) {
		work(control);
		_exit(0);
	}
	/* relaxed: looked at again */
	atom_store_rlx(&control->child, child);
}

static BARE void serve(struct control *control)
{
	/* relaxed, all: looked at again */
	while (!atom_load_rlx(&control->stop)) {
		if (atom_load_rlx(&control->fork)) {
			control->fork = 0;
			fork_child(control);
		}
		if (atom_load_rlx(&control->exec))
			execlp("sleep", "sleep", "1000", (char *)NULL);
		usleep(100);
	}
}

BARE int main(void)
{
	struct control *control = hooks_begin((const void *)main);
	pthread_t threads[VICTIM_THREADS];

	if (!control)
		return 2;
	for (intptr_t i = 0; i < VICTIM_THREADS; i++)
		if (pthread_create(&threads[i], NULL, thread, (void *)i))
			return 2;
	serve(control);
	for (int i = 0; i < VICTIM_THREADS; i++)
		pthread_join(threads[i], NULL);
	return control->wrong ? 1 : 0;
}
