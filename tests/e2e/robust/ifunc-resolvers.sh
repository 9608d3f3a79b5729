#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Resolvers of IFUNC symbols run while the dynamic linker still relocates: those
# of a library before the shim is relocated, those of the program before there
# is thread-local storage. With hooks and malloc() they behave as without perfrec.
# Their calls are not recorded, all others are.
. "$TOP/tests/e2e/lib.sh"

cat >resolved.h <<'SOURCE'
#include <stdlib.h>
static void *volatile kept;
__attribute__((noinline)) static void helper(void)
{
	kept = malloc(10);
	free(kept);
}
static int one(int number) { return number + 1; }
static void *resolver(void) { helper(); return (void *)one; }
static int resolved(int number) __attribute__((ifunc("resolver")));
SOURCE
echo '#include "resolved.h"
int library(int number) { return resolved(number); }' >library.c

# In a library whose own references are bound first, they can be followed.
${CC:-gcc} -O1 -g -fPIC -shared -fno-plt -finstrument-functions -Wl,-z,now \
	-o liblibrary.so library.c || fail 'cannot compile library.c'
build program -L. -llibrary -Wl,-rpath,"$PWD" <<'SOURCE'
#include "resolved.h"
int library(int number);
int main(void) { return resolved(library(3)); }
SOURCE

run ./program
expect_status 5

# recorded WHAT OPTION...: spans are main, library and one() twice.
recorded()
{
	what=$1
	shift
	run "$PERFREC" record -q -o data "$@" -- ./program
	expect_status 5
	expect_eq "$what: stderr" "$(cat err)" ''
	expect_eq "$what: spans" "$(json data/summary.json .totals.spans)" 4
	"$O/tests/tools/trace_check" data/trace.pftrace ||
		fail "$what: a rule is broken"
}
recorded 'as it is'
recorded '--depth' --depth 100

# Without a collector as well.
LD_PRELOAD=$O/libperfrec_preload.so PERFREC_QUIET=1 run ./program
expect_status 5
