#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# A server whose certificate nobody has signed gets nothing, until
# SSL_CERT_FILE names it.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/push.sh"
need openssl

openssl req -x509 -newkey rsa:2048 -nodes -keyout key -out cert -days 2 \
	-subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 2>/dev/null ||
	fail "no certificate"
start_server state --tls cert key
windows spool 2
url=pyroscope+https://127.0.0.1:$port
is_told()
{
	grep -q 'cannot trust' err
}
push_until is_told spool "$url"
expect_status 0
expect_none state/log
expect_match err "cannot trust pyroscope.https.*: .*certificate.*SSL_CERT_FILE"
[ "$(counter spool '.refused.tls > 0 and .spooled_windows == 2')" = true ] ||
	fail "$(cat spool/push.json)"
SSL_CERT_FILE=cert push spool "$url"
expect_status 0
[ ! -s err ] || fail "$(cat err)"
expect_empty spool
expect_same state

# A file that is read again and names no certificates any more.
rm -rf state2 spool
start_server state2 --tls cert key
printf '* 401\n' >state2/plan
printf 'SSL_CERT_FILE=cert\nPYROSCOPE_AUTH_TOKEN=wrong\n' >auth
chmod 600 auth
windows spool 2
is_told_again()
{
	[ -s state2/log ] || return 1
	printf 'PYROSCOPE_AUTH_TOKEN=wrong\n' >auth
	grep -q 'cannot trust' err
}
push_until is_told_again spool "pyroscope+https://127.0.0.1:$port" --push-auth auth
expect_status 0
