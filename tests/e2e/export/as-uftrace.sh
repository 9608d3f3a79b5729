#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# perfrec replay and report agree with uftrace about the same source: the nesting
# and the number of calls. Recursion, threads, a forked child, longjmp() and a C++
# exception. (uftrace records a build with -pg, perfrec one with
# -finstrument-functions.)
. "$TOP/tests/e2e/lib.sh"
need uftrace g++

cat >recursion.c <<'SOURCE'
#define CALL __attribute__((noinline, noclone))
CALL int leaf(int n) { __asm__ volatile(""); return n + 1; }
CALL int odd(int n);
CALL int even(int n) { return n ? odd(n - 1) + leaf(n) : 1; }
CALL int odd(int n) { return n ? even(n - 1) + leaf(n) : 0; }
int main(void) { return even(7) + leaf(1) == 0; }
SOURCE
cat >threads.c <<'SOURCE'
#include <pthread.h>
#define CALL __attribute__((noinline, noclone))
CALL int leaf(int n) { __asm__ volatile(""); return n + 1; }
CALL int work(int n) { return leaf(n) + leaf(n + 1); }
CALL void *thread_main(void *arg)
{
	for (volatile int i = 0; i < 20; i++)
		work(i);
	return arg;
}
int main(void)
{
	pthread_t threads[3];
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], 0, thread_main, 0);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], 0);
	return work(1) == 0;
}
SOURCE
cat >forks.c <<'SOURCE'
#include <sys/wait.h>
#include <unistd.h>
#define CALL __attribute__((noinline, noclone))
CALL int leaf(int n) { __asm__ volatile(""); return n + 1; }
CALL int in_child(int n) { return leaf(n) + leaf(n); }
CALL int in_parent(int n) { return leaf(n); }
int main(void)
{
	int pid = fork();
	if (pid == 0)
		return in_child(1) == 0;
	waitpid(pid, 0, 0);
	return in_parent(1) == 0;
}
SOURCE
cat >jumps.c <<'SOURCE'
#include <setjmp.h>
#define CALL __attribute__((noinline, noclone))
static jmp_buf here;
CALL int leaf(int n) { __asm__ volatile(""); return n + 1; }
CALL void deep(int n) { if (!n) longjmp(here, 1); deep(n - 1); leaf(n); }
CALL int after(int n) { return leaf(n); }
CALL int try_it(void) { if (!setjmp(here)) deep(3); return after(1); }
int main(void) { return try_it() == 0; }
SOURCE
cat >throws.cc <<'SOURCE'
#define CALL extern "C" __attribute__((noinline, noclone))
CALL int leaf(int n) { __asm__ volatile(""); return n + 1; }
CALL int deep(int n) { if (!n) throw n; return deep(n - 1) + leaf(n); }
CALL int after(int n) { return leaf(n); }
CALL int try_it() { try { return deep(3); } catch (int) { return after(1); } }
int main() { return try_it() == 0; }
SOURCE

# compare NAME SOURCE COMPILER BEGINS: does not compare ends, because a jump ends
# calls in different ways. A wrong depth would show in later calls.
compare()
{
	name=$1 source=$2 compiler=$3 begins=$4
	"$compiler" -O1 -g -pg -o "$name-pg" "$source" -pthread || fail "$name"
	"$compiler" -O1 -g -finstrument-functions -o "$name" "$source" -pthread
	uftrace record --no-libcall --no-event -d "$name.uftrace" "./$name-pg" \
		>/dev/null 2>&1 || skip "uftrace cannot record here"
	"$PERFREC" record -q -o "$name.data" "./$name" || fail "record $name"
	# Threads in the order of their first call, each apart.
	uftrace replay -d "$name.uftrace" --no-libcall --no-event -f tid 2>/dev/null |
		sed -n 's/^ *\[ *\([0-9]*\)\] | \( *\)\([a-z_]*\)().*/\1 \2\3/p' |
		awk '{ tid = $1; sub(/^[0-9]* /, ""); print tid "\t" $0 }' >theirs
	"$PERFREC" replay "$name.data" |
		sed -n 's/^.* \([0-9][0-9]*\)  \( *\)\([a-z_]*\)().*/\1	\2\3/p' >ours
	for file in ours theirs; do
		awk -F'\t' '!($1 in text) { order[++n] = $1 }
			{ text[$1] = text[$1] $2 "\n" }
			END { for (i = 1; i <= n; i++)
				printf "thread\n%s", text[order[i]] }' \
			"$file" >"$file.begins"
	done
	# uftrace 0.13 does not see that longjmp() leaves calls.
	if [ "$name" = jumps ]; then
		expect_match ours.begins '^    after$' '^      leaf$'
		sed -i 's/^ *//' ours.begins theirs.begins
	fi
	cmp -s ours.begins theirs.begins || {
		diff ours.begins theirs.begins
		fail "$name: another structure of calls"
	}
	expect_eq "$name: begins that were compared" \
		"$(grep -vc '^thread$' ours.begins)" "$begins"
	# And the counts; but uftrace counts main() in the child once more.
	uftrace report -d "$name.uftrace" --no-libcall --no-event -f call 2>/dev/null |
		awk '$1 ~ /^[0-9]+$/ { print $2, $1 }' |
		grep -v '^main ' | sort >theirs
	"$PERFREC" report --json "$name.data" | jq -r '.functions[] |
		select(.calls > 0) | "\(.name) \(.calls)"' |
		grep -v '^main ' | sort >ours
	cmp -s ours theirs || { diff ours theirs; fail "$name: other counts"; }
}
compare recursion recursion.c gcc 17
compare threads threads.c gcc 187
compare forks forks.c gcc 6
compare jumps jumps.c gcc 8
compare throws throws.cc g++ 8
