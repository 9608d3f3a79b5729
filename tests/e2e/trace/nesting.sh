#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# long: compiles and records each way out of a function
#
# A slice is inside the slice of its caller, whichever way control takes: longjmp
# and siglongjmp, contexts, threads that end deep inside.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/nesting.sh"

for compiler in $(compilers C); do
	for optimise in -O0 -O2; do
		for program in jumps contexts threads; do
			build_nesting $program "$compiler" $optimise
			check_nesting $program \
				"$program by $compiler $optimise"
		done
	done
	build_nesting threads "$compiler" -O2 -fexceptions
	check_nesting threads "threads by $compiler -fexceptions"
done
