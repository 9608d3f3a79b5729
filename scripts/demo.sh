#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# demo.sh [FOLDER] - build tests/progs/demo.c, a small multi-threaded program,
# with entry hooks, record it within a budget, and say how to view the result.
# Its tiny functions are only counted then, so threads wait for each other as they
# do without perfrec; tests/e2e/cli/demo.sh holds it to that. `make demo` has built
# everything into $O. FOLDER: where to put it ($O/demo).
set -eu

O=${O:-build}
to=${1:-$O/demo}
dir=$to/perfrec.data
source=$(dirname "$0")/../tests/progs/demo.c

mkdir -p "$to"
run()
{
	echo "\$ $*"
	"$@"
}
run "$O/perfrec" cc --hooks=entry "${CC:-cc}" -O1 -g -D_GNU_SOURCE -pthread \
	-o "$to/demo" "$source"
run "$O/perfrec" record --overhead 10% -o "$dir" -- "$to/demo" 4000 9000
cat <<END

The trace has the calls that were recorded. To look at it, open
https://ui.perfetto.dev and drop this file on the page; it stays on this
machine:

    $dir/trace.pftrace

Where the time went, by full stack and source line (Debian: golang-go):

    go tool pprof -http :0 $dir/wall.pb.gz

The summary again, with other columns first, or for a script:

    $O/perfrec report --sort blocked $dir
    $O/perfrec report --json $dir
END
