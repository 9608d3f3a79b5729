# SPDX-License-Identifier: Apache-2.0
#
# The summary, as text and as JSON, when the run ends and again later.
. "$TOP/tests/e2e/lib.sh"

build_calls
run_ok "$PERFREC" record -o data ./calls 5000
cp err summary
expect_match summary '5,002 calls of 1 thread in 1 process' 'lost +nothing' \
	'own cost +about [0-9.]+ %' ' 5,000 .* leaf$' ' 1 .* work$' \
	'trace.pftrace  open it in https://ui.perfetto.dev' \
	'summary.json   perfrec report data'

# report prints the same, wherever it is called.
run_ok "$PERFREC" report data
[ ! -s err ] || fail "report prints on stderr: $(cat err)"
cmp -s out summary || fail "not the same summary: $(diff out summary)"
mv data perfrec.data
run_ok "$PERFREC" report
mv perfrec.data data

# names: the functions in the table of ./out, in its order.
names()
{
	sed -n '/ calls  self time/,/^$/s/^ *[0-9,]\{1,\}  .*  \([a-z]*\)$/\1/p' out |
		xargs
}
run "$PERFREC" report --sort name data
expect_eq 'by name' "$(names)" 'leaf main work'
run "$PERFREC" report --sort total data
expect_eq 'by total' "$(names)" 'main work leaf'
run "$PERFREC" report --sort calls --limit 1 data
expect_eq 'by calls' "$(names)" leaf
expect_match out '\(1 of 3 functions; all: perfrec report --limit 0 data\)'

# JSON: all of summary.json; the functions in order, and no more than asked.
run "$PERFREC" report --json data
jq -S 'del(.functions)' data/summary.json >stored
jq -S 'del(.functions)' out >printed
cmp -s stored printed || fail "--json differs: $(diff stored printed)"
expect_eq 'all functions' "$(json out '[.functions[].name] | sort | join(" ")')" \
	'leaf main work'
run "$PERFREC" report --json --sort name --limit 2 data
expect_eq 'two functions' "$(json out '[.functions[].name] | join(" ")')" \
	'leaf main'
expect_eq 'calls' "$(json out '.functions[0].calls')" 5000
run "$PERFREC" record --json -o data ./calls 10
expect_eq 'record --json' "$(json err .totals.spans)" 12

# A report that cannot be written has failed.
"$PERFREC" report data >/dev/full 2>err
expect_eq 'status of a full stdout' $? 1
expect_match err 'cannot write to stdout: No space left on device$'
"$PERFREC" report --help >/dev/full 2>err
expect_eq 'status of a full stdout' $? 1
expect_match err 'cannot write to stdout: No space left on device$'

# The advice can be pasted, and helps; with it there is none.
run "$PERFREC" record -o data ./calls 2000000
expect_match err '^ +next: perfrec record --overhead 5%'
run "$PERFREC" record -o data --overhead 5% --no-cache ./calls 2000000
expect_no_match err '^ +next: perfrec record --overhead 5%'
# Nothing to see: what to do about it.
echo 'int main(void) { return 0; }' >plain.c
gcc -o plain plain.c
run "$PERFREC" record -o data ./plain
expect_match err 'No function of this program is instrumented' \
	'perfrec cc gcc -g \.\.\.'
if gcc -static -o static plain.c 2>/dev/null; then
	run_ok "$PERFREC" record -o data ./static
	expect_match err 'linked statically or set-user-ID'
fi
run "$PERFREC" record -o data --exclude '*' ./calls
expect_match err 'Nothing is left of this program by --filter and --exclude'

# -q prints losses, and nothing else.
run "$PERFREC" record -q --compress=off --max-size 256K -o data ./calls 200000
expect_match err '^perfrec: lost the rest of the trace'
expect_eq 'calls beyond the end of the trace' \
	"$(json data/summary.json '.functions[] | select(.name == "leaf").calls')" \
	200000

# An option behind the command is the program's, which may ignore it.
run "$PERFREC" record -o data ./calls 10 --overhead 5%
expect_match err "^perfrec: --overhead came behind the command, so it went to './calls'"
run "$PERFREC" record -o data ./calls 10 --help -o --over
expect_no_match err 'behind the command'
run "$PERFREC" record -o data -- ./calls 10 --overhead=5%
expect_no_match err 'behind the command'

# In a narrow terminal facts go on in a next line, and no word is lost.
"$PERFREC" report data >wide
run env COLUMNS=40 "$PERFREC" report data
expect_match out '^  own cost   about [0-9.]+ %' '^ {13}[^ ].*(details|--verbose)'
facts() { sed -n '/wall time/,/^$/p' "$1" | tr -s ' \n' ' '; }
expect_eq 'the words of facts' "$(facts out)" "$(facts wide)"
expect_eq 'facts that are too wide' \
	"$(sed -n '/wall time/,/^$/p' out | awk 'length > 40')" ''
