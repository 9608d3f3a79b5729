#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The counting library of the tests counts right: threads, a
# signal handler, constructors and destructors, fork, exec, a library opened later,
# and kill -9.
. "$TOP/tests/e2e/lib.sh"
need gcc nm

counter=$O/tests/progs/libcount_preload.so
names=$O/tests/tools/count_names

gcc -O1 -finstrument-functions -shared -fPIC -o plugin.so -x c - <<'SOURCE'
static void __attribute__((noinline)) hidden(void) { __asm__(""); }
void plugin(void) { hidden(); hidden(); }
SOURCE

prog tools/known

COUNT_OUT=$PWD/count LD_PRELOAD=$counter run ./known
expect_status 0

# Three processes, one of them with a second image after exec.
set -- count.*[0-9]
expect_eq "count files" $# 4
"$names" "$@" >counts

count_of()
{
	awk -F '\t' -v name="$1" '$2 == name { calls = $1 }
		END { print calls + 0 }' counts
}

read -r handled spins <out
expect_eq handler "$(count_of handler)" "$handled"
expect_eq spin "$(count_of spin)" "$spins"
# threads, handlers, two constructors, a destructor, two children, again
expect_eq leaf "$(count_of leaf)" $((7000 + handled + 2 + 1 + 2 + 2))
expect_eq thread "$(count_of thread)" 3
expect_eq main "$(count_of main)" 2
expect_eq before "$(count_of before)" 2
expect_eq after "$(count_of after)" 1
expect_eq child "$(count_of child)" 2
expect_eq again "$(count_of again)" 1
expect_eq plugin "$(count_of plugin)" 1
expect_eq hidden "$(count_of hidden)" 2
expect_eq functions "$(wc -l <counts)" 11

# By thread: main thread and three others, child, exec'ed.
"$names" --by-thread "$@" | awk '$4 == "thread" { print $3 }' >threads
expect_eq "threads that ran thread()" "$(wc -l <threads)" 3
