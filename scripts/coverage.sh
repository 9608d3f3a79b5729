#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# coverage.sh begin BUILD - empties the counters of the programs in BUILD, which
# was made with COVER=1. They are the files in BUILD/coverage.
#
# coverage.sh report BUILD - prints which part of the lines of collector/ and
# preload/ has run since then, by folder, and the files below 85 %. Lines of
# each file: BUILD/coverage/lines.txt.
#
# Counters are shared memory of all processes that run a program. So processes
# that end by _exit(), or are killed, count as well. Needs llvm-profdata and
# llvm-cov (Debian: llvm).
set -eu

what=$1
build=$(cd "$2" && pwd)
counts=$build/coverage
shim=$build/libperfrec_preload.so
least=85

if [ "$what" = begin ]; then
	rm -rf "$counts"
	mkdir -p "$counts"
	# Programs of other users count as well.
	chmod 1777 "$counts"
	size=$(readelf -SW "$shim" |
		sed -n 's/.* __llvm_prf_cnts *PROGBITS *[0-9a-f]* [0-9a-f]* \([0-9a-f]*\) .*/\1/p')
	truncate -s $((0x$size)) "$counts/shim.counters"
	# Each makes its file of counters, with a mode that suits its umask.
	for program in perfrec perfrec-collect perfrec-symbolize perfrec-reader \
		perfrec-push; do
		"$build/$program" --version </dev/null >/dev/null 2>&1 || :
	done
	chmod 666 "$counts"/*
	exit 0
fi

python3 tests/coverage/shim_profile.py "$shim" "$counts/shim.counters" \
	"$counts/shim.profraw"
llvm-profdata merge -sparse -failure-mode=all -o "$counts/all.profdata" \
	"$counts"/*.profraw
set -- "$build/perfrec-collect" -object "$build/perfrec" \
	-object "$build/perfrec-symbolize" -object "$build/perfrec-reader" \
	-object "$build/perfrec-push" \
	-object "$shim"
# preload/perfrec.h is the code of the programs that include it.
set -- -ignore-filename-regex='preload/perfrec[.]h$' \
	-instr-profile "$counts/all.profdata" "$@"
llvm-cov export -summary-only "$@" >"$counts/sums.json"
llvm-cov show "$@" >"$counts/lines.txt" 2>/dev/null
# FILE<TAB>LINES<TAB>LINES THAT RAN
jq -r --arg top "$PWD/" '.data[0].files[] |
	"\(.filename | ltrimstr($top))\t\(.summary.lines.count)\t\(.summary.lines.covered)"' \
	"$counts/sums.json" | grep -E '^(collector|preload)/' |
	sort >"$counts/files.tsv"
awk -F '\t' -v least=$least '
	function line(name, all, ran) {
		return sprintf("%7.1f %8d %8d  %s", 100 * ran / all, ran, all,
			name)
	}
	{
		n = split($1, part, "/")
		folder = n > 2 ? part[1] "/" part[2] : part[1]
		if (!(folder in lines))
			order[++folders] = folder
		lines[folder] += $2
		ran[folder] += $3
		lines[part[1] "/"] += $2
		ran[part[1] "/"] += $3
		lines["both"] += $2
		ran["both"] += $3
		if ($2 && $3 * 100 < $2 * least)
			below[++files] = line($1, $2, $3)
	}
	END {
		print "      %      ran    lines"
		for (i = 1; i <= folders; i++)
			print line(order[i], lines[order[i]], ran[order[i]])
		printf "\nbelow %d %%:\n", least
		for (i = 1; i <= files; i++)
			print below[i] | "sort -n"
		close("sort -n")
		print ""
		print line("collector/", lines["collector/"], ran["collector/"])
		print line("preload/", lines["preload/"], ran["preload/"])
		print line("both", lines["both"], ran["both"])
		exit ran["collector/"] * 100 < lines["collector/"] * least ||
			ran["preload/"] * 100 < lines["preload/"] * least
	}' "$counts/files.tsv"
