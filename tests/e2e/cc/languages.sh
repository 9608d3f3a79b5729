# SPDX-License-Identifier: Apache-2.0
#
# `perfrec cc` before every installed compiler of gcc's family, with launchers
# before it: there are hooks, and an independent counter finds the same calls;
# or a message says that there are no hooks.
# long: compiles each language in several ways
. "$TOP/tests/e2e/lib.sh"
need gcc nm clang

export XDG_CACHE_HOME="$PWD/cache"
mkdir cache

cat >f.f90 <<-'END'
	program main
	  integer :: i, s
	  s = 0
	  do i = 1, 10
	    s = s + leaf(i)
	  end do
	  print *, s
	contains
	  integer function leaf(x)
	    integer, intent(in) :: x
	    leaf = x * 2
	  end function
	end program
END
cat >hello.adb <<-'END'
	with Ada.Text_IO;
	procedure Hello is
	   function Leaf (X : Integer) return Integer is
	   begin
	      return X * 2;
	   end Leaf;
	   S : Integer := 0;
	begin
	   for I in 1 .. 10 loop
	      S := S + Leaf (I);
	   end loop;
	   Ada.Text_IO.Put_Line (Integer'Image (S));
	end Hello;
END
cat >d.d <<-'END'
	import core.stdc.stdio;
	int leaf(int x) { return x * 2; }
	void main() { int s; foreach (i; 0 .. 10) s += leaf(i); printf("%d\n", s); }
END
cat >c.c <<-'END'
	#include <stdio.h>
	static __attribute__((noinline)) int leaf(int x)
	{
		__asm__ volatile("");
		return x * 2;
	}
	int main(void)
	{
		int sum = 0;
		for (int i = 1; i <= 10; i++)
			sum += leaf(i);
		printf("%d\n", sum);
		return 0;
	}
END

# ok COMMAND...: it succeeds and prints no error.
ok()
{
	run_ok "$@"
	[ ! -s err ] || fail "$*: $(cat err)"
}

# silent COMMAND...: no hooks in ./out.o, and one line says why.
silent()
{
	regex=$1
	shift
	rm -f out.o
	run "$@"
	expect_match err "$regex"
	[ "$(grep -c '^perfrec' err)" -eq 1 ] || fail "$*: $(cat err)"
	if nm out.o 2>/dev/null | grep -q __cyg_profile; then
		fail "$*: hooks, and it says that there are none"
	fi
}

# recorded PROGRAM NAME: the counter finds the same calls, and ten calls of NAME.
recorded()
{
	run "./$1"
	cp out plain
	COUNT_OUT=$PWD/count LD_PRELOAD="$O/tests/progs/libcount_preload.so" \
		run "$PERFREC" record -q -o data -- "./$1"
	expect_status 0
	cmp out plain || fail "$1: output differs"
	"$O/tests/tools/count_names" count.*[0-9] >counts ||
		fail "$1: nothing was counted"
	expect_eq "$1: calls" "$(json data/summary.json .totals.spans)" \
		"$(awk '{ sum += $1 } END { print sum }' counts)"
	expect_eq "$1: calls of $2" "$(awk -v name="$2" '
		$0 ~ name { sum += $1 } END { print sum }' counts)" 10
	rm -f count.*
}

# compiler NAME: is it here? Says so if not.
compiler()
{
	command -v "$1" >/dev/null && return
	echo "$1 is not installed: left out"
	return 1
}

# mpi NAME SOURCE: is it here, with the libraries that it links?
mpi()
{
	compiler "$1" || return
	"$1" -o plain.x "$2" 2>/dev/null && return
	echo "$1 does not work without perfrec either: left out"
	return 1
}

tried=0
try()
{
	rm -f ./*.o ./*.ali hello out.x
	ok "$@"
	tried=$((tried + 1))
}

if compiler gfortran; then
	try "$PERFREC" cc gfortran -o out.x f.f90
	recorded out.x 'leaf'
	# Without a suffix that says it, and preprocessed.
	cp f.f90 source
	try "$PERFREC" cc gfortran -ffree-form -x f95-cpp-input -o out.x source
	recorded out.x 'leaf'
	silent "no hooks in 'f.f90', which clang leaves to another" \
		"$PERFREC" cc clang -c f.f90 -o out.o
	# clang's own sources next to it have them.
	try "$PERFREC" cc gfortran -c f.f90 c.c
	for object in f.o c.o; do
		nm $object | grep -q __cyg_profile || fail "$object: no hooks"
	done
fi
if compiler gnatmake; then
	try "$PERFREC" cc gnatmake -q hello.adb
	recorded hello 'leaf'
	try "$PERFREC" cc gnatmake -q -O1 -g hello -o out.x
	recorded out.x 'leaf'
	try "$PERFREC" cc gcc -c hello.adb
	nm hello.o | grep -q __cyg_profile || fail 'gcc: no hooks in Ada'
fi
if compiler gdc; then
	try "$PERFREC" cc gdc -o out.x d.d
	recorded out.x 'leaf'
fi
if mpi mpicc c.c; then
	try "$PERFREC" cc mpicc -o out.x c.c
	recorded out.x leaf
fi
for wrapper in ccache\ gcc "nice -n 1 gcc" "env A=b gcc" \
	"env -u A gcc" "timeout 100 gcc" "ccache env A=b nice gcc" \
	"$(command -v "$(gcc -dumpmachine)-gcc-$(gcc -dumpversion)" || echo gcc)"; do
	compiler "${wrapper%% *}" || continue
	# shellcheck disable=SC2086 # words
	CCACHE_DIR=$PWD/ccache try "$PERFREC" cc $wrapper -o out.x c.c
	recorded out.x leaf
done
if mpi mpifort f.f90; then
	try "$PERFREC" cc mpifort -o out.x f.f90
	recorded out.x leaf
fi
printf '#!/bin/sh\nexec gcc "$@"\n' >wrapper
chmod +x wrapper
try "$PERFREC" cc ./wrapper -o out.x c.c
recorded out.x leaf
[ $tried -ge 5 ] || fail "only $tried compilers were tried"

# --- an unknown compiler: one message, and the compiler runs all the same
printf '#!/bin/sh\n[ "$1" = -E ] && exit 1\necho "$@"; : >out.o\n' >other
chmod +x other
for source in x.rs x.go x.pas x.cu x.f90 x.adb x.d unit; do
	silent "'./other' does not say which compiler it is: no hooks" \
		"$PERFREC" cc ./other $source
	expect_eq 'what was run' "$(cat out)" "$source"
done
silent "'./other' does not say which" "$PERFREC" cc ./other -c x.rs
echo 'package main' >x.go
silent "no hooks in 'x.go': perfrec cc knows C, C\+\+, Obj" \
	"$PERFREC" cc gcc -c x.go -o out.o
