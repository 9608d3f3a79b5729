# SPDX-License-Identifier: Apache-2.0
# long: records each of seven forms of thread-local access
#
# A program says which request each thread works on in a thread-local record that
# every profiler may read (OTEP 4947): samples by signals and of allocations have
# the ids as labels, and annotations as arguments. The record is the program's, a
# linked library's or an opened one's, with each form of thread-local access.
. "$TOP/tests/e2e/lib.sh"
need gcc python3

from=$TOP/tests/progs/who
flags="-O1 -Wall -Wextra -Wconversion -Werror -I$TOP/preload"

# library NAME FLAG...: a library with the record.
library()
{
	name=$1
	shift
	gcc $flags "$@" -fPIC -shared -o "$name" "$from/context_record.c" ||
		fail "$name"
}
library libcontext.so
gcc $flags -rdynamic -o own "$from/context.c" "$from/context_record.c" -pthread ||
	fail own
gcc $flags -rdynamic -o linked "$from/context.c" -L. \
	-Wl,--no-as-needed -lcontext -Wl,-rpath,"$PWD" -pthread || fail linked
gcc $flags -rdynamic -o without "$from/context.c" -pthread || fail without
programs='own linked without dynamic static'
library libdynamic.so -ftls-model=global-dynamic
library libstatic.so -ftls-model=initial-exec
# Thread-local descriptors, which the OTEP mentions.
[ "$(uname -m)" != x86_64 ] || {
	library libdescriptor.so -mtls-dialect=gnu2
	programs="$programs descriptor"
}

A='aa010000000000000000000000000000 a1a2000000000000'
B=bb020000000000000000000000000000
C='cc030000000000000000000000000000 a1a2000000000000'
D='dd000000000000000000000000000000 d100000000000000'
record="in_child $A;in_detached - -;in_invalid - -;in_record $A;in_record_again $A;in_slice $A;in_thread $C;in_zero - -;"

# requests PROFILE: functions with the ids of their samples.
requests()
{
	python3 "$TOP/tests/tools/profile_requests.py" "$1" in_ |
		sed 's/ [0-9]*$//' | LC_ALL=C sort | tr '\n' ';'
}

for name in $programs; do
	wanted=$(printf '%s' "in_both $B -;$record" | tr ';' '\n' |
		LC_ALL=C sort | tr '\n' ';')
	child=$A thread=$C ids=$A slice=$D program=./$name library=
	case $name in
	without)
		wanted=$(printf '%s' "$wanted" | tr ';' '\n' |
			sed "s/^\\(in_[a-z_]*\\) [ac].*/\\1 - -/" | tr '\n' ';')
		child='null null' thread=$child ids=$child
		;;
	dynamic | static | descriptor)
		program=./without library=./lib$name.so
		wanted=$(printf '%s' "$wanted;in_closed - -" | tr ';' '\n' |
			grep . | LC_ALL=C sort | tr '\n' ';')
		;;
	esac
	# 120 ms of CPU time for each function. Where the host takes a CPU away, the
	# clock goes on, and no timer ticks: once in 40 ms there was no sample.
	run "$PERFREC" record -q --overhead off --cpu 1000,signal \
		--alloc=sampled -o $name.data $program 120000000 $library
	[ $status -eq 0 ] || fail "$name: $(cat err)"
	"$O/tests/tools/trace_check" $name.data/trace.pftrace || fail "$name: trace"
	expect_eq "allocations of $name" "$(requests $name.data/heap.pb.gz)" "$wanted"
	expect_eq "CPU time of $name" "$(requests $name.data/cpu.pb.gz)" "$wanted"
	"$PERFREC" dump $name.data |
		jq -r 'select(.kind == "instant" or .kind == "begin") |
			select(.arguments != null or .kind == "instant") |
			"\(.name): \(.arguments.trace_id) \(.arguments.span_id)"' |
		LC_ALL=C sort >said
	for line in "record: $ids" 'invalid: null null' 'zero: null null' \
			'both: null null' "record again: $ids" "in slice: $ids" \
			'detached: null null' "thread: $thread" "child: $child" \
			"slice: $slice" "request: $B 0000000000000000"; do
		grep -qxF "$line" said || fail "$name: no '$line' in: $(cat said)"
	done
done
