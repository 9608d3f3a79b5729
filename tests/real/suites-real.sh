#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Runs the test suites of real programs under `perfrec record`:
#
#     rsync       two to three processes a transfer, daemons, signals, chroot
#     zsh         forks, job control, modules by dlopen(), terminals
#
# Each is built three times: by gcc alone, by `perfrec cc`, and by `perfrec cc
# --hooks=entry`. The suite of gcc's build runs once without perfrec; the suites
# of all three builds, recorded, must come to the same verdict on every test.
# Nothing may crash or be lost, and the times of each recording must not
# contradict each other (perfrec doctor).
#
# Prints lines for each build, continues after a wrong one, and ends with
# "N passed, N failed, N skipped".
#
# usage: suites-real.sh BUILD DIR [NAME[:calls|:entry]...]
#
# BUILD is the make's $(O); DIR caches sources and builds. Skips programs that
# cannot be fetched; exits with 1 if one is wrong, and with 77 if all are skipped.
set -eu

build=$(cd "$1" && pwd)
mkdir -p "$2"
dir=$(cd "$2" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
shift 2
[ $# -gt 0 ] || set -- rsync rsync:calls rsync:entry zsh zsh:calls zsh:entry
# shellcheck source=tests/real/fetch.sh
. "$here/fetch.sh"
# shellcheck source=tests/real/parts.sh
. "$here/parts.sh"
need_tools "$build"

# The machine may be too busy for the usual 100 ms.
export PERFREC_DEADLINE_MS=20000
PATH=$build:$PATH
work=$(mktemp -d "$dir/run.XXXXXX")
trap 'rm -rf "$work"' EXIT
jobs=-j$(nproc)

# Patches have made newer what these are generated from.
generated() {
	touch aclocal.m4
	touch "$@"
}

# Each builds in the current folder, a copy of the package's source, what the
# suite needs.
build_rsync() {
	generated configure.sh config.h.in
	# Libraries that the machine may lack, and generated man pages.
	./configure CC="$cc" --disable-openssl --disable-xxhash --disable-zstd \
		--disable-lz4 --disable-md2man
	# shellcheck disable=SC2016,SC2046 # of make; a list of programs
	make "$jobs" all $(make -pn |
		sed -n '/^CHECK_PROGS = /{s/.*= //; s/$(EXEEXT)//g; p}')
}

build_zsh() {
	generated configure config.h.in stamp-h.in
	./configure CC="$cc" --disable-gdbm --with-tcsetpgrp
	make "$jobs"
}

# Each prints a line for each test of the log of a suite.
verdicts_rsync() {
	grep -E '^(PASS|FAIL|XFAIL|SKIP) ' "$1"
}

verdicts_zsh() {
	sed -n -E '/^Test .* failed:|: (all tests successful|skipped)/p' "$1"
}

# compiler KIND: sets $cc.
compiler() {
	case $1 in
	plain) cc=gcc ;;
	calls) cc='perfrec cc gcc' ;;
	entry) cc='perfrec cc --hooks=entry gcc' ;;
	esac
}

# made NAME KIND: the program is in $tree.
made() {
	fetch "$1"
	tree=$dir/suites/$1-$2
	compiler "$2"
	# shellcheck disable=SC2086 # words
	case $2 in
	plain) echo "$cc" ;;
	*) perfrec cc --dry-run ${cc#perfrec cc} -c x.c ;;
	esac >"$work/flags"
	cmp -s "$work/flags" "$tree/perfrec.flags" && return
	rm -rf "$tree"
	mkdir -p "$dir/suites"
	cp -pr "$dir/src/$1"-*/ "$tree"
	if ! (set -e && cd "$tree" && "build_$1") >"$work/log" 2>&1; then
		tail -n 20 "$work/log" >&2
		echo "$1: cannot build it with $cc" >&2
		return 1
	fi
	cp "$work/flags" "$tree/perfrec.flags"
}

# suite NAME TREE LOG COMMAND...: runs the suite in TREE below COMMAND.
suite() {
	log=$3 verdicts=verdicts_$1
	cd "$2"
	shift 3
	timeout 1800 "$@" make -k check </dev/null >"$log" 2>&1 || :
	$verdicts "$log" | sort >"$log.verdicts"
}

# run NAME KIND
run() {
	made "$1" plain
	if [ ! -e "$work/$1.verdicts" ]; then
		(suite "$1" "$tree" "$work/$1")
		[ -s "$work/$1.verdicts" ] || {
			tail -n 20 "$work/$1" >&2
			echo "$1: its suite does not run" >&2
			return 1
		}
	fi
	made "$1" "$2"
	rm -rf "$work/data"
	(suite "$1" "$tree" "$work/recorded" perfrec record -q -o "$work/data" --)
	diff "$work/$1.verdicts" "$work/recorded.verdicts" || {
		echo "$1, $2: its suite says something else" >&2
		return 1
	}
	perfrec doctor "$work/data" >"$work/doctor" || {
		cat "$work/doctor" >&2
		return 1
	}
	check_losses "$1, $2: $(wc -l <"$work/$1.verdicts") verdicts agree"
}

# check_losses NAME: prints the losses of the recording.
check_losses() {
	jq -r --arg name "$1" '.totals | . as $t | ["dropped_spans",
		"truncated_spans", "unslotted_spans", "broken_rings",
		"lost_cpu_samples", "dropped_allocs", "dropped_frees",
		"odd_heap_records", "double_frees"] |
		map(select(($t[.] // 0) != 0) | "\($t[.]) \(.)") |
		"\($name), \($t.processes) processes, \($t.spans) spans" +
		if . == [] then "" else ": " + join(", ") + ": WRONG" end' \
		"$work/data/summary.json" >"$work/losses"
	cat "$work/losses"
	! grep -q WRONG "$work/losses"
}

for program; do
	kind=${program#*:}
	[ "$kind" != "$program" ] || kind=plain
	part "$program" run "${program%:*}" "$kind"
done
parts_end
