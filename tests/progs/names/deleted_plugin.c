/* SPDX-License-Identifier: Apache-2.0
 *
 * deleted_plugin - calls plugins whose files are deleted, or never had a name.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
#define QUIET __attribute__((no_instrument_function))
/* A copy of @from: in a file, or in memory with a descriptor that is closed. */
QUIET static void *load(const char *from, const char *to)
{
	static char bytes[1 << 20];
	char path[64];
	FILE *file = fopen(from, "rb");
	size_t size = fread(bytes, 1, sizeof(bytes), file);
	int fd = to ? open(to, O_RDWR | O_CREAT, 0777)
		    : memfd_create("in memory", 0);
	void *plugin;

	fclose(file);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (write(fd, bytes, size) != (ssize_t)size)
		return NULL;
	plugin = dlopen(to ? to : path, RTLD_NOW);
	if (to)
		unlink(to);
	close(fd);
	return plugin;
}
int main(void)
{
	int (*first)(int) =
		dlsym(load("plugin1.so", "./deleted.so"), "plugin1");
	int (*second)(int) = dlsym(load("plugin2.so", NULL), "plugin2");
	int sum = first(1) + second(2);

	fclose(fopen("did", "w"));
	while (access("go", F_OK) < 0) /* they stay loaded */
		usleep(1000);
	printf("%d\n", sum);
	return 0;
}
