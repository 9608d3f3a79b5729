#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# check-sizes.sh - no file in git has more than 1 MiB: such a file was fetched or
# built, and added by mistake. It would stay in the history for ever.
set -u

git ls-files -z | xargs -0 stat -c '%s %n' 2>/dev/null | awk '
	$1 > 1048576 {
		bytes = $1
		sub(/^[0-9]* /, "")
		printf "%s: %d bytes, more than 1 MiB\n", $0, bytes
		bad = 1
	}
	END {
		if (!NR)
			print "check-sizes.sh: git lists no file"
		exit bad || !NR
	}' >&2
