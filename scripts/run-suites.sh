#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# run-suites.sh PROGRAM[:SUITE]... - run test programs made with check, or one suite
# of them. One more than there are CPUs runs at a time, because many tests wait. Each
# has 300 seconds of its own time (tests/tools/within.c), and each test in it the limit
# of tests/suite.c. O is the build directory. The output of what fails is shown.
# Ends with the sum: "N passed, N failed", and status 1 if anything failed.
set -u

if [ "${1:-}" = --one ]; then
	results=$2 program=${3%:*} suite=
	name=${program##*/}
	case $3 in
	*:*)	suite=${3##*:}
		name=${name%_tests}/$suite ;;
	esac
	log=$(mktemp) || exit 1
	. "${0%/*}/test-times.sh"
	time_begin
	"${O:-build}/tests/tools/within" 300 "$program" ${suite:+"$suite"} \
		</dev/null >"$log" 2>&1
	status=$?
	time_end "$name"
	# "100%: Checks: 10, Failures: 0, Errors: 0"
	counts=$(sed -n 's/^[0-9]*%: Checks: \([0-9]*\), Failures: \([0-9]*\), Errors: \([0-9]*\)$/\1 \2 \3/p' "$log" |
		awk '{ c += $1; b += $2 + $3 } END { if (NR) print c - b, b }')
	# A suite that ends badly without a failed check counts as one.
	[ -n "$counts" ] || { counts='0 1'; status=1; }
	echo "$counts $status" >>"$results"
	# One after another, so that no two reports are mixed.
	if [ $status -eq 0 ]; then
		echo "ok     $name: ${counts% *} checks, $seconds s"
	else
		echo "not ok $name: exit status $status"
		sed 's/^/    | /' "$log"
	fi | flock "$results" cat
	rm -f "$log"
	exit 0
fi

[ $# -gt 0 ] || { echo 'run-suites.sh: no programs' >&2; exit 2; }
results=$(mktemp) || exit 1
trap 'rm -f "$results"' EXIT
printf '%s\0' "$@" | xargs -0 -n 1 -P $(($(nproc) + 1)) sh "$0" --one "$results"
awk '{ passed += $1; failed += $2; if ($3 && !$2) failed++ }
     END { printf "%d passed, %d failed\n", passed, failed; exit failed != 0 }' \
	"$results"
