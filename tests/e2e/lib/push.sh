# SPDX-License-Identifier: Apache-2.0
#
# push.sh - for tests of perfrec-push: a server (push_server.py), windows
# (push_windows.py), and perfrec-push between them.

need python3
export PYTHONDONTWRITEBYTECODE=1
unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY all_proxy
push_lib=$TOP/tests/e2e/lib

# start_server STATE [ARGUMENT...]: $port is where it listens.
start_server()
{
	mkdir -p "$1"
	python3 "$push_lib/push_server.py" "$@" &
	servers="${servers:-} $!"
	wait_for 60 test -s "$1/port"
	port=$(cat "$1/port")
}
# shellcheck disable=SC2086 # one word a process
trap 'kill ${servers:-} ${pusher:-} 2>/dev/null' EXIT

# windows SPOOL COUNT [KEY=VALUE...]: makes them; their sums go to ./expected.
windows()
{
	mkdir -p "$1"
	python3 "$push_lib/push_windows.py" "$@" >expected || fail "no windows"
}

# push SPOOL URL... [OPTION...]: sends all windows of SPOOL, then ends.
push()
{
	spool=$1
	shift
	run "$O/perfrec-push" --quiet --spool "$spool" --linger 120s "$@" </dev/null
}

# push_until COMMAND SPOOL URL... [OPTION...]: sends until COMMAND succeeds.
push_until()
{
	until=$1 spool=$2
	shift 2
	[ -p input ] || mkfifo input
	"$O/perfrec-push" --quiet --spool "$spool" --linger 0s "$@" <input 2>err &
	pusher=$!
	exec 3>input
	wait_for 60 "$until"
	exec 3>&-
	status=0
	wait $pusher || status=$?
	pusher=
}

# expect_empty SPOOL: it has no window.
expect_empty()
{
	# shellcheck disable=SC2012
	[ -z "$(ls -A "$1" | grep -v '^push.json$')" ] ||
		fail "left in $1: $(ls -A "$1")"
}

# expect_same STATE: the server has what the windows had, once.
expect_same()
{
	[ ! -s "$1/broken" ] || fail "rules: $(head -n 5 "$1/broken")"
	[ ! -s "$1/twice" ] || fail "came twice: $(head -n 5 "$1/twice")"
	python3 - expected "$1/sums" <<-'END' || fail "not what was put in"
	import json, sys
	want, got = (json.load(open(name)) for name in sys.argv[1:])
	for key in sorted(set(want) | set(got)):
	    if want.get(key) != got.get(key) and key != 'links' and not key.startswith('comment'):
	        sys.exit(f'{key}: {want.get(key)} was put in, {got.get(key)} came')
	END
}

# counter SPOOL FILTER: of push.json.
counter()
{
	jq -c "$2" "$1/push.json"
}
