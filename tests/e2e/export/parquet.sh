# SPDX-License-Identifier: Apache-2.0
# long: reads each table back by a second reader
#
# perfrec export --to parquet: all tables, read by a strict reader of the tests'
# own, say what perfrec dump, csv and folded stacks say. make check-viewers has
# DuckDB read them.
. "$TOP/tests/e2e/lib.sh"
need python3

# rows TABLE [COLUMN...]: of ./tables, as JSON, an array for each, of all columns
# or these.
rows()
{
	table=tables/$1.parquet
	shift
	python3 "$TOP/tests/e2e/lib/parquet_read.py" "$table" "$@" >rows ||
		fail "$table is not as it must be"
	tail -n +2 rows
}
export_tables()
{
	rm -rf tables
	run_ok "$PERFREC" export --to parquet -o tables "$@"
	[ ! -s out ] && [ ! -s err ] || fail 'something is said'
	expect_eq 'files' "$(ls -A tables | tr '\n' ' ')" \
		'allocations.parquet blocked.parquet calls.parquet functions.parquet recordings.parquet samples.parquet waits.parquet '
}

# Hostile names, arguments, slices that are no calls: as perfrec dump has them.
prog export/hostile_names
"$PERFREC" record -q -o data ./hostile_names || fail 'cannot record'
export_tables data
"$PERFREC" dump data >dump || fail 'cannot dump'
rows calls >listed
python3 - <<'END' || fail 'calls and perfrec dump differ'
import json
rows = [json.loads(line) for line in open("listed")]
tracks, open_calls, wanted, last = {}, {}, [], 0
for line in open("dump"):
    one = json.loads(line)
    kind = one["kind"]
    if kind == "track":
        tracks[one["track"]] = one
    if kind == "begin":
        last += 1
        open_calls.setdefault(one["track"], []).append((last, one))
    if kind == "end":
        number, begin = open_calls[one["track"]].pop()
        around = open_calls[one["track"]]
        track = tracks[one["track"]]
        process = tracks[track["process"]]
        wanted.append([
            "data", number, around[-1][0] if around else None, begin["ns"],
            one["took_ns"], one["self_ns"], begin.get("category"), one["name"],
            one["depth"], one["track"], track["tid"], track["name"], 0,
            process["pid"], process["name"],
            begin.get("arguments", {}) | one.get("arguments", {}), None, None])
assert len(rows) == len(wanted) > 20, (len(rows), len(wanted))
for got, want in zip(rows, wanted):
    got[-3] = json.loads(got[-3]) if got[-3] else {}
    assert got == want, (got, want)
assert any(row[-3] for row in rows)
END
"$PERFREC" export --to csv -o csv data || fail 'cannot export'
expect_eq 'functions' "$(rows functions | wc -l)" "$(($(wc -l <csv) - 1))"
expect_eq 'the recording' "$(rows recordings | jq -c '[.[0, 2, 8]]')" \
	'["data","hostile_names",0]'

# More rows than fit into a row group; then the outer calls only.
build_calls
"$PERFREC" record -q -o many ./calls 130000 >out || fail 'cannot record'
export_tables many
"$PERFREC" export --to csv --calls -o csv many || fail 'cannot export'
rows calls tid dur self_dur depth name | sed 's/^\[//; s/\]$//; s/, /,/g' >got
tr -d '\r' <csv | tail -n +2 | awk -F, '{ print $2 "," $5 "," $6 "," $7 "," $8 }' >wanted
cmp -s wanted got || fail 'calls and csv differ'
# Waits for the collector are slices as well.
expect_eq 'calls' "$(grep -Ec '"(main|work|leaf)"$' got)" 130002
export_tables --depth 2 many
expect_eq 'outer calls' "$(rows calls | jq -r '.[7]' | grep -v '^perfrec:' | sort | tr '\n' ' ')" 'main work '

# Locks and allocations.
build locks -pthread <<'SOURCE'
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;
static void *volatile kept;
__attribute__((noinline)) static void hold(void)
{
	pthread_mutex_lock(&table);
	usleep(20000);
	pthread_mutex_unlock(&table);
}
__attribute__((noinline)) static void *many(void *unused)
{
	for (int i = 0; i < 10; i++) {
		hold();
		free(malloc(1000));
	}
	return unused;
}
__attribute__((noinline)) static void keep(void)
{
	kept = malloc(5000);
}
int main(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, many, NULL);
	many(NULL);
	pthread_join(thread, NULL);
	keep();
	return 0;
}
SOURCE
"$PERFREC" record -q -o locks.data ./locks || fail 'cannot record'
export_tables locks.data
sum()
{
	"$PERFREC" export --to folded --value "$1" locks.data |
		awk '{ sum += $NF } END { printf "%d", sum }'
}
expect_eq 'allocated' "$(rows allocations | jq -s 'map(.[7]) | add')" \
	"$(sum alloc_space)"
expect_eq 'kept' "$(rows allocations |
	jq -s 'map(select(.[1] == "keep")) | map(.[9]) | add')" 5000
# Without the kernel's events there are none.
if [ -f locks.data/offcpu.pb.gz ]; then
	expect_eq 'blocked' "$(rows blocked | jq -s 'map(.[7]) | add')" "$(sum blocked)"
	"$PERFREC" dump locks.data | jq -c 'select(.kind == "wait") |
		[.ns, .took_ns, .name] + (.arguments | [.lock, .held_by,
		.held_by_tid, .held_in, .woken_by, .woken_by_tid, .woken_in,
		.result])' | sort >wanted
	rows waits | jq -c '.[1:4] + .[11:]' | sort >got
	cmp -s wanted got || fail 'waits and perfrec dump differ'
fi
"$PERFREC" dump locks.data | jq -r 'select(.kind == "sample") | .ns' | sort >wanted
rows samples | jq -r '.[1]' | sort >got
cmp -s wanted got || fail 'samples and perfrec dump differ'

# A second export writes the same files.
cp tables/calls.parquet before
run_ok "$PERFREC" export --to parquet -o tables locks.data
cmp -s before tables/calls.parquet || fail 'not the same again'

# An export that fails leaves no file.
run "$PERFREC" export --to parquet data
expect_error 2 '--to parquet: give the name of a folder with -o'
run "$PERFREC" export --to parquet -o data data
expect_error 2 "-o 'data': that is the recording itself; choose another folder"
run "$PERFREC" export --to parquet -o csv data
expect_error 1 "cannot write 'csv': Not a directory"
run "$PERFREC" export --to parquet -o none/tables data
expect_error 1 "cannot write 'none/tables': No such file or directory"
run "$PERFREC" export --to parquet -o new none
expect_status 1
expect_none new
run sh -c 'trap "" XFSZ; ulimit -f 8; exec "$@"' sh "$PERFREC" export --to parquet -o new many
expect_error 1 "cannot write.*File too large"
expect_none new
run sh -c 'trap "" XFSZ; ulimit -f 8; exec "$@"' sh "$PERFREC" export --to parquet -o tables many
expect_status 1
expect_eq 'files' "$(ls -A tables | wc -l)" 7
cmp -s before tables/calls.parquet || fail 'an older file is gone'
