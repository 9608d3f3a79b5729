# SPDX-License-Identifier: Apache-2.0
#
# Errors around a recording: folders, sockets, unreadable files, parts of another
# version. Each time perfrec prints one line that names the thing and the way out,
# and leaves no files behind.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"
need setpriv

build_calls
chmod 755 .

# refused STATUS REGEX COMMAND...
refused()
{
	expected=$1 regex=$2
	shift 2
	run timeout 100 "$@"
	expect_error "$expected" "$regex"
	expect_none perfrec.data new
}

# --- the command line of the daemon
refused 2 "unknown option '--frob'; see perfrec-collect --help" \
	"$O/perfrec-collect" --frob
refused 2 "option '-o' needs a value" "$O/perfrec-collect" -o
refused 2 "-o '': give the name of a folder" "$O/perfrec-collect" -o ''
refused 2 "--socket '': give the path of a socket" "$O/perfrec-collect" --socket ''
refused 2 "'./app': no argument is expected .*perfrec record -- ./app" \
	"$O/perfrec-collect" ./app

# --- its socket
start_daemon
socket=$XDG_RUNTIME_DIR/perfrec.sock
refused 1 "socket '$socket' is in use: .*stop that one, or .*--socket" \
	"$O/perfrec-collect" -o new
expect_eq 'the first one' "$(kill -0 $collector && [ -S "$socket" ] && echo serves)" \
	serves
# perfrec record has one of its own.
run "$PERFREC" record -q -o own ./calls 10 3
expect_status 3
stop_daemon
# One that was killed leaves its socket, and is in nobody's way.
start_daemon
kill -KILL $collector
wait $collector
[ -S "$socket" ] || fail 'the socket of a killed collector is gone'
start_daemon
stop_daemon

echo precious >file
refused 1 "'file' exists and is no socket .*--socket" \
	"$O/perfrec-collect" -o new --socket file
expect_eq 'the file in the way' "$(cat file)" precious
refused 1 "cannot bind socket '/no/such/s': No such file .*--socket" \
	"$O/perfrec-collect" -o new --socket /no/such/s

long=$PWD/$(printf '%0100d' 0)
mkdir "$long"
refused 1 "socket path '.*\.\.\.' is too long: .*at most 103 .*--socket" \
	"$O/perfrec-collect" -o new --socket "$long/s"
XDG_RUNTIME_DIR=$long refused 1 "socket path .* is too long: .*--socket" \
	"$O/perfrec-collect" -o new
# perfrec record has no --socket, and looks for another place.
XDG_RUNTIME_DIR=$long run "$PERFREC" record -q -o own ./calls 10 3
expect_status 3
[ ! -s err ] || fail "a long XDG_RUNTIME_DIR is complained of: $(cat err)"
XDG_RUNTIME_DIR= TMPDIR=$long refused 1 \
	"'$PWD/.*\.\.\.' is too long for a socket in it \(set TMPDIR" \
	"$PERFREC" record -o new ./calls
XDG_RUNTIME_DIR= TMPDIR=/no/such refused 1 \
	"cannot make a folder in '/no/such': .*set TMPDIR" \
	"$PERFREC" record -o new ./calls

# --- what the program says: never more than a line, and it runs on
# told REGEX [VARIABLE=VALUE]...
told()
{
	regex=$1
	shift
	run env "LD_PRELOAD=$SHIM" "$@" ./calls 10 6
	expect_status 6
	expect_eq 'lines on stderr' "$(wc -l <err)" 1
	expect_match err "^perfrec: not recording: $regex"
}
told 'no collector is listening \(start perfrec-collect'
told 'no collector is listening \(start perfrec-collect' PERFREC_SOCKET=
told 'no collector .* at PERFREC_SOCKET: /no/such/s' \
	PERFREC_SOCKET=/no/such/s
# Nothing in it steers a terminal: an escape, a line end, U+009B.
told 'no collector .* at PERFREC_SOCKET: /no/\?\[31m\?s\?\?1mé$' \
	"PERFREC_SOCKET=$(printf '/no/\033[31m\ns\302\2331mé')"
told "a socket's path has 107 bytes .*set PERFREC_SOCKET .*: $long" \
	"PERFREC_SOCKET=$long/s"
told "a socket's path has 107 bytes .*set PERFREC_SOCKET .*: $long" \
	"XDG_RUNTIME_DIR=$long"

# --- output folders
mkdir empty
run "$PERFREC" record -q -o empty ./calls 10 3
expect_status 3
[ -s empty/summary.json ] || fail 'an empty folder was not used'
# A program that does not start leaves no files in an empty folder, which stays.
rm -r empty
mkdir empty
printf '\177ELF and nothing more' >broken
chmod +x broken
refused 1 "cannot run './broken': Exec format error" \
	"$PERFREC" record -o empty ./broken
expect_eq 'the empty folder' "$(ls -A empty; [ -d empty ] && echo there)" there

# --- as another user, who may not be able to reach the build directory
as_nobody='setpriv --reuid 65534 --regid 65534 --clear-groups'
mkdir parts
cp "$PERFREC" "$O/perfrec-collect" "$O/libperfrec_preload.so" parts
if [ "$(id -u)" -eq 0 ] && $as_nobody parts/perfrec --version; then
	mkdir -m 755 theirs nobodys
	chown 65534 nobodys
	cp calls unreadable
	chmod 711 unreadable
	cp calls forbidden
	chmod 000 forbidden
	export XDG_RUNTIME_DIR=
	refused 1 "cannot make folder 'theirs/x': Permission denied .*-o" \
		$as_nobody parts/perfrec record -o theirs/x ./calls
	refused 1 "cannot write 'theirs/trace.pftrace': Permission denied .*-o" \
		$as_nobody parts/perfrec record -o theirs ./calls
	refused 1 "cannot write to folder 'theirs': Permission denied .*-o" \
		$as_nobody parts/perfrec-collect -o theirs
	expect_eq 'in the folder of another' "$(ls -A theirs)" ''
	refused 1 "cannot run './forbidden': Permission denied" \
		$as_nobody parts/perfrec record -o nobodys/x ./forbidden
	refused 1 "cannot record './unreadable': it cannot be read: .*chmod" \
		$as_nobody parts/perfrec record -o nobodys/x ./unreadable
	mkdir -m 700 locked
	PATH=$PWD/locked:/usr/bin:/bin refused 1 \
		"cannot run 'no-such-command': No such file" \
		$as_nobody parts/perfrec record -o nobodys/x no-such-command
	"$PERFREC" record -q -o secret ./calls >/dev/null
	refused 1 "cannot read 'secret/summary.json': Permission denied" \
		$as_nobody parts/perfrec report secret
	# A descendant that nobody may look at has no names.
	run $as_nobody parts/perfrec record -q -o nobodys/x \
		sh -c './calls 10; ./unreadable 10 4'
	expect_status 4
	expect_match err \
		'cannot read /proc/[0-9]*/maps: .*; functions of .* no names'
	expect_eq output "$(xargs <out)" '45 45'
	expect_eq 'spans of both' \
		"$(json nobodys/x/summary.json .totals.spans)" 24
	expect_eq 'spans without names' "$(json nobodys/x/summary.json \
		'[.functions[] | select(.module == "[unknown]") | .calls] |
		add')" 12

	# A daemon of root's for another user: whom it allows, and nobody else.
	chmod 777 .
	start_daemon --allow-uid 65534 --socket "$PWD/shared"
	export LD_PRELOAD="$PWD/parts/libperfrec_preload.so"
	export PERFREC_SOCKET="$PWD/shared"
	run $as_nobody ./calls 10 6
	expect_status 6
	run setpriv --reuid 65533 --clear-groups ./calls 10 6
	expect_status 6
	unset LD_PRELOAD PERFREC_SOCKET
	stop_daemon
	expect_match collect.log 'refused program .*runs as another user'
	expect_eq 'recordings' "$(ls -d data/calls-* | wc -l)" 1
	expect_eq 'spans of the user who is allowed' \
		"$(json data/calls-*/summary.json .totals.spans)" 12
	start_daemon --socket "$PWD/private"
	expect_eq 'mode of a private socket' "$(stat -c %a private)" 600
	export LD_PRELOAD="$PWD/parts/libperfrec_preload.so" PERFREC_SOCKET="$PWD/private"
	run $as_nobody ./calls 10 6
	unset LD_PRELOAD PERFREC_SOCKET
	expect_status 6
	expect_match err 'not recording: the collector.s socket belongs to another user: .*/private is of the user with id 0$'
	# Also where the places that are tried next have none.
	ln -s "$PWD/private" theirs/perfrec.sock
	run $as_nobody env XDG_RUNTIME_DIR="$PWD/theirs" TMPDIR="$PWD" \
		LD_PRELOAD="$PWD/parts/libperfrec_preload.so" ./calls 10
	expect_match err 'not recording: .*another user: .*/theirs/perfrec.sock is of the user with id 0$'
	stop_daemon
	# The folder in /tmp was made by somebody else first: nothing in it is
	# looked at, though its link leads to a collector of the user's own.
	start_daemon --socket "$PWD/mine"
	mkdir "perfrec-$(id -u)"
	ln -s "$PWD/mine" "perfrec-$(id -u)/perfrec.sock"
	chown 65534 "perfrec-$(id -u)"
	run env -u XDG_RUNTIME_DIR TMPDIR="$PWD" \
		LD_PRELOAD="$O/libperfrec_preload.so" ./calls 10 6
	expect_status 6
	expect_match err 'not recording: .*another user: .*/perfrec-0/perfrec.sock is of the user with id 65534$'
	stop_daemon
	rm -r "perfrec-$(id -u)"
else
	echo 'not root: nothing tried as another user'
fi

# --- parts of another version
export XDG_RUNTIME_DIR="$PWD"
mkdir tree
cp -r "$TOP/Makefile" "$TOP/preload" "$TOP/shared" "$TOP/scripts" tree
sed -i 's/^#define WIRE_VERSION .*/#define WIRE_VERSION 9999u/' tree/shared/wire.h
make -s -C tree O=out out/libperfrec_preload.so >/dev/null 2>make.log ||
	fail "cannot build a shim: $(cat make.log)"
start_daemon
LD_PRELOAD=$PWD/tree/out/libperfrec_preload.so run ./calls 10 5
expect_status 5
expect_eq output "$(cat out)" 45
expect_eq 'lines on stderr' "$(wc -l <err)" 1
expect_match err '^perfrec: not recording: .*another version.*\(stop it'
expect_match collect.log 'refused program with pid .*another version of perfrec'
stop_daemon

# In a perfrec that was installed by halves it is not the program's fault.
cp tree/out/libperfrec_preload.so parts
run parts/perfrec record -o halves ./calls 10 5
expect_status 5
expect_match err 'lost +1 of the programs.*: it has another version of perfrec'
expect_no_match err 'Rebuild it'

cat >other.c <<'SOURCE'
#include <sys/socket.h>
#include "collector/options/record_wire.h"
#include "shared/wire.h"
int main(void)
{
	struct control_message message = {
		.version = WIRE_VERSION + 1, .type = CONTROL_READY,
		.ready = { "/nowhere" },
	};

	send(3, &message, sizeof(message), MSG_NOSIGNAL);
	return recv(3, &message, sizeof(message), 0) != 0;
}
SOURCE
gcc -iquote "$TOP" -o parts/other other.c || fail 'cannot compile'
mv parts/other parts/perfrec-collect
refused 1 'perfrec-collect is of another version: install .* from one build' \
	parts/perfrec record -o new ./calls
