#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Exported functions of plugins that come and go before the collector has looked
# have names: what a program has made for itself it deletes, or writes anew,
# soon. Here the collector is stopped meanwhile, so that it surely has not
# looked.
. "$TOP/tests/e2e/lib.sh"
need jq pgrep

for name in first second third fourth fifth other; do
	cat >$name.c <<-SOURCE
	static int __attribute__((noinline)) ${name}_inner(int i)
	{
		return i * 3;
	}
	int $name(int i)
	{
		return ${name}_inner(i) + 1;
	}
	SOURCE
	${CC:-gcc} -O1 -g -fPIC -shared -finstrument-functions \
		-Wl,--build-id -o $name.so $name.c || fail 'cannot compile a plugin'
done

build host -D_GNU_SOURCE -ldl <<'SOURCE'
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
SOURCE

"$PERFREC" record -q -o data -- ./host >out 2>err &
perfrec=$!
wait_for 60 test -e did
collector=$(pgrep -P $perfrec perfrec-collect) || fail 'no collector'
kill -STOP "$collector"
touch go
# It has ended when perfrec has nobody but the collector.
host_ended()
{
	! pgrep -P $perfrec -x host >pids
}
wait_for 60 host_ended
kill -CONT "$collector"
wait $perfrec || fail "perfrec record failed: $(cat err)"
expect_eq 'what the program prints' "$(cat out)" 20
expect_no_match err 'its functions have no names'
json data/summary.json '.functions[] | .name + " " + .module' >names
expect_match names '^first .*/plugin[.]so$' '^second .*/plugin[.]so$' \
	'^third .*/plugin[.]so$' '^fourth /' '^fifth .*/last[.]so$'
# What is not exported is not in memory: module and address, and a reason.
expect_match err 'plugin[.]so.* static functions, has no names' \
	'last[.]so.* static functions, has no names'
expect_match names '^plugin[.]so[+]0x' '^last[.]so[+]0x' '^[0-9]+[+]0x'
