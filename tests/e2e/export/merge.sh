# SPDX-License-Identifier: Apache-2.0
#
# perfrec merge puts the traces of several recordings into an archive that
# Perfetto opens as one. Read by Perfetto's rules, traces of one boot of a machine
# lie on its own clock to the nanosecond, and those of another machine where the
# wall clocks say. Ranks of a parallel job have names. Ids of flows and correlations
# are those of the program, in each trace.
. "$TOP/tests/e2e/lib.sh"
need python3

check="python3 $TOP/tests/tools/merge_check.py"
as_host="python3 $TOP/tests/tools/as_host.py"
other=01234567-89ab-cdef-0123-456789abcdef

build rank -I"$TOP/preload" <<'SOURCE'
#include <perfrec.h>
#include <stdlib.h>
__attribute__((noinline)) static int step(int i)
{
	return i + 1;
}
int main(int argc, char **argv)
{
	int sum = 0;
	PERFREC_SCOPE("message", PERFREC_FLOW, 4711, PERFREC_CORRELATION, 17);
	for (int i = 0; i < atoi(argv[1]); i++)
		sum += step(i);
	return argc > 2 && sum < 0;
}
SOURCE

# What launchers set. In a Slurm job, mpirun hands SLURM_PROCID=0 to all.
cat >mpirun <<'SCRIPT'
export SLURM_PROCID=0
PMIX_RANK=0 "$@" &&
OMPI_COMM_WORLD_RANK=1 "$@" &&
PMIX_RANK=x PMI_RANK=2 "$@" &&
SLURM_PROCID=3 "$@"
SCRIPT

# All ranks in one recording.
run_ok "$PERFREC" record -q -o job -- sh mpirun ./rank 10
expect_eq ranks "$(json job/summary.json '[.processes[].rank | select(. >= 0)] | tostring')" \
	'[0,1,2,3]'
"$PERFREC" report job >report
expect_match report '^  recorded .* in 4 processes \(ranks 0 to 3\)$'
"$PERFREC" export --to chrome -o chrome.json job || fail export
expect_match chrome.json '"rank \(rank 2\)"'

# One for each rank; two of them become those of another machine, booted three
# seconds later. Its wall clock was set by a millisecond between the two.
cat >each <<'SCRIPT'
for rank in 0 1 2 3; do
	PMIX_RANK=$rank "$PERFREC" record -q -o run.$rank ./rank 10 || exit 1
done
SCRIPT
run_ok sh each
expect_eq rank "$(json run.2/summary.json .processes[0].rank)" 2
"$PERFREC" report run.2 >report
expect_match report '^  recorded .* in 1 process \(rank 2\)$'
run "$PERFREC" record -q -o none ./rank 1
expect_eq 'no rank' "$(json none/summary.json .processes[0].rank)" -1
for rank in 0 1 2 3; do
	cp run.$rank/trace.pftrace raw.$rank.pftrace
	run_ok "$PERFREC" merge raw.$rank.pftrace -o raw.$rank.tar
	$check raw.$rank.tar >raw.$rank || fail "raw.$rank.tar"
	expect_eq "begins of rank $rank" "$(wc -l <raw.$rank)" 12
done
$as_host run.2/trace.pftrace $other 3000000000 >host.2 &&
	$as_host run.3/trace.pftrace $other 3001000000 >>host.2 &&
	$as_host run.0/trace.pftrace >host.0 || fail as_host
run_ok "$PERFREC" merge run.0 run.1 run.2 run.3 -o all.tar
expect_match out '^all.tar: 4 recordings, ' '^  clocks     of one boot exact, else'
[ ! -s err ] || fail "$(cat err)"
$check all.tar >all || fail all.tar
expect_eq begins "$(wc -l <all)" 48

# Expected: the difference of the snapshots of the first trace of each machine.
read -r boot0 real0 <host.0
read -r boot2 real2 <host.2
later=$((real2 + 3000000000 - boot2 - (real0 - boot0)))
for rank in 0 1 2 3; do
	offset=0
	[ $rank -lt 2 ] || offset=$later
	cut -f 1,3,4 raw.$rank | while read -r ns rest; do
		echo "$((ns + offset)) $rest"
	done >want
	grep "	[^	]* rank $rank	" all | cut -f 1,3,4 | sed 's/	/ /' >got
	cmp -s want got || fail "rank $rank: $(diff want got | head -n 4)"
	expect_match got "rank \(rank $rank\)"
done
expect_eq 'messages' "$(awk -F'\t' '$4 == "message" && $5 == 4711 && $6 == 17' all |
	wc -l)" 4

# The same by other ways: a compressed trace, a cut, one of a collector that was
# killed, one of an older perfrec; names that are no names of members.
mkdir -p '.a b/ü' c
PMIX_RANK=0 "$PERFREC" record -q --compress -o '.a b/ü/run.1' ./rank 10 &&
	"$PERFREC" cut --from 0s -o c/run.1.pftrace run.1 >/dev/null &&
	cp -r run.1 .hidden && rm .hidden/summary.json &&
	cp run.1/trace.pftrace old.pftrace &&
	$as_host old.pftrace - 5000000000 >/dev/null || fail 'cannot make traces'
size=$(stat -c %s .hidden/trace.pftrace)
truncate -s $((size - 3)) .hidden/trace.pftrace
run_ok "$PERFREC" merge -o ways.tar run.1 '.a b/ü/run.1/' c/run.1.pftrace .hidden \
	old.pftrace
expect_match err "'.hidden' has no summary.json"
expect_eq 'members' "$(tar tf ways.tar | tr '\n' ' ')" \
	'perfetto_manifest.json run.1.pftrace run.1-2.pftrace run.1-3.pftrace hidden.pftrace old.pftrace '
tar xf ways.tar
cmp -s run.1-2.pftrace '.a b/ü/run.1/trace.pftrace' || fail 'a member is not its trace'
$check ways.tar >ways || fail ways.tar
expect_eq 'machines' "$(cut -f 2 ways | sed 's/.* //' | LC_ALL=C sort -u |
	tr '\n' ' ')" \
	'hidden old run.1 run.1-2 run.1-3 '
awk -F'\t' '{ print $1, $4 }' raw.1 >want
awk -F'\t' '$2 ~ / run.1-3$/ { print $1, $4 }' ways >got
cmp -s want got || fail "a cut: $(diff want got | head -n 4)"
expect_eq 'clock of old' "$(jq '.perfetto_manifest.files[] |
	select(.path == "old.pftrace").clocks.offset_ns | . > 4e9 and . < 6e9' \
	perfetto_manifest.json)" true

# Refused.
: >empty.pftrace
mkdir empty
echo no trace >text
for words in "run.0 nowhere:nowhere" "run.0 empty:'empty' is no recording" \
	"run.0 empty.pftrace:is empty" "run.0 text:is no trace of Perfetto"; do
	# shellcheck disable=SC2086 # two names
	run "$PERFREC" merge -o bad.tar ${words%%:*}
	expect_error 1 "${words#*:}"
done
run "$PERFREC" merge -o bad.tar run.0 ./run.0/
expect_error 2 'are the same recording'
run "$PERFREC" merge -o run.1/trace.pftrace run.0 run.1
expect_error 2 "that is a file of the recording 'run.1'"
run "$PERFREC" merge -o raw.0.pftrace run.1 raw.0.pftrace
expect_error 2 "that is a file of the recording 'raw.0.pftrace'"
run "$PERFREC" merge run.0 run.1
expect_error 2 '-o FILE'
run "$PERFREC" merge -o bad.tar
expect_error 2 'give 1 to '
run "$PERFREC" merge -o nowhere/bad.tar run.0
expect_error 1 "cannot write 'nowhere/bad.tar'"
if [ -e /dev/full ]; then
	run "$PERFREC" merge -o /dev/full run.0
	expect_error 1 "cannot write '/dev/full'"
fi
expect_none bad.tar
