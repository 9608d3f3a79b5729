# SPDX-License-Identifier: Apache-2.0
#
# perfrec record --calls-to: a program runs as it does alone, and each of its calls of
# a library function that the option names is recorded, however the program binds
# them.
. "$TOP/tests/e2e/lib.sh"
need jq gcc
source=$TOP/tests/progs/calls-to
taken='read,write,open,close,qsort,snprintf,getppid,puts,libmany:*'

gcc -O2 -w -fPIC -shared -o libmany.so "$source/many.c" || fail 'cannot compile many.c'

# check MODE [OPTION...]: records ./calls, whose calls are all known. With the mode off
# or budget some are not recorded.
check()
{
	mode=$1
	shift
	run "$PERFREC" record --calls-to="$taken" --alloc=off --cpu=off "$@" -o data \
		-- ./calls
	expect_status 9
	cmp -s out expected || fail "$mode: $(diff out expected)"
	"$O/tests/tools/trace_check" data/trace.pftrace >checked ||
		fail "$mode: $(cat checked)"
	case $mode in off | budget) return ;; esac
	# Some functions have several names in the C library. The child opens as well.
	json data/summary.json '.functions | group_by(.name)[] |
		"\(.[0].name | sub("open64"; "open")) \([.[].calls] | add)"' |
		grep -v '^read ' | sort >recorded
	sed -n 's/^calls //p' out |
		awk -v counted="$([ "$mode" = counted ] && echo 1)" '
			$1 == "open" || (counted && $1 ~ /^(getppid|many_sum|puts)$/) { $2++ }
			{ print }' | sort >counted
	cmp -s recorded counted || fail "$mode: $(diff recorded counted)"
	# At the end of a stack there is nothing to copy, so those are only counted.
	[ "$mode" = counted ] || expect_eq "$mode: at the end of a stack" \
		"$(json data/summary.json .totals.edge_spans)" 3
	expect_match err "^  called +14 functions of libraries"
}

for flags in '-O2 -Wl,-z,lazy' '-O0 -Wl,-z,now' '-O2 -fno-plt' '-O2 -no-pie -Wl,-z,lazy' \
	'-O2 -no-pie -fno-plt' '-O2 -fcf-protection -Wl,-z,now,-z,relro -s'; do
	# shellcheck disable=SC2086 # several words
	gcc $flags -w -fno-builtin -o calls "$source/calls.c" -L. -lmany -Wl,-rpath,"$PWD" -pthread ||
		skip "gcc cannot compile with $flags"
	./calls >expected
	check "$flags"
done
check counted --count '*'
expect_eq 'spans of counted functions' "$(json data/summary.json .totals.spans)" 0
check budget --overhead 1%
check off --exclude '*'
expect_eq 'calls of functions that are off' \
	"$(json data/summary.json '.totals | .spans + .counted_calls')" 0

# perfrec leaves alone a program without slots, functions that return twice, and functions
# whose address is used.
cat >odd.c <<'C'
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static jmp_buf jump;
int (*volatile get)(void) = getpid;
int (*volatile getp)(void);
int main(void)
{
	if (!setjmp(jump))
		longjmp(jump, 1);
	getp = getppid;
	printf("%d\n", getp() == getppid() && get() == getpid());
	if (!vfork())
		_exit(3);
	wait(NULL);
	return free == NULL;
}
C
gcc -O2 -w -fno-plt -o odd odd.c || fail 'cannot compile odd.c'
run "$PERFREC" record --calls-to='*' --alloc=off --cpu=off -o data -- ./odd
expect_status 0
expect_eq output "$(cat out)" 1
expect_eq 'calls of functions whose address is used, or that return twice' \
	"$(json data/summary.json '[.functions[].name |
		select(test("jmp|vfork|getppid|_exit"))]|tojson')" '[]'
expect_eq 'calls of others' "$(json data/summary.json '[.functions[].name |
		select(test("^(wait|printf)$"))]|length')" 2
expect_match err 'called +[0-9]+ functions of libraries; the calls of [0-9]+ others cannot'

# Lazily bound calls of a library without versions of its own that calls functions with
# versions, as most libraries of a program do.
gcc -O2 -w -fPIC -shared -o libown.so -xc - <<'C'
#include <stdio.h>
int own_length(int i) { return snprintf(NULL, 0, "%d", i); }
C
gcc -O2 -w -o uses -xc - -Wl,-z,lazy -xnone ./libown.so <<'C'
int own_length(int i);
int main(void)
{
	int sum = 0;
	for (int i = 0; i < 50; i++)
		sum += own_length(i);
	return sum;
}
C
run "$PERFREC" record -q --calls-to='own_*,snprintf' --alloc=off --cpu=off -o data -- ./uses
expect_status 90
expect_eq 'calls of a library without versions' "$(json data/summary.json \
	'[.functions[] | "\(.name) \(.calls)"] | sort | join(", ")')" 'own_length 50, snprintf 50'

# A call without a version of a function whose only version is hidden: the dynamic
# linker takes it, and no definition of a later library.
gcc -O2 -fPIC -shared -o libhidden.so -xc - <<'C'
int hidden(void) { return 0; }
C
gcc -O2 -w -o hidden -xc - -Wl,-z,lazy,--no-as-needed -xnone ./libhidden.so ./libown.so <<'C'
int hidden(void);
int main(void) { return hidden(); }
C
echo 'V1 { };' >hidden.map
gcc -O2 -fPIC -shared -Wl,--version-script=hidden.map -o libhidden.so -xc - <<'C'
int old(void) { return 7; }
__asm__(".symver old, hidden@V1");
C
gcc -O2 -fPIC -shared -o libown.so -xc - <<'C'
int hidden(void) { return 8; }
C
run ./hidden
expect_status 7
run "$PERFREC" record -q --calls-to=hidden --alloc=off --cpu=off -o data -- ./hidden
expect_status 7
expect_eq 'calls of a hidden version' "$(json data/summary.json \
	'[.functions[] | "\(.name) \(.calls)"] | join(", ")')" 'old 1'

# With --patch as well, functions that cannot be patched are recorded by the slots of the
# program and of a later library.
cat >short.c <<'C'
#include <stdarg.h>
int tiny(void) { return 1; }
__attribute__((noipa)) static int one(void) { return 1; }
int early(void) { return one() + 1; }
int sum_of(int count, ...)
{
	int sum = 0;
	va_list list;

	va_start(list, count);
	while (count--)
		sum += va_arg(list, int);
	va_end(list);
	return sum;
}
C
gcc -O2 -fPIC -shared -o libshort.so short.c
gcc -O2 -w -fPIC -shared -o liblater.so -xc - <<'C'
int early(void);
int later(void) { return early() + early() + early(); }
C
gcc -O2 -w -o short -xc - -Wl,--no-as-needed -xnone ./libshort.so ./liblater.so <<'C'
int tiny(void), later(void), sum_of(int, ...);
int main(void) { return tiny() + tiny() + later() + sum_of(2, 10, 20); }
C
run_ok "$PERFREC" record -q --patch=all --calls-to='libshort:*' --alloc=off --cpu=off -o data \
	-- sh -c './short; test $? = 38'
expect_eq 'calls of functions that are not patched' "$(json data/summary.json \
	'[.functions[] | select(.module | endswith("libshort.so")) | select(.name != "one") |
		"\(.name) \(.calls)"] | sort | join(", ")')" 'early 3, sum_of 1, tiny 2'

# Functions of the C library with any number of arguments.
cat >many.c <<'C'
#include <argp.h>
#include <stdio.h>
int main(void)
{
	struct argp_state state = { .err_stream = stdout, .name = "many" };
	printf("%d %d %d %d %d %d %d %d %d %d %d %d %d %d %d\n", 1, 2, 3, 4, 5, 6, 7, 8, 9,
	       10, 11, 12, 13, 14, 15);
	argp_failure(&state, 0, 0, "%d %d %d %d %d %d %d %d %d %d %d %d", 1, 2, 3, 4, 5, 6,
		     7, 8, 9, 10, 11, 12);
	return 0;
}
C
gcc -O2 -w -o many many.c || fail 'cannot compile many.c'
./many >expected
run "$PERFREC" record -q --calls-to='*' --alloc=off --cpu=off -o data -- ./many
expect_status 0
cmp -s out expected || fail "many arguments: $(diff out expected)"

# A misspelled glob is named: else a program seems to make no such call.
run "$PERFREC" record --calls-to='getpid,wriet,libc:nosuch*,libd:*,wai?' --alloc=off \
	--cpu=off -o data -- ./odd
expect_status 0
for glob in wriet 'libc:nosuch\*' 'libd:\*'; do
	expect_match err "^  note +--calls-to '$glob' matches nothing that a file calls from a library"
done
expect_eq 'other globs that match nothing' "$(grep -c 'matches nothing' err)" 3
