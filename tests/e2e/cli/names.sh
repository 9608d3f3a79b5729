# SPDX-License-Identifier: Apache-2.0
#
# Names in tables: short, or full with --full-names; cut to the terminal, and
# columns left out where there is no room for names; colours on a terminal only;
# hostile names in tables and in Markdown.
. "$TOP/tests/e2e/lib.sh"
need script g++

cat >names.cc <<'SOURCE'
#include <string>
namespace ns {
template <class T> struct Box {
	T value;
	__attribute__((noinline)) void set(T to) { value = to; }
};
template <class T> __attribute__((noinline)) T twice(T a) { return a + a; }
}
int main()
{
	ns::Box<int> ints;
	ns::Box<std::string> strings;

	ints.set(ns::twice(1));
	strings.set(ns::twice(std::string("x")));
	ns::twice(2.0);
	return 0;
}
SOURCE
"$PERFREC" c++ g++ -O1 names.cc -o names || fail 'perfrec c++'
run_ok "$PERFREC" record --cpu off --alloc off -o data ./names
expect_match err 'ns::Box<…>::set\(int\)$'

full='void ns::Box<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > >'
full=${full#void }
run env -u COLUMNS "$PERFREC" report data
expect_match out 'ns::Box<…>::set\(std::string\)$'
expect_match out '  ns::twice<…>\(double\)$'
expect_no_match out "$(printf '\033')"
run env COLUMNS=40 "$PERFREC" report --full-names data
expect_match out "$full::set"
expect_match out ' double ns::twice<double>\(double\)$'
# A pattern matches the name of a template without its return type.
run_ok "$PERFREC" record -q --cpu off --alloc off --filter 'ns::twice*' \
	-o filtered ./names
expect_eq 'functions that match' \
	"$(json filtered/summary.json '[.functions[] | select(.calls > 0)] | length')" 3

# Lines of a table fit, in a pipe with COLUMNS and on a terminal.
# widest COLUMNS: of the lines of the table in ./out.
widest()
{
	sed 's/\x1b\[[0-9]*m//g; s/\r$//' out |
		awk '/self time/ { on = 1 } !NF { if (on) exit } on' >table
	[ "$(wc -l <table)" -gt 4 ] || fail "no table: $(cat out)"
	awk -v most="$1" '
		{ gsub(/…/, "."); if (length($0) > most) { print; bad = 1 } }
		END { exit bad }' table || fail "wider than $1"
}
for columns in 40 60 80; do
	run_ok env COLUMNS=$columns "$PERFREC" report data
	widest $columns
	# terminal COMMAND: as wide as that.
	run env -u COLUMNS -u NO_COLOR TERM=xterm script -qec \
		"stty cols $columns; '$PERFREC' report data" /dev/null
	widest $columns
	expect_match out "$(printf '\033')\[1m"
done
run env COLUMNS=40 "$PERFREC" report data
expect_match out '^  \(no room for: ' ' p99, max\)$'
run env NO_COLOR=1 TERM=xterm script -qec "'$PERFREC' report data" /dev/null
expect_no_match out "$(printf '\033')"
run env -u NO_COLOR TERM=dumb script -qec "'$PERFREC' report data" /dev/null
expect_no_match out "$(printf '\033')"
# A terminal that does not know its width.
run env -u COLUMNS TERM=xterm script -qec \
	"stty cols 0; '$PERFREC' report data" /dev/null
widest 80

# Any name, in tables and in Markdown.
jq '.functions[0].name = "a|b`c``\u001b[31m\n</code>\u202e" |
	.command = ["/home/me/./names", "`|"]' data/summary.json >new
mv new data/summary.json
run "$PERFREC" report data
expect_match out '  a\|b`c``\?\[31m\?</code>\?$'
run_ok "$PERFREC" report --markdown data
expect_match out '^\*\*perfrec .*\*\*: `` names .*`\|.* ``'
expect_match out '\| ``` a\\\|b`c``\?\[31m\?</code>\? ``` \|$'
expect_match out '^(\|--:)+\|---\|$'
expect_no_match out /home/me
run "$PERFREC" report --markdown --json data
expect_status 2
expect_match err '.--markdown has tables of functions: leave out --json'
