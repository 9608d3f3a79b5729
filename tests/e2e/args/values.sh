# SPDX-License-Identifier: Apache-2.0
#
# perfrec record --patch --args: arguments and results of each kind, as the program
# has passed them, with and without optimization. Bad pointers are said to be such,
# and the program runs as it does alone.
. "$TOP/tests/e2e/lib.sh"
need jq g++

# calls NAME: its calls in the dump ./calls, a line each: arguments -> result.
calls()
{
	jq -rn --arg name "$1" 'reduce inputs as $event ({ open: [], out: [] };
		if $event.kind == "begin" then .open += [$event.arguments // {}]
		elif $event.kind == "end" then
			(if ($event.name | split("(")[0]) == $name then
				.out += ["\(.open[-1] | tojson) -> " +
					"\($event.arguments // {} | tojson)"]
			else . end) | .open |= .[:-1]
		else . end) | .out[]' dump
}
# expect_calls NAME LINE...
expect_calls()
{
	name=$1
	shift
	calls "$name" >got
	printf '%s\n' "$@" >wanted
	cmp -s got wanted || fail "$flags: calls of $name: $(diff got wanted)"
}

# Flags with "entry" are of an entry build, whose functions are moved as well.
for flags in 'entry -O2 -fcf-protection' -O0 -O1 -O2 '-O2 -fno-omit-frame-pointer -fcf-protection' '-Os -no-pie'; do
	set -- g++
	case $flags in
	entry*) set -- "$PERFREC" cc --hooks=entry -- g++ ;;
	esac
	flags=${flags#entry }
	# shellcheck disable=SC2086 # several words
	"$@" -g $flags -o kinds "$TOP/tests/progs/args/kinds.cc" || skip 'no g++'
	run "$PERFREC" record --patch --args '*' --args-strings --alloc=off --cpu=off \
		-o data -- ./kinds
	expect_status 0
	expect_eq output "$(cat out)" 'done'
	"$O/tests/tools/trace_check" data/trace.pftrace >checked ||
		fail "$(cat checked)"
	"$PERFREC" dump data | grep -E '"kind":"(begin|end)"' >dump

	expect_calls ints \
		'{"args.a":-7,"args.b":4000000000,"args.c":-1234567890123,"args.d":200,"args.e":-2} -> {"ret":-1230567889932}' \
		'{"args.a":2147483647,"args.b":1,"args.c":2,"args.d":3,"args.e":4} -> {"ret":2147483657}'
	expect_calls truth '{"args.yes":true} -> {"ret":false}' \
		'{"args.yes":false} -> {"ret":true}'
	expect_calls colors '{"args.one":"RED","args.two":"OFF"} -> {"ret":"RED"}' \
		'{"args.one":77,"args.two":"ON"} -> {"ret":"NEGATIVE"}'
	expect_calls halves '{"args.f":1.5,"args.i":-10,"args.d":-2.25} -> {"ret":-13.375}'
	calls pointers | sed 's/0x[0-9a-f]\{6,\}/ADDRESS/g' >pointed
	expect_eq "$flags: pointers" "$(cat pointed)" \
		'{"args.p":"0x1234","args.q":"0x0"} -> {"ret":"0x0"}
{"args.p":"0x0","args.q":"ADDRESS"} -> {"ret":"ADDRESS"}'
	seventy=$(printf '7%.0s' $(seq 64))
	expect_calls texts '{"args.name":"plain","args.n":1} -> {"ret":"plain"}' \
		'{"args.name":"0x0","args.n":2} -> {"ret":"0x0"}' \
		'{"args.name":"<bad address>","args.n":3} -> {"ret":"<bad address>"}' \
		'{"args.name":"<bad address>","args.n":4} -> {"ret":"<bad address>"}' \
		"{\"args.name\":\"$seventy\",\"args.name cut\":true,\"args.n\":5} -> {\"ret\":\"$seventy\",\"ret cut\":true}" \
		'{"args.name":"","args.n":6} -> {"ret":""}' \
		'{"args.name":"a\u001b[31mred\n?\"quote","args.n":7} -> {"ret":"a\u001b[31mred\n?\"quote"}' \
		'{"args.name":"abc","args.n":8} -> {"ret":"abc"}' \
		'{"args.name":"<bad address>","args.n":9} -> {"ret":"<bad address>"}'
	expect_calls many '{"args.a":1,"args.b":2,"args.c":3,"args.d":4,"args.e":5,"args.f":6,"args.g":-7,"args.h":8,"args.x":9.5} -> {"ret":31}'
	expect_calls eight '{"args.a":1,"args.b":2,"args.c":3,"args.d":4,"args.e":5,"args.f":6,"args.g":7,"args.h":8,"args.i":-9.5} -> {"ret":26}'
	# Structures are not read. Without optimization the place of an argument behind
	# one is not certain.
	behind9=9
	behind8=8
	behind7=7
	if [ "$flags" = -O0 ]; then
		behind9='"<not read>"'
		behind8=$behind9
		behind7=$behind9
	fi
	expect_calls record "{\"args.p\":\"<not read>\",\"args.behind\":$behind9} -> {\"ret\":12}"
	expect_calls words "{\"args.p\":\"<not read>\",\"args.behind\":$behind8} -> {\"ret\":8}"
	expect_calls wide "{\"args.x\":\"<not read>\",\"args.behind\":$behind7} -> {\"ret\":\"<not read>\"}"
	expect_calls nothing '{} -> {}'
	calls reader::page | sed 's/0x[0-9a-f]*/ADDRESS/' >paged
	expect_eq "$flags: this" "$(cat paged)" \
		'{"args.this":"ADDRESS","args.size":8192} -> {"ret":8196}'
	expect_calls by_reference '{"args.text":"short"} -> {"ret":5}' \
		'{"args.text":"a text that is longer than the room inside of its object"} -> {"ret":56}'
	expect_calls by_value '{"args.text":"by value"} -> {"ret":8}'
	expect_calls 'result[abi:cxx11]' '{"args.n":20} -> {"ret":"rrrrrrrrrrrrrrrrrrrr"}' \
		"{\"args.n\":70} -> {\"ret\":\"$(printf 'r%.0s' $(seq 64))\",\"ret bytes\":70}"
	expect_calls view '{"args.text":"a view","args.from":2} -> {"ret":"view"}' \
		'{"args.text":"","args.from":0} -> {"ret":""}'
	expect_calls unnamed '{"args.arg1":1,"args.arg2":2,"args.last":3} -> {"ret":100003}'
	expect_calls 'int pack<int, double>' \
		'{"args.arg1":-1,"args.arg2":2.5,"args.last":3} -> {"ret":4}'
done

# Without --args-strings no text is read, by debug information.
run "$PERFREC" record --patch --args '*' --alloc=off --cpu=off -o data -- ./kinds
expect_status 0
"$PERFREC" dump data >all
expect_no_match all plain 'by value' 'a view'
grep -E '"kind":"(begin|end)"' all >dump
calls texts | sed 's/0x[0-9a-f]\{6,\}/ADDRESS/g' >pointed
expect_eq 'a text as a pointer' "$(head -1 pointed)" \
	'{"args.name":"ADDRESS","args.n":1} -> {"ret":"ADDRESS"}'

# In the terminal texts are harmless.
run "$PERFREC" record --patch --args 'texts' --args-strings --alloc=off --cpu=off \
	-o data -- ./kinds
"$PERFREC" replay data >replayed
expect_match replayed 'texts\(name="plain", n=1\); /\* ret="plain" \*/'
"$PERFREC" find texts data >found
for file in replayed found; do
	LC_ALL=C grep -q "$(printf '\033')" $file && fail "an escape sequence in $file"
done
expect_no_match replayed 'ints\(args'

# Types of a signature, in a file without any debug information.
g++ -O2 -o plain "$TOP/tests/progs/args/kinds.cc"
run "$PERFREC" record --patch --args 'ints(a:int,uint, long, u8 , i16)->long' \
	--args 'texts(path:str, n:int)->str' --args 'halves(float,int,double)->float' \
	--args 'many(int,int,int,int,int,int,int,long,double)' --args '@libnothing*(int)' \
	--args 'truth' --alloc=off --cpu=off -o data -- ./plain
expect_status 0
expect_match err 'truth|without arguments: it has no debug information'
"$PERFREC" dump data | grep -E '"kind":"(begin|end)"' >dump
flags=signature
calls ints | head -1 >first
expect_eq 'by a signature' "$(cat first)" \
	'{"args.a":-7,"args.arg2":4000000000,"args.arg3":-1234567890123,"args.arg4":200,"args.arg5":-2} -> {"ret":-1230567889932}'
calls texts | head -1 >first
expect_eq 'by a signature' "$(cat first)" \
	'{"args.path":"plain","args.n":1} -> {"ret":"plain"}'
calls many >first
expect_match first '"args.arg7":-7,"args.arg8":8,"args.arg9":9.5\} -> \{\}$'
expect_calls halves '{"args.arg1":1.5,"args.arg2":-10,"args.arg3":-2.25} -> {"ret":-13.375}'
expect_calls truth '{} -> {}' '{} -> {}'

# A pattern without a function, and functions of calls builds, which have no arguments.
run "$PERFREC" record --patch --args 'nosuch*' --args 'nor(int)' --alloc=off --cpu=off \
	-o data -- ./kinds
expect_status 0
expect_match err "note +--args 'nosuch\*' matches nothing that --patch moves" \
	"note +--args 'nor\(int\)' matches nothing that --patch moves"
"$PERFREC" c++ --hooks=calls -- g++ -g -O2 -o hooked "$TOP/tests/progs/args/kinds.cc"
run "$PERFREC" record --patch --args 'ints' --alloc=off --cpu=off -o data -- ./hooked
expect_status 0
expect_match err "note +--args 'ints' matches nothing that --patch moves"
"$PERFREC" find ints data >found
expect_match found '^ .* ints\(\)$'

# A function of an entry build that cannot be moved is recorded all the same.
cat >vary.c <<'C'
#include <stdarg.h>
__attribute__((noipa)) int vary(int n, ...)
{
	va_list list;
	int sum = 0;

	va_start(list, n);
	while (n--)
		sum += va_arg(list, int);
	va_end(list);
	return sum;
}
__attribute__((noipa)) int fixed(int n)
{
	return n + vary(2, 4, 5);
}
int main(void)
{
	return fixed(1);
}
C
"$PERFREC" cc --hooks=entry -- gcc -g -O2 -o vary vary.c || fail 'cannot compile vary.c'
run "$PERFREC" record --patch --args '*' --alloc=off --cpu=off -o data -- ./vary
expect_status 10
expect_match err "warning: 'vary' and other functions of .*/vary are recorded without arguments"
expect_no_match err '  patched '
"$PERFREC" dump data | grep -E '"kind":"(begin|end)"' >dump
expect_calls vary '{} -> {}'
expect_calls fixed '{"args.n":1} -> {"ret":10}'
run "$PERFREC" record --calls-to memcpy --args '*' --alloc=off --cpu=off -o data -- ./vary
expect_status 10
expect_match err "/vary are recorded without arguments: only --patch moves them"

# Signatures that are wrong are refused before the program starts.
for wrong in 'ints(foo)' 'ints(int' 'ints->int' 'f(int)int' '(int)' 'f(void, int)'; do
	run "$PERFREC" record --patch --args "$wrong" -o data -- touch started
	expect_status 2
	expect_match err "^perfrec: error: --args '"
	[ -e started ] && fail "$wrong: the program was started"
done
run "$PERFREC" record --args f -o data -- touch started
expect_error 2 '--args: only with --patch or --calls-to, because functions of other builds are recorded without arguments'
run "$PERFREC" record --patch --args-strings -o data -- touch started
expect_error 2 '--args-strings: only with --args'
[ -e started ] && fail 'the program was started'
exit 0
