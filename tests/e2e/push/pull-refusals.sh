# SPDX-License-Identifier: Apache-2.0
# long: sends many wrong requests
#
# --listen: other paths, the figures of --metrics, and requests and options that are
# refused.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/stacks.sh"
. "$TOP/tests/e2e/lib/daemon.sh"
. "$TOP/tests/e2e/lib/pull.sh"

build_programs
start_all

expect_get 200 /debug/pprof
expect_match body '^profile '
expect_get 200 /debug/pprof/
expect_match body '^profile '
expect_get 404 /debug/pprof/goroutine
expect_match body '^no such path: there are /metrics and the profiles that /debug/pprof/ lists$'
expect_get 404 /
expect_get 405 /debug/pprof/heap POST
# A body is not waited for: it never comes.
expect_get 405 /debug/pprof/heap POST 'Content-Length: 5'
expect_get 403 /debug/pprof/heap POST 'Host: 10.0.0.1' 'Content-Length: 5'
expect_get 400 /debug/pprof/heap GET 'Content-Length: 5'
expect_get 400 /debug/pprof/heap GET 'Transfer-Encoding: chunked'
expect_get 200 /debug/pprof/heap GET 'Content-Length: 0'
expect_get 403 /debug/pprof/ GET 'Host: 127.evil.example'
expect_get 403 /debug/pprof/ GET 'Host: 10.0.0.1'
expect_match body '^the request names another host: only 127.0.0.1 and localhost '
expect_get 200 /debug/pprof/ GET 'Host: localhost:80'
expect_get 200 /metrics
expect_match body.head '^Content-Type: text/plain; version=0.0.4'
awk -f "$TOP/tests/e2e/lib/metrics.awk" body || fail 'the figures are not valid'
expect_match body '^perfrec_recordings 3$'
stop_all

# --- missing profiles, and clients without permission ---------------------------
start
expect_get 404 /debug/pprof/heap
expect_match body '^not recorded: perfrec-collect has --alloc off$'
stop_daemon
start --alloc sampled:64K
rm stop
preload ./one 1000 did.sampled &
one=$!
wait_for 60 test -e did.sampled
is_sampled()
{
	[ "$(http /debug/pprof/heap)" = 200 ] && profile_stacks body >heap &&
		grep -q '^sample {' stacks.text
}
wait_for 60 is_sampled
expect_match stacks.text '^period: 65536$'
touch stop
wait $one || fail 'one, sampled'
stop_daemon
echo secret-word >token
chmod 600 token
start --listen-token token
expect_get 401 /debug/pprof/
expect_match body.head '^WWW-Authenticate: Bearer'
for wrong in secret-wor secret-word1 '' x; do
	expect_get 401 /metrics GET "Authorization: Bearer $wrong"
done
expect_get 401 /metrics GET 'Authorization: Basic secret-word'
expect_match body '^the token is missing or wrong: send Authorization: Bearer TOKEN'
expect_get 401 /metrics POST 'Content-Length: 5'
expect_get 200 /metrics GET 'Authorization: Bearer secret-word'
expect_get 200 /metrics GET 'Authorization: Bearer secret-word' 'Host: far'
expect_no_match collect.log secret
stop_daemon
chmod 644 token
run "$O/perfrec-collect" -o other --listen 127.0.0.1:0 --listen-token token
expect_status 1
expect_match err "'token', for --listen-token: others may read it; give it mode 0600"
: >empty
chmod 600 empty
run "$O/perfrec-collect" -o other --listen 127.0.0.1:0 --listen-token empty
expect_status 1
run "$O/perfrec-collect" -o other --listen 127.0.0.1:0 --listen-token .
expect_error 1 "cannot read '.', for --listen-token: it is no plain file"
run "$O/perfrec-collect" -o other --listen 127.0.0.1:0 --listen-token nowhere
expect_status 1
expect_match err "cannot read 'nowhere', for --listen-token: No such file"
run "$O/perfrec-collect" -o other --listen 0.0.0.0:0
expect_error 2 "^perfrec-collect: error: --listen '0.0.0.0:0': other machines could read"
run "$O/perfrec-collect" -o other --listen-token token
expect_error 2 '^perfrec-collect: error: --listen-token: only with --listen$'
for address in 127.0.0.1 host:80 127.0.0.1:70000 ::1:80 '[::1]' '[127.0.0.1]:80' :80; do
	run "$O/perfrec-collect" -o other --listen "$address"
	expect_error 2 'give an address in digits and a port'
done
