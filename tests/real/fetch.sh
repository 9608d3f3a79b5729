# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
#
# Sourced by scripts that build real programs from Debian's source packages,
# which are fetched with a package list of their own: the machine's apt
# settings are not touched. $dir is where, absolute.

private_apt() {
	apt-get -q -o Dir::Etc::sourcelist="$dir/apt/sources.list" \
		-o Dir::Etc::sourceparts=- \
		-o Dir::State::lists="$dir/apt/lists" \
		-o Dir::Cache="$dir/apt/cache" \
		-o APT::Sandbox::User=root "$@"
}

# The packages that install-deps.sh installs when one is missing. $here is the
# folder of this file.
purpose=real

# is_there COMMAND|FILE
is_there() {
	case $1 in
	/*) [ -e "$1" ] ;;
	*) command -v "$1" >/dev/null ;;
	esac
}

# need_package COMMAND|FILE PACKAGE: if it is missing, root installs all packages
# of the purpose, and other users get a message. Exits with 77 if it is still
# missing.
need_package() {
	is_there "$1" && return
	if [ "$(id -u)" = 0 ]; then
		sh "$here/../../scripts/install-deps.sh" "$purpose" >&2 || :
		is_there "$1" && return
	fi
	echo "$2 is missing: scripts/install-deps.sh $purpose, as root" >&2
	exit 77
}

# fetch PACKAGE...: the sources of each, unpacked, in $dir/src. Existing sources are
# not fetched again. Exits with 77 and a reason if it fails.
fetch() {
	missing=
	for package; do
		[ -e "$dir/src/$package.fetched" ] && continue
		rm -rf "$dir/src/$package"-*/
		missing="$missing $package"
	done
	[ -n "$missing" ] || return 0
	need_package dpkg-source dpkg-dev
	mkdir -p "$dir/src" "$dir/apt/lists/partial" "$dir/apt/cache"
	echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]" \
		"http://deb.debian.org/debian bookworm main" \
		>"$dir/apt/sources.list"
	# shellcheck disable=SC2086 # a list of packages
	if ! private_apt update >"$dir/apt/log" 2>&1 ||
		! (cd "$dir/src" && private_apt source $missing) \
			>>"$dir/apt/log" 2>&1; then
		tail -n 3 "$dir/apt/log" >&2
		echo "cannot fetch the sources of$missing" >&2
		exit 77
	fi
	for package in $missing; do
		touch "$dir/src/$package.fetched"
	done
}
