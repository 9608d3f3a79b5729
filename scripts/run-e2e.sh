#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# run-e2e.sh [-j N] [--short | TEST...] - run end-to-end tests (default: all), N at a
# time, each in a fresh folder of its own. TEST is a theme (cpu), a test (cpu/engines),
# or the path of a test (tests/e2e/cpu/engines.sh). Tests wait more than they
# compute, so the default of N is twice the number of CPUs. --short omits tests with
# a line "# long: WHY".
#
# A test is a shell script. It fails by a non-zero status, skips by status 77
# with the reason as its last line of output, and may run for 300 seconds unless
# it has a line "# timeout: SECONDS". These are seconds of its own time
# (tests/tools/within.c), so that a busy machine does not end a test. Its
# environment has:
#
#     TOP      this source tree
#     O        the folder of the binaries, absolute (default: build)
#     PERFREC  $O/perfrec
#
# but no other PERFREC_* variable and no variable of make. CC and CXX have no
# ccache in front. XDG_RUNTIME_DIR is its folder, so that tests do not share
# sockets. The output of a failed test is shown, and its last line again at the end:
# a reader may have only the end of a long log.
set -u

TOP=$(cd "$(dirname "$0")/.." && pwd)
O=$(cd "${O:-$TOP/build}" && pwd) || exit 2
export TOP O

# Prints how many ms the host of this machine has taken its CPUs away.
stolen_ms()
{
	awk -v hz="$(getconf CLK_TCK)" '/^cpu / { print int($9 * 1000 / hz) }' \
		/proc/stat
}

# check_times DIR STOLEN: the times of no recording that a test has left below DIR
# contradict each other, or had to be corrected by much more than STOLEN ms: a
# thread seems to run while the host has its CPU.
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
		# jq takes 30 ms to start. A surplus below 10 ms is within its limit.
		grep -Eq '"surplus_[a-z]+_ns": *[0-9]{8}' "$data/summary.json" ||
			continue
		# Each switch adds some us, and a busy machine has many switches.
		# Functions have the time whose switches were lost. What threads have
		# too much, their functions have, too: the same time.
		jq -e --argjson stolen "$2" '.totals | (([.surplus_functions_ns // 0,
			.surplus_threads_ns // 0] | max) +
			(.surplus_silent_ns // 0)) as $surplus |
			$surplus > 50000000 + $stolen * 1000000 +
				(.switches // 0) * 50000 +
				if (.lost_switches // 0) > 0 then .unknown_sched_ns -
					.surplus_threads_ns else 0 end and
			$surplus > .cpu_ns / 20' \
			"$data/summary.json" >/dev/null 2>&1 || continue
		echo "$data: on-CPU time was taken back, $2 ms were stolen:"
		jq -c '.wall_ns, .user_ns, .sys_ns, (.totals | with_entries(select(
			.key | test("^surplus_|^cpu|_ns$|switches"))))' \
			"$data/summary.json"
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
	stolen=$(stolen_ms)

	(
		cd "$dir" || exit 1
		for variable in $(env | sed -n 's/^\(PERFREC_[A-Z_]*\)=.*/\1/p')
		do
			unset "$variable"
		done
		# A make in a test must not join the make that runs us.
		unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
		case ${CC:-} in 'ccache '*) export CC="${CC#ccache }" ;; esac
		case ${CXX:-} in 'ccache '*) export CXX="${CXX#ccache }" ;; esac
		export PERFREC="$O/perfrec" XDG_RUNTIME_DIR="$dir"
		exec "$O/tests/tools/within" "$limit" sh "$test" </dev/null >"$log" 2>&1
	)
	status=$?
	stolen=$(($(stolen_ms) - stolen))
	[ $status -ne 0 ] || check_times "$dir" $stolen >>"$log" 2>&1 || status=1
	time_end "$name"

	case $status in
	0)	line="ok     $name, $seconds s" ;;
	77)	line="skip   $name: $(tail -n 1 "$log")" ;;
	124)	line="not ok $name: not done after $limit seconds of its own time" ;;
	*)	line="not ok $name: exit status $status" ;;
	esac
	why=
	[ "${line#not ok}" = "$line" ] || why=": $(tail -n 1 "$log")"
	echo "$line$why" >>"$results"
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

# Without them tests would fail with misleading words, such as "a rule is broken".
for tool in trace_check within json_at; do
	[ -x "$O/tests/tools/$tool" ] || {
		echo "$O/tests/tools/$tool is missing: make e2e-programs" >&2
		exit 2
	}
done
jobs=$(($(nproc) * 2))
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

short=
if [ "${1:-}" = --short ]; then
	short=1
	shift
fi
results=$(mktemp "${TMPDIR:-/tmp}/perfrec-e2e.XXXXXX") || exit 1
trap 'rm -f "$results"' EXIT
if [ $# -eq 0 ]; then
	# The longest tests start first, so that the others run beside them.
	for test in $(awk -F ': *' 'FNR == 1 && file { print limit, file }
			FNR == 1 { file = FILENAME; limit = 300 }
			/^# timeout: *[0-9]+$/ { limit = $2 }
			END { print limit, file }' "$TOP"/tests/e2e/*/*.sh |
			sort -k1,1nr -k2 | cut -d ' ' -f 2-); do
		[ "${test#"$TOP"/tests/e2e/lib/}" = "$test" ] || continue
		[ -z "$short" ] || ! grep -q '^# long: ' "$test" || continue
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
[ -z "$short" ] || echo 'long tests are left out: make check-full has them'
grep '^not ok ' "$results"
echo "$(count ok) passed, $(count 'not ok') failed, $(count skip) skipped"
! grep -q '^not ok ' "$results"
