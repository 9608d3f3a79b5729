#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# heap-real.sh BUILD - the memory of real programs at full size: what
# tests/e2e/heap/real.sh and allocators.sh do, with ten million pairs of sixteen
# threads, and what Go's pprof makes of the files, two snapshots of a run among
# them. Ends with a line "N passed, N failed, N skipped". Exits with 77 where
# there is no Go.
set -eu
build=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
# shellcheck source=tests/real/fetch.sh
. "$here/fetch.sh"
# shellcheck source=tests/real/parts.sh
. "$here/parts.sh"
need_tools "$build"
need_package go golang-go
need_package dot graphviz

# end_to_end TEST: of tests/e2e, without the sum of one.
end_to_end()
{
	O=$build ALLOC_PAIRS=${ALLOC_PAIRS:-10000000} \
		sh "$top/scripts/run-e2e.sh" "$1" \
		>"$work/log" || {
		cat "$work/log"
		return 1
	}
	sed '$d' "$work/log"
	grep -q '^1 passed' "$work/log" || exit 77
}

work=$(mktemp -d "$build/heap-real.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
fail()
{
	echo "heap-real: $*" >&2
	exit 1
}

# told REGEX ARGUMENT...: pprof, given these, prints such a line.
told()
{
	regex=$1
	shift
	go tool pprof "$@" >pprof.out 2>pprof.err ||
		fail "pprof $*: $(cat pprof.err)"
	grep -Eq -- "$regex" pprof.out && return
	cat pprof.out
	fail "pprof $*: nothing matches '$regex'"
}

# Keeps half of its allocated memory, for the time of three snapshots.
cat >grows.c <<'SOURCE'
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) static void *keep(void) { return malloc(1000); }
__attribute__((noinline)) static void churn(void) { free(malloc(3000)); }
int main(void)
{
	for (int i = 0; i < 300; i++) {
		void *volatile block = keep();

		(void)block;
		churn();
		usleep(10000);
	}
	return 0;
}
SOURCE

pprof()
{
	gcc -O1 -g -fno-builtin -finstrument-functions -o grows grows.c
	"$build/perfrec" record -q --alloc=exact --cpu=off --snapshot-interval 500ms \
		-o data ./grows
	heap=data/heap.pb.gz
	told '^ *300000B .* keep$' -top -unit=b -inuse_space $heap
	told '^ *300 .* churn$' -top -alloc_objects $heap
	told '^ *900000B .* churn$' -top -unit=b -alloc_space $heap
	told ' main$' -peek 'keep|churn' $heap
	told '<svg ' -svg $heap
	set -- data/heap.*T*.pb.gz
	if [ $# -lt 2 ]; then
		fail "no two snapshots: $(ls data)"
	fi
	told '^Type: inuse_space' -top -unit=b -base "$1" "$2"
	# The growth between the first snapshot and the end is less than the sum.
	told '^ *[12][0-9]{5}B .* keep$' -top -unit=b -base "$1" $heap
}

part heap/real end_to_end heap/real
part heap/allocators end_to_end heap/allocators
part pprof pprof
parts_end
