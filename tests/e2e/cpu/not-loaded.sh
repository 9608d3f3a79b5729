# SPDX-License-Identifier: Apache-2.0
#
# Programs without perfrec's library: static and set-user-ID programs, and
# programs whose environment was replaced where perfrec cannot help. Only a row of
# the CPU view named them, and the summary advised to rebuild them. Now one note
# names them, and the hint says LD_PRELOAD.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/waits.sh"
perf_permitted || skip 'perf events are not permitted'

build_calls
cp calls plain
cat >waits.c <<'SOURCE'
#include <unistd.h>
int main(void) { return usleep(10000); }
SOURCE
gcc -O1 -static -o static_one waits.c && gcc -O1 -static -o static_two waits.c &&
	gcc -O1 -o dynamic waits.c || fail 'gcc waits.c'

# note: what the summary says of such programs.
note()
{
	sed -n "s/^ *note *\(perfrec's library was not loaded\)/\1/p" err
}
why='(linked statically or set-user-ID, or started without LD_PRELOAD); only their CPU time is known'

# named COUNT NAMES COMMAND...
named()
{
	count=$1 names=$2
	shift 2
	run_ok "$PERFREC" record --alloc=off -o data "$@"
	expect_eq "$*: programs" \
		"$(json data/summary.json .totals.unloaded_programs)" "$count"
	[ "$count" -eq 0 ] || expect_eq "$*: note" "$(note)" \
		"perfrec's library was not loaded into $count \
process$([ "$count" -eq 1 ] || echo es): $names $why"
	[ "$count" -ne 0 ] || expect_eq "$*: note" "$(note)" ''
}

# None: however short a program is, if it forks, threads or execs on.
named 0 '' -- ./calls 10
named 0 '' -- sh -c './calls 10; (./dynamic); /bin/true; exec ./dynamic'
named 0 '' -- env -i ./calls 10
named 0 '' -- sh -c 'for i in 1 2 3 4 5 6 7 8 9; do /bin/true; done & wait'

named 1 static_one -- sh -c './static_one; ./calls 10'
expect_match err 'recorded +12 calls'
named 1 static_one -- sh -c './calls 10; exec ./static_one'
named 2 static_one -- sh -c './static_one & ./calls 10; ./static_one; wait'
named 1 calls --inherit off -- env -i ./calls 10
expect_match err 'perfrec.s library was not loaded \(see the note\)'
expect_no_match err 'rebuild it'
# The environment of what system() starts is that of the process.
build cleared <<'SOURCE'
#include <stdlib.h>
int main(void)
{
	clearenv();
	return system("./dynamic; :");
}
SOURCE
run "$PERFREC" record -o data -- ./cleared
expect_match err "was not loaded into 2 processes: (sh, dynamic|dynamic, sh) "

if [ "$(id -u)" -eq 0 ] && cp dynamic setuid && chown 65534 setuid &&
	chmod 4755 setuid; then
	named 1 setuid -- sh -c './setuid; ./calls 10'
fi
exit 0
