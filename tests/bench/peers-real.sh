#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# perf and heaptrack beside perfrec on programs as Debian ships them: their costs,
# and whether they find the same functions. Prints the tables of
# docs/BENCHMARKS.md in markdown.
#
# usage: peers-real.sh BUILD [ROUNDS [NAME...]]
#
# In each round (default: 5) every program runs under every tool once. A ratio
# compares runs of one round; the table has the median of the rounds, the minimum
# and the maximum. The functions are those of a further run with 997 samples a
# second. The time is user + sys of the tool and of all its children: it includes
# the writing of perf, the interpreter of heaptrack, the collector of perfrec.
# Programs: python3, node, xz, redis. Missing programs are skipped, and a line says
# so.
set -eu

build=$(cd "$1" && pwd)
rounds=${2:-5}
[ $# -lt 2 ] || shift
shift
[ $# -gt 0 ] || set -- python3 node xz redis
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export PERFREC_DEADLINE_MS=20000
hz=99 # what perfrec takes
tools='cpu perf exact heaptrack perfrec'

# --- the programs ----------------------------------------------------------------

cat >work.py <<'END'
import json, re
words = [str(i * 7919 % 10007) for i in range(60000)]
text = json.dumps(words)
for i in range(30):
    back = json.loads(text)
    back.sort()
    found = len(re.findall(r'1[0-9]+', text))
    lengths = {w: len(w) for w in back}
print(found, len(lengths))
END

cat >work.js <<'END'
const words = Array.from({ length: 60000 }, (_, i) => String(i * 7919 % 10007));
const text = JSON.stringify(words);
let found = 0;
for (let i = 0; i < 40; i++) {
	const back = JSON.parse(text).sort();
	found = (text.match(/1[0-9]+/g) || []).length + new Set(back).size;
}
console.log(found);
END


# has NAME: it can be run, and is the program in $command.
has()
{
	case $1 in
	python3) command='/usr/bin/python3 work.py' needs=/usr/bin/python3 ;;
	node) command='node work.js' needs=node ;;
	xz) command='xz -6 -T2 -k -c input' needs=xz
		cat "$build"/perfrec* >input ;;
	redis) needs=redis-benchmark
		command="redis-server --port 0 --save '' --logfile /dev/null" ;;
	*) echo "no program $1" >&2; return 1 ;;
	esac
	command -v "$needs" >/dev/null
}

# load: puts load on redis, outside of the measured processes, and ends the server.
load()
{
	until [ -S redis.sock ]; do sleep 0.02; done
	redis-benchmark -s redis.sock -n 60000 -c 20 -q \
		-t set,get,lpush,lpop,zadd >/dev/null
	redis-cli -s redis.sock shutdown nosave >/dev/null 2>&1 || :
}

# measured TOOL...: user + sys of the tool and the program, in ms.
measured()
{
	if [ "$name" = redis ]; then
		rm -f redis.sock
		set -- "$@" redis-server --port 0 --save '' --logfile /dev/null \
			--unixsocket redis.sock
		load &
	else
		# shellcheck disable=SC2086 # words
		set -- "$@" $command
	fi
	bash -c 'TIMEFORMAT="%3U %3S"; time "$@" >/dev/null 2>tool.err' \
		bash "$@" 2>time.out || :
	wait
	awk 'END { printf "%.0f\n", 1000 * ($1 + $2) }' time.out
}

under()
{
	case $1 in
	plain) measured ;;
	perfrec) measured "$build/perfrec" record -q -o default ;;
	cpu) measured "$build/perfrec" record -q --alloc=off --cpu $hz -o cpu ;;
	exact) measured "$build/perfrec" record -q --cpu=off --alloc=exact \
		-o heap ;;
	perf) measured perf record -q -F $hz --call-graph dwarf,16384 \
		-o perf.data ;;
	heaptrack)
		rm -f ht.*
		measured heaptrack -o "$work/ht" ;;
	esac
}

title()
{
	case $1 in
	perfrec) echo 'perfrec, as it comes' ;;
	cpu) echo 'perfrec --alloc=off' ;;
	perf) echo 'perf record -F 99 --call-graph dwarf,16384' ;;
	exact) echo 'perfrec --cpu=off --alloc=exact' ;;
	heaptrack) echo 'heaptrack' ;;
	esac
}

# --- functions -------------------------------------------------------------------

# Names that both have: without parameters and versions; the kernel as one, and
# what has no name by its file.
plain_names()
{
	awk -F '\t' '{
		name = $2
		if (name ~ /\[k\]/ || name ~ /^\[kernel\]/ || $3 ~ /^\[kernel/)
			name = "[kernel]"
		sub(/^\[.\] */, "", name)
		sub(/\(.*/, "", name)
		sub(/\.(localalias|part|isra|constprop|cold)[.0-9]*/, "", name)
		sub(/@plt$/, "", name)
		if (name ~ /^0x/ || name ~ /\+0x/ || name == "")
			name = "in " $3
		sum[name] += $1
	}
	END { for (name in sum) print sum[name] "\t" name }' |
		sort -t "$(printf '\t')" -k 1,1gr -k 2 | head -n 10
}

# file_of: the last part of the path in the third column.
file_of()
{
	sed 's/\t[^\t]*\/\([^\t]*\)$/\t\1/'
}

perfrec_top()
{
	"$build/perfrec" report --view "$1" --json --limit 0 "$2" |
		jq -r --arg type "$3" '.functions[] |
			"\(.self[$type])\t\(.name)\t\(.module)"' |
		file_of | plain_names
}

perf_top()
{
	perf report -i perf.data --no-children -g none --stdio -t '|' \
		-F overhead,symbol,dso 2>/dev/null |
		sed -n 's/^ *\([0-9.]*\)% *|\([^|]*[^| ]\) *| *\([^ ]*\).*/\1\t\2\t\3/p' |
		file_of | plain_names
}

# Calls of allocation functions, by who called them. After "from", the name; a
# line with "in" tells its file.
heaptrack_top()
{
	heaptrack_print -f ht.* -p 0 -T 0 -n 1000 -s 0 2>/dev/null |
		awk '
		/^[0-9]+ calls to allocation functions with/ {
			calls = $1
			getline name
			file = ""
			while ((getline line) > 0 && line != "")
				if (!file && line ~ /^ *in /) {
					file = line
					sub(/^ *in /, "", file)
				}
			print calls "\t" name "\t" file
		}' | file_of | plain_names
}

# both OURS THEIRS: how many of their ten are among ours, and the first three of
# each, as columns.
both()
{
	cut -f 2 "$1" | sort >ours.names
	cut -f 2 "$2" | sort >theirs.names
	common=$(comm -12 ours.names theirs.names | wc -l)
	all=$(wc -l <theirs.names)
	printf '%s of %s | %s | %s |\n' "$((common))" "$((all))" \
		"$(first_three "$1")" "$(first_three "$2")"
}

first_three()
{
	head -n 3 "$1" | cut -f 2 | sed 's/|/\\|/g; s/.*/`&`/' |
		paste -s -d , | sed 's/,/, /g'
}

# --- all of it -------------------------------------------------------------------

for tool in perf heaptrack; do
	command -v $tool >/dev/null && continue
	echo "$tool is not installed (scripts/install-deps.sh bench): left out" >&2
	tools=$(echo "$tools" | sed "s/ *$tool//")
done
echo "| program | tool | user + sys | ratio to plain | lowest to highest |"
echo "|---|---|---|---|---|"
: >functions
: >allocators
for name; do
	has "$name" || {
		echo "$name is not installed: left out" >&2
		continue
	}
	: >times
	for round in $(seq "$rounds"); do
		plain=$(under plain)
		echo "plain $plain 1" >>times
		for tool in $tools; do
			echo "$tool $(under "$tool") $plain" >>times
		done
	done
	for tool in plain $tools; do
		awk -v tool="$tool" '$1 == tool {
			print (tool == "plain" ? 1 : $2 / $3), $2 }' times |
			sort -g |
			awk -v name="$name" -v title="$(title "$tool")" '
			{ ratio[NR] = $1; ms[NR] = $2 }
			END {
				middle = int((NR + 1) / 2)
				printf "| %s | %s | %.2f s | %.2f | ", name,
					title ? title : "plain",
					ms[middle] / 1000, ratio[middle]
				printf "%.2f to %.2f |\n", ratio[1], ratio[NR]
			}'
	done
	# With 997 samples a second the tenth function has more than one or two.
	if [ -e perf.data ]; then
		hz=997
		under cpu >/dev/null
		under perf >/dev/null
		hz=99
		perfrec_top cpu cpu cpu >ours.top
		perf_top >theirs.top
		echo "| $name | $(both ours.top theirs.top)" >>functions
	fi
	if ls ht.* >/dev/null 2>&1; then
		perfrec_top heap heap alloc_objects >ours.top
		heaptrack_top >theirs.top
		echo "| $name | $(both ours.top theirs.top)" >>allocators
	fi
	rm -rf perf.data* cpu cpu.old heap heap.old default default.old ht.*
done
echo
echo "Functions with the most CPU time of their own:"
echo
echo "| program | perf's ten in perfrec's | perfrec's first | perf's first |"
echo "|---|---|---|---|"
cat functions
echo
echo "Functions that allocate most often:"
echo
echo "| program | heaptrack's ten in perfrec's | perfrec's first | heaptrack's first |"
echo "|---|---|---|---|"
cat allocators
