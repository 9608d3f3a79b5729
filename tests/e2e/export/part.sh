# SPDX-License-Identifier: Apache-2.0
#
# Formats that sum calls up, of a part of a recording: their sums are those of
# perfrec report of the same part.
. "$TOP/tests/e2e/lib.sh"

prog trace/coroutines
run_ok timeout 100 "$PERFREC" record --alloc=off --cpu=off -q -o data ./coroutines 1
# By calls, and not by time: the program may be on no CPU for a quarter of that.
"$PERFREC" find --json --sort time --limit 100000 leaf data >calls.json
# at PART: when so much of the calls has been made, of 12
at()
{
	jq ".calls | .[length * $1 / 12 | floor].begin_ns" calls.json
}
quarter=$(at 3) third=$(at 4) half=$(at 6)

# same KEY VALUE OPTION...: folded stacks add up, by their innermost function, to what
# the report has as KEY.
same()
{
	key=$1 value=$2
	shift 2
	run_ok "$PERFREC" export --to folded --value "$value" "$@" data
	[ "$(wc -l <out)" -gt 3 ] || fail "$*: few stacks"
	sed 's/^.*;//' out | awk '{ value = $NF; sub(/ [0-9]*$/, ""); sum[$0] += value }
		END { for (name in sum) print name, sum[name] }' | sort >folded
	# export calls the end of a range --until.
	"$PERFREC" report --json $(echo "$*" | sed 's/--until/--to/') data |
		jq -r ".functions[] | select(.$key > 0) | \"\(.name) \(.$key)\"" |
		sort >report
	cmp folded report || fail "$*: $(diff folded report | head -n 4)"
}
same self_ns wall --from ${quarter}ns --until ${half}ns
same calls calls --from ${quarter}ns --until ${half}ns
same self_ns wall --until ${third}ns
tid=$("$PERFREC" find --json --limit 1 main data | jq '.calls[0].tid')
same self_ns wall --thread "$tid" --from ${half}ns

for format in flamegraph callgrind 'speedscope --value wall'; do
	# shellcheck disable=SC2086 # words
	run_ok "$PERFREC" export --to $format --from ${quarter}ns data
	expect_match out leaf
done

refuses()
{
	wanted=$1 text=$2
	shift 2
	run "$PERFREC" export "$@" data
	expect_error "$wanted" "$text"
	[ ! -s out ] || fail "$*: it writes"
}
refuses 1 "--from '1h': 'data' ends before that" --to folded --from 1h
refuses 2 "--until '1s': that is before --from '2s'" --to folded --from 2s --until 1s
refuses 2 "--until '0s': nothing is between that and --from '0s'" --to folded --until 0s
refuses 2 "--until '3': give a time with its unit" --to folded --until 3
refuses 1 "--thread 'nobody': no thread has that number or name" --to folded --thread nobody
refuses 2 '--value cpu cannot be combined with --from: choose wall or calls' \
	--to folded --value cpu --from 1ms
refuses 2 '--depth: --to folded sums all calls up' --to folded --depth 3 --from 1ms
refuses 2 '--from: --to csv sums all calls up; see --calls' --to csv --from 1ms
