#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# check-layers.sh - who may include whom (docs/ARCHITECTURE.md): the shim and
# the collector share shared/ and nothing else, an outside library enters
# through the files named here, atomics through shared/atomic.h, and every
# header compiles alone. O is a build directory with its generated sources.
set -u
O=${O:-build}
CC=${CC:-cc}
bad=0

complain()
{
	[ -z "$2" ] && return
	echo "$1:"
	echo "$2" | sed 's/^/    /'
	bad=1
}

# includes DIR PATTERN ALLOWED_FILE: lines of DIR that include PATTERN.
includes()
{
	grep -rnE "^[[:space:]]*#[[:space:]]*include[[:space:]]+[<\"]$2" "$1" |
		grep -vE "^(${3:-none}):"
}

complain 'preload/ includes only preload/ and shared/' \
	"$(includes preload '[a-z]+/' | grep -E '"' |
		grep -vE '"(preload|shared)/')"
complain 'shared/ includes only shared/' \
	"$(includes shared '[a-z]+/' | grep -E '"' | grep -vE '"shared/')"
complain 'collector/ includes only collector/, shared/ and proto/' \
	"$(includes collector '[a-z]+/' | grep -E '"' |
		grep -vE '"(collector|shared|proto)/')"
complain 'the checker of tests/ shares no code with what it checks' \
	"$(includes tests/tools/checker '(collector|preload|shared|proto)/' |
		grep -v '"shared/compiler\.h"')"

complain 'protobuf-c enters through packet.h, out_*.c, heap_dump.c, pprof_read.c and those of push' \
	"$(includes collector '(proto/|protobuf-c)' \
		'collector/(trace/(out_perfetto|packet)\.[ch]|[a-z]+/out_[a-z]+\.c|heap/heap_dump\.c|read/pprof_read\.c|push/(pprof_pack|pyroscope|otlp(_dictionary)?)\.c)')"
complain 'zlib enters through gz_file.c, gz_stream.c, pprof_read.c, own_files.c and reader_main.c' \
	"$(includes collector 'zlib' 'collector/(output/gz_(file|stream)|read/pprof_read|output/own_files|names/reader_main)\.c')"
complain 'libelf enters through elf_read.c and its readers' \
	"$(includes collector '(libelf|gelf|elf)\.h' \
		'collector/(names/(elf_(read|bounds|segments|stubs|twins)\.[ch]|line_starts\.[ch]|memory_image\.c)|profile/unwind_file\.c|code/((code|thunk)_file\.[ch]|code_machine\.h))')"
complain 'libdw enters through symbolize_dwarf.c, symbolize_calls.c and dwarf_name.c, its constants elsewhere' \
	"$(includes collector '(elfutils/|dwarf\.h)' \
		'collector/(names/((symbolize_dwarf|line_starts|unwind_cfi)\.c|(dwarf_name|symbolize_calls)\.[ch])|code/x86_64/(code_facts|code_moves|moved_thunk)\.c)')"
complain 'libunwind enters through unwind.c' \
	"$(includes collector 'libunwind' 'collector/profile/unwind\.c')"
complain 'Zydis enters through code_decode.c, code_facts.c, code_moves.c and elf_assembly.c' \
	"$(includes collector 'Zydis' 'collector/(code/x86_64/code_(decode|facts|moves)|names/elf_assembly)\.c')"
complain 'liblzma enters through mini_debug.c' \
	"$(includes collector 'lzma' 'collector/names/mini_debug\.c')"
complain 'libdeflate enters through trace_bundle.c, index_items.c, trace_packets.c, cut_file.c, cut_pack.c, parquet.c, gz_file.c, gzip.c and page_write.c' \
	"$(includes collector 'libdeflate' 'collector/(trace/trace_bundle|trace/index_items|read/trace_packets|cut/cut_(file|pack)|export/parquet|output/gz_file|push/gzip|page/page_write)\.[ch]')"
complain 'jansson enters through json_text, counters, who.c, summary_*.c, windows.c, push_spool, push_stats.c, report_json.c, report_{io,path}.c, page_header.c, merge_json.c, *_json.c of compare and show, doctor.c, doctor_program.c and those of ctl, mcp, top, what-if and push' \
	"$(includes collector 'jansson' 'collector/(base/json_text|output/counters|record/who|(files|read)/summary_[a-z]+|files/(windows|push_spool)|serve/push_stats|show/[a-z_]+_json|page/page_header|export/merge_json|compare/[a-z]+_json|doctor/doctor(_program)?|serve/ctl_[a-z]+|options/ctl_wire|command/(cmd_(ctl|mcp|top|what_if)|mcp_[a-z]+|report_(io|path)|top_session|ctl_ask)|show/top_rates|push/(window|counts|parca|answer))\.[ch]')"
complain 'ncurses enters through top_screen.c' \
	"$(includes collector '(curses|term)\.h' 'collector/show/top_screen\.c')"
complain 'libmicrohttpd enters through http.h, one_shot.c and pull.c' \
	"$(includes collector 'microhttpd' 'collector/(base/http\.[ch]|page/one_shot\.c|serve/pull\.c)')"
complain 'libcurl enters through those files of push that talk to servers' \
	"$(includes collector 'curl/' 'collector/push/(sender|endpoint|ingest|push_main)\.c')"
complain 'libiberty enters through symbol_name.c and compile_flags.c' \
	"$(includes collector '(libiberty/|demangle)' \
		'collector/(names/symbol_name|command/compile_flags)\.c')"
complain 'files of a recording are made by own_files_create() alone' \
	"$(grep -nE 'O_CREAT|O_TRUNC|[^"](creat|symlinkat|mkfifo) *\(|fopen\(.*, "[wa]' \
		collector/*/*.c collector/*/*/*.c |
		grep -vE '^collector/(output/(own_files|whole_file)|serve/server|serve/metrics|names/symbolize_main|output/cache_files|push/spool)\.c:')"
complain 'check enters through tests/suite.h' \
	"$(includes . 'check\.h' '\./tests/suite\.h')"

complain 'atomics: through shared/atomic.h only' \
	"$(grep -rnE '__ATOMIC_|memory_order_|__sync_|_Atomic|stdatomic' \
		preload collector shared tests --include='*.[ch]' |
		grep -vE '^(shared/atomic|preload/perfrec)\.h:')"

for header in $(git ls-files 'preload/*.h' 'collector/*.h' 'shared/*.h' \
		'tests/*.h'); do
	[ -f "$header" ] || continue
	complain "$header does not compile alone" \
		"$($CC -std=gnu11 -D_GNU_SOURCE -Wall -iquote . -iquote "$O" \
			-fsyntax-only -x c "$header" 2>&1 |
			grep -E 'error|warning' |
			grep -v 'pragma once\|defined but not used')"
done
exit $bad
