# SPDX-License-Identifier: Apache-2.0
#
# The states of all functions of a program with threads change all the time,
# while it forks, throws, jumps, loads a library and takes signals. (For a moment;
# `make check-flips` does it for long.)
# timeout: 600
# long: changes states for seconds
. "$TOP/tests/e2e/lib.sh"
need g++
O=$O sh "$TOP/tests/stress/flips.sh" 800 4 || exit 1
