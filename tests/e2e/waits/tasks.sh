# SPDX-License-Identifier: Apache-2.0
#
# Time of threads and processes that sleep, or wait for data of others, equals their
# own measurements: sleeps, a pipe to a child, fork and wait, an epoll server and its
# client, and a thousand short threads.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/waits.sh"

families tasks sleeps pipe forks epoll short
