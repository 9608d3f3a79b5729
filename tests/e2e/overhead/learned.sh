# SPDX-License-Identifier: Apache-2.0
#
# --overhead: tiny functions that are called often are muted, long ones are not,
# and the next recording starts with the learned states. `ctl forget` drops them;
# --no-cache neither reads nor writes them; a damaged file is no harm.
. "$TOP/tests/e2e/lib.sh"
export XDG_CACHE_HOME="$PWD/cache"
build busy <<'SOURCE'
#include <stdio.h>
#include <stdlib.h>
static volatile long sum;
__attribute__((noinline)) void tiny(long i) { sum += i; }
__attribute__((noinline)) void longer(void)
{
	for (int i = 0; i < 100000; i++)
		sum += i;
}
__attribute__((noinline)) void chunk(long n)
{
	for (long i = 0; i < n; i++)
		tiny(i);
	longer();
}
int main(int argc, char **argv)
{
	for (long i = argc > 1 ? atol(argv[1]) : 1; i; i--)
		chunk(20000);
	printf("%ld\n", sum);
	return 0;
}
SOURCE
rounds=2000
state_of()
{
	json data/summary.json "[.functions[] | select(.name == \"$1\") | .state] | first"
}
calls_of()
{
	json data/summary.json "[.functions[] | select(.name == \"$1\") | .calls] | add"
}
record()
{
	run_ok "$PERFREC" record -q --overhead 5% --alloc=off --cpu=off -o data "$@" \
		-- ./busy $rounds
	expect_eq "calls of tiny, $*" "$(calls_of tiny)" $((rounds * 20000))
}
files()
{
	find cache -name 'functions-*' 2>/dev/null | wc -l
}

record --no-cache
[ "$(state_of tiny)" != span ] || fail "tiny was recorded to the end"
expect_eq 'state of longer' "$(state_of longer)" span
expect_eq 'calls of longer' "$(calls_of longer)" $rounds
spans=$(json data/summary.json .totals.spans)
[ "$spans" -lt $((rounds * 10000)) ] || fail "$spans spans"
expect_eq 'files of --no-cache' "$(files)" 0

record
expect_eq 'files that keep what was learned' "$(files)" 1
expect_eq 'state of longer' "$(state_of longer)" span

# The first moment of a run: not even there is each call recorded. On a slow
# machine muted functions have episodes meanwhile, so the least run counts.
rounds=40
record --no-cache
first=$(json data/summary.json .totals.spans)
again=$first
for run in 1 2 3; do
	record
	spans=$(json data/summary.json .totals.spans)
	[ "$spans" -ge "$again" ] || again=$spans
done
[ "$again" -lt $((first / 2)) ] ||
	fail "$again spans, and $first when nothing was known"
rounds=2000

file=$(find cache -name 'functions-*')
head -c 100 "$file" >damaged
cp damaged "$file"
record
[ "$(state_of tiny)" != span ] || fail "tiny was recorded to the end"
! cmp -s damaged "$file" || fail "the damaged file is still there"

run_ok "$PERFREC" ctl forget
expect_match out '^forgot 1 module$'
expect_eq 'files after ctl forget' "$(files)" 0
run "$PERFREC" ctl --json forget
expect_eq 'forgotten' "$(json out .forgotten)" 0
run "$PERFREC" ctl forget busy
expect_error 2 'forget is for all programs'

# Other files under that name neither block perfrec nor count.
name=$(basename "$file")
for kind in empty random other-version large folder fifo zeros unreadable; do
	rm -rf cache/perfrec/*
	at=cache/perfrec/$name
	case $kind in
	empty) : >"$at" ;;
	random) head -c 5000 /dev/urandom >"$at" ;;
	other-version) printf 'perfrecF\377\0\0\0' | cat - damaged >"$at" ;;
	large) truncate -s 1G "$at" ;;
	folder) mkdir "$at" ;;
	fifo) mkfifo "$at" ;;
	zeros) ln -s /dev/zero "$at" ;;
	unreadable) cp damaged "$at" && chmod 0 "$at" ;;
	esac
	rounds=20
	record
	expect_eq "stderr, $kind" "$(cat err)" ''
	expect_eq "calls of longer, $kind" "$(calls_of longer)" 20
done
