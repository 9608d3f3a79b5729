#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Wrong options and URLs of perfrec-push get one line; credentials are on no
# command line, in no line and in no file that others can read. Its input says
# when there are windows, its end when to stop; SIGTERM stops it at once.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/push.sh"

push=$O/perfrec-push
mkdir spool
run_ok "$push" --help
expect_match out '--spool-size SIZE'
run "$push" http://127.0.0.1
expect_error 2 'needs --spool DIR and a URL'
run "$push" --spool spool http://127.0.0.1
expect_error 2 "cannot push to 'http://127.0.0.1': it does not begin with pyroscope"
run "$push" --spool spool otlp+ftp://127.0.0.1
expect_error 2 'does not begin with'
run "$push" --spool spool 'otlp+http://[::1'
expect_error 2 'it is no URL'
run "$push" --spool spool 'otlp+http://127.0.0.1/?a=b'
expect_error 2 "it has a '\?' or '#'"
run "$push" --spool spool pyroscope+http://me:secret@127.0.0.1
expect_error 2 'credentials do not belong on a command line'
expect_no_match err secret
run "$push" --spool spool --linger 10 otlp+http://127.0.0.1
expect_error 2 "--linger '10': give a time"
run "$push" --spool nothing otlp+http://127.0.0.1
expect_error 1 "cannot open the spool 'nothing': No such file"
OTEL_EXPORTER_OTLP_HEADERS='a b=secret' run "$push" --spool spool otlp+http://127.0.0.1
expect_error 2 'OTEL_EXPORTER_OTLP_HEADERS is no list of NAME=VALUE'
OTEL_EXPORTER_OTLP_HEADERS='a=secret%0D%0Ab: c' run "$push" --spool spool otlp+http://127.0.0.1
expect_status 2
expect_no_match err secret
echo PYROSCOPE_AUTH_TOKEN=secret >auth
chmod 640 auth
run "$push" --spool spool --push-auth auth pyroscope+http://127.0.0.1
expect_error 2 "'auth' has credentials and others may use it: chmod 600 'auth'"
printf '# Of the server.\n\nPYROSCOPE_AUTH_TOKN=secret\n' >auth
chmod 600 auth
run "$push" --spool spool --push-auth auth pyroscope+http://127.0.0.1
expect_error 2 "line 3 of 'auth' is no NAME=VALUE of a variable that perfrec-push knows"
expect_no_match err secret
run "$push" --spool spool --push-auth nothing pyroscope+http://127.0.0.1
expect_error 2 "cannot read 'nothing': No such file"

# A byte for each window.
start_server state
mkfifo input
"$push" --spool spool "pyroscope+http://127.0.0.1:$port" <input 2>err &
pusher=$!
exec 3>input
windows spool 2
printf . >&3
wait_for 60 test -s state/sums
# Another one waits, and leaves when its input ends.
run "$push" --spool spool "pyroscope+http://127.0.0.1:$port" </dev/null
expect_error 1 "another perfrec-push has 'spool'"
cp expected one
windows spool 2 first=2 age=30
printf . >&3
twice()
{
	[ "$(wc -l <state/log)" -ge 2 ]
}
wait_for 60 twice
jq -s '.[0] as $a | .[1] as $b | reduce ($b | keys[]) as $k ($a; .[$k] += $b[$k])' one expected >both
mv both expected
exec 3>&-
wait $pusher || fail "exit status $?"
expect_empty spool
expect_same state

# SIGTERM leaves the rest where it is.
echo '* 503' >state/plan
windows spool 2
"$push" --spool spool "pyroscope+http://127.0.0.1:$port" <input 2>err &
pusher=$!
exec 3>input
refused()
{
	grep -q 503 state/log
}
wait_for 60 refused
kill $pusher
wait $pusher
expect_eq 'exit status' $? 143
pusher=
exec 3>&-
# shellcheck disable=SC2012
expect_eq 'windows that are left' "$(ls -d spool/[0-9]* | wc -l)" 2
