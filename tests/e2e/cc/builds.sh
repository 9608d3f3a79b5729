#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# long: runs each build system
#
# `perfrec cc` and `perfrec c++` as the compiler of build systems. Build systems
# that are not installed are skipped.
. "$TOP/tests/e2e/lib.sh"
need gcc g++ make

export XDG_CACHE_HOME=$PWD/cache
PATH=$O:$PATH
mkdir -p cache project/lib project/app
cd project || exit 1
cat >lib/twice.c <<'EOS'
#include "twice.h"
int twice(int x)
{
	return x * 2;
}
EOS
cat >lib/twice.h <<'EOS'
#ifdef __cplusplus
extern "C"
#endif
int twice(int x);
EOS
cat >app/main.cc <<'EOS'
#include <memory>
#include <twice.h>
struct app {
	int run();
};
__attribute__((noinline)) int app::run()
{
	return twice(21) != 42;
}
int main()
{
	return std::make_unique<app>()->run();
}
EOS

# records PROGRAM WHAT: the three functions, and nothing of std.
records()
{
	rm -rf data
	run_ok "$PERFREC" record -q -o data -- "$1"
	expect_eq "functions with $2" \
		"$(json data/summary.json '.functions[].name' | sort | xargs)" \
		"${3:-app::run() main twice}"
}

# --- make, in folders of its own ------------------------------------------------
cat >Makefile <<'EOS'
all: program
program: app/main.o lib/libtwice.so
	$(CXX) -o $@ app/main.o -Llib -ltwice -Wl,-rpath,$(CURDIR)/lib
lib/libtwice.so:
	$(MAKE) -C lib -f ../Makefile libtwice.so
libtwice.so: twice.c
	$(CC) $(CFLAGS) -fPIC -shared -o $@ $<
app/main.o: app/main.cc
	$(CXX) -O1 -Ilib -MMD -c -o $@ $<
EOS
run_ok make CC="perfrec cc gcc" CXX="perfrec c++ g++"
records ./program make
rm -f program lib/*.so app/*.o
run_ok make CC="perfrec cc --only $PWD/app gcc" CXX="perfrec c++ --only $PWD/app g++"
records ./program 'make, app only' 'app::run() main'

# --- CMake ----------------------------------------------------------------------
cat >CMakeLists.txt <<'EOS'
cmake_minimum_required(VERSION 3.13)
project(project C CXX)
add_library(twice SHARED lib/twice.c)
target_include_directories(twice PUBLIC lib)
add_executable(program app/main.cc)
target_link_libraries(program twice)
target_precompile_headers(program PRIVATE <memory>)
EOS
echo 'set(CMAKE_C_COMPILER_LAUNCHER perfrec cc)
set(CMAKE_CXX_COMPILER_LAUNCHER perfrec c++)' >perfrec.cmake
cmake_build()
{
	run_ok cmake -S . "$@"
	run_ok cmake --build "$2"
	records "$2/program" "cmake $*"
}
if command -v cmake >/dev/null; then
	cmake_build -B launcher "-DCMAKE_C_COMPILER_LAUNCHER=perfrec;cc" \
		"-DCMAKE_CXX_COMPILER_LAUNCHER=perfrec;c++"
	cmake_build -B toolchain -DCMAKE_TOOLCHAIN_FILE=perfrec.cmake
	CC='perfrec cc gcc' CXX='perfrec c++ g++' cmake_build -B environment
fi

# --- Meson ----------------------------------------------------------------------
cat >meson.build <<'EOS'
project('project', 'c', 'cpp', default_options: ['buildtype=debug'])
lib = shared_library('twice', 'lib/twice.c')
executable('program', 'app/main.cc', link_with: lib,
	include_directories: include_directories('lib'))
EOS
cat >perfrec.ini <<'EOS'
[binaries]
c = ['perfrec', 'cc', 'gcc']
cpp = ['perfrec', 'c++', 'g++']
EOS
if command -v meson >/dev/null && command -v ninja >/dev/null; then
	run_ok meson setup --native-file perfrec.ini meson
	run_ok ninja -C meson
	records meson/program meson
fi

# --- libtool --------------------------------------------------------------------
if command -v libtool >/dev/null; then
	(
		cd lib || exit 1
		set -e
		libtool --quiet --tag=CC --mode=compile perfrec cc gcc -O1 \
			-c twice.c -o twice.lo
		libtool --quiet --tag=CC --mode=link perfrec cc gcc -O1 \
			-rpath "$PWD" twice.lo -o libtwice.la
		libtool --quiet --tag=CXX --mode=link perfrec c++ g++ -O1 -I. \
			../app/main.cc libtwice.la -o ../libtool-program
	) >out 2>err || fail "libtool: $(cat err)"
	records ./libtool-program libtool
fi
