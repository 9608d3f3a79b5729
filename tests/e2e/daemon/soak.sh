# SPDX-License-Identifier: Apache-2.0
# long: starts many programs
#
# Many short programs, up to 50 at a time: nothing leaks, and every folder is
# complete. `make check-soak` does this for ten minutes.
. "$TOP/tests/e2e/lib.sh"

sh "$TOP/tests/stress/soak.sh" 1 300 || fail 'see above'
