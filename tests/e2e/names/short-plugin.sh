#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Exported functions of plugins that come and go before the collector has looked
# have names: what a program has made for itself it deletes, or writes anew,
# soon. Here the collector is stopped meanwhile, so that it surely has not
# looked.
. "$TOP/tests/e2e/lib.sh"
need pgrep

for name in first second third fourth fifth other; do
	cat >$name.c <<-SOURCE
	static int __attribute__((noinline)) ${name}_inner(int i)
	{
		return i * 3;
	}
	int $name(int i)
	{
		return ${name}_inner(i) + 1;
	}
	SOURCE
	${CC:-gcc} -O1 -g -fPIC -shared -finstrument-functions \
		-Wl,--build-id -o $name.so $name.c || fail 'cannot compile a plugin'
done

prog names/short_plugin host

"$PERFREC" record -q -o data -- ./host >out 2>err &
perfrec=$!
wait_for 60 test -e did
collector=$(pgrep -P $perfrec perfrec-collect) || fail 'no collector'
stop_process "$collector"
touch go
# It has ended when perfrec has nobody but the collector.
host_ended()
{
	! pgrep -P $perfrec -x host >pids
}
wait_for 60 host_ended
kill -CONT "$collector"
wait $perfrec || fail "perfrec record failed: $(cat err)"
expect_eq 'what the program prints' "$(cat out)" 20
expect_no_match err 'its functions have no names'
json data/summary.json '.functions[] | .name + " " + .module' >names
expect_match names '^first .*/plugin[.]so$' '^second .*/plugin[.]so$' \
	'^third .*/plugin[.]so$' '^fourth /' '^fifth .*/last[.]so$'
# Only exported names are in memory. Other functions have module, address and a
# reason.
expect_match err 'plugin[.]so.* static functions, has no names' \
	'last[.]so.* static functions, has no names'
expect_match names '^plugin[.]so[+]0x' '^last[.]so[+]0x' '^[0-9]+[+]0x'
