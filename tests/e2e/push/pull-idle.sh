#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# --listen: connections that send no request, or no token, do not delay the answer
# to a client that has the token.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"
need python3

echo secret >token
chmod 600 token
start_daemon --listen 127.0.0.1:0 --listen-token token
port=$(sed -n 's|.*serving profiles at http://127.0.0.1:\([0-9]*\)/.*|\1|p' collect.log)

cat >idle.py <<'SCRIPT'
import http.client, socket, sys
port = int(sys.argv[1])
begins = [b'', b'GET /metrics HTTP/1.1\r\nHost: x\r\n', b'GET /me']

def ask(connection):
    connection.request('GET', '/metrics', headers={'Authorization': 'Bearer secret'})
    answer = connection.getresponse()
    text = answer.read()
    if answer.status != 200 or b'perfrec_recordings' not in text:
        sys.exit(f'status {answer.status}: {text}')

def is_open(connection):
    try:
        return connection.recv(1, socket.MSG_DONTWAIT) != b''
    except BlockingIOError:
        return True
    except OSError:
        return False

def add_idle():
    one = socket.create_connection(('127.0.0.1', port))
    one.sendall(begins[len(idle) % 3])
    idle.append(one)

# A connection after its answer is idle as well, as soon as the thread that wrote the
# answer has noted it. On a busy machine, other connections are older then.
first = http.client.HTTPConnection('127.0.0.1', port)
ask(first)
idle = []
for i in range(64):
    add_idle()
for i in range(3):
    ask(http.client.HTTPConnection('127.0.0.1', port))
    # It was not answered because others had waited too long.
    count = sum(map(is_open, idle[-24:]))
    if count != 24:
        sys.exit(f'of the last 24 idle connections {count} are open')
while is_open(first.sock):
    if len(idle) == 1000:
        sys.exit('the connection that was idle longest is open')
    add_idle()
SCRIPT
python3 idle.py "$port" || fail 'see above'
stop_daemon
