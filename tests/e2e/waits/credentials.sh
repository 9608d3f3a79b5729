# SPDX-License-Identifier: Apache-2.0
#
# A program becomes another user while it runs: its times before and after equal its
# own measurements.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/waits.sh"
[ "$(id -u)" = 0 ] || skip 'only root becomes nobody'

families tasks credentials
