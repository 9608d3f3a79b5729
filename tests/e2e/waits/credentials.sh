# SPDX-License-Identifier: Apache-2.0
#
# A program that becomes another user in its middle: time before and after is what
# it says itself.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/waits.sh"
[ "$(id -u)" = 0 ] || skip 'only root becomes nobody'

families tasks credentials
