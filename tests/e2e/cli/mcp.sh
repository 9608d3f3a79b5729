# SPDX-License-Identifier: Apache-2.0
#
# perfrec mcp: the protocol with good and bad messages; each tool; answers of at
# most 16,000 bytes that say what is missing; no file but recordings below the
# served folder.
. "$TOP/tests/e2e/lib.sh"

need python3

# answers MESSAGE...: sends these lines to a server, from a file. Its answers are
# in ./out.
answers()
{
	printf '%s\n' "$@" >messages
	"$PERFREC" mcp <messages >out 2>err || fail "status $?"
	[ -s err ] && fail "$(cat err)"
	return 0
}

answers '{"jsonrpc":"2.0","id":1,"method":"ping"}' \
	'{"jsonrpc":"2.0","id":"two","method":"nonsense"}' \
	'{"jsonrpc":"2.0","method":"notifications/initialized"}' \
	'{"jsonrpc":"2.0","method":"nonsense"}' \
	'{"jsonrpc":"2.0","id":3,"result":{}}' \
	'{"jsonrpc":"2.0","id":4' \
	'' \
	'[{"jsonrpc":"2.0","id":5,"method":"ping"}]' \
	'7' \
	'{"jsonrpc":"2.0","id":{},"method":"ping"}' \
	'{"id":6,"method":"ping"}' \
	'{"jsonrpc":"2.0","id":7,"method":8}' \
	'{"jsonrpc":"2.0","id":9,"id":9,"method":"ping"}' \
	'{"jsonrpc":"2.0","id":10,"method":"tools/call","params":{"name":"none"}}' \
	'{"jsonrpc":"2.0","id":11,"method":"tools/call","params":[]}' \
	'{"jsonrpc":"2.0","id":12,"method":"tools/call","params":{"name":"summary","arguments":[]}}' \
	'{"jsonrpc":"2.0","id":13.5,"method":"prompts/get","params":{"name":"why-slow"}}'
expect_eq 'answers' "$(jq -c '[.id, .error.code]' out | tr '\n' ' ')" \
'[1,null] ["two",-32601] [null,-32700] [null,-32700] [null,-32600] [null,-32600] [null,-32600] [6,-32600] [7,-32600] [null,-32700] [10,-32602] [11,-32602] [12,-32602] [13.5,null] '
expect_match out 'Why is a program slow'

# The child of a tool leaves the server's input alone, also if that is a file.
tool='"method":"tools/call","params":{"name":"summary"}'
answers '{"jsonrpc":"2.0","id":1,'"$tool}" '{"jsonrpc":"2.0","id":2,'"$tool}" \
	'{"jsonrpc":"2.0","id":3,"method":"ping"}'
expect_eq 'answers' "$(jq -c '[.id, .result.isError]' out | tr '\n' ' ')" \
	'[1,true] [2,true] [3,null] '

# version ASKED EXPECTED
version()
{
	answers "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":$1}}"
	expect_eq "version for $1" "$(jq -r .result.protocolVersion out)" "$2"
}
version '"2025-11-25"' 2025-11-25
version '"2025-06-18"' 2025-06-18
version '"2025-03-26"' 2024-11-05
version '"2024-11-05"' 2024-11-05
version '"2099-01-01"' 2025-11-25
version '"1999-01-01"' 2024-11-05
version 5 2024-11-05

# Too deep, and too long; the next message is read. The last one has no end of line.
{
	head -c 500000 /dev/zero | tr '\0' '['
	echo
	head -c 3000000 /dev/zero | tr '\0' ' '
	echo
	printf '\0\377\n{"jsonrpc":"2.0","id":1,"method":"ping"}'
} >messages
run_ok "$PERFREC" mcp <messages
expect_eq 'answers' "$(jq -c '[.id, .error.code]' out | tr '\n' ' ')" \
	'[null,-32700] [null,-32600] [null,-32700] [1,null] '

run "$PERFREC" mcp a b
expect_error 2 'one folder'
run "$PERFREC" mcp nowhere
expect_error 1 "cannot serve 'nowhere'"

mkdir served
cat >served/deep.c <<'SOURCE'
#include <stdlib.h>
char *volatile keep;
__attribute__((noinline)) void leaf(long i) { keep = malloc(16 + i % 5); }
__attribute__((noinline)) void work(long n)
{
	for (long i = 0; i < n; i++)
		leaf(i);
}
int main(void) { work(3000); return 0; }
SOURCE
gcc -g -O1 -finstrument-functions -o deep "$PWD/served/deep.c" || fail 'cannot compile'
for i in 1 2 3 4 5 6; do
	run_ok "$PERFREC" record -q --cpu off --alloc exact -o "served/r$i" -- ./deep
done
cp -r served/r1 outside
ln -s ../outside served/link
ln -s r1 served/perfrec.data
cp served/deep.c outside.c

# call TOOL ARGUMENTS: its result is ./result, the first text of it ./text.
call()
{
	printf '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"%s","arguments":%s}}\n' \
		"$1" "$2" | "$PERFREC" mcp served >out || fail "$1 $2"
	jq -e '.result | select([.content[].text | utf8bytelength] | add <= 16000)' out \
		>result || fail "$1 $2: no answer, or one that is too long"
	jq -r '.content[0].text' result >text
}
# works TOOL ARGUMENTS, fails TOOL ARGUMENTS REGEX
works()
{
	call "$1" "$2"
	expect_eq "$1 $2: error" "$(jq .isError result)" false
}
fails()
{
	call "$1" "$2"
	expect_eq "$1 $2: error" "$(jq .isError result)" true
	expect_match text "$3"
}

works summary '{}'
expect_match text '^  trust ' 'recorded +3,002 calls' 'leaf$'
works functions '{"recording":"r2","limit":1,"sort":"calls"}'
expect_eq 'functions' "$(jq -c '[.functions[].name, .functions_more]' text)" \
	'["leaf","2 more, narrow by view, sort, from, until, thread"]'
expect_eq 'histograms' "$(jq '.functions[0] | has("durations")' text)" false
works callers '{"recording":"r1","function":"lea*"}'
expect_eq 'callers' "$(jq -c '[.calls, .callers[0].name, .callers[0].calls]' text)" \
	'[3000,"work",3000]'
works slow_calls '{"function":"leaf","limit":500}'
expect_match text '"matched":3000' '"calls_more":"[0-9]+ more, narrow by sort'
shown=$(jq '.calls | length' text)
more=$(jq -r '.calls_more | split(" ")[0]' text)
expect_eq 'calls' $((shown + more)) 1000
[ "$shown" -gt 20 ] || fail "only $shown calls are shown"
works replay '{"recording":"r1"}'
lines=$("$PERFREC" replay served/r1 | wc -l)
more=$(sed -n 's/^\([0-9]*\) more lines, narrow by from, until.*/\1/p' text)
expect_eq 'lines of replay' $(($(wc -l <text) - 2 + more)) "$lines"
works replay '{"recording":"r1","depth":"1"}'
expect_match text 'main\(\)'
expect_no_match text leaf 'more lines'
works heap '{"recording":"r1","sort":"allocated"}'
expect_eq 'heap' "$(jq .sum.alloc_objects text)" \
	"$("$PERFREC" report --json --view heap served/r1 | jq .sum.alloc_objects)"
fails waits '{"recording":"r1","view":"io"}' 'no calls of functions for files'
fails waits '{"recording":"r1"}' "'view': give a text"
works diff '{"before":["r1","r2","r3"],"after":["r4","r5","r6"]}'
expect_match text 'r1 and 2 more' 'r4 and 2 more'
fails diff '{"before":[],"after":["r1"]}' '1 to 16 recordings'
fails diff '{"before":["r1"],"after":["../outside"]}' 'no folder below'

# A source has its text only if it is below the served folder.
works annotate '{"recording":"r1","function":"leaf"}'
expect_eq 'source' "$(jq '[.lines[] | has("source")] | any' text)" true
mkdir inner
cp -r served/r1 inner/perfrec.data
printf '%s\n' 'annotate {"function":"leaf"}' 'annotate {"function":"none"}' 'summary {}' |
	python3 "$TOP/tests/e2e/lib/mcp_client.py" "$PERFREC" inner >results ||
	fail 'the client'
expect_eq 'errors' "$(jq -c .isError results | tr '\n' ' ')" 'false true false '
expect_eq 'lines without source' \
	"$(jq -r '.content[0].text' results | head -n 1 |
		jq -c '[.lines[] | has("source")] | [length > 0, any]')" '[true,false]'

# Other files, and words that would be options.
touch served/file
for recording in ../outside "$PWD/outside" link .. / '' r1/../../outside --help; do
	fails summary "{\"recording\":\"$recording\"}" 'no folder below'
done
works summary "{\"recording\":\"$PWD/served/r1\"}"
fails summary '{"recording":"file"}' 'file'
fails summary '{"recording":1}' "'recording': give a text"
fails summary '{"where":"r1"}' "unknown argument 'where' of summary"
fails callers '{"function":"--help"}' "no function '--help'"
fails slow_calls '{"function":"--limit=0"}' .
fails functions '{"sort":"self --html=page"}' 'choose self'
fails functions '{"view":"nonsense"}' 'choose functions'
fails functions '{"limit":0}' 'a number above 0'
fails functions '{"limit":"9"}' 'a number above 0'
fails replay '{"from":"soon"}' 'soon'
expect_none page served/page served/r1/page

# A damaged recording ends no server.
head -c 100 served/r1/summary.json >cut && cp cut served/r1/summary.json
fails summary '{"recording":"r1"}' .
