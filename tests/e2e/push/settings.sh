#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Settings of --push that can never work end perfrec record and perfrec-collect
# with status 2 and one line, before the program starts; nothing is recorded.
. "$TOP/tests/e2e/lib.sh"

# refuses REGEX OPTION...: both commands.
refuses()
{
	regex=$1
	shift
	run "$PERFREC" record -o data "$@" -- sh -c 'echo ran >ran'
	expect_error 2 "$regex"
	expect_none data ran
	run timeout 60 "$O/perfrec-collect" -o data "$@"
	expect_error 2 "$regex"
	expect_none data
	expect_no_match err secret
}

url=pyroscope+http://127.0.0.1:1
refuses "cannot push to 'otlp.http://\[::1': it is no URL" --push 'otlp+http://[::1'
refuses "'otlp.http://one:99999': it is no URL" --push otlp+http://one:99999
refuses "has a '\?' or '#'" --push 'otlp+http://one/?a=b'
refuses 'is given twice: leave one out' --push $url --push $url
refuses 'more than 8 URLs' $(seq -f '--push otlp+http://one:%.0f' 9)
refuses '^perfrec[-a-z]*: error: --push-interval: only with --push$' --push-interval 5s
refuses '^perfrec[-a-z]*: error: --push-spool: only with --push$' --push-spool 5M
refuses '^perfrec[-a-z]*: error: --push-auth: only with --push$' --push-auth auth
refuses '^perfrec[-a-z]*: error: --otlp-version: only with --push=otlp.http' \
	--otlp-version 1 --push $url

# Credentials: none of them is in a line.
refuses "cannot read 'auth': No such file" --push $url --push-auth auth
echo PYROSCOPE_AUTH_TOKEN=secret >auth
chmod 640 auth
refuses "'auth' has credentials and others may use it: chmod 600 'auth'" \
	--push $url --push-auth auth
echo PYROSCOPE_AUTH_TOKN=secret >auth
chmod 600 auth
refuses "line 1 of 'auth' is no NAME=VALUE" --push $url --push-auth auth
echo PYROSCOPE_BASIC_AUTH_PASSWORD=secret >auth
refuses 'PYROSCOPE_BASIC_AUTH_PASSWORD is set and PYROSCOPE_BASIC_AUTH_USER is not: set both' \
	--push $url --push-auth auth
printf 'PYROSCOPE_BASIC_AUTH_USER=secret:me\nPYROSCOPE_BASIC_AUTH_PASSWORD=secret\n' >auth
refuses "PYROSCOPE_BASIC_AUTH_USER has a ':'" --push $url --push-auth auth
export OTEL_EXPORTER_OTLP_HEADERS='a b=secret'
refuses 'OTEL_EXPORTER_OTLP_HEADERS is no list of NAME=VALUE: correct it' \
	--push otlp+http://127.0.0.1:1
export OTEL_EXPORTER_OTLP_HEADERS='content-TYPE=secret'
refuses 'OTEL_EXPORTER_OTLP_HEADERS sets content-TYPE, which perfrec-push sets: leave it out' \
	--push otlp+http://127.0.0.1:1
unset OTEL_EXPORTER_OTLP_HEADERS
export PYROSCOPE_TENANT_ID='secret/tenant'
refuses 'PYROSCOPE_TENANT_ID has characters that no tenant has' --push $url
unset PYROSCOPE_TENANT_ID
export SSL_CERT_FILE=nothing
refuses "cannot read 'nothing' of SSL_CERT_FILE: No such file" --push pyroscope+https://127.0.0.1:1
# Without TLS nobody needs the file.
run_ok "$O/perfrec-push" --check $url
unset SSL_CERT_FILE

# A valid URL works even without a server.
printf 'PYROSCOPE_BASIC_AUTH_USER=me\nPYROSCOPE_BASIC_AUTH_PASSWORD=secret\n' >auth
PYROSCOPE_TENANT_ID="a-Z_0.*'()!" run "$O/perfrec-push" --check --push-auth auth $url
expect_status 0
[ ! -s err ] || fail "$(cat err)"

# The program that sends is missing: that is no wrong usage.
PERFREC_PUSH=/nowhere run "$PERFREC" record -o data --push $url -- sh -c 'echo ran >ran'
expect_error 1 'cannot start perfrec-push, for --push'
expect_none data ran
