# SPDX-License-Identifier: Apache-2.0
#
# A program says which request each thread works on (perfrec_set_trace_id(),
# perfrec_set_traceparent()): the trace shows where that changes, and wrong texts
# are counted; samples of CPU time, by the kernel and by signals, and of allocations
# have the ids as labels, also in windows of --push. C and C++; a forked child begins
# without a request.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/windows.sh"
need gcc g++ python3

program=$TOP/tests/progs/who/requests.c
gcc -O1 -finstrument-functions -Wall -Wextra -Wpedantic -Wconversion -Werror \
	-I"$TOP/preload" -o in_c "$program" -pthread || fail C
g++ -x c++ -O1 -finstrument-functions -Wall -Wextra -Wconversion -Werror \
	-I"$TOP/preload" -o in_cxx "$program" -pthread || fail C++

A='0102030405060708090a0b0c0d0e0f10 a1a2a3a4a5a6a7a8'
B='4bf92f3577b34da6a3ce929d0e0e4736 00f067aa0ba902b7'
expect_eq 'not recorded' "$(./in_c 0)" 'not recording'
for name in in_c in_cxx; do
	"$PERFREC" record -q --overhead off -o $name.data ./$name 0 >out
	expect_match out '^recording$'
	"$O/tests/tools/trace_check" $name.data/trace.pftrace || fail "$name: trace"
	# The first is set twice, and said once; a zero is none.
	expect_eq "requests of $name" "$("$PERFREC" dump $name.data |
		jq -r 'select(.kind == "instant" and .name == "request") |
			"\(.arguments.trace_id) \(.arguments.span_id)"' |
		LC_ALL=C sort | tr '\n' ';')" \
		"${A% *} 0000000000000000;$A;$B;"
	expect_eq "wrong texts of $name" \
		"$(json $name.data/summary.json .totals.odd_traceparents)" 9
	expect_eq "the slice of a request of $name" "$("$PERFREC" dump $name.data |
		jq -r 'select(.kind == "begin" and .name == "handle") |
			"\(.arguments.trace_id) \(.arguments.span_id)"')" "$B"
	"$PERFREC" report $name.data >out
	expect_match out 'requests +9 texts given to perfrec_set_traceparent'
done

# perfrec find lists the calls that began in a request, of any thread.
find_in()
{
	run "$PERFREC" find --json --trace-id "$@" in_c.data
}
names()
{
	json out '.calls[].name' | grep -E '^(handle|in_[nrt][a-z]*|sliced|work)$' |
		LC_ALL=C sort | tr '\n' ' '
}
find_in "${A% *}" '*'
expect_status 0
expect_eq 'calls of a request' "$(names)" 'in_request work '
find_in "$(echo "${B% *}" | tr a-f A-F)" '*'
expect_status 0
expect_eq 'calls of another request' "$(names)" 'handle in_thread sliced work '
find_in "${B% *}" in_request
expect_status 1
expect_match err "'in_request' has calls, but none in this request$"
find_in "${B% *}" in_thread --thread in_c
expect_status 0
find_in "1${B% *}" in_request
expect_status 2
expect_match err "is no trace id: give 32 hexadecimal digits"
find_in 00000000000000000000000000000000 in_request
expect_status 2
find_in "$(echo "${B% *}" | tr 4 5)" in_request
expect_status 1
expect_match err 'no thread worked on a request with the trace id 5bf92f'

# requests PROFILE...: functions with the ids of their samples.
requests()
{
	for profile in "$@"; do
		python3 "$TOP/tests/tools/profile_requests.py" "$profile" in_ |
			sed 's/ [0-9]*$//'
	done | LC_ALL=C sort -u | tr '\n' ';'
}

# Windows stay in the spool.
pusher <<'SCRIPT'
cat >/dev/null
exit 1
SCRIPT

# In each function there is a sample, as it works for so long.
wanted="in_child - -;in_none - -;in_request $A;in_thread $B;"
for engine in perf signal; do
	run "$PERFREC" record -q --overhead off --cpu 1000,$engine \
		--alloc=sampled --push pyroscope+http://one:4040 \
		--push-interval 1s -o $engine ./in_c 150000000
	if [ $status -ne 0 ] || [ ! -s $engine/cpu.pb.gz ]; then
		echo "# no samples by $engine"
		continue
	fi
	expect_eq "CPU time by $engine" "$(requests $engine/cpu.pb.gz)" "$wanted"
	expect_eq "allocations beside $engine" "$(requests $engine/heap.pb.gz)" \
		"$wanted"
	unpack_windows $engine/.push
	expect_eq "CPU time by $engine in windows" \
		"$(requests unpacked/*/cpu.pb.gz)" "$wanted"
	expect_eq "allocations beside $engine in windows" \
		"$(requests unpacked/*/memory.pb.gz)" "$wanted"
	"$PERFREC" report --view cpu --limit 0 $engine >out
	expect_match out in_request in_none
done

# rows TABLE COLUMN...: of the tables.
rows()
{
	table=$1
	shift
	python3 "$TOP/tests/e2e/lib/parquet_read.py" tables/$table.parquet "$@" |
		tail -n +2 | jq -r 'join(" ")' | LC_ALL=C sort -u
}

# Calls, samples and allocations in tables also have the ids; a call has those of
# its thread when it began, or of the slice around it.
"$PERFREC" export --to parquet -o tables in_c.data || fail 'cannot export'
expect_eq 'calls in tables' "$(rows calls name trace_id span_id |
	grep -E '^(in_[nrt]|main|handle|sliced|work)' | tr '\n' ';')" \
	"handle $B;in_none  ;in_request $A;in_thread $B;main  ;sliced $B;work  ;work $A;work $B;"
# stacks TABLE: the functions whose requests are known, with their ids.
stacks()
{
	python3 "$TOP/tests/e2e/lib/parquet_read.py" tables/$1.parquet stack \
		trace_id span_id | tail -n +2 |
		jq -r '(.[0] // "" |
			capture(";(?<name>in_(child|none|request|thread))").name) +
			" \(.[1] // "-") \(.[2] // "-")"' | LC_ALL=C sort -u | tr '\n' ';'
}
for engine in perf signal; do
	[ -s $engine/cpu.pb.gz ] || continue
	rm -r tables
	"$PERFREC" export --to parquet -o tables $engine || fail 'cannot export'
	for table in allocations samples; do
		expect_eq "$table in tables by $engine" "$(stacks $table)" "$wanted"
	done
done

# 4,096 requests have labels; the others share a row.
"$PERFREC" record -q --cpu off --alloc=sampled -o many ./in_c 0 5000 >out
python3 "$TOP/tests/tools/profile_requests.py" many/heap.pb.gz many_ >out
expect_eq 'requests with labels' "$(grep -vc ' - - ' out)" 4096
expect_match out '^many_requests - - [0-9]+$'
[ "$(json many/summary.json .totals.unlabelled_samples)" -gt 0 ] ||
	fail 'nothing was said of the rest'
