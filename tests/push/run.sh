#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# run.sh - perfrec-push beside peers that npm has: a server of Connect, the
# protocol of Pyroscope's Push, and protobufjs, which decodes OpenTelemetry's
# and Parca's requests. The client of Pyroscope for Node.js pushes to the same
# server first. npm fetches them into $O/push.
set -eu

TOP=$(cd "$(dirname "$0")/../.." && pwd)
O=$(cd "${O:-build}" && pwd)
work=$O/push
export TOP PYTHONDONTWRITEBYTECODE=1

for command in npm node python3 protoc; do
	command -v "$command" >/dev/null || {
		echo "$command is not installed"
		exit 77
	}
done
mkdir -p "$work"
cd "$work"
[ -f package.json ] || echo '{"private":true,"type":"module"}' >package.json
npm install --no-fund --no-audit --loglevel=error \
	@connectrpc/connect@2 @connectrpc/connect-node@2 @bufbuild/protobuf@2 \
	protobufjs@7 @pyroscope/nodejs@0.4
protoc --proto_path="$TOP/tests/push" --descriptor_set_out=service.bin \
	push_service.proto
cp "$TOP/tests/push/server.mjs" "$TOP/tests/push/client.cjs" .
rm -rf spool port sums
mkdir spool

node server.mjs "$TOP" &
server=$!
trap 'kill $server 2>/dev/null || :' EXIT
for _ in $(seq 300); do
	[ -s port ] && break
	sleep 0.1
done
port=$(cat port)
node client.cjs "http://127.0.0.1:$port"
grep -q '"client wall ' sums || {
	echo "Pyroscope's client: no profile came"
	exit 1
}
for url in pyroscope parca otlp; do
	# OTLP has one type for the two kinds of waits.
	python3 "$TOP/tests/e2e/lib/push_windows.py" spool 20 span=1 \
		kinds=cpu,wall,memory,mutex,off_cpu >expected
	"$O/perfrec-push" --spool spool --linger 60s "$url+http://127.0.0.1:$port" </dev/null
	python3 - "$url" <<-'END'
	import json, sys
	want = json.load(open('expected'))
	want = {k: v for k, v in want.items() if len(k.split(' ')) == 3}
	got = json.load(open('sums'))[sys.argv[1]]
	if want != got:
	    sys.exit(f'{sys.argv[1]}: {want} was sent, {got} came')
	print(f'ok     {sys.argv[1]}: {len(got)} sums')
	END
done
