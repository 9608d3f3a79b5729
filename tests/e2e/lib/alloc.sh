# SPDX-License-Identifier: Apache-2.0
#
# alloc.sh - compares what perfrec says of a program's memory with a count of
# the tests' own (tests/progs/count_alloc_preload.c) of the same run.

counter=$O/tests/progs/libcount_alloc_preload.so

# counted NAME: "allocs bytes live live_bytes" of the images of that name.
counted()
{
	cat count."$1".* | od -An -v -t u8 -w48 | awk '
		{ a += $1; b += $2; f += $3; g += $4; lost += $6 }
		END {
			if (lost)
				print "the counter lost", lost
			else
				printf "%.0f %.0f %.0f %.0f\n", a, b,
					a - f, b - g
		}'
}

# same_memory NAME COMMAND...: records it, with $input, $options, and $beneath
# (libraries to preload after the counter). Its output and status are the same as
# without perfrec, and every number equals the counter's. The recording stays in
# ./data. NAME is the kernel's name of the program.
input=/dev/null options='' beneath=''
same_memory()
{
	name=$1
	shift
	rm -rf count.* data
	plain=0
	LD_PRELOAD=$beneath "$@" <"$input" >plain.out 2>plain.err || plain=$?
	# shellcheck disable=SC2086 # a list of options
	COUNT_OUT=$PWD/count LD_PRELOAD="$counter${beneath:+:$beneath}" run \
		"$PERFREC" record -q --on-full block --alloc=exact --cpu=off \
		$options -o data -- "$@" <"$input"
	expect_status "$plain"
	cmp plain.out out || fail "$name: another output with perfrec"
	cmp plain.err err || fail "$name: another stderr with perfrec"
	expected=$(counted "$name")
	expect_eq "$name: allocations, bytes, live blocks, live bytes" \
		"$(json data/summary.json '.totals |
			[.allocs, .alloc_bytes, .live_blocks, .live_bytes] |
			map(tostring) | join(" ")')" "$expected"
	"$PERFREC" report --view heap --json data >heap.json ||
		fail "$name: no heap profile"
	expect_eq "$name: the same, in heap.pb.gz" \
		"$(json heap.json '.sum | [.alloc_objects, .alloc_space,
			.inuse_objects, .inuse_space] |
			map(tostring) | join(" ")')" "$expected"
	expect_eq "$name: what was lost" "$(json data/summary.json '.totals |
		.dropped_allocs + .dropped_frees + .unslotted_allocs +
		.unslotted_frees + .untracked_blocks + .odd_heap_records')" 0
	echo "$name: $expected"
}
