#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# run-e2e.sh [-j N] [TEST...] - run end-to-end tests (default: all), N at a time,
# each in a fresh folder of its own. TEST is a theme (cpu), a test (cpu/engines),
# or the path of one (tests/e2e/cpu/engines.sh). Tests wait more than they
# compute, so N is one more than there are CPUs, unless it is given.
#
# A test is a shell script. It fails by a non-zero status, skips by status 77
# with the reason as its last line of output, and gets 300 seconds unless a
# line "# timeout: SECONDS" in it says otherwise. It sees:
#
#     TOP      this source tree
#     O        where the binaries are, absolute (default: build)
#     PERFREC  $O/perfrec
#
# and no other PERFREC_* variable, nor make's. CC and CXX have no ccache in front.
# XDG_RUNTIME_DIR is its folder, so that its sockets meet nobody else's. The
# output of a failed test is shown.
set -u

TOP=$(cd "$(dirname "$0")/.." && pwd)
O=$(cd "${O:-$TOP/build}" && pwd) || exit 2
export TOP O

# check_times DIR: the times of no recording that a test has left below DIR
# contradict each other, or had to be corrected by much.
check_times()
{
	find "$1" -type f -name summary.json >"$1.found"
	while read -r data; do
		data=${data%/summary.json}
		# Others cannot be read, as the test wanted it.
		"$O/perfrec" doctor "$data" >"$1.times" 2>&1
		if grep '^bad' "$1.times"; then
			echo "$data: its times contradict each other"
			return 1
		fi
		# A host that takes the CPU away makes some; a mistake makes more.
		jq -e '.totals | ([.surplus_functions_ns, .surplus_threads_ns,
			.surplus_silent_ns] | add // 0) as $surplus |
			$surplus > 50000000 and $surplus > .cpu_ns / 20' \
			"$data/summary.json" >/dev/null 2>&1 || continue
		echo "$data: on-CPU time was taken back:"
		jq -c '.totals | with_entries(select(.key |
			startswith("surplus_")))' "$data/summary.json"
		return 1
	done <"$1.found"
}

# Runs in a process of its own for each test: "run-e2e.sh --one RESULTS TEST".
run_one()
{
	results=$1 test=$2
	theme=${test%/*}
	name=${theme##*/}/$(basename "$test" .sh)
	dir=$(mktemp -d "${TMPDIR:-/tmp}/perfrec-e2e.XXXXXX") || exit 1
	log=$dir.log
	limit=$(sed -n 's/^# timeout: *\([0-9]*\)$/\1/p' "$test")
	limit=${limit:-300}
	. "$TOP/scripts/test-times.sh"
	time_begin

	(
		cd "$dir" || exit 1
		for variable in $(env | sed -n 's/^\(PERFREC_[A-Z_]*\)=.*/\1/p')
		do
			unset "$variable"
		done
		# A make in a test is not a part of the one that runs us.
		unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
		case ${CC:-} in 'ccache '*) export CC="${CC#ccache }" ;; esac
		case ${CXX:-} in 'ccache '*) export CXX="${CXX#ccache }" ;; esac
		export PERFREC="$O/perfrec" XDG_RUNTIME_DIR="$dir"
		exec timeout -k 5 "$limit" sh "$test" </dev/null >"$log" 2>&1
	)
	status=$?
	[ $status -ne 0 ] || check_times "$dir" >>"$log" 2>&1 || status=1
	time_end "$name"

	case $status in
	0)	line="ok     $name, $seconds s" ;;
	77)	line="skip   $name: $(tail -n 1 "$log")" ;;
	124|137) line="not ok $name: not done after $limit seconds" ;;
	*)	line="not ok $name: exit status $status" ;;
	esac
	echo "$line" >>"$results"
	# One after another, so that no two reports are mixed.
	case $line in
	"not ok"*)
		{ echo "$line"; tail -n 40 "$log" | sed 's/^/    | /'; } ;;
	*)	echo "$line" ;;
	esac | flock "$results" cat
	rm -rf "$dir" "$log" "$dir.found" "$dir.times"
}

if [ "${1:-}" = --one ]; then
	run_one "$2" "$3"
	exit 0
fi

# Else a test that needs it fails with "a rule is broken".
[ -x "$O/tests/tools/trace_check" ] || {
	echo "$O/tests/tools/trace_check is missing: make e2e-programs" >&2
	exit 2
}
jobs=$(($(nproc) + 1))
if [ "${1:-}" = -j ]; then
	jobs=$2
	shift 2
fi
# The paths of the tests that $1 names, one in each line.
tests_of()
{
	for base in "$TOP/tests/e2e/$1" "$1"; do
		for file in "$base" "$base.sh" "$base"/*.sh; do
			[ -f "$file" ] && readlink -e "$file"
		done
	done | grep . || echo "not ok $1: no such test" |
		tee -a "$results" >&2
}

results=$(mktemp "${TMPDIR:-/tmp}/perfrec-e2e.XXXXXX") || exit 1
trap 'rm -f "$results"' EXIT
if [ $# -eq 0 ]; then
	# Those that may take longest come first, so that nobody waits for them.
	for test in $(awk -F ': *' 'FNR == 1 && file { print limit, file }
			FNR == 1 { file = FILENAME; limit = 300 }
			/^# timeout: *[0-9]+$/ { limit = $2 }
			END { print limit, file }' "$TOP"/tests/e2e/*/*.sh |
			sort -k1,1nr -k2 | cut -d ' ' -f 2-); do
		[ "${test#"$TOP"/tests/e2e/lib/}" != "$test" ] ||
			set -- "$@" "$test"
	done
fi
for test in "$@"; do
	tests_of "$test"
done | xargs -r -d '\n' -n 1 -P "$jobs" "$0" --one "$results"

count()
{
	grep -c "^$1 " "$results"
}
echo "$(count ok) passed, $(count 'not ok') failed, $(count skip) skipped"
! grep -q '^not ok ' "$results"
