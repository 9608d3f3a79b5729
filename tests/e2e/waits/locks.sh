# SPDX-License-Identifier: Apache-2.0
#
# Time of threads that wait for each other equals their own measurements: a lock
# convoy, a bounded queue, a pool, readers and a writer, a broadcast, and waits that
# time out.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/waits.sh"

families locks convoy queue pool rwlock broadcast timed
