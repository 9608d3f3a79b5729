# SPDX-License-Identifier: Apache-2.0
#
# The options of perfrec-collect for metrics, and the file that makes programs
# without hooks connect.
. "$TOP/tests/e2e/lib.sh"

socket=$PWD/perfrec.sock
marker=$socket.all

# daemon OPTION...: started, and listening.
daemon()
{
	: >log
	"$O/perfrec-collect" -o recordings "$@" 2>log &
	daemon=$!
	wait_for 60 grep -q 'listening on' log
}

stop()
{
	kill "$1" "$daemon"
	wait "$daemon"
	rm -rf recordings
}

# Nothing is asked of programs without hooks, unless it is.
daemon
expect_none "$marker"
stop -TERM
for option in --alloc=exact --alloc=sampled --alloc=auto --cpu=99; do
	daemon $option
	[ -f "$marker" ] || fail "$option: no marker"
	expect_eq 'marker' "$(stat -c '%a %s' "$marker")" '600 0'
	stop -TERM
	expect_none "$marker" "$socket"
done

# The file of a killed collector is replaced, or removed if it is not wanted.
for option in --alloc=exact --alloc=off; do
	daemon --alloc=exact
	stop -KILL
	[ -f "$marker" ] || fail 'the marker is gone'
	daemon $option
	[ -f "$marker" ] && found=exact || found=off
	expect_eq "marker of $option" "--alloc=$found" "$option"
	stop -TERM
	expect_none "$marker"
done

# A file of another owner stays, and the collector does not write through it.
echo precious >"$marker"
run "$O/perfrec-collect" -o recordings --alloc=exact
expect_error 1 "cannot make '$marker'"
expect_eq 'the file in the way' "$(cat "$marker")" precious
expect_none "$socket"
rm "$marker"
ln -s elsewhere "$marker"
run "$O/perfrec-collect" -o recordings --alloc=exact
expect_error 1 "cannot make '$marker'"
expect_none elsewhere
rm "$marker"

for wrong in --alloc=some --cpu=0 --cpu=99,perfs --stack-size=1 \
	--snapshot-interval=10 --max-size=255K --depth=65536; do
	run timeout 200 "$O/perfrec-collect" -o recordings $wrong
	expect_error 2 "${wrong%%=*} '${wrong#*=}'"
	expect_none recordings "$socket" "$marker"
done

# perfrec record's are in the summary.
setting()
{
	json data/summary.json ".settings | $1"
}
build_calls
run "$PERFREC" record -q -o data ./calls
expect_eq 'defaults' \
	"$(setting '[.alloc, .alloc_period, .cpu_hz, .cpu_engine] | @csv')" \
	'"auto",524288,499,"perf"'
run_ok "$PERFREC" record -q -o data --alloc sampled:64K --cpu 250,signal \
	--stack-size 1000 --snapshot-interval 5m --categories 'net*,-net.x' \
	./calls
expect_eq 'settings' \
	"$(setting '[.alloc, .alloc_period, .cpu_hz, .cpu_engine] | @csv')" \
	'"sampled",65536,250,"signal"'
expect_eq 'more' \
	"$(setting '[.stack_size, .snapshot_interval_ns, .categories] | @csv')" \
	'992,300000000000,"net*,-net.x"'
run "$PERFREC" record -q -o data --alloc off --cpu off ./calls
expect_eq 'off' "$(setting '[.alloc, .cpu_hz, .cpu_engine] | @csv')" '"off",0,'
