#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# flips.sh [ROUNDS [THREADS]] - records a busy program while the states of all its
# functions keep changing (flips.cc, tools/flips_drive.c). The program's output must
# stay the same and the trace well-formed. A function that was always recorded or
# counted must have the calls that a counting library finds in another run; a
# function that was off at times may have fewer.
#
# Runs in an empty folder. O is the build directory. CC and CXX build the program
# (default: gcc and g++, with -finstrument-functions; with HOOKS=entry by perfrec
# cc --hooks=entry). Prints its counts; exits with 1 on a failure.
set -eu

top=$(cd "$(dirname "$0")/../.." && pwd)
O=$(cd "${O:-$top/build}" && pwd)
rounds=${1:-2000} threads=${2:-8}
cc=${CC:-gcc} cxx=${CXX:-g++}
calls=-finstrument-functions
export PERFREC_DEADLINE_MS=20000

fail()
{
	echo "FAIL: $*"
	exit 1
}

build()
{
	# shellcheck disable=SC2086 # commands
	$1 -O1 -g -shared -fPIC -o plugin$3.so $4 "$top/tests/stress/flips_plugin.c"
	# shellcheck disable=SC2086
	$2 -O1 -g -pthread -o flips$3 $4 "$top/tests/stress/flips.cc" -ldl
}

# The witness sees hooks only, so the optimizer must keep every call.
build "$cc" "$cxx" .witness $calls
if [ "${HOOKS:-calls}" = entry ]; then
	build "$O/perfrec cc --hooks=entry $cc" \
		"$O/perfrec c++ --hooks=entry $cxx" '' ''
else
	build "$cc" "$cxx" '' $calls
fi

rm -f count.*
COUNT_OUT=$PWD/count LD_PRELOAD=$O/tests/progs/libcount_preload.so \
	./flips.witness "$threads" "$rounds" "$PWD/plugin.witness.so" >expected
"$O/tests/tools/count_names" count.*[0-9] |
	awk '$2 ~ /^(exact|loose)_/ { sum[$2] += $1 }
	END { for (name in sum) print name, sum[name] }' | sort >witness
rm -f count.*

rm -rf data warm
# A program waits for a second to be connected; later calls are missing until then
# (docs/OVERHEAD.md). This run caches the plan of the code, so even a busy machine
# connects in time.
"$O/perfrec" record --quiet --count 'exact_*' --alloc=off --cpu=off -o warm -- \
	./flips 1 1 "$PWD/plugin.so" >warm.out 2>err || fail "$(cat err)"
# The summary goes to stderr, so stdout has only the program's output.
"$O/perfrec" record --quiet --count 'exact_*' --alloc=off --cpu=off \
	--max-size 64G -o data -- \
	./flips "$threads" "$rounds" "$PWD/plugin.so" >printed 2>err &
recorder=$!
tries=0
until [ -L data/control ]; do
	tries=$((tries + 1))
	[ $tries -lt 1000 ] || fail "nothing is recorded: $(cat err)"
	sleep 0.02
done
requests=$("$O/tests/tools/flips_drive" "$(readlink data/control)")
wait $recorder || fail "exit status $?: $(cat err)"

cmp printed expected || fail "the output has changed"
"$O/tests/tools/trace_check" data/trace.pftrace >check || {
	tail -n 20 check
	fail "the trace is not well formed"
}
"$O/perfrec" report --json --limit 0 data | jq -r '.functions[] |
	select(.name | test("^(exact|loose)_")) | "\(.name) \(.calls)"' |
	awk '{ sum[$1] += $2 } END { for (name in sum) print name, sum[name] }' |
	sort >told
changes=$(jq .totals.state_changes data/summary.json)
echo "$requests requests, $changes changes of states;" \
	"$(jq .totals.spans data/summary.json) spans," \
	"$(jq .totals.counted_calls data/summary.json) calls only counted"
awk 'NR == FNR { witness[$1] = $2; next }
	{ told[$1] = $2 }
	END {
		for (name in witness) {
			if (name ~ /^exact/ && told[name] != witness[name])
				print name ": " told[name] + 0 \
					" calls, not " witness[name]
			if (told[name] > witness[name])
				print name ": " told[name] " calls, more than " \
					witness[name]
			sum += witness[name]
		}
		print sum " calls in the witness" >"/dev/stderr"
	}' witness told | sort -u >wrong
[ -s witness ] || fail "the witness has seen nothing"
head -n 20 wrong
[ ! -s wrong ] || fail "$(wc -l <wrong) functions have wrong counts; of the" \
	"summary: $(jq -c '.totals | with_entries(select(.value != 0))' \
		data/summary.json)"
if [ "$requests" -lt 1 ] || [ "$changes" -lt 100 ]; then
	fail "there were only $requests requests and $changes changes"
fi
