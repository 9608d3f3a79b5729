/* SPDX-License-Identifier: Apache-2.0
 *
 * plugin_host once|threads|family - opens plugins in three ways.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static void (*load)(const char *, const char *, int);
static void *beta(void *unused)
{
	load("beta.so", "beta_run", 21);
	return unused;
}
static void family(void)
{
	/* Each child loads another library, probably at the same address. */
	for (int i = 0; i < 6; i++)
		if (fork() == 0) {
			if (i % 2)
				load("beta.so", "beta_run", 20);
			else
				load("alpha.so", "alpha_run", 10);
			_exit(0);
		}
	load("alpha.so", "alpha_run", 11);
	while (wait(NULL) > 0)
		;
}
int main(int argc, char **argv)
{
	void *loader = dlopen("plugins/loader.so", RTLD_NOW | RTLD_LOCAL);
	pthread_t thread;

	(void)argc;
	load = (void (*)(const char *, const char *, int))dlsym(loader,
								"loader_run");
	if (!strcmp(argv[1], "once")) {
		load("alpha.so", "alpha_run", 10);
		_exit(0);
	} else if (!strcmp(argv[1], "threads")) {
		pthread_create(&thread, NULL, beta, NULL);
		load("alpha.so", "alpha_run", 10);
		pthread_join(thread, NULL);
	} else {
		family();
	}
	return 0;
}
