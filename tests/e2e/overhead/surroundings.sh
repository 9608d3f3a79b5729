# SPDX-License-Identifier: Apache-2.0
# long: records under each restriction
#
# Functions are counted exactly, and all text is put back, as root and as nobody,
# in a program that is not dumpable, under MDWE, under seccomp, in a user
# namespace, and with a daemon of another user; with the hooks of both builds.
# A row that this machine cannot run is named, and the test counts as skipped.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"
prog overhead/confined calls
"$PERFREC" cc --hooks=entry -- "${CC:-gcc}" -O1 -o entry \
	"$TOP/tests/progs/overhead/confined.c" -pthread || fail 'entry build'
chmod 777 .
export HOME="$PWD"
unset XDG_CACHE_HOME

expected=$(./calls none 5000 3 2 </dev/null)
missing=
# cannot ROW REASON
cannot()
{
	echo "SKIP $1: $2"
	missing="$missing $1 ($2)"
}
# starts COMMAND...: run it with its stdin from ./input.
starts()
{
	rm -f input out err
	mkfifo -m 666 input
	"$@" <input >out 2>err &
	started=$!
	exec 9>input
	wait_for 60 has_output
}
has_output()
{
	[ -s out ] || ! kill -0 $started 2>/dev/null
}
# ends ROW: the text is as in the files; the program has the right output.
ends()
{
	for pid in $(pgrep -x "$build"); do
		# A process whose exe is hidden hides its text as well.
		[ "$(readlink /proc/$pid/exe)" = "$PWD/$build" ] || continue
		"$O/tests/tools/text_same" "$pid" "$PWD" ||
			fail "$1: text has changed"
	done
	exec 9>&-
	status=0
	wait $started || status=$?
	[ $status -eq 77 ] && return 77
	expect_status 0
	expect_eq "$1: output" "$(cat out)" "$expected"
}
# counted ROW FOLDER: once for main, and 5000 times in each of four threads and
# two children.
counted()
{
	# So that a failure says what the recordings know of it.
	jq -c '.notes, (.totals | with_entries(select(.value != 0)))' "$2"/summary.json
	expect_eq "$1: calls of leaf" "$(jq -s '[.[].functions[] |
		select(.name == "leaf") | .calls] | add' "$2"/summary.json)" 30001
	expect_no_match err 'could not|cannot'
}
# row NAME HOW INSIDE OUTSIDE...: perfrec record run by OUTSIDE, of INSIDE.
row()
{
	row=$1 how=$2 inside=$3
	shift 3
	for build in calls entry; do
		rm -rf data
		starts "$@" "$PERFREC" record --no-cache --overhead 5% \
			--count leaf -o data -- $inside "./$build" "$how" 5000 3 2
		"$@" "$PERFREC" ctl -o data stop >stopped 2>&1
		ends "$row, $build" || {
			cannot "$row" 'the kernel does not know it'
			return
		}
		counted "$row, $build" data
	done
}

nobody='setpriv --reuid 65534 --regid 65534 --clear-groups'
for how in none undumpable exec-undumpable mdwe exec-mdwe eperm exec-eperm kill; do
	row "$how" "$how" ''
done
if unshare -Ur true 2>/dev/null; then
	row 'in a user namespace' none 'unshare -Ur'
	row 'all in a user namespace' none '' unshare -Ur
else
	cannot 'in a user namespace' 'unshare -Ur is refused'
fi
if [ "$(id -u)" -ne 0 ] || ! command -v setpriv >/dev/null; then
	cannot 'as nobody' 'needs root and setpriv'
	skip "all others passed; not run:$missing"
fi
row 'as nobody' none '' $nobody
row 'as nobody, undumpable' exec-undumpable '' $nobody

# A daemon of root, and a program of nobody with a file that only nobody can read.
mkdir -m 755 run
export XDG_RUNTIME_DIR="$PWD/run"
chmod 711 calls entry
for build in calls entry; do
	start_daemon --overhead 5% --count leaf --no-cache --allow-uid 65534
	starts env LD_PRELOAD="$SHIM" $nobody "./$build" none 5000 3 2
	stop_daemon
	ends "daemon of root, $build"
	counted "daemon of root, $build" "data/$build"-*
done
# Nobody's daemon gets nothing of root's programs.
chmod 755 calls
chown 65534 run
build=calls
rm -rf data
: >collect.log
$nobody "$O/perfrec-collect" -o data --count leaf 2>collect.log &
collector=$!
wait_for 60 grep -q 'listening on' collect.log
starts env LD_PRELOAD="$SHIM" PERFREC_SOCKET="$PWD/run/perfrec.sock" \
	./calls none 5000 3 2
ends "nobody's daemon"
stop_daemon
expect_match err 'socket belongs to another user'
expect_none data/calls-*
[ -z "$missing" ] || skip "all others passed; not run:$missing"
