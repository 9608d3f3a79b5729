# SPDX-License-Identifier: Apache-2.0
# long: records into some thirty folders
#
# A folder named with -o may hold a person's files. perfrec takes a folder for a
# recording only if perfrec wrote every file in it. It refuses any other folder
# before the program starts, and removes only its own files.
. "$TOP/tests/e2e/lib.sh"

# The program leaves a file, so a refusal that comes too late is seen.
printf '#!/bin/sh\n: >"$0.ran"\n' >program
chmod +x program
program=$PWD/program

# listing: everything here but the output of run.
listing()
{
	find . ! -name out ! -name err -printf '%y %m %p %l\n' | sort
	find . -type f ! -name out ! -name err -exec cksum {} + | sort
}

# refused REGEX DIR: with this message, before the program runs, and with
# everything in this folder as it was.
refused()
{
	rm -f "$program.ran"
	listing >"$TMP/before"
	run "$PERFREC" record -q -o "$2" -- "$program"
	[ -s out ] && fail "stdout is not empty: $(cat out)"
	expect_status 1
	[ "$(wc -l <err)" -eq 1 ] || fail "not one line on stderr: $(cat err)"
	expect_match err "$1.*choose another"
	expect_none "$program.ran"
	listing >"$TMP/after"
	cmp -s "$TMP/before" "$TMP/after" ||
		fail "changed: $(diff "$TMP/before" "$TMP/after")"
}

# recorded DIR
recorded()
{
	rm -f "$program.ran"
	run_ok "$PERFREC" record -q -o "$1" -- "$program"
	[ -e "$program.ran" ] || fail "the program did not run"
	[ ! -s err ] || fail "stderr: $(cat err)"
}

TMP=$(mktemp -d)
trap 'rm -rf "$TMP"' EXIT
recorded real
cp -r real pristine
rm -rf real

# --- files of other tools that have the names of ours
mkdir results
echo '{}' >results/summary.json
refused "'results' exists and is no recording of perfrec" results
echo '{"total": 1, "perfrec": 2}' >results/summary.json
refused "'results' exists and is no recording of perfrec" results
echo years >results/thesis.txt
refused "'results' holds 'thesis.txt', which perfrec did not write" results
echo more >results/appendix.txt
refused "'results' holds 'appendix.txt' \(and 1 more\)" results/
# A summary of ours does not make the rest ours.
cp pristine/summary.json results
refused "'results' holds 'appendix.txt' \(and 1 more\)" results
mkdir traces profiles
echo 'of another tool' >traces/trace.pftrace
refused "'traces' exists and is no recording" traces
cp pristine/cpu.pb.gz profiles
refused "'profiles' exists and is no recording" profiles
cp pristine/trace.pftrace traces
echo '[]' >traces/summary.json
refused "'traces' exists and is no recording" traces

# --- names and types that are nearly ours
for name in wall.pb.gz.bak .trace.pftrace.new ..summary.json.new \
	heap.20261121T10050.123.pb.gz heap.2026112xT100500.123.pb.gz \
	cpu.20261121T100500.123.pb.gz .new 'a
b'; do
	cp -r pristine near
	echo mine >"near/$name"
	refused "'near' holds '$(echo "$name" | tr '\n' '?' | sed 's/?$//
		s/[.?]/\\&/g')', which perfrec did not write" near
	rm -rf near
done
cp -r pristine near
rm near/wall.pb.gz
mkdir near/wall.pb.gz
refused "'near' holds 'wall.pb.gz'" near
rmdir near/wall.pb.gz
ln -s ../results/thesis.txt near/wall.pb.gz
refused "'near' holds 'wall.pb.gz'" near
rm -r near/wall.pb.gz
mkfifo near/control
refused "'near' holds 'control'" near
rm near/control
mkdir near/folder
refused "'near' holds 'folder'" near
rm -r near

# --- DIR.old is a person's
recorded mine
for kind in file folder link dangling; do
	case $kind in
	file) echo precious >mine.old; want="is no folder" ;;
	folder) mkdir mine.old; echo precious >mine.old/notes
		want="holds 'notes'" ;;
	link) cp -r pristine away; ln -s away mine.old
		want="is a symbolic link" ;;
	dangling) ln -s nowhere mine.old; want="is a symbolic link" ;;
	esac
	refused "'mine.old' .*$want" mine
	refused "'mine.old' .*$want" mine
	rm -rf mine.old away
done
# An empty one is in nobody's way.
mkdir mine.old
recorded mine
recorded mine
expect_eq 'folders' "$(echo mine*)" 'mine mine.old'

# --- whatever perfrec may have written is removed with a recording
all='trace.pftrace trace.index summary.json wall.pb.gz cpu.pb.gz heap.pb.gz heap-peak.pb.gz
	span.pb.gz wall.20261121T100500.123.pb.gz heap.20261121T100500.123.pb.gz
	.summary.json.new .wall.pb.gz.new .heap.20261121T100500.123.pb.gz.new'
for name in $all; do
	[ -e "mine/$name" ] || : >"mine/$name"
done
ln -s /gone/perfrec.sock.ctl mine/control
mkdir -p mine/snapshots/0001-101500-call mine/snapshots/.0002-101501-call.new
: >mine/snapshots/0001-101500-call/trace.pftrace
echo '{"perfrec": {}}' >mine/snapshots/0001-101500-call/why.json
for round in 1 2 3; do
	recorded mine
	expect_eq "folders of round $round" "$(echo mine*)" 'mine mine.old'
done
[ ! -L mine.old/control ] || fail 'the oldest recording is still there'
# The same with a recording that has every kind of file.
cat >allocates <<-'SCRIPT'
	#!/bin/sh
	until ls many/heap.2*.pb.gz >/dev/null 2>&1; do sleep 0.05; done
SCRIPT
for round in 1 2 3; do
	run_ok "$PERFREC" record -q --alloc exact --compress \
		--snapshot-interval 100ms -o many -- sh allocates
	[ ! -s err ] || fail "stderr: $(cat err)"
done
expect_eq 'folders' "$(echo many*)" 'many many.old'
# A trace alone will do, also a compressed one: its collector was killed.
for data in many mine; do
	find $data -type f ! -name trace.pftrace -delete
	recorded $data
	recorded $data
done
: >mine/trace.pftrace
rm mine/summary.json
recorded mine

# --- a symbolic link is the folder it leads to, each time
mkdir disk
ln -s disk/rec link
refused "'link' is a symbolic link that leads nowhere" link
mkdir disk/rec
for round in 1 2 3; do
	recorded link
	expect_eq 'link' "$(readlink link)" disk/rec
	expect_eq 'beside it' "$(echo link*)" link
done
expect_eq 'where it leads' "$(echo disk/*)" 'disk/rec disk/rec.old'
echo mine >disk/rec/notes
refused "holds 'notes'" link
refused "holds 'notes'" link/
rm disk/rec/notes
ln -s loop loop
refused "'loop'.*symbolic links" loop
ln -s pristine/summary.json to-file
refused "summary.json' exists and is no folder" to-file

# --- spellings
recorded spelled
recorded spelled//
recorded ./spelled/.
recorded spelled/../spelled
expect_eq 'folders' "$(echo spelled*)" 'spelled spelled.old'
refused "holds '.*' \(and .* more\), which perfrec did not write" .
refused "holds '.*' \(and .* more\), which perfrec did not write" spelled/..
refused "'/' holds '.*' \(and .* more\), which perfrec did not write" /
refused "'program' exists and is no folder" program
mkdir here
# The folder that one is in, under any name, can be used but not moved.
(cd here && "$PERFREC" record -q -o . -- "$program") || fail "status $?"
for dir in . ../here "$PWD/here/"; do
	(cd here && "$PERFREC" record -q -o "$dir" -- "$program" 2>../err) &&
		fail "recorded into $dir"
	expect_match err "here' holds a recording and is the current folder"
done
expect_eq 'folders' "$(echo here*)" here

# --- where nothing can be moved: everything stays
if [ "$(id -u)" -eq 0 ] && mkdir mount && mount -t tmpfs none mount 2>/dev/null
then
	recorded mount
	refused "cannot move 'mount' to 'mount.old'" mount
	cp -r pristine mount.old
	refused "cannot move 'mount' to 'mount.old'" mount
	umount mount
fi
if [ "$(id -u)" -eq 0 ]; then
	mkdir -m 755 locked
	cp -r pristine locked/rec
	chmod -R a+rX . "$TMP"
	rm -f "$program.ran"
	run setpriv --reuid 65534 --clear-groups \
		"$PERFREC" record -q -o locked/rec -- "$program"
	expect_error 1 "'locked/rec'.*(cannot|denied)|cannot .*'locked/rec"
	expect_none "$program.ran"
	cmp pristine/summary.json locked/rec/summary.json || fail 'changed'
fi

# --- the folder and its files can be read whatever the umask is
for mask in 0 0777; do
	(umask $mask; "$PERFREC" record -q -o masked true) || fail "umask $mask"
	expect_eq "modes below umask $mask" \
		"$(stat -c %a masked masked/trace.pftrace masked/summary.json |
			tr '\n' ' ')" '700 600 600 '
	rm -rf masked
done

# --- a recording whose perfrec and collector were killed is kept, and said
build waits <<-'SOURCE'
	#include <stdio.h>
	#include <unistd.h>
	__attribute__((noinline)) static void leaf(void) { __asm__ volatile(""); }
	int main(void)
	{
		leaf();
		puts("up");
		fflush(stdout);
		pause();
		return 0;
	}
SOURCE
for options in '' --compress; do
	: >up
	"$PERFREC" record -q $options -o killed ./waits >up 2>/dev/null &
	perfrec=$!
	wait_for 60 grep -q up up
	read -r children </proc/$perfrec/task/$perfrec/children
	for child in $children; do
		case $(cat /proc/$child/comm) in
		perfrec-collect) collector=$child ;;
		*) left=$child ;;
		esac
	done
	kill -KILL $perfrec $collector
	wait $perfrec
	kill $left
	# Its lock on the folder goes with its last thread.
	wait_for 60 flock -n killed true
	expect_none killed/summary.json
	cp killed/trace.pftrace before
	for quiet in '' -q; do
		run_ok "$PERFREC" record $quiet -o killed -- true
		if [ -z "$quiet" ]; then
			expect_match err "'killed' held a recording without \
a summary, .*: it is kept as 'killed.old'"
			cmp before killed.old/trace.pftrace ||
				fail 'not the trace that was there'
			rm -rf killed
			mv killed.old killed
		else
			[ ! -s err ] || fail "-q: $(cat err)"
		fi
	done
	# The next one finds two that are whole, or nothing to say of.
	run "$PERFREC" record -o killed -- true
	expect_no_match err 'without a summary'
	rm -rf killed killed.old
done

# --- a recording that is still made is not removed
cat >nested <<-'SCRIPT'
	#!/bin/sh
	"$PERFREC_TEST" record -q -o live -- true || exit 10
	"$PERFREC_TEST" record -q -o live -- true 2>nested.err && exit 11
	exit 3
SCRIPT
chmod +x nested
PERFREC_TEST=$PERFREC run "$PERFREC" record -q -o live -- ./nested
expect_status 3
expect_match nested.err "'live.old' is still being recorded: choose another"
expect_match live.old/summary.json '"./nested"'

# --- perfrec-collect -o: a file called as its link stays
served()
{
	: >collect.log
	"$O/perfrec-collect" -o served 2>collect.log &
	collector=$!
	wait_for 60 grep -q 'listening on' collect.log
	kill -TERM $collector
	wait $collector
}
mkdir served
echo mine >served/control
served || fail "status $?"
expect_match collect.log "cannot make 'served/control': File exists"
expect_eq 'the file' "$(cat served/control)" mine
for target in ../mine /gone/elsewhere.ctl; do
	ln -sfn "$target" served/control
	served || fail "status $?"
	case $target in
	*.ctl) expect_none served/control ;;
	*) expect_eq 'link' "$(readlink served/control)" "$target" ;;
	esac
done
cp /bin/true file
run "$O/perfrec-collect" -o file
expect_error 1 "cannot write to folder 'file': Not a directory"
