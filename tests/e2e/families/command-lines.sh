# SPDX-License-Identifier: Apache-2.0
#
# The summary has the command line of each process as its program was started: with
# empty words, and cut at 4,096 bytes. A forked child shares that of its parent, even
# if it overwrites its arguments.
. "$TOP/tests/e2e/lib.sh"

build family <<'SOURCE'
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) static int child(char **argv)
{
	memset(argv[1], 'x', strlen(argv[1]));
	return argv[1][0] == 'x';
}
int main(int argc, char **argv)
{
	if (argc < 5)
		return 0;
	if (fork() == 0)
		_exit(!child(argv));
	wait(NULL);
	execv(argv[0], argv + 3);
	return 1;
}
SOURCE
word=$(printf '%5000s' | tr ' ' w)
run_ok "$PERFREC" record -o data -- ./family one '' second "$word" last
# The last word is cut: the words in front and their NULs take the rest of 4,096 bytes.
first=$(printf %.$((4096 - 9 - 4 - 1 - 7))s "$word")
second=$(printf %.$((4096 - 7))s "$word")
expect_eq 'command lines' \
	"$(json data/summary.json '[.processes | sort_by(.start_ns)[].cmdline] | tojson')" \
	"$(jq -cn --arg first "$first" --arg second "$second" '
		["./family", "one", "", "second", $first] |
		[., ., ["second", $second]]')"
