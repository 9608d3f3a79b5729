#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# fuzz.sh BUILD SECONDS TARGET... - run targets of tests/fuzz, built with
# libFuzzer, for SECONDS each, one on each CPU, and print how many inputs each
# has run and how much code they reach. New inputs that reach more stay in
# BUILD/corpus/TARGET for the next time; an input that fails is shown, and kept
# in BUILD/found/TARGET.
#
# fuzz.sh BUILD --replay TARGET... - only run the inputs in tests/fuzz/corpus and in
# the folder SEEDS, which tests/fuzz/make-seeds.py makes.
#
# fuzz.sh BUILD --runs TARGET... - run these, and new inputs: 20,000 of them, or
# four seconds. They are the same each time if the target is deterministic.
#
# JOBS=N: N targets at a time.
set -u

build=$1 seconds=$2
shift 2
corpus=tests/fuzz/corpus seeds=${SEEDS:-$build/tests/fuzz/seeds}

# inputs TARGET: the folders with its inputs.
inputs()
{
	for folder in "$corpus/$1" "$seeds/$1"; do
		[ ! -d "$folder" ] || echo "$folder"
	done
}

# show TARGET LOG STATUS: that it failed.
show()
{
	echo "not ok fuzz_$1: exit status $3; see $build/found/$1"
	tail -n 60 "$2" | sed 's/^/    | /'
}

# sum_up TARGET LOG: what libFuzzer's last lines say.
sum_up()
{
	awk -v target="$1" '
		/ ft: / { for (i = 1; i < NF; i++) if ($i == "ft:") reached = $(i + 1) }
		/stat::number_of_executed_units/ { runs = $2 }
		/stat::new_units_added/ { added = $2 }
		/stat::peak_rss_mb/ { rss = $2 }
		END { printf "ok     fuzz_%s: %d runs, %d features, %d new inputs, %d MB\n",
			target, runs, reached, added, rss }' "$2"
}

# fuzz TARGET NEW LIMIT OPTION...: for LIMIT seconds at most; new inputs go to NEW.
fuzz()
{
	target=$1 kept=$2 limit=$3
	shift 3
	found=$build/found/$target log=$build/found/$target/log
	mkdir -p "$kept" "$found"
	"$build/tests/tools/within" "$limit" "$build/tests/fuzz/fuzz_$target" "$@" \
		-timeout=60 -rss_limit_mb=2048 -close_fd_mask=3 -max_len=65536 \
		-artifact_prefix="$found/" -print_final_stats=1 \
		"$kept" $(inputs "$target") >"$log" 2>&1 && status=0 || status=$?
	if [ $status -eq 0 ]; then
		sum_up "$target" "$log"
	else
		show "$target" "$log" $status
	fi
	return $status
}

# replay TARGET
replay()
{
	found=$build/found/$1 log=$build/found/$1/log
	mkdir -p "$found"
	"$build/tests/tools/within" 300 "$build/tests/fuzz/fuzz_$1" $(inputs "$1") \
		>"$log" 2>&1 &&
		status=0 || status=$?
	if [ $status -eq 0 ]; then
		tail -n 1 "$log"
	else
		show "$1" "$log" $status
	fi
	return $status
}

# One process for each target: "fuzz.sh BUILD SECONDS --one TARGET".
if [ "${1:-}" = --one ]; then
	case $seconds in
	--replay) replay "$2" ;;
	--runs)
		new=$(mktemp -d) || exit 1
		fuzz "$2" "$new" 300 -seed=1 -runs=20000 -max_total_time=4
		status=$?
		rm -rf "$new"
		(exit $status) ;;
	# The inputs of earlier runs may take half the seconds, and a minute, more.
	*)	fuzz "$2" "$build/corpus/$2" $((seconds + seconds / 2 + 60)) \
			-max_total_time="$seconds" ;;
	esac || exit 1
	exit 0
fi

printf '%s\n' "$@" |
	xargs -n 1 -P "${JOBS:-$(nproc)}" sh "$0" "$build" "$seconds" --one
