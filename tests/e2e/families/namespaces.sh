# SPDX-License-Identifier: Apache-2.0
#
# Programs in other mount, pid and user namespaces, as in containers: their
# processes and threads have our ids in the recording, their ends are noticed,
# and files that only they can see give names.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"
need unshare pgrep ps

unshare -m -p -f --mount-proc mount -t tmpfs none /mnt 2>/dev/null ||
	skip 'unshare is not permitted'

# Its own name, as other runs of this test may have one.
prog=ns$$

# A library that will be seen from inside only.
cat >only.c <<'SOURCE'
void only_here(void) { __asm__ volatile(""); }
SOURCE
gcc -O1 -g -finstrument-functions -shared -fPIC -o libonly.so only.c ||
	fail 'cannot compile only.c'
# ./$prog DIR: three threads; two children: one has a child, and the other a root
# of its own. Each of the four processes and three threads calls only_here() 100
# times, makes a file DIR/up.N, and waits for DIR/go.
build $prog -D_GNU_SOURCE -L. -lonly -lpthread -Wl,-rpath,'$ORIGIN' \
	<"$TOP/tests/progs/families/contained.c"
mkdir inside

# enter: into namespaces; its files lie in a tmpfs that the test cannot see.
cat >enter <<'SCRIPT'
mount -t tmpfs none inside && cp "$1" libonly.so inside && shift &&
	exec env "$@"
SCRIPT
rm -f libonly.so

# start UNSHARE-OPTION...: in $program, and up.
start()
{
	mkdir -p at
	rm -f at/*
	gcc -O1 -g -finstrument-functions -shared -fPIC -o libonly.so only.c
	unshare "$@" sh ./enter $prog LD_PRELOAD="$SHIM" ./inside/$prog at &
	program=$!
	for n in 0 1 2 3 4 5 6; do
		wait_for 60 test -e at/up.$n
	done
	rm -f libonly.so
	expect_none inside/$prog
}

# ids: what the kernel calls the processes and threads that run now.
ids()
{
	for pid in $(pgrep -x $prog); do
		echo "$pid $(ls "/proc/$pid/task" | sort -n | xargs)"
	done | sort -n
}

# first_of NAME, last_of NAME: a process with NAME whose parent has another name,
# and one without a child of that name. Ids are reused, so they say nothing about
# age.
family()
{
	ps -C "$1" -o pid=,ppid=
}
first_of()
{
	family "$1" | awk '{ parent[$1] = $2 }
		END { for (pid in parent) if (!(parent[pid] in parent)) print pid }'
}
last_of()
{
	family "$1" | awk '{ parent[$1] = $2; forked[$2] = 1 }
		END { for (pid in parent) if (!(pid in forked) &&
			parent[parent[pid]] in parent) { print pid; exit } }'
}

# listed PID: perfrec ctl shows that process as a part of a program.
listed()
{
	"$PERFREC" ctl list --json 2>/dev/null |
		jq -e ".programs[] | select(.pids | index($1))" >/dev/null
}
unlisted()
{
	! listed "$1"
}

# check WHAT: the program as recorded by a daemon.
check()
{
	ids >expected
	expect_eq "$1: processes" "$(wc -l <expected)" 4
	expect_eq "$1: threads" "$(wc -w <expected)" 11
	main=$(first_of $prog)
	last=$(last_of $prog)
	for pid in $(cut -d ' ' -f 1 expected); do
		wait_for 60 listed "$pid"
	done
	# One is killed, which is noticed while the others run.
	kill -KILL "$last"
	wait_for 60 unlisted "$last"
	listed "$main" || fail "$1: the others have ended as well"
	touch at/go
	wait $program
	expect_eq "$1: status" $? 7
	folder=data/$prog-$main
	wait_for 60 test -s "$folder/summary.json"
	json "$folder/summary.json" '.processes[] |
		"\(.pid) \([.threads[].tid] | sort | map(tostring) | join(" "))"' |
		sort -n >got
	diff expected got || fail "$1: ids are not ours"
	expect_eq "$1: calls" "$(json "$folder/summary.json" '.functions[] |
		"\(.name) \(.calls) \(.module | sub(".*/"; ""))"')" \
		'only_here 700 libonly.so'
	"$O/tests/tools/trace_check" "$folder/trace.pftrace" ||
		fail "$1: a rule is broken"
}

start_daemon
start -m
check 'mount namespace'
start -m -p -f --mount-proc
check 'pid namespace'
start -m -p -f
check 'pid namespace, with our /proc'
if unshare -r -m -p -f true 2>/dev/null; then
	start -r -m -p -f
	check 'user namespace'
fi
stop_daemon
expect_no_match collect.log 'warning|error'
