# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
#
# Sourced by the scripts of `make check-real`: tools and counters. $here is this
# folder.

# need_tools BUILD: programs of perfrec and of the tests that are not there are
# made, so that each script can be run alone. BUILD is the make's $(O), absolute.
need_tools() {
	missing=
	for tool in perfrec tests/tools/trace_check tests/tools/count_names \
		tests/progs/libcount_preload.so; do
		[ -e "$1/$tool" ] || missing=$tool
	done
	[ -n "$missing" ] || return 0
	top=$(cd "$here/../.." && pwd)
	# This make must not join the make that runs us.
	(unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
		make -s -C "$top" O="${1#"$top"/}" real-tools) >&2
}

passed=0 failed=0 skipped=0

# part NAME COMMAND...: runs it in a shell of its own, which ends at each failure,
# and counts it. Status 77 is a skip; the command has printed the reason.
part() {
	name=$1
	shift
	set +e
	(set -e; "$@")
	status=$?
	set -e
	case $status in
	0)	passed=$((passed + 1)) ;;
	77)	skipped=$((skipped + 1))
		echo "$name: skipped" ;;
	*)	failed=$((failed + 1))
		echo "$name: FAILED" ;;
	esac
}

# parts_end: the sum of what part() has counted, and the script's end: status 1
# if one failed, 77 if all were skipped.
parts_end() {
	echo "$passed passed, $failed failed, $skipped skipped"
	[ $failed -eq 0 ] || exit 1
	[ $passed -gt 0 ] || exit 77
	exit 0
}
