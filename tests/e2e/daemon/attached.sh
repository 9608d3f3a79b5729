# SPDX-License-Identifier: Apache-2.0
#
# Programs that attach to a daemon: a folder for each, and no claim about what
# the daemon, which is not their parent, cannot know.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"

build_calls
start_daemon
run preload ./calls 1000 7
expect_status 7
wait_for 60 sh -c 'ls data/calls-*/summary.json 2>/dev/null'

# One that still runs when the recording ends.
mkfifo hold
build waits <<'SOURCE'
#include <fcntl.h>
#include <unistd.h>
int main(void)
{
	char go;

	return (int)read(open("hold", O_RDONLY), &go, 1);
}
SOURCE
preload ./waits &
exec 3>hold
wait_for 60 sh -c 'ls -d data/waits-*'
stop_daemon
exec 3>&-
wait

summary=$(echo data/calls-*/summary.json)
expect_eq 'what is not known' \
	"$(json "$summary" '[.exit, .user_ns, .sys_ns] | tostring')" \
	'[null,null,null]'
expect_eq attached "$(json "$summary" .settings.attached)" true
expect_eq 'wall time against the end of its process' "$(json "$summary" \
	'(.processes[0].end_ns - .processes[0].start_ns) as $lived |
		.wall_ns >= $lived')" true
run_ok "$PERFREC" report data/calls-*
expect_match out 'calls 1000 7  \(attached: exit status unknown\)' \
	' 1,002 calls of 1 thread'
expect_no_match out 'user|system'
run "$PERFREC" report data/waits-*
expect_match out '\(recording ended before the program did\)'

# perfrec record knows.
run "$PERFREC" record -o known ./calls 1000 7
expect_match err 'user .*system'
expect_eq 'attached by perfrec record' \
	"$(json known/summary.json .settings.attached)" false

# The folder of the daemon is no recording, but those in it are.
run "$PERFREC" report data
expect_error 1 "'data' is no finished recording"
