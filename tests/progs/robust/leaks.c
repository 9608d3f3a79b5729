/* SPDX-License-Identifier: Apache-2.0
 *
 * leaks [CORE] - leaks blocks by known callers, in main and in a thread; with
 * CORE, also in a child, and makes gcore write a dump of itself to CORE.PID.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) static void *lose(int bytes)
{
	return malloc(bytes);
}
static void *thread(void *argument)
{
	lose(55);
	return argument;
}
/* KiB of the arena that this process may touch. */
static void say_accessible(const char *who)
{
	unsigned long from, to, bytes = 0;
	char line[512], mode[8];
	FILE *maps = fopen("/proc/self/maps", "r");

	while (fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %7s", &from, &to, mode) == 3 &&
		    strstr(line, "memfd:perfrec ") && mode[0] == 'r')
			bytes += to - from;
	fclose(maps);
	printf("%s %lu\n", who, bytes / 1024);
	fflush(stdout);
}
int main(int argc, char **argv)
{
	char command[64];
	pthread_t t;

	lose(77);
	pthread_create(&t, NULL, thread, NULL);
	pthread_join(t, NULL);
	if (argc < 2)
		return 0;
	say_accessible("parent");
	if (fork() == 0) {
		lose(99);
		say_accessible("child");
		return 0;
	}
	wait(NULL);
	snprintf(command, sizeof(command), "gcore -o %s %d >gcore.out 2>&1",
		 argv[1], (int)getpid());
	return system(command) != 0;
}
