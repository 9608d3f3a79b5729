#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Names and source lines of every module of a program that has hundreds of
# them, also where fewer files may be open than that. Where there are far too
# few, one line says so and what to do.
. "$TOP/tests/e2e/lib.sh"
need gzip

MODULES=400

cat >plugin.c <<'SOURCE'
int entry(int i) { return i + 1; }
SOURCE
${CC:-gcc} -g -O1 -fPIC -shared -finstrument-functions -o plugin.so plugin.c ||
	fail 'cannot compile plugin.c'
seq "$MODULES" | while read -r i; do
	cp plugin.so "plugin$i.so"
done

# Each plugin is a file of its own, called from a line of its own.
build host -DMODULES="$MODULES" -ldl <<'SOURCE'
#include <dlfcn.h>
#include <stdio.h>
int main(void)
{
	int sum = 0;
	for (int i = 1; i <= MODULES; i++) {
		char path[64];
		snprintf(path, sizeof(path), "./plugin%d.so", i);
		void *plugin = dlopen(path, RTLD_NOW);
		sum = ((int (*)(int))dlsym(plugin, "entry"))(sum);
	}
	printf("%d\n", sum);
	return 0;
}
SOURCE

# record LIMIT: of open files.
record()
{
	rm -rf data
	status=0
	(ulimit -n "$1" && exec "$PERFREC" record -q -o data -- ./host) \
		>out 2>err || status=$?
	expect_status 0
	expect_eq 'what the program prints' "$(cat out)" "$MODULES"
}

# 80 were enough before programs passed their memory and their thunks.
for limit in "$(ulimit -n)" 96; do
	record "$limit"
	expect_eq "stderr with $limit files" "$(cat err)" ''
	expect_eq "modules with names, of $limit files" "$(json data/summary.json \
		'[.functions[] | select(.name == "entry") | .module]
		 | unique | length')" "$MODULES"
	gzip -dc data/wall.pb.gz >wall.pb
	expect_eq "modules in the profile, of $limit files" \
		"$(grep -ao '/plugin[0-9]*[.]so' wall.pb | sort -u | wc -l)" \
		"$MODULES"
	expect_eq "modules without lines, of $limit files" \
		"$(grep -c 'no source lines' err)" 0
	grep -aq '/plugin[.]c' wall.pb || fail "no line with $limit files"
done

record 42
expect_eq 'lines on stderr' "$(wc -l <err)" 1
expect_match err 'too many files are open: .*ulimit -Hn'
