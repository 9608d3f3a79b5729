# SPDX-License-Identifier: Apache-2.0
#
# tests/real/programs-of.sh finds errors: it passes programs with threads, children
# and destructors of threads, and fails when the trace has another tree, another
# number of calls, or there is nothing to compare.
. "$TOP/tests/e2e/lib.sh"
need gcc nm

mkdir programs
cat >programs/s-tree.c <<'SOURCE'
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
static pthread_key_t key;
static void inner(void) { __asm__(""); }
static void outer(void) { inner(); }
static void at_end(void *value) { (void)value; outer(); }
static void *thread(void *value)
{
	pthread_setspecific(key, value);
	outer();
	return NULL;
}
int main(void)
{
	pthread_t id;
	pid_t child;

	pthread_key_create(&key, at_end);
	pthread_create(&id, NULL, thread, &key);
	pthread_join(id, NULL);
	child = fork();
	inner();
	if (!child)
		_exit(3);
	waitpid(child, NULL, 0);
	return 7;
}
SOURCE

# compare BUILD FOLDER
compare()
{
	run env COMPILERS=gcc LEVELS=-O0,-g0 \
		sh "$TOP/tests/real/programs-of.sh" "$1" "$2"
}

compare "$O" programs
expect_status 0
expect_match out '^ok     tree gcc -O0 -g0: 9 calls$' '^1 right, the trees of 1'

# A build whose traces are read through the command $1.
fake()
{
	rm -rf fake
	mkdir -p fake/tests/tools
	ln -s "$PERFREC" "$O/perfrec-collect" "$O/perfrec-symbolize" \
		"$O/perfrec-reader" \
		"$O/libperfrec_preload.so" fake
	ln -s "$O/tests/progs" fake/tests/progs
	ln -s "$O/tests/tools/count_names" fake/tests/tools
	printf '#!/bin/sh\n"%s" "$@" | %s\n' "$O/tests/tools/trace_check" "$1" \
		>fake/tests/tools/trace_check
	chmod +x fake/tests/tools/trace_check
}

# The same number of calls of each function, but the first two slices swapped.
fake 'awk '\''/^B .* thread$/ { sub(/thread$/, "outer"); swapped = 1; print; next }
	swapped && /^B .* outer$/ { sub(/outer$/, "thread"); swapped = 0 }
	{ print }'\'
compare "$PWD/fake" programs
expect_status 1
expect_match out '^not ok tree' '^       \| tree: < 1	;thread;outer' \
	'^       \| tree: > 1	;outer;thread' ' 1 wrong$'

# A call less.
fake "awk '!/^1	at_end\$/'"
compare "$PWD/fake" programs
expect_status 1
expect_match out '^not ok tree' 'at_end: 0 calls, counted 1'

mkdir none
compare "$O" none
expect_status 1
expect_match out '^0 right'
echo 'int main(void) { return no_such_thing(); }' >none/broken.c
compare "$O" none
expect_status 1
expect_match out '^skip   broken .*error' '^0 right'
