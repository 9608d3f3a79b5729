#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# run.sh [CLASS[.TEST]]... - the tests of the page, for perfrec in $O. Without
# Chromium or Python this fails. With PAGE_MAY_SKIP=1, as in `make check`, it
# skips them, and says so in its last line. PAGE_SHOTS=DIR keeps screenshots.
set -u

O=${O:-build}
here=$(dirname "$0")
for program in python3 chromium; do
	command -v $program >/dev/null && continue
	echo "tests/page: SKIPPED: $program is not installed" \
		"(sh scripts/install-deps.sh check)"
	test "${PAGE_MAY_SKIP:-}" && exit 0
	exit 1
done
PYTHONDONTWRITEBYTECODE=1 exec "$O/tests/tools/within" 600 \
	python3 "$here/test_page.py" "$O" "$@"
