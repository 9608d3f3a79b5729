#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Patches annotations (perfrec.h) into memcached, a server with threads, and
# records it under load. The main thread hands a connection over in a slice. A flow
# of its own links this slice with the requests on the worker's thread.
#
# usage: annotate.sh BUILD DIR
#
# BUILD is the make's $(O); DIR caches sources and the program. Ends with a line
# "N passed, N failed, N skipped". Exits with 77 when the sources cannot be
# fetched.
set -eu

build=$(cd "$1" && pwd)
mkdir -p "$2"
dir=$(cd "$2" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
# shellcheck source=tests/real/fetch.sh
. "$here/fetch.sh"
# shellcheck source=tests/real/parts.sh
. "$here/parts.sh"
need_tools "$build"

export PERFREC_DEADLINE_MS=20000
work=$(mktemp -d "$dir/run.XXXXXX")
trap 'rm -rf "$work"' EXIT
tree=$dir/annotated/memcached

# behind FILE LINE TEXT: put TEXT behind the one line that matches LINE.
behind() {
	awk -v line="$2" -v text="$3" '
		{ print }
		$0 ~ line { print text; found++ }
		END { exit found != 1 }' "$1" >"$1.new" || {
		echo "$1: not one line is '$2'" >&2
		return 1
	}
	mv "$1.new" "$1"
}

# Connections have a number that nobody else uses: the tag of their listener.
patch_memcached() {
	for file in thread.c proto_text.c memcached.c; do
		behind "$file" '^#include "memcached.h"$' \
			'#include "perfrec.h"' || return
	done
	behind thread.c '^    item->conntag = conntag;$' \
		'    { static uint64_t count; item->conntag = ++count; }
    PERFREC_SCOPE("dispatch", "fd", sfd,
                  PERFREC_FLOW, perfrec_local_id(item->conntag));' || return
	behind proto_text.c '^void process_command_ascii.conn .c, char .command. [{]$' \
		'    PERFREC_SCOPE("request", "fd", c->sfd, "command", command,
                  PERFREC_FLOW, perfrec_local_id(c->tag));' || return
	behind memcached.c '^static void conn_close.conn .c. [{]$' \
		'    PERFREC_INSTANT("close", "fd", c->sfd,
                    PERFREC_FLOW_END, perfrec_local_id(c->tag));'
}

# Its status decides, where set -e would not: behind an "if".
build_memcached() {
	patch_memcached &&
		touch aclocal.m4 && touch configure config.h.in &&
		find . -name Makefile.in -exec touch {} + &&
		./configure CC=gcc CFLAGS="-g -O2 -I$top/preload" &&
		make "-j$(nproc)" memcached &&
		gcc -O2 -o load "$here/memcached_load.c" -lpthread
}

# The program with annotations is in $tree.
made_annotated() {
	fetch memcached
	need_package /usr/include/event.h libevent-dev
	# Builds it again if a source is newer.
	if [ ! -e "$tree/load" ] ||
		[ "$top/preload/perfrec.h" -nt "$tree/load" ] ||
		[ "$here/annotate.sh" -nt "$tree/load" ]; then
		rm -rf "$tree"
		mkdir -p "$dir/annotated"
		cp -pr "$dir/src"/memcached-*/ "$tree"
		if ! (cd "$tree" && build_memcached) >"$work/log" 2>&1; then
			tail -n 20 "$work/log" >&2
			echo "memcached: cannot build it" >&2
			exit 1
		fi
	fi
}

# Each request's flow starts on the main thread and continues on another one,
# always the same; nothing was lost.
linked() {
	awk '
		/^[^ ]/ { track = $0; tracks++ }
		/^ / && /flow/ {
			match($0, /#[0-9]+/)
			id = substr($0, RSTART, RLENGTH)
			if ($2 == "dispatch") {
				if (track != "main thread")
					bad = "a dispatch on " track
				dispatched[id] = 1
			} else if ($2 == "request") {
				requests++
				if (track == "main thread")
					bad = "a request on the main thread"
				if ((id in by) && by[id] != tracks)
					bad = "requests of one connection on two threads"
				by[id] = tracks
			}
		}
		END {
			for (id in by) {
				connections++
				if (!(id in dispatched))
					bad = "flow " id " comes from nowhere"
			}
			for (id in by)
				threads[by[id]] = 1
			for (thread in threads)
				workers++
			printf "memcached: %d requests on %d connections, ",
				requests, connections
			printf "by %d workers, linked to where they came from\n",
				workers
			if (requests < 1000 || connections < 4 || workers < 2)
				bad = "too few"
			if (bad)
				print "memcached: " bad
			exit bad != ""
		}' "$work/text"
}

nothing_lost() {
	for total in dropped_annotations withheld_annotations odd_annotations \
		dropped_spans; do
		grep -Eq "\"$total\": 0,?$" "$work/data/summary.json" || {
			echo "memcached: $total is not 0" >&2
			exit 1
		}
	done
}

annotate() {
	made_annotated
	"$build/perfrec" record --quiet --on-full block -o "$work/data" -- \
		sh "$here/serve.sh" "$work/socket" "$tree/load $work/socket 4 20" \
		"$tree/memcached" -u root -t 4 -s "$work/socket"
	"$build/tests/tools/trace_check" --text "$work/data/trace.pftrace" \
		>"$work/text"
	linked
	nothing_lost
}

part "memcached with annotations" annotate
parts_end
