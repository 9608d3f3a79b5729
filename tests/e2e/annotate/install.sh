#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# perfrec.h as it is installed: found by pkg-config, in C and C++, with nothing
# to link. And docs/ANNOTATIONS.md shows the examples, and their traces, as
# they are.
. "$TOP/tests/e2e/lib.sh"
need gcc make pkg-config

# Other tests run the binaries meanwhile, so make builds nothing again.
make -C "$TOP" -s -o all O="$O" PREFIX="$PWD/usr" install >install.log 2>&1 ||
	{ cat install.log; fail 'make install'; }
export PKG_CONFIG_PATH="$PWD/usr/lib/pkgconfig"
expect_eq 'libraries' "$(pkg-config --libs perfrec)" ''
cat >program.c <<'EOS'
#include <perfrec.h>
int main(void)
{
	PERFREC_SCOPE("main");
	return !perfrec_is_recording();
}
EOS
# shellcheck disable=SC2046 # words, as pkg-config gives them
gcc -Wall -Wextra -Werror $(pkg-config --cflags perfrec) -o program program.c ||
	fail 'does not compile'
run_ok "$PERFREC" record -o data -- ./program
make -C "$TOP" -s O="$O" PREFIX="$PWD/usr" uninstall >install.log 2>&1 ||
	fail 'make uninstall'
expect_eq 'files left behind' "$(find usr -type f)" ''

cd "$TOP" || fail 'no source tree'
awk -f scripts/annotations-doc.awk docs/ANNOTATIONS.md |
	diff -u docs/ANNOTATIONS.md - ||
	fail 'docs/ANNOTATIONS.md is old: awk -f scripts/annotations-doc.awk'
exit 0
