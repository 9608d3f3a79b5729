# SPDX-License-Identifier: Apache-2.0
#
# nesting.sh - holds what a program of tests/progs/nesting says of its calls
# against the trace.

# compilers C|C++: those there are.
compilers()
{
	case $1 in
	C) both="${CC:-gcc} clang" ;;
	*) both="${CXX:-g++} clang++" ;;
	esac
	for compiler in $both; do
		command -v "$compiler" >/dev/null && echo "$compiler"
	done
}

# build_nesting PROGRAM COMPILER [FLAG...]: to ./PROGRAM.
build_nesting()
{
	program=$1
	compiler=$2
	shift 2
	"$compiler" "$@" -g -iquote "$TOP" -finstrument-functions -pthread \
		-o "$program" "$TOP/tests/progs/nesting/$program".c* ||
		fail "$compiler $* cannot compile $program"
}

# Lines "TRACK CALLER/.../FUNCTION" of a dump on stdin, as the programs write
# them. Helpers of pthread.h are transparent.
told_paths()
{
	sort -s -k4,4n | awk '
	$1 == "B" {
		name = $6
		sub(/[.(].*/, "", name)
		at = ++depth[$3]
		above = at > 1 ? path[$3, at - 1] : ""
		if (name ~ /^__pthread_cleanup/) {
			path[$3, at] = above
			next
		}
		path[$3, at] = above == "" ? name : above "/" name
		track = $3
		sub(/\/.*/, "/+", track)
		print track, path[$3, at]
	}
	$1 == "E" { depth[$3]-- }'
}

# check_nesting PROGRAM WHAT [ARGUMENT...]: record it; every call has the caller
# it says, and nothing was lost or mixed.
check_nesting()
{
	program=$1
	what=$2
	shift 2
	export NESTING_LOG="$PWD/log"
	rm -rf data log
	run_ok "$PERFREC" record --alloc=off --cpu=off -q -o data -- "./$program" "$@"
	"$O/tests/tools/trace_check" --dump data/trace.pftrace >dump ||
		fail "$what: the trace is broken"
	told_paths <dump | sort -s -k1,1 >told
	sort -s -k1,1 log >said
	[ -s said ] || fail "$what: nothing was said"
	if ! cmp -s said told; then
		diff said told | head -n 20
		fail "$what: the program says < and the trace >"
	fi
	expect_eq "$what: lost" "$(json data/summary.json '[.totals | .orphan_ends,
		.mixed_contexts, .dropped_spans, .truncated_spans] | add')" 0
	expect_eq "$what: calls" "$(json data/summary.json .totals.spans)" \
		"$(grep -c '^B' dump)"
}
