#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# check-deb.sh PACKAGE - lintian has nothing to say about it; and on a new Debian
# 12, made by debootstrap, it installs, records a program, and is removed
# without a trace. As root, with the network; some minutes.
set -eu
package=$(realpath "$1")
root=$(mktemp -d)
clean_up()
{
	umount "$root/proc" 2>/dev/null || :
	rm -rf --one-file-system "$root"
}
trap clean_up EXIT

found=$(lintian --allow-root --tag-display-limit 0 -E -I "$package" | grep -v '^N: ' || :)
[ -z "$found" ] || { echo "lintian: $found"; exit 1; }

inside()
{
	chroot "$root" env DEBIAN_FRONTEND=noninteractive LC_ALL=C PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"
}
files()
{
	(cd "$root" && find . -xdev -path ./proc -prune -o -path ./var -prune -o \
		-path ./etc/ld.so.cache -prune -o -print | sort)
}

debootstrap --variant=minbase bookworm "$root" >"$root.log" 2>&1 || {
	tail "$root.log"
	exit 1
}
rm -f "$root.log"
mount -t proc proc "$root/proc"
cp "$package" "$root/var/tmp/perfrec.deb"
inside apt-get -qq update
# The dependencies stay installed when the package goes, so they come first.
inside sh -c 'apt-get -qq install -y $(dpkg-deb -f /var/tmp/perfrec.deb Depends |
	sed "s/([^)]*)//g; s/,/ /g") gcc libc6-dev >/var/tmp/log 2>&1' ||
	{ tail "$root/var/tmp/log"; exit 1; }
files >"$root/var/tmp/before"
inside dpkg -i /var/tmp/perfrec.deb >/dev/null

cat >"$root/var/tmp/app.c" <<'EOF'
#include <stdlib.h>

int sum;

void leaf(int n)
{
	sum += n;
}

int main(void)
{
	for (int i = 0; i < 1000; i++)
		leaf(i);
	free(malloc(1000));
	return sum == 499500 ? 0 : 1;
}
EOF
inside sh -ec 'cd /var/tmp
	export XDG_CACHE_HOME=/var/tmp/cache
	perfrec doctor >doctor || { cat doctor; exit 1; }
	perfrec cc gcc -o app app.c
	perfrec record --quiet --cpu=off -o data -- ./app
	perfrec report data >report
	grep -q "1000 .*leaf" report || grep -q "1,000 .*leaf" report || { cat report; exit 1; }
	LD_PRELOAD=libperfrec_preload.so ./app
	rm -r data app report doctor'
inside dpkg --purge perfrec >/dev/null
files >"$root/var/tmp/after"
diff "$root/var/tmp/before" "$root/var/tmp/after" || {
	echo 'files stay behind, or are missing'
	exit 1
}
echo "$(basename "$package"): lintian is silent; installed, recorded, removed"
