# SPDX-License-Identifier: Apache-2.0
#
# Wrong conditions are shown with a caret; recordings that are not there, cut, of
# another program or of another version are said. A stack may have no frames.

. "$TOP/tests/e2e/lib.sh"

build_calls
run "$PERFREC" record -q -o a ./calls 10
run "$PERFREC" record -q -o b ./calls 10

run "$PERFREC" diff a b --fail-if 'calls(leaf) > 1x'
expect_status 2
expect_eq 'the line of the caret' "$(tail -n 1 err)" '                 ^'
expect_match err "--fail-if 'calls\(leaf\) > 1x': choose %"
run "$PERFREC" diff a b --fail-if 'calls(leaf) > 1s'
expect_error 2 'calls is a count: give a number without a unit'
run "$PERFREC" diff a b --fail-if 'nothing(leaf) > 1'
expect_error 2 'have no nothing; they have calls, wall, wall.total'
# A renamed function does not pass for ever, if that is not asked for.
for bound in 1 +1% 0; do
	run "$PERFREC" diff a b --fail-if "calls(no_such) > $bound"
	expect_error 2 "no function matches 'no_such' .--allow-absent"
	run_ok "$PERFREC" diff a b --allow-absent --fail-if "calls(no_such) > $bound"
	expect_match err "warning.*no function matches 'no_such'$"
done
run "$PERFREC" diff a b --fail-if 'calls(maim*) > +1%'
expect_error 2 "no function matches 'maim\*': did you mean 'main'"
run "$PERFREC" diff a b --allow-absent --fail-if 'calls(leaf) > 0'
expect_status 3
run "$PERFREC" diff a b --allow-absent
expect_error 2 '--allow-absent: only with --fail-if'

for words in '' 'a' 'a b a' 'a --' '-- a' 'a -- --'; do
	# shellcheck disable=SC2086 # words
	run "$PERFREC" diff $words
	expect_error 2 'give two recordings, or several on both sides of --'
done
run "$PERFREC" diff a missing
expect_error 1 "no such folder: 'missing'"
run "$PERFREC" aggregate
expect_error 2 'give the folders'
run "$PERFREC" aggregate a --value nothing
expect_error 2 'the recordings have calls, wall, wall.total'

cp -r a cut
head -c 200 a/summary.json >cut/summary.json
run "$PERFREC" diff a cut
expect_error 1 "'cut' is no recording of perfrec"
cp -r a short
head -c 100 a/wall.pb.gz >short/wall.pb.gz
run "$PERFREC" diff a short
expect_error 1 'short/wall.pb.gz'
run "$PERFREC" aggregate a short
expect_error 1 'short/wall.pb.gz'

cp -r a old
jq '.perfrec.version = "0.0.1" | .command[0] = "/other/one"' a/summary.json >old/summary.json
run_ok "$PERFREC" diff a old
expect_match out 'different programs, compared by name all the same' \
	'different versions of perfrec: 0.1.0 of a, 0.0.1 of old'
jq '.totals.dropped_spans = 7' a/summary.json >old/summary.json
run "$PERFREC" diff a old
expect_match out 'old is not complete'

# A sample more, of two values and without a stack: field 2, with a packed field 2.
need python3
cp -r a bare
python3 - <<'PYTHON'
import gzip
data = gzip.open("a/wall.pb.gz").read() + bytes([0x12, 5, 0x12, 3, 7, 9, 9])
gzip.open("bare/wall.pb.gz", "wb").write(data)
PYTHON
run_ok "$PERFREC" diff --stacks a bare
expect_match out '^ +0 +7 .* \[no stack\]'
run "$PERFREC" diff --stacks --json a bare
expect_eq 'the stack without frames' "$(jq -c '.stacks[] |
	select(.stack[0].name == "[no stack]") | [.sides, .values.calls.b[1]]' out)" '["b",7]'
run_ok "$PERFREC" graph leaf bare

# perfrec aggregate also reports it.
cp -r b other
jq '.command[0] = "./others"' b/summary.json >other/summary.json
run_ok "$PERFREC" aggregate a other
expect_match out "different programs, .*: 'calls' of a, 'others' of other"
run "$PERFREC" aggregate --json a other
expect_match out '"different programs, '
run "$PERFREC" aggregate a b
expect_no_match out 'different programs'

for command in 'graph leaf a' 'diff a old' 'aggregate a old'; do
	run sh -c '"$1" $2 >/dev/full' sh "$PERFREC" "$command"
	expect_error 1 'cannot write to stdout: No space left on device'
done
