#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# mcp_client.py PERFREC [DIR] - a client of `perfrec mcp`. Each line of standard
# input is the name of a tool and its arguments as JSON; the results are printed
# one a line. Fails if the server writes anything but the answers, or ends badly.
import json
import subprocess
import sys

server = subprocess.Popen([sys.argv[1], "mcp"] + sys.argv[2:], text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE)
asked = 0


def send(message):
    server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    server.stdin.flush()


def ask(method, params):
    global asked
    asked += 1
    send({"id": asked, "method": method, "params": params})
    answer = json.loads(server.stdout.readline())
    assert answer["jsonrpc"] == "2.0" and answer["id"] == asked, answer
    return answer.get("result", answer)


result = ask("initialize", {
    "protocolVersion": "2025-06-18", "capabilities": {},
    "clientInfo": {"name": "mcp_client.py", "version": "1"}})
assert result["protocolVersion"] == "2025-06-18", result
send({"method": "notifications/initialized"})
for line in sys.stdin:
    tool, arguments = line.split(None, 1)
    print(json.dumps(ask("tools/call", {"name": tool,
                                        "arguments": json.loads(arguments)})))
rest, _ = server.communicate()
assert rest == "" and server.returncode == 0, (rest, server.returncode)
