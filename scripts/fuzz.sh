#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# fuzz.sh BUILD SECONDS TARGET... - run targets of tests/fuzz, built with
# libFuzzer, for SECONDS each, as many at a time as there are CPUs, and say how
# many inputs each has run and how much code they reach. New inputs that reach
# more stay in BUILD/corpus/TARGET for the next time; one that fails is shown,
# and lies in BUILD/found/TARGET.
#
# fuzz.sh BUILD --replay TARGET... - only run the inputs of tests/fuzz/corpus.
#
# JOBS=N: so many at a time.
set -u

build=$1 seconds=$2
shift 2
corpus=tests/fuzz/corpus

if [ "$seconds" = --replay ]; then
	for target in "$@"; do
		log=$(mktemp) || exit 1
		timeout -k 5 300 "$build/tests/fuzz/fuzz_$target" \
			"$corpus/$target" >"$log" 2>&1 && status=0 || status=$?
		if [ $status -eq 0 ]; then
			tail -n 1 "$log"
		else
			echo "not ok fuzz_$target: exit status $status"
			tail -n 60 "$log" | sed 's/^/    | /'
		fi
		rm -f "$log"
		[ $status -eq 0 ] || exit 1
	done
	exit 0
fi

# One process for each target: "fuzz.sh BUILD SECONDS --one TARGET".
if [ "${1:-}" = --one ]; then
	target=$2
	kept=$build/corpus/$target found=$build/found/$target
	mkdir -p "$kept" "$found"
	log=$found/log
	# Half the seconds more, and a minute, for what was found before.
	timeout -k 5 $((seconds + seconds / 2 + 60)) \
		"$build/tests/fuzz/fuzz_$target" -max_total_time="$seconds" \
		-timeout=20 -rss_limit_mb=2048 -close_fd_mask=3 -max_len=65536 \
		-artifact_prefix="$found/" -print_final_stats=1 \
		"$kept" "$corpus/$target" >"$log" 2>&1 && status=0 || status=$?
	if [ $status -ne 0 ]; then
		echo "not ok fuzz_$target: exit status $status; see $found"
		tail -n 60 "$log" | sed 's/^/    | /'
		exit 1
	fi
	awk -v target="$target" '
		/ cov: / { for (i = 1; i < NF; i++) if ($i == "cov:") cov = $(i + 1) }
		/stat::number_of_executed_units/ { runs = $2 }
		/stat::new_units_added/ { added = $2 }
		/stat::peak_rss_mb/ { rss = $2 }
		END { printf "ok     fuzz_%s: %d runs, %d edges, %d new inputs, %d MB\n",
			target, runs, cov, added, rss }' "$log"
	exit 0
fi

printf '%s\n' "$@" |
	xargs -n 1 -P "${JOBS:-$(nproc)}" sh "$0" "$build" "$seconds" --one
