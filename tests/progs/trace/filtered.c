/* SPDX-License-Identifier: Apache-2.0
 *
 * filtered - threads that call functions with known names, jump, and open a
 * plugin late.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stddef.h>
#include <unistd.h>
static _Thread_local volatile int sum;
static _Thread_local jmp_buf out;
__attribute__((noinline)) static void leaf(void)
{
	sum++;
}
__attribute__((noinline)) static void skip_inner(void)
{
	sum++;
}
__attribute__((noinline)) static void skip_outer(void)
{
	skip_inner();
	leaf();
}
__attribute__((noinline)) static void jump(void)
{
	longjmp(out, 1);
}
__attribute__((noinline)) static void try_jump(void)
{
	if (!setjmp(out))
		jump();
	leaf();
}
static void *work(void *p)
{
	for (int i = 0; i < 1000; i++) {
		leaf();
		skip_outer();
		try_jump();
	}
	return p;
}
int main(void)
{
	pthread_t id[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&id[i], NULL, work, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(id[i], NULL);
	void *plugin = dlopen("./plugin.so", RTLD_NOW);
	void (*run)(void) = (void (*)(void))dlsym(plugin, "plugin_run");
	for (int i = 0; i < 100; i++)
		run();
	/* The collector reads the map of a live process only. */
	close(open("did", O_WRONLY | O_CREAT, 0600));
	while (access("go", F_OK) < 0)
		usleep(1000);
	return 0;
}
