#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# serve.sh SOCKET LOAD SERVER... - run SERVER until LOAD, a command with its
# arguments in one word, has ended. The exit status is that of LOAD, unless the
# server fails.
set -u

socket=$1
load=$2
shift 2
rm -f "$socket"
"$@" &
server=$!
$load
status=$?
kill -TERM "$server"
wait "$server" || exit 1
exit "$status"
