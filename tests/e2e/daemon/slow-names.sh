# SPDX-License-Identifier: Apache-2.0
#
# A program whose files take long to read delays nobody but itself: another one
# starts, is recorded, is flushed and ends meanwhile, with filters that need
# names before it may record. How long that takes is held against the same
# without the slow one, before or at the same time: ten times as long is too long.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"

build_calls
cp calls slow
printf '\n' >>slow

# Answers nothing if there is a file "stall", which it takes away.
cat >reader <<SCRIPT
#!/bin/sh
rm "$PWD/stall" 2>/dev/null && exec sleep 1000
exec "$O/perfrec-reader"
SCRIPT
chmod +x reader
PERFREC_READER=$PWD/reader
export PERFREC_READER
start_daemon --exclude nothing_has_this_name

now_ms()
{
	date +%s%3N
}

# victim NAME: a program of its own file, until its summary is there. Sets
# $took, in milliseconds.
victim()
{
	cp calls "$1"
	printf '%s\n' "$1" >>"$1"
	begin=$(now_ms)
	LD_PRELOAD=$SHIM "./$1" 1000 7 >out 2>err
	expect_eq "status of $1" $? 7
	[ ! -s err ] || fail "$1: $(cat err)"
	wait_for 60 has_summary "$1"
	took=$(($(now_ms) - begin))
	expect_eq "spans of $1" "$(json data/"$1"-*/summary.json .totals.spans)" \
		1002
	expect_eq "names of $1" "$(json data/"$1"-*/summary.json \
		'[.functions[].name] | sort | unique | length > 1')" true
}

# within NAME: $took is not much more than $alone.
within()
{
	echo "# $1: $took ms beside a slow one, $alone ms alone"
	[ "$took" -le $((10 * alone)) ] || [ "$took" -le 1000 ] && return
	elsewhere now_alone >now || fail "$(cat now)"
	[ "$took" -le $((10 * $(cat now))) ] ||
		fail "$1 took $took ms beside a slow one, $alone and $(cat now) ms alone"
}
now_alone()
{
	cp ../calls .
	victim now
	echo "$took"
}

# The end of a recording ends the readers that are idle: the next one is new. One
# that is busy at that moment is for the end of another recording. All this comes
# after the summary.
recordings=0
idle()
{
	pgrep -P "$collector" -f perfrec-reader >pids || return 0
	recordings=$((recordings + 1))
	victim "between$recordings"
	return 1
}

victim alone
alone=$took
wait_for 60 idle

: >stall
LD_PRELOAD=$SHIM ./slow 1000 7 >slow.out 2>slow.err &
slow=$!
wait_for 60 test ! -e stall
victim beside
within beside
wait "$slow"
expect_eq 'status of the slow one' $? 7
wait_for 60 has_summary slow
expect_match collect.log 'took too long to read'
expect_eq 'what the summary of the slow one says' "$(json \
	data/slow-*/summary.json '.notes | map(test("took too long")) | any')" \
	true
expect_eq 'what that of the other one says' \
	"$(json data/beside-*/summary.json \
		'.notes | map(test("took too long")) | any')" false
expect_eq 'spans of the slow one' \
	"$(json data/slow-*/summary.json .totals.spans)" 1002

# A plugin that is loaded later: a drain worker, which all programs share, has to
# know whether its functions are excluded.
cat >plugin.c <<'SOURCE'
int entry(int i) { return i + 1; }
SOURCE
${CC:-gcc} -O1 -fPIC -shared -finstrument-functions -o plugin.so plugin.c ||
	fail 'cannot compile plugin.c'
build later -ldl <<'SOURCE'
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>
int main(void)
{
	alarm(600); /* whatever becomes of the test */
	fclose(fopen("up", "w"));
	while (access("go", F_OK) < 0)
		usleep(1000);
	void *plugin = dlopen("./plugin.so", RTLD_NOW);
	return ((int (*)(int))dlsym(plugin, "entry"))(6);
}
SOURCE
LD_PRELOAD=$SHIM ./later >later.out 2>later.err &
slow=$!
wait_for 60 test -e up
known()
{
	"$PERFREC" ctl functions "$slow" 2>/dev/null | grep -q main
}
wait_for 60 known
wait_for 60 idle
: >stall
: >go
wait_for 60 test ! -e stall
victim plugged
within plugged
status=0
wait "$slow" || status=$?
expect_eq 'status of the one with a plugin' $status 7
wait_for 60 has_summary later
expect_eq 'spans of the one with a plugin' \
	"$(json data/later-*/summary.json .totals.spans)" 2
stop_daemon
