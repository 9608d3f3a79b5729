# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
#
# Sourced by scripts that compare perfrec's counts with those of
# tests/progs/count_preload.c from the same run.

# same_counts OURS THEIRS: both calls<TAB>name; a name of THEIRS may be several
# that share an address, name|name. Prints the functions that differ.
same_counts() {
	awk -F '\t' '
	first { ours[$2] = $1; next }
	{
		count = split($2, names, "|")
		if ($2 in ours) # operator| is one name
			names[count = 1] = $2
		for (i = 1; i < count && !(names[i] in ours); i++)
			continue
		theirs[names[i]] += $1
	}
	END {
		for (name in theirs)
			if (ours[name] != theirs[name])
				printf "%s: %d calls, counted %d\n", name,
					ours[name], theirs[name]
		for (name in ours)
			if (!(name in theirs))
				printf "%s: %d calls, counted none\n", name,
					ours[name]
	}' first=1 "$1" first=0 "$2" | sort | awk '
	NR <= 20
	END { if (NR > 20) print NR - 20 " more"; exit NR > 0 }'
}

# compare_counts NAME BUILD DATA OUT COUNTFILE...: the recording DATA keeps every
# rule, lost nothing, and has the counts of the counting library, which OUT gets.
# Prints the error and returns 1, or one line and 0.
compare_counts() {
	name=$1
	build=$2
	data=$3
	counts=$4
	shift 4
	"$build/tests/tools/count_names" "$@" >"$counts" || return 1
	"$build/tests/tools/trace_check" --counts "$data/trace.pftrace" \
		>"$counts.all" || return 1
	grep -v '	perfrec: ' "$counts.all" >"$counts.trace"
	jq -r '.functions[] | select(.calls > 0) | "\(.calls)\t\(.name)"' "$data/summary.json" |
		awk -F '\t' '{ calls[$2] += $1 }
			END { for (name in calls)
				printf "%d\t%s\n", calls[name], name }' \
			>"$counts.summary"
	lost=$(jq '.totals | .dropped_spans + .truncated_spans +
		.unslotted_spans + .vfork_spans + .muted_spans + .edge_spans +
		.filtered_spans + .folded_spans +
		.broken_rings' "$data/summary.json")
	if [ "$lost" != 0 ]; then
		echo "$name: $lost spans are lost or left out" >&2
		return 1
	fi
	for kind in trace summary; do
		same_counts "$counts.$kind" "$counts" >"$counts.differ" && continue
		sed "s/^/$name: $kind: /" "$counts.differ" >&2
		return 1
	done
	awk -v name="$name" '{ calls += $1 } END {
		printf "%s: %d calls of %d functions: ", name, calls, NR
		print "counter, summary and trace agree, nothing lost"
	}' "$counts"
}

# profile_counts RAW: calls<TAB>name of each function, from what pprof -raw
# prints. A location's full name stands in parentheses, unless it is the name.
profile_counts() {
	awk '
	/^[A-Z][a-z]*$/ { part = $1 }
	part == "Locations" && $2 ~ /^0x/ {
		id = $1 + 0
		sub(/^ *[0-9]+: 0x[0-9a-f]+ M=[0-9]+ /, "")
		if (match($0, / s=[0-9]+\(.*\)$/)) {
			$0 = substr($0, RSTART)
			sub(/^ s=[0-9]+\(/, "")
			sub(/\)$/, "")
		} else {
			sub(/ [^ ]*:[0-9]+ s=[0-9]+$/, "")
		}
		name[id] = $0
	}
	/^ +[0-9]+ +[0-9]+: [0-9]/ { calls[$3] += $1 }
	END {
		for (id in calls)
			sum[name[id]] += calls[id]
		for (one in sum)
			printf "%d\t%s\n", sum[one], one
	}' "$1"
}

# profile_lines RAW: file<TAB>address in the file<TAB>source:line of locations,
# of a source only the last part of its path.
profile_lines() {
	awk '
	/^[A-Z][a-z]*$/ { part = $1 }
	part == "Locations" && $2 ~ /^0x/ {
		source = $0
		sub(/ s=[0-9]+(\(.*\))?$/, "", source)
		sub(/.*[ \/]/, "", source)
		print "L", substr($3, 3), $2, source
	}
	part == "Mappings" && $2 ~ /^0x/ {
		split($2, place, "/")
		print "M", $1 + 0, place[1], place[3], $3
	}' "$1" | sort -r | while read -r kind map address rest; do
		case $kind in
		M)
			eval "start_$map=$address offset_$map=${rest%% *}"
			eval "file_$map=\${rest#* }"
			;;
		L)
			eval "start=\$start_$map offset=\$offset_$map"
			eval "file=\$file_$map"
			printf '%s\t0x%x\t%s\n' "$file" \
				$((address - start + offset)) "$rest"
			;;
		esac
	done
}

# same_lines LINES: LLVM's addr2line prints the same lines. (binutils 2.40 takes
# functions of headers for functions of the source that includes them.)
same_lines() {
	cut -f 1 "$1" | sort -u | while read -r file; do
		awk -F '\t' -v file="$file" '$1 == file' "$1" >"$1.file"
		cut -f 2 "$1.file" | llvm-addr2line -e "$file" |
			sed 's/ (discriminator.*//; s/.*\///' >"$1.expected"
		paste "$1.file" "$1.expected" |
			awk -F '\t' '$3 != $4'
	done | awk '
	NR <= 20
	END { if (NR > 20) print NR - 20 " more"; exit NR > 0 }'
}

# compare_profile NAME DATA COUNTS: pprof reads the profile of the recording
# DATA, which has the same calls as COUNTS, the time of the summary, and
# addr2line's sources and lines.
compare_profile() {
	profile=$2/wall.pb.gz
	for report in -top '-peek=.' -tags; do
		go tool pprof "$report" "$profile" >"$3.pprof" 2>&1 && continue
		cat "$3.pprof" >&2
		return 1
	done
	go tool pprof -raw "$profile" >"$3.raw" 2>"$3.pprof" || return 1
	self=$(awk '/^ +[0-9]+ +[0-9]+: [0-9]/ { self += $2 }
		END { printf "%.0f", self }' "$3.raw")
	if [ "$self" != "$(jq '[.functions[].self_ns] | add' \
		"$2/summary.json")" ]; then
		echo "$1: profile: $self ns is not what the summary says" >&2
		return 1
	fi
	profile_counts "$3.raw" >"$3.profile"
	profile_lines "$3.raw" >"$3.lines"
	if ! same_counts "$3.profile" "$3" >"$3.differ"; then
		sed "s/^/$1: profile: /" "$3.differ" >&2
		return 1
	fi
	if ! same_lines "$3.lines" >"$3.differ"; then
		sed "s/^/$1: addr2line: /" "$3.differ" >&2
		return 1
	fi
	echo "$1: profile agrees, and addr2line on $(wc -l <"$3.lines") functions"
}

# compare_cpu NAME BUILD DATA SHORT: the CPU time of the recording DATA is within 2 %,
# or 10 ms, of wait4() for the program and its children. If it is at least a second,
# at most 2 % belongs to unknown functions. A shorter program has too few samples
# for that, and is an error unless SHORT is "yes". Prints the result, or prints the
# error and returns 1.
compare_cpu() {
	"$2/perfrec" report --view cpu --limit 0 "$3" >"$3/cpu.txt" || return 1
	unknown=$(awk '$NF == "[unknown]" { print $3; exit }' "$3/cpu.txt")
	rm "$3/cpu.txt"
	jq -r '"\(.totals.cpu_ns) \(.user_ns + .sys_ns)"' "$3/summary.json" |
		awk -v name="$1" -v unknown="${unknown:-0}" -v short="$4" '{
		off = $2 ? 100 * ($1 - $2) / $2 : 0
		apart = $1 < $2 ? $2 - $1 : $1 - $2
		printf "%s: CPU %.2f s, wait4() says %.2f (%+.1f %%), ", name,
			$1 / 1e9, $2 / 1e9, off
		printf "%.1f %% unknown", unknown
		bad = apart > $2 / 50 && apart > 1e7
		if ($2 >= 1e9)
			bad = bad || unknown > 2
		else if (short != "yes")
			bad = 1
		if ($2 < 1e9)
			printf ": less than a second"
		print bad ? ": WRONG" : ""
		exit bad
	}'
}

# compare_ends NAME DATA JUMPS: no end is an orphan, and unless JUMPS is "yes",
# every call ends by itself.
compare_ends() {
	jq -r '.totals | "\(.repaired_slices) \(.orphan_ends)"' \
		"$2/summary.json" | awk -v name="$1" -v jumps="$3" '
		$2 || ($1 && jumps != "yes") {
			printf "%s: %d repaired slices, %d orphan ends: WRONG\n",
				name, $1, $2
			exit 1
		}'
}
