#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# run.sh - what perfrec export writes, opened by the viewers that npm has:
# speedscope's page in Chromium, and the command line of the Firefox Profiler.
# And the flame graph (SVG) and the page, by axe, in Chromium, and the tables
# (Parquet) in DuckDB. Traces are held against the tables that Perfetto's importer
# makes of them (trace_check --importer). npm fetches the viewers into $O/viewers.
# Node 24 is what the last asks for; 18 and 20 have sufficed.
set -eu

TOP=$(cd "$(dirname "$0")/../.." && pwd)
O=$(cd "${O:-build}" && pwd)
work=$O/viewers

for command in npm node chromium python3 jq; do
	command -v "$command" >/dev/null || {
		echo "$command is not installed"
		exit 77
	}
done
mkdir -p "$work"
cd "$work"
[ -f package.json ] || echo '{"private":true}' >package.json
npm install --no-fund --no-audit --loglevel=error \
	speedscope@1.25.0 @firefox-devtools/profiler-cli@0.10.0 \
	@duckdb/node-api@1.5.6-r.1 axe-core@4.14.1
rm -rf data
"$O/perfrec" record -q -o data "$O/tests/progs/export/hostile_names"
exec python3 "$TOP/tests/viewers/check.py" "$O" "$work"
