# SPDX-License-Identifier: Apache-2.0
#
# lib.sh - what the end-to-end tests share; each sources it first:
#
#     . "$TOP/tests/e2e/lib.sh"
#
# scripts/run-e2e.sh has put the test into an empty folder and set TOP, O and
# PERFREC. Nothing here asserts a time.

set -u

# The machine may be too busy for the usual 100 ms.
export PERFREC_DEADLINE_MS=20000

fail()
{
	echo "FAIL: $*"
	exit 1
}

skip()
{
	echo "$*"
	exit 77
}

# need COMMAND...: skip when one is not installed.
need()
{
	for command in "$@"; do
		command -v "$command" >/dev/null || skip "$command is not installed"
	done
}

need jq

# run COMMAND...: run it with its output in files ./out and ./err and its
# exit status in $status.
run()
{
	"$@" >out 2>err
	status=$?
}

# expect_status N: of the last run.
expect_status()
{
	[ "$status" -eq "$1" ] && return
	sed 's/^/stderr: /' err
	fail "exit status $status, expected $1"
}

# run_ok COMMAND...: run, and expect status 0.
run_ok()
{
	run "$@"
	expect_status 0
}

# expect_eq WHAT GOT EXPECTED
expect_eq()
{
	[ "$2" = "$3" ] || fail "$1 is '$2', expected '$3'"
}

# expect_match FILE REGEX...: each is found in FILE.
expect_match()
{
	file=$1
	shift
	for regex in "$@"; do
		grep -Eq -- "$regex" "$file" && continue
		sed "s/^/$file: /" "$file"
		fail "nothing in $file matches '$regex'"
	done
}

# expect_no_match FILE REGEX...: none is found in FILE, which exists.
expect_no_match()
{
	searched=$1
	shift
	for unwanted in "$@"; do
		grep -E -- "$unwanted" "$searched"
		case $? in
		0) fail "the lines above of $searched match '$unwanted'" ;;
		1) ;;
		*) fail "cannot look for '$unwanted' in $searched" ;;
		esac
	done
}

# expect_error STATUS REGEX: the last run failed with this status, nothing
# on stdout, and exactly one line on stderr, which matches.
expect_error()
{
	expect_status "$1"
	[ ! -s out ] || fail "stdout is not empty: $(head -n 3 out)"
	[ "$(wc -l <err)" -eq 1 ] || fail "not one line on stderr: $(cat err)"
	expect_match err "$2"
}

# expect_none FILE...: none of them exists.
expect_none()
{
	for file in "$@"; do
		if [ -e "$file" ] || [ -L "$file" ]; then
			fail "$file is left behind"
		fi
	done
}

# build NAME [FLAG...] <<SOURCE: compile C from stdin to ./NAME with
# function instrumentation.
build()
{
	target=$1
	shift
	cat >"$target.c"
	${CC:-gcc} -O1 -g -finstrument-functions -o "$target" "$target.c" "$@" ||
		fail "cannot compile $target.c"
}

# prog THEME/NAME [AS]: ./AS (or ./NAME) is tests/progs/THEME/NAME.c as make has
# compiled it, with function instrumentation (tests/progs/rules.mk).
prog()
{
	cp "$O/tests/progs/$1" "${2:-${1##*/}}" ||
		fail "no $1: make e2e-programs"
}

# A small instrumented program: ./calls N [EXIT STATUS] (tests/progs/cli/calls.c).
build_calls()
{
	prog cli/calls
}

# json FILE EXPRESSION: prints the value of the expression, as jq -r does. jq takes 30 ms
# to start, so a tool reads single members.
json()
{
	"$O/tests/tools/json_at" "$1" "$2" || fail "jq: $2"
}

# wait_for SECONDS COMMAND...: until it succeeds. For events that nothing
# can wait on; the test's own limit is the real bound.
wait_for()
{
	tries=$(($1 * 20))
	shift
	while ! "$@"; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || fail "waited in vain for: $*"
		sleep 0.05
	done
}

# function_is NAME STATE: "span", "counted" or "off" is the state of the function in
# the program that is being recorded into ./data. For wait_for.
function_is()
{
	"$PERFREC" ctl -o data functions --json >list.json || return 1
	jq -e --arg name "$1" --arg state "$2" '.functions[0].functions[] |
		select(.name == $name and .state == $state)' list.json >/dev/null
}

# stop_process PID: by SIGSTOP. On a busy machine threads of it may run on for
# a while after kill(2): returns when every one has stopped.
stop_process()
{
	kill -STOP "$1"
	wait_for 60 every_thread_stopped "$1"
}
every_thread_stopped()
{
	! cat /proc/"$1"/task/*/stat | sed 's/.*) //' | grep -qv '^T'
}
