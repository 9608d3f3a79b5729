#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# patched.sh [RUNS] - records tests/progs/patch/unwinds.cc RUNS times (1,000) with
# --patch, so that functions move that throw, are cancelled, switch contexts, and
# whose signal handlers print backtraces at any instruction. Its output and exit status
# must stay the same, and the trace well-formed. The runs take turns between builds,
# and for each of them between files to patch, states of functions, and thunks with a
# path.
#
# Runs in an empty folder. O is the build directory. Prints the first lines of each
# failure, and a sum; exits with 1 if a run failed, with 77 without a compiler.
set -u

top=$(cd "$(dirname "$0")/../.." && pwd)
O=$(cd "${O:-$top/build}" && pwd)
runs=${1:-1000}
image=$(mktemp -d /dev/shm/perfrec-patched-XXXXXX) || exit 77
trap 'rm -rf "$image"' EXIT
export PERFREC_DEADLINE_MS=60000

builds=0
# add_build COMPILER FLAGS
add_build()
{
	# shellcheck disable=SC2086 # several words
	$1 -std=c++20 -w $2 -g -o unwinds$builds "$top/tests/progs/patch/unwinds.cc" \
		-pthread 2>compiled || return 0
	./unwinds$builds 300 >expected$builds
	[ $? -eq 5 ] || return 0
	builds=$((builds + 1))
}
add_build g++ -O2
add_build g++ '-O3 -fno-omit-frame-pointer'
add_build g++ '-O2 -static-libgcc -static-libstdc++'
add_build g++ '-O2 -no-pie -fno-plt'
add_build g++ -O0
add_build clang++ -O2
[ $builds -gt 0 ] || exit 77

set -- --patch '--patch --count *' '--patch --overhead 1%' '--patch --exclude *' --patch=all \
	"--patch --patch-image $image" "--patch=all --patch-image $image --overhead 1%"
modes=$#
run=0 failed=0
while [ $run -lt "$runs" ]; do
	i=$((run % builds))
	mode=$((run / builds % modes + 1))
	run=$((run + 1))
	eval "options=\$$mode"
	rm -rf data
	set -f
	# shellcheck disable=SC2086,SC2154 # several words; set by eval
	timeout -k 5 300 "$O/perfrec" record -q $options --alloc=off --cpu=off -o data -- \
		./unwinds$i 300 >out 2>err
	status=$?
	set +f
	rm -f "$image"/*
	if [ $status -eq 5 ] && cmp -s out expected$i &&
		"$O/tests/tools/trace_check" data/trace.pftrace >checked 2>&1 &&
		jq -e '.totals.functions_patched > 10' data/summary.json >patched; then
		continue
	fi
	failed=$((failed + 1))
	echo "run $run, unwinds$i, $options: exit status $status"
	diff expected$i out | head -n 5
	head -n 5 err
	[ ! -s checked ] || tail -n 3 checked
done
echo "$run runs of $builds builds, $failed failed"
[ $failed -eq 0 ]
