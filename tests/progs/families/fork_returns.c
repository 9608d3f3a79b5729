/* SPDX-License-Identifier: Apache-2.0
 *
 * fork_returns - children that return from functions which their parent called,
 * and a function that is inlined around a call of itself.
 */
#include <sys/wait.h>
#include <unistd.h>
#define NOINLINE __attribute__((noinline))
static volatile int sum;
struct iterator {
	const struct iterator *inner;
	int value;
};
NOINLINE static void leaf(void)
{
	sum++;
}
static void seek(const struct iterator *iterator);
static inline void wrapper_seek(const struct iterator *inner)
{
	seek(inner);
	sum += inner->value;
}
NOINLINE static void seek(const struct iterator *iterator)
{
	__attribute__((unused)) volatile char frame[100];

	frame[sum % 100] = 1;
	if (iterator->inner)
		wrapper_seek(iterator->inner);
}
NOINLINE static int make_child(void)
{
	int pid = fork();

	if (!pid)
		leaf();
	return pid;
}
NOINLINE static int run(void)
{
	int pid = make_child();

	if (!pid)
		leaf();
	return pid;
}
int main(void)
{
	struct iterator two = { 0, 2 }, one = { &two, 1 }, all = { &one, 0 };

	seek(&all);
	for (int i = 0; i < 5; i++) {
		if (!run())
			return 0;
		wait(0);
	}
	return 0;
}
