#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# page.sh [SPANS] - how long perfrec report --html takes for a large trace, how
# much memory, how large the page is, and when it can be used in Chromium.
set -eu
O=${O:-build}
spans=${1:-100000000}
dir=$O/tests/bench/page.data
trap 'rm -rf "$dir" "$dir.old" "$dir.html"' EXIT

"$O/perfrec" record -q --max-size 8G -o "$dir" -- \
	"$O/tests/bench/page_calls" "$spans" 4
echo "trace: $(stat -c %s "$dir/trace.pftrace") bytes," \
	"load $(cut -d' ' -f1 /proc/loadavg)"
/usr/bin/time -f '%e s, %U s of CPU time in the program, %M KB of memory' \
	"$O/perfrec" report --html "$dir.html" "$dir"
echo "page: $(stat -c %s "$dir.html") bytes"
ready() { PYTHONDONTWRITEBYTECODE=1 python3 "$(dirname "$0")/../page/ready.py" "$@"; }
if command -v chromium >/dev/null; then
	ready "$dir.html"
	ready --large "$O/page_template.html"
else
	echo "ready in Chromium: SKIPPED: chromium is not installed"
fi
