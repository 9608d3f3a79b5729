/* SPDX-License-Identifier: Apache-2.0
 *
 * switches - switches stacks as libraries of coroutines do, unseen by the shim.
 */
#include <stdio.h>
#include <stdlib.h>
void switch_to(void **save, void *to);
__asm__(".globl switch_to\nswitch_to:\n push %rbp\n push %rbx\n push %r12\n"
	" push %r13\n push %r14\n push %r15\n mov %rsp,(%rdi)\n"
	" mov %rsi,%rsp\n pop %r15\n pop %r14\n pop %r13\n pop %r12\n"
	" pop %rbx\n pop %rbp\n ret\n");
static void *main_sp, *sp[3];
static int current, total;
__attribute__((noinline)) static int leaf(int x)
{
	return x * 2;
}
__attribute__((noinline)) static void yield(void)
{
	switch_to(&sp[current], main_sp);
}
__attribute__((noinline)) static int step(int i, int k)
{
	int r = leaf(i + k);

	yield();
	return r + leaf(k);
}
static void run(void)
{
	int me = current;

	for (int k = 0; k < 4; k++)
		total += step(me, k);
	for (;;)
		yield();
}
int main(void)
{
	for (int i = 0; i < 3; i++) {
		void **top =
			(void **)((char *)aligned_alloc(16, 65536) + 65520);

		*--top = NULL;
		*--top = (void *)run;
		for (int j = 0; j < 6; j++)
			*--top = NULL;
		sp[i] = top;
	}
	for (int round = 0; round < 6; round++)
		for (current = 0; current < 3; current++)
			switch_to(&main_sp, sp[current]);
	printf("%d\n", total);
	return 0;
}
