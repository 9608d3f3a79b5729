#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# run.sh [CLASS[.TEST]]... - the tests of the page, for perfrec in $O. They are
# left out, and that is said, where there is no Chromium or no Python.
# PAGE_SHOTS=DIR keeps screenshots there.
set -u

O=${O:-build}
here=$(dirname "$0")
for program in python3 chromium; do
	command -v $program >/dev/null || {
		echo "tests/page: skipped: $program is not installed" \
			"(sh scripts/install-deps.sh check)"
		exit 0
	}
done
PYTHONDONTWRITEBYTECODE=1 exec timeout -k 10 600 \
	python3 "$here/test_page.py" "$O" "$@"
