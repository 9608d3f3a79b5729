#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# long: compiles with both compilers, and calls deeply
#
# Exceptions leave no slice open and none in the wrong place, whether exit hooks
# run while unwinding (g++) or not (clang++); nor do 100,000 calls deep.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/nesting.sh"

for compiler in $(compilers C++); do
	for optimise in -O0 -O2; do
		build_nesting exceptions "$compiler" $optimise
		check_nesting exceptions "exceptions by $compiler $optimise"
	done

	build_nesting modules "$compiler" -O1
	mv modules program
	build_nesting modules "$compiler" -O1 -DNESTING_LIBRARY -fPIC -shared
	mv modules "plugin-${compiler##*/}.so"
	mv program modules
	check_nesting modules "modules by $compiler" "./plugin-${compiler##*/}.so" \
		"$(find . -name 'plugin-*.so' | sort | tail -n 1)"

	build_nesting deep "$compiler" -O1
	rm -rf data
	run_ok "$PERFREC" record --alloc=off --cpu=off -q -o data -- ./deep
	"$O/tests/tools/trace_check" --dump data/trace.pftrace >dump ||
		fail "the trace of deep is broken"
	expect_eq 'calls after coming back' "$(awk '$1 == "B" && $6 ~ /^after/ {
		printf "%s at %s, ", $6, $5 }' dump)" \
		'after_return at 1, after_jump at 1, after_catch at 1, '
	expect_eq 'deep: spans' "$(json data/summary.json .totals.spans)" 300005
	expect_eq 'deep: orphans' \
		"$(json data/summary.json .totals.orphan_ends)" 0
done
