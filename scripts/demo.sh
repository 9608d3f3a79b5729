#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# demo.sh - record tests/progs/demo, a small multi-threaded program built with
# -finstrument-functions, and say how to look at what came of it. `make demo`
# has built everything into $O.
set -eu

O=${O:-build}
dir=$O/demo/perfrec.data

mkdir -p "$O/demo"
echo "\$ $O/perfrec record -o $dir -- $O/tests/progs/demo"
"$O/perfrec" record -o "$dir" -- "$O/tests/progs/demo"
cat <<END

The trace has every call the program made. To look at it, open
https://ui.perfetto.dev and drop this file on the page; it stays on this
machine:

    $dir/trace.pftrace

Where the time went, by full stack and source line (Debian: golang-go):

    go tool pprof -http :0 $dir/wall.pb.gz

The summary again, with other columns first, or for a script:

    $O/perfrec report --sort calls $dir
    $O/perfrec report --json $dir
END
