#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# make-deb.sh VERSION O - makes O/perfrec_VERSION_ARCH.deb of what `make install`
# installs, built anew in O/deb with Debian's own flags. Needs dpkg-dev.
set -eu
version=$1
O=$2
arch=$(dpkg --print-architecture)
name=perfrec_${version}_$arch.deb
epoch=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
export SOURCE_DATE_EPOCH="$epoch"
umask 022
maintainer="${DEBFULLNAME:-The authors of perfrec} <${DEBEMAIL:-$(git config user.email || echo root@$(hostname -f))}>"

# The package takes the flags that harden. A preloaded library needs none of the
# others: the rules of Debian are for libraries that programs link with.
flags()
{
	DEB_BUILD_MAINT_OPTIONS=hardening=+all dpkg-buildflags --get "$1"
}
make --no-print-directory -j"$(nproc)" O="$O/deb" CFLAGS="$(flags CFLAGS)" \
	CPPFLAGS="$(flags CPPFLAGS)" LDFLAGS="$(flags LDFLAGS)" PREFIX=/usr all

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
make --no-print-directory O="$O/deb" PREFIX=/usr DESTDIR="$root" install >/dev/null
strip --strip-unneeded --remove-section=.comment --remove-section=.note \
	"$root"/usr/bin/perfrec "$root"/usr/bin/perfrec-collect \
	"$root"/usr/libexec/perfrec/perfrec-* "$root"/usr/lib/libperfrec_preload.so
# One header, nothing to link: the file is the same on each kind of machine.
mkdir -p "$root/usr/share/pkgconfig"
mv "$root/usr/lib/pkgconfig/perfrec.pc" "$root/usr/share/pkgconfig/"
rmdir "$root/usr/lib/pkgconfig"
find "$root/usr/share/man" -type f -exec gzip -9n {} +

doc=$root/usr/share/doc/perfrec
mkdir -p "$doc" "$root/DEBIAN" "$work/debian"
cat >"$doc/copyright" <<EOF
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: perfrec

Files: *
Copyright: $(date -u -d "@$epoch" +%Y) the authors of perfrec
License: Apache-2.0
 On Debian systems, the complete text of the Apache License, version 2.0,
 is in /usr/share/common-licenses/Apache-2.0.
EOF
cat >"$work/changelog" <<EOF
perfrec ($version) unstable; urgency=medium

  * See /usr/share/doc/perfrec/CHANGES.md.gz.

 -- $maintainer  $(date -u -R -d "@$epoch")
EOF
gzip -9nc "$work/changelog" >"$doc/changelog.gz"
# CHANGES, LIMITS, and all pages that manual pages name.
for page in CHANGES LIMITS OVERHEAD ANNOTATIONS SERVICE JSON FLIGHT WAITS; do
	gzip -9nc "docs/$page.md" >"$doc/$page.md.gz"
done

# Programs preload the library by its name, LD_PRELOAD=libperfrec_preload.so. So
# it lies in a folder of the dynamic linker. No program is linked with the library.
mkdir -p "$root/usr/share/lintian/overrides"
cat >"$root/usr/share/lintian/overrides/perfrec" <<'EOF'
perfrec: package-name-doesnt-match-sonames libperfrec-preload
perfrec: shared-library-lacks-version *libperfrec_preload.so*
perfrec: no-symbols-control-file *libperfrec_preload.so*
EOF
echo 'activate-noawait ldconfig' >"$root/DEBIAN/triggers"

# The package depends on the libraries that its programs are linked with.
cat >"$work/debian/control" <<EOF
Source: perfrec
Package: perfrec
Architecture: any
EOF
depends=$(cd "$work" && dpkg-shlibdeps -O --ignore-missing-info \
	-e root/usr/bin/perfrec -e root/usr/bin/perfrec-collect \
	$(printf -- '-e %s ' root/usr/libexec/perfrec/perfrec-*) 2>/dev/null |
	sed -n 's/^shlibs:Depends=//p')
[ -n "$depends" ] || { echo 'make-deb.sh: dpkg-shlibdeps found nothing'; exit 1; }
cat >"$root/DEBIAN/control" <<EOF
Package: perfrec
Version: $version
Architecture: $arch
Maintainer: $maintainer
Installed-Size: $(du -sk --exclude=DEBIAN "$root" | cut -f1)
Depends: $depends
Suggests: gcc | clang, golang-go
Section: devel
Priority: optional
Description: profiler that records every call of C and C++ programs
 perfrec records every call of instrumented functions, every allocation, and
 samples of CPU time. The program writes records into shared memory; another
 process writes them to disk. Results open in Perfetto, in pprof, and as one
 page in any browser.
EOF
(cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
find "$root" -newermt "@$epoch" -exec touch -h -d "@$epoch" {} +
dpkg-deb --root-owner-group -Zxz --build "$root" "$O/$name" >/dev/null
echo "$O/$name"
