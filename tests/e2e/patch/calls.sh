# SPDX-License-Identifier: Apache-2.0
#
# perfrec record --patch: a program without hooks runs as it does alone, and each
# call of each function that can be moved is recorded or counted, however the
# program was compiled. Functions that cannot be moved are counted as such.
. "$TOP/tests/e2e/lib.sh"
need gcc
source=$TOP/tests/progs/patch/shapes.c

# check NAME MODE [OPTION...]: records ./NAME, whose calls are all known; with the
# mode off not by perfrec.
check()
{
	name=$1
	mode=$2
	shift 2
	run "$PERFREC" record --patch --alloc=off --cpu=off "$@" -o data -- ./"$name"
	expect_status 7
	cmp -s out expected || fail "$name, $mode: $(diff out expected)"
	expect_match err "^  patched    [0-9]+ of [0-9]+ functions without hooks"
	# The output has the count of calls of each function.
	json data/summary.json '.functions | group_by(.name)[] |
		"\(.[0].name) \([.[].calls] | add)"' | sort >recorded
	sed -n 's/^calls //p' out | grep -v ' 0$' | sort >counted
	# Without those that cannot be moved.
	grep -Ev "$refused" counted >movable
	[ "$mode" = off ] || join movable recorded |
		awk '$2 != $3 { print; bad = 1 } END { exit bad }' >differ ||
		fail "$name, $mode: $(cat differ)"
	[ "$mode" = off ] || expect_eq "$name, $mode: functions with calls" \
		"$(join movable recorded | wc -l)" "$(wc -l <movable)"
	"$O/tests/tools/trace_check" data/trace.pftrace >checked ||
		fail "$name, $mode: $(cat checked)"
}

for flags in -O0 '-O1 -no-pie' '-O2 -fcf-protection' '-O2 -fomit-frame-pointer -s' \
	'-O3 -fno-omit-frame-pointer' '-Os -fno-plt -Wl,-z,now'; do
	# shellcheck disable=SC2086 # several words
	gcc $flags -w -o shapes "$source" -pthread -lm ||
		skip "gcc cannot compile with $flags"
	# sum() has variable arguments, huge() too many on the stack. At -O0 a
	# function with an array of variable size may use another stack pointer.
	refused='^(sum|huge|stack_array) '
	./shapes >expected
	case $flags in
	*' -s')
		# Without names, numbers must do.
		run "$PERFREC" record -q --patch -o data -- ./shapes
		expect_status 7
		cmp -s out expected || fail "$flags: $(diff out expected)"
		continue
		;;
	esac
	check shapes "$flags"
done

# doctor counts the same functions of the file.
run_ok "$PERFREC" doctor --json ./shapes
expect_eq 'functions that can be moved' \
	"$(json out '"\(.patchable) \(.functions - .patchable)"')" \
	"$(json data/summary.json '.totals |
		"\(.functions_patched) \(.functions_unpatched)"')"
run_ok "$PERFREC" doctor ./shapes
expect_match out 'functions in .* of code$' \
	'^ +[0-9]+ +[0-9.]+ %  can be recorded as they are: perfrec record --patch$' \
	'^ +2 +[0-9.]+ %  cannot, for stack arguments .* \(huge, sum\)$'
run "$PERFREC" doctor /etc/passwd
expect_error 1 "'/etc/passwd': not an ELF file for this machine"

# The same functions in other states.
check shapes counted --count '*'
expect_eq 'spans of counted functions' "$(json data/summary.json .totals.spans)" 0
check shapes budget --overhead 1%
run "$PERFREC" record --patch --alloc=off --cpu=off --filter fib -o data -- ./shapes
expect_status 7
expect_eq 'spans that a filter admits' "$(json data/summary.json .totals.spans)" \
	"$(sed -n 's/^calls fib //p' out)"
check shapes off --depth 5
check shapes off --exclude '*'
expect_eq 'calls of functions that are off' \
	"$(json data/summary.json '.totals | .spans + .counted_calls')" 0

# Jumps between functions need no stack: 4 million of them.
gcc -O2 -w -o shapes "$source" -pthread -lm
./shapes 40000 >expected
run "$PERFREC" record -q --patch --alloc=off --cpu=off -o data -- \
	./shapes 40000
expect_status 7
cmp -s out expected || fail "jumps: $(diff out expected)"
./shapes >expected

# A pattern selects files by their names.
run "$PERFREC" record -q --patch='other,lib*' --alloc=off --cpu=off -o data -- ./shapes
expect_status 7
cmp -s out expected || fail 'patterns: the output has changed'
expect_eq 'functions of files that do not match' "$(json data/summary.json \
	'[.functions[] | select(.name == "fib")] | length')" 0
run "$PERFREC" record -q --patch='other,sha?es' --alloc=off --cpu=off -o data -- ./shapes
expect_eq 'functions of files that match' "$(json data/summary.json \
	'[.functions[] | select(.name == "fib")] | length')" 1

# A program of the system and its libraries, once more from the cache of plans.
export XDG_CACHE_HOME="$PWD/cache"
bash -c 'for i in 1 2 3; do x=$(echo $i); echo "$x"; done' >expected
for round in first second; do
	run_ok "$PERFREC" record -q --patch=all -o data -- \
		bash -c 'for i in 1 2 3; do x=$(echo $i); echo "$x"; done'
	cmp -s out expected || fail "bash, $round: $(diff out expected)"
	[ "$(json data/summary.json .totals.functions_patched)" -gt 1000 ] ||
		fail "bash, $round: $(json data/summary.json .totals)"
done

# Without --patch the summary names it.
run "$PERFREC" record --alloc=off -o data -- ./shapes
expect_status 7
expect_match err 'For every call of it as it is, add --patch'

# A function whose arguments are not known, because it jumps to a pointer, at the
# end of a stack: there is nothing to copy.
cat >edge.c <<'C'
#include <stdio.h>
#include <sys/mman.h>
#include <ucontext.h>
int (*volatile put)(const char *) = puts;
static ucontext_t back, edge;
__attribute__((noipa)) void entry(void) { put("at the edge"); }
int main(void)
{
	char *stack = mmap(NULL, 81920, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mprotect(stack, 65536, PROT_READ | PROT_WRITE);
	getcontext(&edge);
	edge.uc_stack.ss_sp = stack;
	edge.uc_stack.ss_size = 65536;
	edge.uc_link = &back;
	makecontext(&edge, entry, 0);
	swapcontext(&back, &edge);
	entry();
	return 0;
}
C
gcc -O2 -w -o edge edge.c
run_ok "$PERFREC" record --patch --alloc=off --cpu=off -o data -- ./edge
expect_eq 'output' "$(cat out)" 'at the edge
at the edge'
expect_match err 'lost +1 call of patched functions that were called at the end of a'
expect_eq 'lost at the end of a stack' "$(json data/summary.json \
	'[.totals.edge_spans, (.functions[] | select(.name == "entry") | .calls)]|tojson')" \
	'[1,1]'
