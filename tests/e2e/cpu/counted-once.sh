# SPDX-License-Identifier: Apache-2.0
# long: computes for seconds in many processes
#
# CPU time is counted once and completely: for threads and forked children that
# share a CPU (the kernel swaps their perf events), for threads that are ended or
# killed while they wait, and for processes that are too short for a sample. These
# have a row by their command, even if they cannot be preloaded.
#
# The test compares the profile with getrusage() of the same run, which the
# summary has. CPU_STRICT=1 (make check-real) demands 2 %.
. "$TOP/tests/e2e/lib.sh"

prog=$O/tests/progs/cpu_share
if [ "${CPU_STRICT:-}" ]; then
	ms=1000 crowd=200 off=2 unknown=2
else
	ms=300 crowd=40 off=10 unknown=10
fi

# expect_share WHAT PART WHOLE LOW HIGH: PART of WHOLE, in percent.
expect_share()
{
	awk -v part="$2" -v whole="$3" -v low="$4" -v high="$5" 'BEGIN {
		share = whole > 0 ? 100 * part / whole : 0
		exit !(share >= low && share <= high)
	}' || fail "$1: $2 of $3 is not $4 % to $5 %"
}

# row NAME: the CPU time of a row of the view.
row()
{
	jq --arg name "$1" \
		'[.functions[] | select(.name == $name) | .self.cpu] | add // 0' \
		view.json
}

# record NAME COMMAND...: at 997 Hz; the profile's sum is getrusage()'s.
record()
{
	name=$1
	shift
	run_ok "$PERFREC" record -q --alloc=off --cpu=997,perf -o "$name.data" "$@"
	check_sum "$name"
}

check_sum()
{
	if jq -e '.notes | any(test("^no CPU samples"))' \
		"$1.data/summary.json" >/dev/null; then
		skip "perf_event is denied here"
	fi
	"$PERFREC" report --view cpu --json --limit 0 "$1.data" >view.json ||
		fail "$1: no view"
	sum=$(jq .sum.cpu view.json)
	sum=$((sum + $(row '[perfrec]')))
	used=$(jq '.user_ns + .sys_ns' "$1.data/summary.json")
	expect_share "$1: the profile" "$sum" "$used" $((100 - off)) \
		$((100 + off))
	expect_share "$1: the summary" \
		"$(jq .totals.cpu_ns "$1.data/summary.json")" "$sum" 99.9 100.1
	expect_share "$1: unknown" "$(row '[unknown]')" "$sum" 0 $unknown
}

# One CPU, so that they follow each other on it.
cpu=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*\([0-9]*\).*/\1/p' \
	/proc/self/status)
pinned()
{
	taskset -c "$cpu" "$@"
}
command -v taskset >/dev/null || pinned()
{
	"$@"
}

one_cpu()
{
	name=$1
	shift
	pinned "$PERFREC" record -q --alloc=off --cpu=997,perf \
		-o "$name.data" "$@" >out 2>err
	status=$?
	expect_status 0
	check_sum "$name"
}

one_cpu threads "$prog" threads 1 $ms
one_cpu forks "$prog" forks 1 $ms
one_cpu both "$prog" both 4 $crowd
record exit "$prog" exit 20 $crowd
record kill "$prog" kill 20 $crowd
# Too short for a sample, one by one, but not in sum.
run_ok "$PERFREC" record -q --alloc=off --cpu=10,perf -o short.data \
	"$prog" threads 100 1
check_sum short

# A parent is sampled, however often it forks children that might take the rest of
# a sampling period with them. It spends 300 ms and what its forks take. Its
# children are too short for samples, and a busy machine takes longer to make and
# end them: then half of the time is theirs. So the least is by the 300 ms.
case $(uname -r) in
[1-4].* | 5.[0-9].* | 5.1[0-2].*) ;;
*)
	pinned "$PERFREC" record -q --alloc=off --cpu=100,perf -o shell.data \
		"$prog" shell 150 2 >out 2>err
	check_sum shell
	stood_for=$(jq '.totals.cpu_samples * 10000000' shell.data/summary.json)
	expect_share 'the time that samples stand for, of all' \
		"$stood_for" "$used" 0 120
	expect_share 'the time that samples stand for, of the 300 ms' \
		"$stood_for" 300000000 90 1000
	;;
esac

# missed_of NAME: how many processes may not be counted as short ones. A sample
# may fall on one, which is none without a sample then; and on a busy machine
# the kernel may lose a record of one, which is said.
missed_of()
{
	jq '.totals.cpu_samples + ([.notes[] |
		capture("lost (?<n>[0-9]+) record").n | tonumber] | add // 0)' \
		"$1.data/summary.json"
}

# The process has the library twice, as an emulator and its program do: another
# namespace of the linker has a copy that connects as well.
build twice -ldl <<'SOURCE'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
static volatile long sum;
__attribute__((noinline)) static void leaf(void)
{
	sum++;
}
int main(int argc, char **argv)
{
	struct timespec now;

	leaf();
	if (!dlmopen(LM_ID_NEWLM, argv[1], RTLD_NOW))
		return 1;
	leaf();
	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	while (!now.tv_sec && now.tv_nsec < atoi(argv[2]) * 1000000L);
	return 0;
}
SOURCE
record twice ./twice "$O/libperfrec_preload.so" "$ms"
expect_eq 'spans after the second hello' \
	"$(json twice.data/summary.json .totals.spans)" 3

# Pipelines of short processes, and a static program.
cat >pipes.sh <<'EOF'
i=0
while [ $i -lt 60 ]; do
	echo "line $i" | sed 's/line/row/' | grep -c row
	"$1" threads 1 1
	i=$((i + 1))
done
EOF
static=$O/tests/progs/cpu_share_static
[ -x "$static" ] || static=$prog # there is no static C library
cp "$static" still
run_ok "$PERFREC" record -q --alloc=off --cpu=10,perf -o pipes.data \
	sh pipes.sh ./still
expect_eq 'lines of output' "$(grep -c '^1$' out)" 60
check_sum pipes
missed=$(missed_of pipes)
for name in sed grep still; do
	count=$(jq --arg name $name \
		'.unsampled_processes[] | select(.name == $name) | .count' \
		pipes.data/summary.json)
	[ "$count" -le 60 ] && [ $((count + missed)) -ge 60 ] ||
		fail "processes of $name: $count and at most $missed, not 60"
	[ "$(row "[short processes] $name")" -gt 0 ] ||
		fail "$name has no row: $(jq -c .unsampled_processes \
			pipes.data/summary.json)"
done
expect_share 'short processes by row' \
	"$(jq '[.unsampled_processes[].cpu_ns] | add' pipes.data/summary.json)" \
	"$(jq .totals.unsampled_process_ns pipes.data/summary.json)" 99.9 100.1
"$PERFREC" report --view cpu pipes.data >out
expect_match out '[0-9]  \[short processes\] sed'
if [ "$static" != "$prog" ]; then
	record static "$static" threads 1 $crowd
	expect_share 'a static program' \
		"$(row '[not sampled] cpu_share_stati')" "$sum" 95 101
fi

# Names are the programs' own: any bytes, and never more rows than 256.
cat >names.sh <<'EOF'
i=0
while [ $i -lt 300 ]; do
	ln still "n$i"
	./"n$i"
	i=$((i + 1))
done
EOF
cp "$(command -v cat)" still
cp still "$(printf 'o\033[31m\n%%s')"
echo './o*' >>names.sh
run_ok "$PERFREC" record -q --alloc=off --cpu=10,perf -o names.data \
	sh names.sh </dev/null
check_sum names
rows=$(jq '.unsampled_processes | length' names.data/summary.json)
missed=$(missed_of names)
[ "$rows" -le 256 ] && [ $((rows + missed)) -ge 256 ] ||
	fail "$rows rows and at most $missed, not 256"
"$PERFREC" report --view cpu --limit 0 names.data >out
[ "$rows" -lt 256 ] || expect_match out '\[short processes\] others'
! grep -q "$(printf '\033')" out || fail 'a name reached the terminal raw'
