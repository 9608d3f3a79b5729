/* SPDX-License-Identifier: Apache-2.0
 *
 * own - the program of own-libc.sh, which defines every function of the C
 * library in assembly: so this calls none of them but a few.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#define UNSEEN __attribute__((no_instrument_function))
void called(const char *name);
UNSEEN void called(const char *name)
{
	size_t length = 0;
	while (name[length])
		length++;
	write(2, name, length);
	write(2, " was called\n", 12);
	__builtin_trap();
}
static volatile int sum;
static void *volatile block;
static void leaf(int i)
{
	sum += i;
}
static void work(void)
{
	for (int i = 0; i < 1000; i++)
		leaf(i);
	block = malloc(10);
	block = realloc(block, 100000);
	free(block);
	for (volatile int i = 0; i < 5000000; i++)
		;
}
static void *thread(void *argument)
{
	work();
	return argument;
}
static void handler(int number)
{
	leaf(number);
}
static void context(void)
{
	leaf(1);
}
static jmp_buf jump;
static ucontext_t here, there;
static char stack[65536];
int main(void)
{
	struct sigaction action = { .sa_handler = handler,
				    .sa_flags = SA_ONSTACK },
			 old;
	pthread_t other;
	void *library;
	int status;
	pid_t pid;

	work();
	if (pthread_create(&other, NULL, thread, NULL))
		return 1;
	pthread_setname_np(other, "other"); /* it may have ended */
	if (pthread_join(other, NULL))
		return 1;
	pid = fork();
	if (!pid) {
		work();
		return 0;
	}
	if (waitpid(pid, &status, 0) != pid || status)
		return 2;
	if (sigaction(SIGUSR1, &action, &old) || raise(SIGUSR1))
		return 3;
	if (!setjmp(jump))
		longjmp(jump, 1);
	if (getcontext(&there))
		return 4;
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = sizeof(stack);
	there.uc_link = &here;
	makecontext(&there, context, 0);
	if (swapcontext(&here, &there))
		return 5;
	library = dlopen("libm.so.6", RTLD_LAZY);
	if (!library || dlclose(library) || prctl(PR_SET_NAME, "main"))
		return 6;
	work();
	write(1, "done\n", 5);
	return 0;
}
