# SPDX-License-Identifier: Apache-2.0
#
# perfrec replay on terminals of 80 and 40 columns, which tmux plays: every line
# fits and has the name; Ctrl-C ends it in the midst of a long recording; a
# reader that has enough ends it without a word.
. "$TOP/tests/e2e/lib.sh"
need tmux

build calls <<'SOURCE'
#include <stdlib.h>
__attribute__((noinline)) static void
a_function_whose_name_does_not_fit_a_line_of_a_narrow_terminal_at_all(void)
{
	__asm__ volatile("");
}
int main(int argc, char **argv)
{
	for (long i = argc > 1 ? atol(argv[1]) : 3; i; i--)
		a_function_whose_name_does_not_fit_a_line_of_a_narrow_terminal_at_all();
	return 0;
}
SOURCE
run "$PERFREC" record -q --alloc=off -o short ./calls
run "$PERFREC" record -q --alloc=off --on-full=block -o long ./calls 2000000
screens=0
# Each screen has a server of its own, because an ending server stays for a while.
terminal()
{
	tmux -f /dev/null -S "$PWD/tmux$screens" "$@"
}
trap 'terminal kill-server 2>/dev/null' EXIT

# on_screen COLUMNS COMMAND: a terminal runs it, and shows its status after it,
# on a line of its own, in whatever column a Ctrl-C has left the cursor.
on_screen()
{
	terminal kill-server 2>/dev/null
	screens=$((screens + 1))
	terminal new-session -d -x "$1" -y 30 "env -u COLUMNS TERM=screen \
		sh -c 'trap : INT; $2; was=\$?; echo; echo status \$was'
		exec sleep 180"
}
has()
{
	terminal capture-pane -p >screen
	grep -Eq -- "$1" screen
}
shows()
{
	wait_for 60 has "$1"
}

for columns in 80 40; do
	on_screen $columns "$PERFREC replay short"
	shows '^status 0$'
	# A heading, the thread, three calls, two lines of main(), the status:
	# none goes on in a second line.
	expect_eq "lines in $columns columns" "$(grep -c . screen)" 8
	expect_eq "calls in $columns columns" \
		"$(grep -Ec '    a_fu.*….*_all\(\);$' screen)" 3
	expect_match screen ' main\(\) \{$' ' \} /\* main \*/$'
done
expect_match screen '^ +took +thread +calls$'

on_screen 80 "$PERFREC replay long"
shows '_all\(\);$'
terminal send-keys C-c
shows 'status 130$'
expect_no_match screen 'perfrec: '

# head takes one line, and the screen shows no other.
on_screen 80 "$PERFREC replay long | head -n 1"
shows '^status 0$'
expect_eq 'lines before a reader that has enough' "$(grep -c . screen)" 2
