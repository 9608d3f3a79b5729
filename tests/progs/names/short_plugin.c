/* SPDX-License-Identifier: Apache-2.0
 *
 * short_plugin - loads plugins that it deletes, or writes anew, at once.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#define QUIET __attribute__((no_instrument_function))
QUIET static void *load(const char *name, const char *to, int fd)
{
	static char bytes[1 << 20];
	char from[64];
	FILE *file;
	size_t size;

	snprintf(from, sizeof(from), "%s.so", name);
	file = fopen(from, "rb");
	size = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	if (write(fd, bytes, size) != (ssize_t)size)
		return NULL;
	return dlopen(to, RTLD_NOW);
}
QUIET static int call(void *plugin, const char *name)
{
	return ((int (*)(int))dlsym(plugin, name))(1);
}
QUIET static int with_file(const char *name, int when)
{
	const char *to = when < 3 ? "./plugin.so" : "./last.so";
	int fd = open(to, O_WRONLY | O_CREAT, 0777), result;
	void *plugin = load(name, to, fd);

	close(fd);
	if (when == 0)
		unlink(to);
	result = call(plugin, name);
	if (when == 1)
		unlink(to);
	if (when < 3)
		dlclose(plugin);
	if (when > 1)
		unlink(to);
	return result;
}
QUIET static int without_file(const char *name)
{
	int fd = memfd_create("in memory", 0), result;
	char path[64];
	void *plugin;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	plugin = load(name, path, fd);
	close(fd);
	result = call(plugin, name);
	dlclose(plugin);
	return result;
}
int main(void)
{
	fclose(fopen("did", "w"));
	while (access("go", F_OK) < 0)
		usleep(1000);
	/* One path for three, and another file is there in the end. */
	printf("%d\n", with_file("first", 0) + with_file("second", 1) +
			       with_file("third", 2) + without_file("fourth") +
			       with_file("fifth", 3));
	rename("other.so", "plugin.so");
	return 0;
}
