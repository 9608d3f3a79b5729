#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# long: builds and records the demo
#
# `make demo` shows the truth: threads wait for each other, and spend their CPU
# time, as they do in the same program without hooks. It had 4 s of blocked time
# in queue_take, where the plain program has 0.08 s.
. "$TOP/tests/e2e/lib.sh"

# A cache of its own: earlier runs of the user must not change the result.
XDG_CACHE_HOME=$PWD/cache
export XDG_CACHE_HOME
mkdir cache

summary=demo/perfrec.data/summary.json
demo()
{
	rm -rf demo
	O=$O CC=${CC:-cc} sh "$TOP/scripts/demo.sh" demo >out 2>err ||
		fail "$(cat err)"
}
demo
if [ "$(json $summary .totals.sched_threads)" = 0 ]; then
	skip 'the kernel tells of no switches here'
fi
expect_match out '^4000 documents, '
# With no CPU to spare it is not always one of the first 20.
run_ok "$PERFREC" report --limit 0 demo/perfrec.data
expect_match out '^ .* queue_take'

gcc -O1 -g -D_GNU_SOURCE -pthread -o plain "$TOP/tests/progs/demo.c"
# of NAME VALUE VIEW: what the samples or waits of the plain program have below NAME.
of()
{
	"$PERFREC" report --view "$3" --stacks --json --limit 0 plain.data |
		jq --arg name "$1" "[.stacks[] |
		select([.stack[].name] | index(\$name)) | .value.$2] | add // 0"
}
# shown NAME MEMBER: of a function of the demo.
shown()
{
	jq --arg name "$1" "[.functions[] | select(.name == \$name) | .$2] |
		add // 0" $summary
}
# Runs differ as the load does: while a thread waits for a CPU, others wait for the
# thread. So both programs run again. The demo was off by 40.
near()
{
	awk -v is="$1" -v was="$2" -v most="$3" 'BEGIN {
		exit !(is > 0 && was > 0 && is / was < most && was / is < most) }'
}
# blocked FILE MEMBER: the blocked time of all threads but the main one, which only
# waits for the others. In the plain program most waits are too short for a stack,
# so switches must say it.
blocked()
{
	jq ".totals.$2 - .wall_ns" "$1"
}
as_plain()
{
	rm -rf plain.data
	"$PERFREC" record -q --alloc off --cpu 999 -o plain.data ./plain 4000 9000 \
		>plain.out || fail 'the plain program'
	blocked="$(blocked $summary blocked_ns) \
		$(blocked plain.data/summary.json silent_blocked_ns)"
	ran="$(jq '.user_ns + .sys_ns' $summary) \
		$(jq '.user_ns + .sys_ns' plain.data/summary.json)"
	# shellcheck disable=SC2086 # two numbers each
	near $blocked 3 && near $ran 1.5
}
as_plain || { demo; as_plain; } || { demo; as_plain; } ||
	{ demo; as_plain; } || { demo; as_plain; } ||
	fail "blocked, and in the plain program: $blocked ns; CPU time: $ran"
# All of it is for documents.
jq -e '[.functions[] | select(.name == "queue_take") | .blocked_self_ns][0] * 2 >
	.totals.blocked_ns - .wall_ns' $summary >/dev/null ||
	fail "blocked in queue_take: $(shown queue_take blocked_self_ns) of $blocked"
# How the CPU time of two threads compares.
ratio()
{
	awk -v a="$1" -v b="$2" 'BEGIN { print (b > 0 ? a / b : 0) }'
}
is=$(ratio "$(shown write_document on_cpu_ns)" "$(shown index_document on_cpu_ns)")
was=$(ratio "$(of write_document cpu cpu)" "$(of index_document cpu cpu)")
near "$is" "$was" 2 ||
	fail "CPU time of writing by that of indexing: $is, and $was without hooks"
