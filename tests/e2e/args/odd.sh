# SPDX-License-Identifier: Apache-2.0
# long: records the same program in many ways
#
# Arguments and results of calls that end in odd ways, on every path of the shim:
# each recorded result follows from the arguments beside it, and calls that never
# return have none.
. "$TOP/tests/e2e/lib.sh"
need jq g++

g++ -g -O2 -o odd "$TOP/tests/progs/args/odd.cc" -pthread || skip 'no g++'

# record_odd ROUNDS OPTION...: checks each recorded result; leaves ./calls: a line
# for each call, NAME ARGUMENTS RESULT.
record_odd()
{
	rounds=$1
	shift
	run "$PERFREC" record --patch --args '*' --args-strings --alloc=off --cpu=off \
		"$@" -o data -- ./odd "$rounds"
	expect_status 0
	"$O/tests/tools/trace_check" data/trace.pftrace >checked ||
		fail "$(cat checked)"
	expect_eq 'damaged arguments' "$(json data/summary.json \
		'.totals | .odd_annotations + .cut_annotations')" 0
	expect_match out '^caught 10 jumped 10$'
	# Pairs each end with the begin at the same depth.
	"$PERFREC" dump data | jq -r 'select(.kind == "begin" or .kind == "end") |
		[.kind, .track, .depth, .name, (.arguments // {} | del(.["perfrec.repaired", "perfrec.waited_ns"]) |
		 [.[]] | join(","))] |
		@tsv' | awk -F '\t' '
		$1 == "begin" { args[$2, $3] = $5; next }
		{ print $4 "\t" args[$2, $3] "\t" $5 }' >calls
	awk -F '\t' '
	{ split($2, arg, ","); bad = 0 }
	$3 == "" || $2 == "" { next }
	$1 == "sum" { bad = $3 != 3 * arg[1] + arg[2] }
	$1 == "deep" { bad = $3 != arg[1] + 1 }
	$1 == "mixed" { bad = $3 != 2 * arg[1] + arg[2] }
	$1 == "tail" { bad = $3 != arg[1] + 1 }
	$1 == "text" { bad = $3 != arg[1] }
	bad { print; failed = 1 }
	END { exit failed }' calls >wrong || fail "$*: $(head -3 wrong)"
}
# with_result NAME: how many of its calls have arguments and a result.
with_result()
{
	awk -F '\t' -v name="$1" '$1 == name && $2 != "" && $3 != ""' calls | wc -l
}

record_odd 20000
for name in sum mixed; do
	expect_eq "calls of $name" "$(with_result $name)" "$(sed -n "s/^$name //p" out)"
done
expect_eq 'calls of deep' "$(with_result deep)" 201
expect_eq 'calls of text' "$(with_result text)" 200
# Every second call ends by throw or longjmp(), so it has no result.
for name in thrower jumper; do
	expect_eq "results of $name" "$(with_result $name)" 10
	expect_eq "calls of $name" "$(grep -c "^$name	[0-9]" calls)" 20
done

# The general path; a filter; a small ring that is full at times; short calls.
PERFREC_RSEQ=off record_odd 5000
expect_eq 'sum without rseq' "$(with_result sum)" "$(sed -n 's/^sum //p' out)"
record_odd 5000 --exclude deep
expect_eq 'sum with a filter' "$(with_result sum)" "$(sed -n 's/^sum //p' out)"
expect_eq 'calls of an excluded function' "$(grep -c ^deep calls)" 0
record_odd 20000 --ring-size 64K
expect_eq 'sum in a small ring' "$(with_result sum)" "$(sed -n 's/^sum //p' out)"
record_odd 20000 --ring-size 64K --on-full=drop
record_odd 2000 --depth 3
record_odd 2000 --min-duration 1ms
expect_eq 'sum of short calls' "$(with_result sum)" "$(sed -n 's/^sum //p' out)"
record_odd 2000 --count mixed
expect_eq 'calls of a counted function' "$(grep -c ^mixed calls)" 0

# In an entry build, --patch moves all functions except one with a variable number of
# arguments. clang's debug information begins behind the sled.
mv odd odd.plain
for cxx in g++ clang++; do
	command -v $cxx >compiler || continue
	"$PERFREC" cc --hooks=entry -- $cxx -w -g -O2 -o odd \
		"$TOP/tests/progs/args/odd.cc" -pthread || fail "cannot compile by $cxx"
	record_odd 2000
	expect_eq "$cxx: sum" "$(with_result sum)" "$(sed -n 's/^sum //p' out)"
	expect_eq "$cxx: thrower" "$(with_result thrower)" 10
done
mv odd.plain odd

# The same calls without arguments: nothing else differs.
run "$PERFREC" record --patch --alloc=off --cpu=off -o plain -- ./odd 2000
expect_status 0
record_odd 2000
run "$PERFREC" diff plain data
expect_status 0

# A file without debug information is named once, however often it runs.
printf 'int main(void) { return 0; }\n' | gcc -O2 -o bare -xc - ||
	fail 'cannot compile bare'
run "$PERFREC" record -q --patch=bare --args='main' --alloc=off --cpu=off -o data -- \
	sh -c './bare; ./bare; ./bare'
expect_status 0
expect_eq 'warnings about bare' "$(grep -c 'bare will be recorded without' err)" 1
# The same is true of a file that lacks debug information for some functions.
cat >other.c <<'C'
int other(int n)
{
	for (volatile int i = 0; i < n; i++)
		n ^= i;
	return n;
}
C
printf 'int other(int);\nint main(void) { return other(0); }\n' >half.c
gcc -O2 -c other.c && gcc -O2 -g -o half half.c other.o || fail 'cannot compile half'
run "$PERFREC" record -q --patch=half --args='other' --alloc=off --cpu=off -o data -- \
	sh -c './half; ./half; ./half'
expect_status 0
expect_eq 'warnings about half' \
	"$(grep -c '1 function of .*/half will be recorded without' err)" 1
