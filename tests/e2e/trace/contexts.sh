# SPDX-License-Identifier: Apache-2.0
#
# Sixty coroutines that switch to one another wherever they are, and return by
# uc_link: each one's calls, as the program itself logs them, are on a track of
# their own, and nothing is repaired or guessed. Made before anything was
# recorded, they are said to be of unknown origin.
. "$TOP/tests/e2e/lib.sh"

prog trace/coroutines

for seed in 1 2 3; do
	run_ok timeout 100 "$PERFREC" record --alloc=off --cpu=off -q -o data \
		./coroutines $seed
	sort -s -n -k1,1 out >logged
	"$O/tests/tools/trace_check" --dump data/trace.pftrace |
		awk '$1 ~ /[BE]/ && !/perfrec: / {
			split($3, tid, "/"); print tid[2] + 0, $1, $6 }' |
		sort -s -n -k1,1 >recorded
	diff logged recorded >differ ||
		fail "seed $seed: $(head -n 5 differ)"
	expect_eq "tracks of seed $seed" "$(json data/summary.json '.totals |
		.repaired_slices + .orphan_ends + .mixed_contexts +
		.dropped_spans')" 0
done

# A context has one number everywhere: that in the name of its track.
"$O/tests/tools/trace_check" --dump data/trace.pftrace |
	awk '$1 == "B" && split($3, tid, "/") == 2 { print tid[2] }' |
	sort -nu >numbers
[ "$(wc -l <numbers)" -gt 10 ] || fail "few contexts: $(cat numbers)"
"$PERFREC" export --to chrome data >chrome.json || fail 'export --to chrome'
jq -r '.traceEvents[] | select(.name == "thread_name").args.name |
	capture(", context (?<number>[0-9]+)\\)$").number' chrome.json |
	sort -nu | diff numbers - || fail 'other numbers in --to chrome'
"$PERFREC" replay data | awk '{ for (i = 1; i < NF; i++)
	if ($i ~ /^[0-9]+\/[0-9]+$/) { print substr($i, index($i, "/") + 1); break } }' |
	sort -nu | diff numbers - || fail 'other numbers in perfrec replay'
# Rows of values and waits belong to a process with a name.
expect_eq 'rows without the name of a process' "$(jq -c '.traceEvents |
	(map(select(.name == "process_name").tid) | unique) as $named |
	map(select(.ph != "M").tid) | unique - $named' chrome.json)" '[]'

sed '/^int main/s/^/QUIET /; /^#define QUIET/a\
int main(int, char **) QUIET;' "$TOP/tests/progs/trace/coroutines.c" >source
cmp -s source "$TOP/tests/progs/trace/coroutines.c" && fail 'nothing is quiet'
build quiet <source
run_ok timeout 100 "$PERFREC" record --alloc=off --cpu=off -o data ./quiet 1
expect_match err 'mixed .* contexts of unknown origin'
"$O/tests/tools/trace_check" data/trace.pftrace || fail 'a rule is broken'
"$O/tests/tools/trace_check" --dump data/trace.pftrace |
	grep -c '^I.* perfrec: a context of unknown origin' >told
expect_eq 'contexts of unknown origin' \
	"$(json data/summary.json .totals.mixed_contexts)" "$(cat told)"
