#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Functions of plugins whose file was deleted after dlopen(), or never had a
# name (memfd_create()), have names: where the mapping may be opened, and where
# it may not, from the memory of the process.
. "$TOP/tests/e2e/lib.sh"

for i in 1 2; do
	printf 'int plugin%d(int i) { return i + %d; }\n' $i $i >plugin$i.c
	${CC:-gcc} -O1 -g -fPIC -shared -finstrument-functions \
		-o plugin$i.so plugin$i.c || fail 'cannot compile a plugin'
done

prog names/deleted_plugin host

# record COMMAND...: by that command; looks at names while the program runs.
record()
{
	rm -rf data did go
	"$@" "$PERFREC" record -q -o data -- ./host >out 2>err &
	perfrec=$!
	wait_for 60 test -e did
	"$@" "$PERFREC" ctl -o data flush >flush.out 2>&1 ||
		fail "flush: $(cat flush.out)"
	touch go
	wait $perfrec || fail "perfrec record failed: $(cat err)"
	expect_eq 'what the program prints' "$(cat out)" 6
	expect_no_match err 'replaced or deleted'
	json data/summary.json '.functions[] | .name + " " + .module' >names
	expect_match names '^plugin1 .*deleted[.]so$' '^plugin2 /memfd:in memory$'
}

record env
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null &&
	[ "$(cat /proc/sys/kernel/yama/ptrace_scope 2>/dev/null || echo 0)" = 0 ]
then
	chmod 777 .
	record setpriv --reuid 65534 --regid 65534 --clear-groups
fi
