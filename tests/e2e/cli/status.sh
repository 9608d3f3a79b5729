# SPDX-License-Identifier: Apache-2.0
#
# The program's output, status and surroundings are its own; recordings that
# were there are kept.
. "$TOP/tests/e2e/lib.sh"

build_calls
build dies <<'SOURCE'
#include <signal.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	raise(argc > 1 ? atoi(argv[1]) : SIGKILL);
	return 0;
}
SOURCE

# Output and status.
./calls 1000 >expected
run "$PERFREC" record -- ./calls 1000 7
expect_status 7
cmp -s out expected || fail "the program's output has changed"
expect_match err 'exit status 7' 'files in perfrec.data'
expect_eq 'exit in summary.json' \
	"$(json perfrec.data/summary.json .exit.status)" 7
expect_eq 'command in summary.json' \
	"$(json perfrec.data/summary.json '.command | join(" ")')" \
	'./calls 1000 7'

# Signals: perfrec dies of the same, and leaves no core.
ulimit -c unlimited
for signal in 9 6 15; do
	run "$PERFREC" record -- ./dies $signal
	expect_status $((128 + signal))
	expect_match err "killed by signal $signal"
done
expect_eq 'signal in summary.json' \
	"$(json perfrec.data/summary.json .exit.signal)" 15

# The old recording is kept, an older one is replaced, nothing else is made.
run "$PERFREC" record -o keep ./calls 1000 1
run "$PERFREC" record -o keep ./calls 1000 2
run "$PERFREC" record -o keep/ ./calls 1000 3
expect_eq 'new recording' "$(json keep/summary.json .exit.status)" 3
expect_eq 'old recording' "$(json keep.old/summary.json .exit.status)" 2
expect_eq 'folders' "$(echo keep*)" 'keep keep.old'
# Also when nothing can be run after all.
printf '\177ELF and nothing more' >broken
chmod +x broken
run "$PERFREC" record -o keep ./broken
expect_status 1
expect_eq 'new recording' "$(json keep/summary.json .exit.status)" 3
expect_eq 'old recording' "$(json keep.old/summary.json .exit.status)" 2
expect_eq 'folders' "$(echo keep*)" 'keep keep.old'

# How the program is found and started.
mkdir bin
printf 'echo "script $0 $1"' >bin/tool
chmod +x bin/tool
PATH=bin:$PATH run "$PERFREC" record -q tool one
expect_eq 'script without #!' "$(cat out)" 'script bin/tool one'
printf '#!/bin/sh -e\necho "script $0 $1"' >bin/tool
run "$PERFREC" record -q bin/tool -o x
expect_eq 'script' "$(cat out)" 'script bin/tool -o'
[ ! -s err ] || fail "--quiet prints: $(cat err)"

# Signal mask, ignored signals and open files are what perfrec got.
status_of_self='grep -E "^Sig(Blk|Ign)" /proc/self/status; ls /proc/self/fd'
for setup in : 'trap "" HUP USR1 CHLD'; do
	(eval "$setup"; sh -c "$status_of_self") >plain
	(eval "$setup"; "$PERFREC" record -q sh -c "$status_of_self") >recorded
	diff plain recorded || fail "the program's surroundings differ"
done

# No process stays. The collector has the folder on its command line.
run "$PERFREC" record -q -o "$PWD/last" ./calls
collector_is_gone()
{
	! pgrep -f "perfrec-collect .*$PWD/last" >/dev/null
}
wait_for 60 collector_is_gone
