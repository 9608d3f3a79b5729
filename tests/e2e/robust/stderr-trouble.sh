# SPDX-License-Identifier: Apache-2.0
#
# Messages of the shim must not hurt a program that never writes to its stderr: a
# file that may not grow, a pipe without a reader, a full pipe.
. "$TOP/tests/e2e/lib.sh"

build_calls
./calls 1000 >expected
PERFREC_SOCKET=$PWD/nobody
SHIM=$O/libperfrec_preload.so
export PERFREC_SOCKET

# unhurt WHAT COMMAND...
unhurt()
{
	what=$1
	shift
	timeout 100 env LD_PRELOAD="$SHIM" "$@" >out
	expect_eq "$what: status" $? 7
	cmp -s expected out || fail "$what: output has changed"
}

unhurt 'stderr is fine' ./calls 1000 7 2>err
expect_match err '^perfrec: not recording: no collector'

got=$(LD_PRELOAD=$SHIM sh -c 'ulimit -f 0; ./calls 1000 7; echo $?' \
	2>limited | tr '\n' ' ')
expect_eq 'file size limit' "$got" "$(cat expected) 7 "

mkfifo pipe
exec 4<>pipe 5>pipe
dd if=/dev/zero of=pipe bs=65536 count=16 oflag=nonblock 2>/dev/null
unhurt 'stderr is full' ./calls 1000 7 2>&5
exec 4<&-
unhurt 'nobody reads stderr' ./calls 1000 7 2>&5
exec 5>&-
unhurt 'stderr is closed' ./calls 1000 7 2>&-
