# SPDX-License-Identifier: Apache-2.0
#
# plugins.sh - many plugins, and a program that loads them. Sourced after lib.sh.

# build_plugins COUNT [OPTION...]: plugin1.so to pluginCOUNT.so, compiled with OPTIONs,
# and ./host, which loads and calls each, and prints COUNT.
build_plugins()
{
	plugins=$1
	shift
	cat >plugin.c <<'SOURCE'
int entry(int i) { return i + 1; }
SOURCE
	${CC:-gcc} "$@" -O1 -fPIC -shared -finstrument-functions \
		-o plugin.so plugin.c || fail 'cannot compile plugin.c'
	seq "$plugins" | while read -r i; do
		cp plugin.so "plugin$i.so"
	done
	build host -DPLUGINS="$plugins" -ldl <<'SOURCE'
#include <dlfcn.h>
#include <stdio.h>
int main(void)
{
	int sum = 0;
	for (int i = 1; i <= PLUGINS; i++) {
		char path[64];
		snprintf(path, sizeof(path), "./plugin%d.so", i);
		void *plugin = dlopen(path, RTLD_NOW);
		sum = ((int (*)(int))dlsym(plugin, "entry"))(sum);
	}
	printf("%d\n", sum);
	return 0;
}
SOURCE
}
