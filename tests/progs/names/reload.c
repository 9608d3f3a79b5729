/* SPDX-License-Identifier: Apache-2.0
 *
 * reload [both] - two libraries take turns at one address, also from two
 * threads.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
long constructed, destructed;
static const char *const paths[] = { "./libfirst.so", "./libsecond.so" };
static void *place[2];
static int common;
__attribute__((noinline)) static void turn(int which)
{
	void *library = dlopen(paths[which], RTLD_NOW);
	int (**work)(int);

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	work = dlsym(library, "work");
	common += place[!which] == (void *)work;
	place[which] = (void *)work;
	(*work)(1);
	(*work)(2);
	dlclose(library);
}
static void *turns(void *from)
{
	for (int i = 0; i < 2000; i++)
		turn((from == paths) ^ (i & 1));
	return NULL;
}
int main(int argc, char **argv)
{
	pthread_t threads[2];

	(void)argv;
	if (argc == 1) {
		turns(NULL);
	} else {
		pthread_create(&threads[0], NULL, turns, NULL);
		pthread_create(&threads[1], NULL, turns, (void *)paths);
		pthread_join(threads[0], NULL);
		pthread_join(threads[1], NULL);
	}
	printf("%ld %ld %d\n", constructed, destructed, common);
	return 0;
}
