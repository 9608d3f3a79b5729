#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
# long: builds with each linker
#
# Each linker makes other calls, notes, tables and stubs. Entry builds and calls
# builds of all of them are recorded and counted from their first call on.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/both_builds.sh"
need gcc

for compiler in gcc clang; do
	command -v $compiler >/dev/null || continue
	for linker in bfd gold lld mold; do
		try $compiler -O2 -fuse-ld=$linker
		try $compiler -O2 -fno-pie -no-pie -fuse-ld=$linker
	done
done
try gcc -O1 -fno-plt -fuse-ld=mold
try gcc -O1 -fcf-protection=none -Wl,-z,now -fuse-ld=mold
[ $tried -ge 4 ] || fail "only $tried programs were tried"
