#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# long: builds with each compiler and option
#
# Entry builds where r11 has a value that is needed: before the thunks of
# retpolines, in functions that keep all registers, and of calling conventions
# with many arguments. They print what the plain programs do, and each call of a
# function that leaves by such a thunk is there.
. "$TOP/tests/e2e/lib.sh"
need gcc

export XDG_CACHE_HOME="$PWD/cache"
mkdir cache
rounds=200
source=$TOP/tests/progs/entry/r11.c

# calls NAME: of that function, in the last recording.
calls()
{
	json data/summary.json "[.functions[] | select(.name == \"$1\").calls] |
		add // 0"
}

tried=0
# try COMPILER FLAG...: skipped where the compiler does not know the flag.
try()
{
	command -v "$1" >/dev/null || return 0
	"$@" -w -mgeneral-regs-only "$source" -o plain 2>/dev/null || return 0
	./plain $rounds >expected || fail "$*: plain"
	# clang 19 loses the eleventh argument with -mlvi-cfi.
	./plain $rounds | cmp -s - expected || return 0
	"$PERFREC" cc --hooks=entry "$@" -w -mgeneral-regs-only "$source" \
		-o program || fail "$*: entry"
	for options in '' '--count *' '--overhead 1% --no-cache'; do
		rm -rf data
		set -f
		# shellcheck disable=SC2086 # words
		run "$PERFREC" record -q $options -o data -- ./program $rounds
		set +f
		expect_status 0
		cmp out expected || fail "$*: record $options"
		case $options in
		--overhead*) continue ;;
		esac
		for name in r_tail r_maybe r_table r_full r_many r_caller; do
			expect_eq "$*, $options: calls of $name" "$(calls $name)" \
				$rounds
		done
	done
	tried=$((tried + 1))
}

try gcc -O2
try gcc -O2 -mindirect-branch=thunk
try gcc -O2 -mindirect-branch=thunk -mharden-sls=all
for compiler in clang clang-19; do
	for flags in -O2 '-O1 -mretpoline' '-O2 -mlvi-hardening' \
		'-O2 -mspeculative-load-hardening'; do
		# shellcheck disable=SC2086 # words
		try $compiler $flags
	done
done
[ $tried -ge 3 ] || fail "only $tried programs were tried"
