# SPDX-License-Identifier: Apache-2.0
#
# The text of a program and of its child is as its file when recording stops:
# by ctl stop, and when the daemon ends.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"
. "$TOP/tests/e2e/lib/forks.sh"
# try HOW...: a program whose functions are off, recording ends by HOW, and all
# text is restored.
try()
{
	start_daemon
	start_forks
	switch_all_off
	"$@"
	end_forks
}
by_ctl()
{
	run_ok "$PERFREC" ctl stop forks
	same "$parent" || fail "ctl stop has returned, and text is patched"
	same "$child" || fail "ctl stop has returned, and text is patched"
}
by_end()
{
	stop_daemon
}
try by_ctl
stop_daemon
try by_end
