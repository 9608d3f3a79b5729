# SPDX-License-Identifier: Apache-2.0
#
# perfrec doctor: its findings are true and name the way out, and it leaves no
# files behind.
. "$TOP/tests/e2e/lib.sh"
need setpriv taskset unshare

export TMPDIR=$PWD/tmp
mkdir tmp
chmod 755 . && chmod 1777 tmp

# finding SUBJECT MEMBER: of the JSON in ./out
finding()
{
	jq -r --arg s "$1" --arg m "$2" \
		'.findings[] | select(.subject == $s) | .[$m]' out
}

run_ok "$PERFREC" doctor --json
expect_eq 'version of the format' "$(jq .version out)" 1
expect_eq 'recording as a trial' "$(finding trial verdict)" good
expect_eq 'the kernel' "$(finding kernel found)" "$(uname -srm | sed 's/ \([^ ]*\)$/, \1/')"
expect_eq 'the worst of all' "$(jq -r .verdict out)" \
	"$(jq -r '[.findings[].verdict] | if any(. == "bad") then "bad"
		elif any(. == "less") then "less" else "good" end' out)"
# Each finding that is not good has a cause and a way out.
expect_eq 'findings without a way out' \
	"$(jq '[.findings[] | select(.verdict != "good" and .change == null)] | length' out)" 0
expect_eq 'what stays behind' "$(ls tmp)" ''

# People read the same.
run_ok "$PERFREC" doctor
grep -q '^good  trial ' out || fail 'people are not told of the trial'
grep -q '^perfrec works here\|^All that perfrec can do' out || fail 'no conclusion'
! grep -q "$(printf '\033')" out || fail 'colours in a pipe'

# Each run measures the speed of the disk, which differs on a busy machine.
"$PERFREC" doctor --json >told
run "$PERFREC" doctor
expect_eq 'the verdicts of people' "$(awk '/^[a-z]/ { print $2 == "disk" ? "-" : $1, $2 }' out |
	grep -v perfrec)" "$(jq -r '.findings[] |
		(if .subject == "disk" then "-" else .verdict end) + " " + .subject' told)"

# A narrow terminal: no word is lost, and no line is longer but by a long word.
run env COLUMNS=50 "$PERFREC" doctor
expect_eq 'lines of more than 50 columns' \
	"$(sed '/^$/,$d' out | awk 'length > 50 && NF > 3' | cat)" ''
expect_match out '^good  trial      a program was recorded, and its$' '^ {17}recording read$'

# One CPU; a folder that cannot be written; a trial that fails.
cpu=$(taskset -pc $$ | sed 's/.*: //; s/[-,].*//')
run taskset -c "$cpu" "$PERFREC" doctor --json
expect_eq 'one CPU' "$(finding cpus verdict)" less
run "$PERFREC" doctor --json /no/such/folder
expect_status 1
expect_eq 'no folder' "$(finding disk verdict) $(finding disk change)" \
	'bad choose another folder: -o DIR'
run env TMPDIR=/no/such/folder "$PERFREC" doctor --json
expect_eq 'no trial' "$(finding trial verdict) $(finding trial change)" \
	'less set TMPDIR to a folder that can be written'
if [ "$(id -u)" = 0 ]; then
	run_ok env -u XDG_RUNTIME_DIR setpriv --reuid 65534 --regid 65534 --clear-groups \
		"$PERFREC" doctor --json "$TMPDIR/new"
	expect_eq 'as nobody' "$(finding trial verdict)" good
	paranoid=$(cat /proc/sys/kernel/perf_event_paranoid)
	[ "$paranoid" -ne 2 ] || expect_eq 'perf as nobody' \
		"$(finding perf verdict) $(finding perf change)" \
		'less as root: sysctl kernel.perf_event_paranoid=1'
fi

# Wrong usage.
run "$PERFREC" doctor one two
expect_error 2 "'two': one folder or file at a time"
run "$PERFREC" doctor ''
expect_error 2 'give the name of a folder'
run sh -c '"$1" doctor >/dev/full' sh "$PERFREC"
expect_error 1 'cannot print: No space left on device'
