# SPDX-License-Identifier: Apache-2.0
#
# perfrec report --view: wrong options, missing profiles, and tables and JSON of
# profiles with known numbers. A wall profile serves as span.pb.gz, because that
# has the same types at its start.
. "$TOP/tests/e2e/lib.sh"

# refused STATUS REGEX ARGUMENT...
refused()
{
	expected=$1 regex=$2
	shift 2
	run "$PERFREC" report "$@"
	expect_error "$expected" "$regex"
}

build_calls
run_ok "$PERFREC" record --alloc=off --cpu=off -q -o data ./calls 5000

refused 2 "--view 'all': choose functions, cpu, heap, span, wait, lock, path or io" --view all data
refused 2 "option '--view' needs a value" --view
refused 2 "--sort 'calls': choose self, total, samples or name" \
	--sort calls --view cpu data
refused 2 "--sort 'or': choose inuse" --view heap --sort or data
refused 2 "--sort '': choose inuse" --view heap --sort '' data
refused 2 '--stacks: choose --view' --stacks data
refused 1 "'data' has no samples of CPU time: there is no cpu.pb.gz" \
	--view cpu data
refused 1 "'data' has no allocations: .*perfrec record --alloc" --view heap data
refused 1 "no such folder: 'nowhere'" --view cpu nowhere

# A program without hooks has no calls, which is said, with a way out.
run_ok "$PERFREC" record --alloc=off --cpu=off -q -o plain true
refused 1 "'plain' has no calls: build the program with perfrec cc, or" --view span plain
run_ok "$PERFREC" record --count '*' --alloc=off --cpu=off --sched=off -q -o counted ./calls 5
refused 1 "'counted' has no calls with CPU time, .*: there is no span" --view span counted
run "$PERFREC" graph main plain
expect_error 1 "'plain' has no calls: build the program with perfrec cc, or"
run "$PERFREC" find main plain
expect_match err "'main': there are no calls to search"

# Damaged, or of another kind.
cp data/wall.pb.gz data/cpu.pb.gz
refused 1 'cpu.pb.gz. holds something else' --view cpu data
head -c 100 data/wall.pb.gz >data/cpu.pb.gz
refused 1 'cpu.pb.gz. is no profile, or is damaged' --view cpu data
head -c 5000 /dev/urandom >data/cpu.pb.gz
refused 1 'cpu.pb.gz. is no profile, or is damaged' --view cpu data
: >data/cpu.pb.gz
refused 1 'cpu.pb.gz. is no profile|cpu.pb.gz. holds' --view cpu data
rm data/cpu.pb.gz
# A pipe without a writer.
mkfifo data/cpu.pb.gz
refused 1 'cpu.pb.gz. is no profile' --view cpu data
rm data/cpu.pb.gz
mkdir pipe
mkfifo pipe/summary.json
refused 1 "'pipe' is no recording of perfrec: .*json is no plain file" pipe

# The same numbers as in the summary.
cp data/wall.pb.gz data/span.pb.gz
run_ok "$PERFREC" report --view span --sort calls data
expect_match out ' 5,000 .* leaf  \[calls\]$' ' 1 .* main  \[calls\]$'
expect_no_match out 'overflow'
expect_eq 'the first one' "$(grep -o 'leaf\|main\|work' out | head -n 1)" leaf
run "$PERFREC" report --view span --stacks --limit 1 --sort calls data
expect_match out '^      leaf  .*/calls.c:[0-9]+  \[calls\]$' \
	'^      main  ' '1 of 3 stacks; all: --limit 0'
run "$PERFREC" report --view span --json data
expect_eq 'spans' "$(json out .sum.calls)" 5002
for field in calls self_ns total_ns; do
	case $field in
	calls) value=.self.calls ;;
	self_ns) value=.self.wall ;;
	total_ns) value=.total.wall ;;
	esac
	expect_eq "$field" "$(json out ".functions[] | select(.name == \"leaf\") |
		$value")" "$(json data/summary.json \
		".functions[] | select(.name == \"leaf\").$field")"
done
run "$PERFREC" report --view span --json --stacks --sort calls data
expect_eq 'a stack' "$(json out '[.stacks[0].stack[].name] | join(" ")')" \
	'leaf work main'
"$PERFREC" report --view span data >/dev/full 2>err
expect_eq 'status of a full stdout' $? 1
expect_match err 'cannot write to stdout: No space left on device$'
