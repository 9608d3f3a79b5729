#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# install-deps.sh [build|check|real|lint|bench]... - make sure that the Debian
# packages are installed that perfrec needs for each purpose (default: build).
# As root it installs the missing packages. Other users get the command for it,
# and exit status 1. Prints nothing if no package is missing.
set -eu

table='
build gcc                 compiles everything
build libc6-dev           headers of the C library
build make                reads the Makefile
build pkg-config          finds the libraries below
build libprotobuf-c-dev   writes the cold packets of a Perfetto trace
build protobuf-c-compiler turns proto/ into C (protoc-c)
build libelf-dev          reads symbol tables
build libdw-dev           reads debug information: source lines
build libiberty-dev       demangles C++ and Rust names
build libunwind-dev       unwinds copied stacks
build libzydis-dev        decodes instructions: sites of hooks, machine code
build libdeflate-dev      --compress
build libcurl4-openssl-dev pushes profiles to servers
build libmicrohttpd-dev   perfrec open
build libncurses-dev      perfrec top
build zlib1g-dev          unpacks compressed ELF sections
build liblzma-dev         unpacks symbol tables (.gnu_debugdata)
build libjansson-dev      reads and writes summary.json
check check               the unit tests
check g++                 test programs in C++: exceptions, mangled names
check dwz                 debug information that is split between two files
check strace            system calls of the collector on what clients send
check libdebuginfod1      a debug file from a server, which is a folder
check binutils            nm and strip, for counts taken independently
check protobuf-compiler   protoc --decode of recorded traces
check xz-utils            packs a .gnu_debugdata
check jq                  reads summary.json in the end-to-end tests
check procps              ps and pgrep: nothing may be left running
check dpkg-dev            unpacks the sources of Lua and SQLite
check tcl                 makes one file of the sources of SQLite
check clang               perfrec cc with the other compiler
check lld                 perfrec cc with another linker
check mold                likewise
check libclang-rt-14-dev  libFuzzer, for the fuzz targets
check gfortran            perfrec cc for another language of that compiler
check ccache              perfrec cc in front of a launcher
check cmake               perfrec cc in a build system
check sqlite3             allocates, and is compared with a count
check lua5.4              likewise
check libxml2-utils       likewise: xmllint
check libjemalloc2        an allocator beneath perfrec
check libtcmalloc-minimal4 likewise
check libmimalloc2.0      likewise
check gdb              backtraces that stacks of samples must agree with
check elfutils         eu-stack goes through thunks
check valgrind          its leaks, recorded and not
check libdevel-nytprof-perl  flamegraph.pl reads exported stacks
check tmux                presses keys in perfrec top
check linux-perf          shares of CPU time must agree with it
check uftrace             replay and counts must agree with it
check python3             reads exports strictly
check musl-tools          perfrec cc for a C library without hooks
check chromium            opens the page of report --html
check python3             drives it
real  golang-go           pprof of the profiles of real programs
real  graphviz            dot, for pictures of those profiles
real  llvm                llvm-addr2line, for their source lines
real  libevent-dev        memcached needs it
real  libopenmpi-dev      a program of three processes, in C and in Fortran
real  openmpi-bin         starts them
real  ffmpeg              recorded as Debian ships it
real  qtbase5-dev         a window of Qt, likewise
real  nginx               likewise
real  apache2-utils       ab, the load on nginx
real  curl                likewise
real  postgresql          recorded as Debian ships it, with pgbench
real  redis               recorded with --patch, as are the next ones
real  nodejs              likewise
real  clang               likewise
real  lua5.4              likewise
real  sqlite3             likewise
real  libpython3.11-testsuite  likewise, with its tests
lint  clang-format        the house style
lint  clang-tidy          static checks
lint  cppcheck            static checks
lint  groff               formats the man pages
bench uftrace             a peer to measure against
bench nlohmann-json3-dev  a C++ program of templates, to be recorded
bench lttng-tools         a peer to measure against: its daemon
bench liblttng-ust-dev    a peer to measure against: its hooks
bench babeltrace2         reads what LTTng recorded
bench heaptrack           a peer to measure against
bench linux-perf          a peer to measure against
bench google-perftools    a peer to measure against: libtcmalloc
'

[ $# -gt 0 ] || set -- build
for purpose in "$@"; do
	case $purpose in
	build|check|real|lint|bench) ;;
	*)	echo "usage: $0 [build|check|real|lint|bench]..." >&2
		exit 2 ;;
	esac
done

# wanted PURPOSE...: lines "package why" of the table.
wanted()
{
	for purpose in "$@"; do
		echo "$table" | sed -n "s/^$purpose  *//p"
	done
}

installed()
{
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

if ! command -v dpkg-query >/dev/null; then
	echo "$0: not a Debian system; these packages, as Debian calls" \
		"them, must be installed:" >&2
	wanted "$@" | sed 's/^/    /' >&2
	exit 1
fi

missing=$(wanted "$@" | while read -r package why; do
	installed "$package" || printf '    %-20s %s\n' "$package" "$why"
done)
[ -n "$missing" ] || exit 0
packages=$(echo "$missing" | awk '{ print $1 }' | xargs)

if [ "$(id -u)" -ne 0 ]; then
	printf 'These packages are missing:\n%s\n\nTo install them:\n\n' \
		"$missing" >&2
	printf '    sudo apt-get install %s\n\n' "$packages" >&2
	exit 1
fi

printf 'Installing what is missing:\n%s\n' "$missing"
export DEBIAN_FRONTEND=noninteractive
install()
{
	# shellcheck disable=SC2086 # one word a package
	apt-get -qq -y --no-install-recommends install $packages >/dev/null
}
# A fresh machine has no package lists yet, and old lists name files that the
# mirror no longer has.
install 2>/dev/null || { apt-get -qq update && install; } || {
	echo "$0: cannot install: $packages" >&2
	exit 1
}
