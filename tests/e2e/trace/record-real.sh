#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 1200
# long: records some million calls of Lua and SQLite
#
# Lua and SQLite, a few million calls each: the counts of every function are
# the same in an independent counter, the summary and the trace. The full
# size, over fifty million, is `make check-real`.
. "$TOP/tests/e2e/lib.sh"
need nm gcc

sh "$TOP/tests/real/record-real.sh" --quick "$O" "${REAL_DIR:-$O/real}"
