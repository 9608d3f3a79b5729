# SPDX-License-Identifier: Apache-2.0
#
# A program with a file that blocks every process that opens or reads it (FUSE)
# harms only itself: perfrec lists and changes other programs as before, and the
# recording of this one ends.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"
prog overhead/busy
prog overhead/fuse_file
build holds.so -shared -fPIC <<'SOURCE'
int held(int i) { return i + 1; }
SOURCE
build holds -ldl <<'SOURCE'
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>
int main(void)
{
	char go;

	puts("began");
	fflush(stdout);
	(void)!read(0, &go, 1);
	/* Of a load the next one tells. */
	puts(dlopen("mnt/file", RTLD_NOW) && dlopen("libm.so.6", RTLD_NOW)
		     ? "loaded" : dlerror());
	fflush(stdout);
	return (int)read(0, &go, 1);
}
SOURCE

mkdir mnt
./fuse_file holds.so mnt >out.fuse &
fuse=$!
trap 'kill -KILL $fuse $holds $collector; umount -l mnt' EXIT
wait_for 60 test -s out.fuse
grep -qx mounted out.fuse || skip "nothing can be mounted here"
start_daemon
mkfifo input steps
PERFREC_QUIET=1 LD_PRELOAD=$SHIM ./holds <input >out.holds 2>err.holds &
holds=$!
exec 8>input
wait_for 60 grep -q began out.holds
# A file that is there when the collector first looks is only one without names.
wait_for 60 "$PERFREC" ctl functions $holds
echo >&8
PERFREC_QUIET=1 LD_PRELOAD=$SHIM ./busy 0 <steps >out.busy 2>err.busy 8>&- &
busy=$!
exec 9>steps
wait_for 60 test -s out.busy
wait_for 60 sh -c '[ $(wc -l <out.holds) -ge 2 ]'
expect_eq 'the hostile program' "$(tail -n 1 out.holds)" loaded

# Its own thread waits for the helper that opens the file, as soon as the collector
# knows of the file.
first()
{
	until grep -q held out.fuse; do
		"$PERFREC" ctl functions $holds >out.first 2>&1 || return
		sleep 0.1
	done
	"$PERFREC" ctl functions $holds >out.first 2>&1
}
first &
first=$!
wait_for 60 grep -q held out.fuse
is_set()
{
	run_ok "$PERFREC" ctl functions $busy "$1" leaf --json
	expect_eq "state of leaf in another program" "$(jq -r \
		'.functions[0].functions[] | select(.name == "leaf") | .state' \
		out)" "$2"
}
is_set --count counted
# On a busy machine the first request may have its answer: it waits for 5 seconds.
wait $first && fail "what could not be read was listed: $(cat out.first)"
grep -q 'lets nobody read' out.first || fail "$(cat out.first)"
is_set --span span

# Only a helper waits for ever, and no thread waits for the helper: the program can
# end, another one can be stopped, and all their threads end.
exec 8>&-
wait $holds
wait_for 60 sh -c 'ls data/holds-*/summary.json >/dev/null 2>&1'
run_ok "$PERFREC" ctl stop $busy
wait_for 60 sh -c "! grep -q perfrec-states /proc/$collector/task/*/comm"
kill -KILL $fuse
stop_daemon
exec 9>&-
wait $busy || fail "busy: status $?"
