#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Annotations and the whole of perfrec: --categories, before the first site is
# reached; perfrec_flush(), which comes back when the collector has read; and
# programs that annotate under limits and settings of all kinds.
. "$TOP/tests/e2e/lib.sh"
need gcc

# record ARGUMENTS... -- COMMAND...
record()
{
	rm -rf data
	run_ok "$PERFREC" record -o data "$@"
}

# expect_spans WHAT NAMES: of annotations, in order of their names.
expect_spans()
{
	"$PERFREC" report --json data >report.json || fail 'no report'
	expect_eq "$1" "$(json report.json '[.functions[] |
		select(.module == "annotation" and .calls > 0) | .name] | sort |
		join(" ")')" "$2"
}

gcc -I"$TOP/preload" -o categories "$TOP/docs/examples/categories.c" ||
	fail 'categories.c'
record -- ./categories
expect_spans 'without a list' 'connect headers query'
record --categories 'net*,-net.debug' -- ./categories
expect_spans 'net*,-net.debug' 'connect'
record --categories 'debug.*,db' -- ./categories
expect_spans 'debug.*,db' 'query verbose'
record --categories 'nothing' -- ./categories
expect_spans 'nothing' ''

# The flush may take a second; on a busy machine, several.
cat >flush.c <<'EOS'
#include <perfrec.h>
int main(void)
{
	int tries;
	{
		PERFREC_SCOPE("before");
	}
	for (tries = 0; tries < 60; tries++)
		if (perfrec_flush())
			return 0;
	return 1;
}
EOS
gcc -I"$TOP/preload" -o flush flush.c || fail 'flush.c'
record -- ./flush
expect_spans 'flushed' 'before'

# Settings that take the hooks off the fast path.
gcc -I"$TOP/preload" -o all "$TOP/tests/progs/annotate/all.c" || fail 'all.c'
record -- ./all
"$PERFREC" report --json data >report.json || fail 'no report'
spans=$(json report.json '[.functions[] | select(.module == "annotation") |
	.calls] | add')
[ "$spans" -ge 5 ] || fail "only $spans spans"
for settings in PERFREC_RSEQ=off PERFREC_RING_KB=64; do
	export "$settings"
	record -- ./all
	unset "${settings%=*}"
	"$PERFREC" report --json data >report.json || fail 'no report'
	expect_eq "spans with $settings" "$(json report.json '[.functions[] |
		select(.module == "annotation") | .calls] | add')" "$spans"
done
record --depth 1 -- ./all
expect_spans 'of depth 1' 'plain'
exit 0
