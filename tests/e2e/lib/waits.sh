# SPDX-License-Identifier: Apache-2.0
#
# waits.sh - recordings of programs that know what their waits were
# (tests/progs/waits), sourced after lib.sh.

WAITS=$O/tests/progs/waits

need python3 jq

# perf_permitted: by the kernel, here, and not only by what perfrec says.
perf_permitted()
{
	"$WAITS/cpus" probe >/dev/null
}

# waits_record DIR PROGRAM ARGUMENT...: records PROGRAM of tests/progs/waits with
# the options in $options; ./out gets the truth about it.
waits_record()
{
	dir=$1
	program=$2
	shift 2
	# shellcheck disable=SC2086 # a list of options
	run_ok "$PERFREC" record -q $options -o "$dir" "$WAITS/$program" "$@"
	cp out "$dir.truth"
}
options=

# waits_are_true DIR [OPTION...]: of waits_check.py.
waits_are_true()
{
	dir=$1
	shift
	python3 "$TOP/tests/tools/waits_check.py" "$@" "$dir/summary.json" \
		"$dir.truth"
}

# waits_agree DIR [OPTION...]: the recording is true.
waits_agree()
{
	waits_are_true "$@" || fail "$1: it is not as the program says"
}

# overloaded: true if more threads want a CPU than there are CPUs. Then the
# program measures its own time later than the bounds allow, and a collector may
# have no CPU for seconds. It counts the lost switches, but not all of them.
overloaded()
{
	[ "$(cut -d. -f1 /proc/loadavg)" -gt "$(nproc)" ]
}

# families PROGRAM FAMILY...: each is recorded, and agrees.
families()
{
	program=$1
	shift
	perf_permitted || sums=--sums
	for family in "$@"; do
		waits_record "$family" "$program" "$family"
		# Nobody is to trust one look at an overloaded machine.
		for again in 1 2 3; do
			overloaded || break
			# shellcheck disable=SC2086 # no word, or one
			waits_are_true "$family" $sums && break
			rm -rf "$family"
			waits_record "$family" "$program" "$family"
		done
		# shellcheck disable=SC2086 # no word, or one
		waits_agree "$family" $sums
	done
}
sums=

# names_are_true DIR FLOOR [OPTION...]: of whom_check.py.
names_are_true()
{
	dir=$1
	floor=$2
	shift 2
	python3 "$TOP/tests/tools/whom_check.py" --floor "$floor" --show "$@" \
		"$dir/trace.pftrace" "$dir.truth"
}

# whom FAMILY FLOOR [OPTION...]: records the program whom. The trace must name the
# holders and wakers of the program's log for at least FLOOR % of the time.
whom()
{
	waits_record "$1" whom "$1"
	# A thread without records is named wrongly in one wait of some hundreds.
	for again in 1 2 3; do
		overloaded || break
		names_are_true "$@" && break
		rm -rf "$1"
		waits_record "$1" whom "$1"
	done
	names_are_true "$@" ||
		fail "$1: the trace has other names than the program"
	"$O/tests/tools/trace_check" "$1/trace.pftrace" >wrong ||
		fail "$1: $(cat wrong)"
}
