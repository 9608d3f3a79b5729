# SPDX-License-Identifier: Apache-2.0
#
# perfrec ctl list of a program whose name has wide and combining characters: the
# columns after the name align with those of other programs. The width of the
# column counted characters.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"

build '日本é' <<'SOURCE'
#include <unistd.h>
int main(void)
{
	while (access("go", F_OK) < 0)
		usleep(1000);
	return 0;
}
SOURCE
start_daemon
preload './日本é' &
program=$!
listed()
{
	"$PERFREC" ctl list >out 2>err && [ "$(wc -l <out)" -eq 2 ]
}
wait_for 60 listed
# 15 columns for the name, which fills 5, and 2 between columns.
expect_match out "^ *[0-9]+  日本é {12}recording "
touch go
wait $program || fail 'the program'
stop_daemon
