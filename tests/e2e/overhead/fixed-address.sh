#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
# long: builds with each compiler for several addresses
#
# Programs at a fixed address, with little room below and with data of any size
# above, are recorded and counted from their first call on: entry builds and
# calls builds.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/both_builds.sh"
need gcc

fixed='-O2 -no-pie -fno-pie'
for compiler in gcc clang; do
	command -v $compiler >/dev/null || continue
	# shellcheck disable=SC2086 # words
	{
		try $compiler $fixed
		try $compiler $fixed -fno-plt
		try $compiler $fixed -Wl,-Ttext-segment=0x60000000
		try $compiler $fixed -DGIB=1
		try $compiler $fixed -Wl,--hash-style=both
	}
done
try gcc -O2 -fpie -pie -mcmodel=medium -DGIB=3
[ $tried -ge 4 ] || fail "only $tried programs were tried"
