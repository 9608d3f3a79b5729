# SPDX-License-Identifier: Apache-2.0
# long: fills the memory for names
#
# The names of one program cost another program nothing. 256 MiB of names were the
# limit of all programs in the life of a daemon; after that, annotations of all
# programs had no names. Now each recording frees its own names when it ends.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"

cp "$O/tests/progs/names/tells_names" liar
cp liar victim

# own_kib: the private memory of the daemon, in KiB.
own_kib()
{
	awk '/^RssAnon:/ { print $2 }' /proc/$collector/status
}

start_daemon --compress
preload ./victim 1 5 1
wait_for 60 has_summary victim
rm -r data/victim-*
before=$(own_kib)

ROUNDS=36
preload ./liar 2600 1023 $ROUNDS
expect_eq 'status of the liar' $? 7
all_written()
{
	[ "$(find data -path '*/liar-*/summary.json' | wc -l)" -eq $ROUNDS ]
}
wait_for 100 all_written
# The victim runs again, after all liars.
preload ./victim 3 5 1
expect_eq 'status of the victim' $? 7
wait_for 60 has_summary victim
"$O/tests/tools/trace_check" --text data/victim-*/trace.pftrace >text ||
	fail 'trace_check'
grep -q 'name 1 2 ' text || fail "names are missing: $(grep -i instant text)"
expect_eq 'functions of the victim' \
	"$(json data/victim-*/summary.json '[.functions[].name] | sort | join(" ")')" \
	'main set_text tell'
expect_eq 'names without room' \
	"$(json data/victim-*/summary.json .totals.unkept_names)" 0
! grep -q 'take .* MiB' collect.log || fail "$(grep 'take .* MiB' collect.log)"
after=$(own_kib)
echo "# $before KiB before, $after KiB after"
[ "$after" -le $((before + 65536)) ] ||
	fail "names stay: $before KiB before, $after KiB after"
stop_daemon
