# SPDX-License-Identifier: Apache-2.0
#
# Two libraries take turns at one address, 1,000 times each, then from two
# threads at once: every call has the name of the library that was there.
. "$TOP/tests/e2e/lib.sh"

# library NAME: work() is NAME_work(), which calls NAME_leaf(); both lie
# where the other library has something else.
library()
{
	gcc -O1 -g -fPIC -shared -finstrument-functions -DNAME="$1" \
		-o "lib$1.so" -x c - <<-'SOURCE'
	#define GLUE(a, b) a##_##b
	#define JOIN(a, b) GLUE(a, b)
	extern long constructed, destructed;
	__attribute__((noinline)) static int JOIN(NAME, leaf)(int n)
	{
		__asm__ volatile("");
		return n + 1;
	}
	__attribute__((noinline)) static int JOIN(NAME, work)(int n)
	{
		return JOIN(NAME, leaf)(n) + JOIN(NAME, leaf)(n);
	}
	int (*volatile work)(int) = JOIN(NAME, work);
	__attribute__((constructor)) static void JOIN(NAME, begin)(void)
	{
		__atomic_add_fetch(&constructed, 1, __ATOMIC_RELAXED);
	}
	__attribute__((destructor)) static void JOIN(NAME, end)(void)
	{
		__atomic_add_fetch(&destructed, 1, __ATOMIC_RELAXED);
	}
	SOURCE
}
library first || fail 'cannot compile a library'
library second || fail 'cannot compile a library'

prog names/reload

# counts_of FILE: as many calls of each function as there must be. @turns of
# each library, constructors and destructors as the program says.
counts_of()
{
	awk -F '\t' '{ print $2, $1 }' "$1" | grep -v '^perfrec: ' | sort >got
	cut -d' ' -f1,2 out | {
		read -r begun ended
		for name in first second; do
			echo "${name}_work $((2 * turns))"
			echo "${name}_leaf $((4 * turns))"
		done
		echo "main 1"
		echo "turn $((2 * turns))"
		echo "turns $threads"
		echo "begin $begun"
		echo "end $ended"
	} | sort >expected
	# The other thread determines how often each constructor ran.
	awk '$1 ~ /_(begin|end)$/ { sub(".*_", "", $1); n[$1] += $2; next }
		{ print } END { for (name in n) print name, n[name] }' got |
		sort >summed
	diff expected summed || fail "$2: calls differ"
}

# recorded WHAT ARGUMENT...
recorded()
{
	what=$1
	shift
	run_ok "$PERFREC" record -q -o data ./reload "$@"
	[ ! -s err ] || fail "$what: stderr: $(cat err)"
	"$O/tests/tools/trace_check" --counts data/trace.pftrace >counts ||
		fail "$what: a rule is broken"
	counts_of counts "$what: trace"
	json data/summary.json '.functions[] | "\(.calls)\t\(.name)"' >summary
	counts_of summary "$what: summary"
	# Each name in its own library.
	expect_eq "$what: functions in the wrong module" "$(json \
		data/summary.json '[.functions[] | select(.name | test(
		"^(first|second)_")) | select((.name | sub("_.*"; "")) !=
		(.module | sub(".*/lib"; "") | sub("[.]so"; "")))] | length')" 0
}

turns=1000 threads=1
recorded 'one thread'
[ "$(cut -d' ' -f3 out)" -ge 1900 ] ||
	skip 'the libraries are not loaded at the same address here'
expect_eq 'loads' "$(cut -d' ' -f1 out)" 2000

turns=2000 threads=2
recorded 'two threads' both
