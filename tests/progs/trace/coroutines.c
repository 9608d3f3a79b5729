/* SPDX-License-Identifier: Apache-2.0
 *
 * coroutines SEED - sixty coroutines that switch to one another wherever they
 * are, at random, and log each call: "TRACK B|E NAME".
 */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>
#define COUNT 60
#define STACK (128 * 1024)
#define QUIET __attribute__((no_instrument_function))
#define CALL __attribute__((noinline))
/* The last is main's own. A track is the lowest that no other one uses. */
static ucontext_t contexts[COUNT + 1];
static int track[COUNT + 1], current = COUNT, over;
static unsigned seed;
static unsigned draw(void) QUIET;
static void logs(char what, const char *name) QUIET;
static void switches(void) QUIET;
static void any(int depth) QUIET;
CALL void left(int depth);
CALL void right(int depth);
CALL void leaf(void);
CALL void jumps(void);
CALL void body(void);

static unsigned draw(void)
{
	seed = seed * 1103515245u + 12345;
	return seed >> 16;
}
static void logs(char what, const char *name)
{
	printf("%d %c %s\n", track[current], what, name);
}
static int is_used(int number) QUIET;
static int is_used(int number)
{
	for (int i = 0; i < COUNT; i++)
		if (track[i] == number)
			return 1;
	return 0;
}
static void switches(void)
{
	int from = current, to = (int)(draw() % (COUNT + 1));

	if (to < COUNT && track[to] < 0)
		to = COUNT;
	if (to == from)
		return;
	if (to < COUNT && !track[to]) {
		int number = 1;

		while (is_used(number))
			number++;
		track[to] = number;
	}
	current = to;
	swapcontext(&contexts[from], &contexts[to]);
}
static void any(int depth)
{
	if (depth == 0)
		leaf();
	else if (draw() % 4 == 0)
		jumps();
	else if (draw() % 2)
		left(depth - 1);
	else
		right(depth - 1);
	if (draw() % 4 == 0)
		switches();
}
void left(int depth)
{
	__attribute__((unused)) volatile char frame[200];

	frame[0] = 1;
	logs('B', "left");
	any(depth);
	any(depth);
	logs('E', "left");
}
void right(int depth)
{
	logs('B', "right");
	any(depth);
	logs('E', "right");
}
void leaf(void)
{
	logs('B', "leaf");
	if (draw() % 3 == 0)
		switches();
	logs('E', "leaf");
}
void jumps(void)
{
	jmp_buf buffer;

	logs('B', "jumps");
	if (!setjmp(buffer)) {
		leaf();
		if (draw() % 2)
			longjmp(buffer, 1);
	}
	leaf();
	logs('E', "jumps");
}
void body(void)
{
	logs('B', "body");
	for (int i = 0; i < 4; i++)
		any(5);
	logs('E', "body");
	track[current] = -1;
	over++;
	current = COUNT;
}
int main(int argc, char **argv)
{
	seed = (unsigned)atoi(argv[argc - 1]);
	logs('B', "main");
	for (int i = 0; i < COUNT; i++) {
		getcontext(&contexts[i]);
		contexts[i].uc_stack.ss_sp = malloc(STACK);
		contexts[i].uc_stack.ss_size = STACK;
		contexts[i].uc_link = &contexts[COUNT];
		makecontext(&contexts[i], body, 0);
	}
	while (over < COUNT) {
		switches();
		right(1);
	}
	logs('E', "main");
	return 0;
}
