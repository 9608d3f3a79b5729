# SPDX-License-Identifier: Apache-2.0
#
# Functions are matched across builds: a program and a library with other names, a
# renamed function, other template arguments, and functions of one side only.

. "$TOP/tests/e2e/lib.sh"
need g++

cat >lib.cc <<'SOURCE'
extern "C" int in_library(int n) { return n + 1; }
SOURCE
# Below #line both functions have the same place.
cat >app.cc <<'SOURCE'
extern "C" int in_library(int);
template <typename T> __attribute__((noinline)) T twice(T x) { return x + x; }
volatile int sum;
#ifdef LATER
typedef short type;
#line 100
__attribute__((noinline)) void new_name() { sum = sum + 1; }
#define old_name new_name
__attribute__((noinline)) void come(char, int n) { sum = sum + n; }
#define gone(n) come('x', n)
#define ROUNDS 11
#else
typedef int type;
#line 100
__attribute__((noinline)) void old_name() { sum = sum + 1; }
#line 200
__attribute__((noinline)) void gone(int n) { sum = sum + n; }
#define ROUNDS 10
#endif
int main()
{
	for (int i = 0; i < ROUNDS; i++)
		old_name();
	gone(in_library((int)twice((type)3)));
}
SOURCE
compile()
{
	folder=$1
	shift
	mkdir "$folder"
	g++ -O1 -g -finstrument-functions -shared -fPIC -o "$folder/$LIBRARY" lib.cc &&
		g++ -O1 -g -finstrument-functions "$@" -o "$folder/$PROGRAM" app.cc \
			"$folder/$LIBRARY" -Wl,-rpath,"$PWD/$folder" || fail 'cannot compile'
	run_ok "$PERFREC" record -q -o "$folder/data" "$folder/$PROGRAM"
}
LIBRARY=libone.so PROGRAM=app
compile a
LIBRARY=libother.so PROGRAM=app-2
compile b -DLATER

run_ok "$PERFREC" diff a/data b/data --json
pairs=$(jq -r '.functions[] | select(.match) |
	.match + " " + .name + " = " + .name_b' out | sort)
echo "$pairs" >pairs
expect_match pairs '^same main = main$' '^moved in_library = in_library$' \
	'^renamed old_name\(\) = new_name\(\)$' \
	'^renamed int twice<int>\(int\) = short twice<short>\(short\)$'
expect_eq 'sides of what has no match' \
	"$(jq -r '.functions[] | select(.values.calls and .sides != "ab") |
		.sides + " " + .name' out | sort | paste -s -d ,)" \
	'a gone(int),b come(char, int)'
run "$PERFREC" diff a/data b/data
expect_match out 'different programs' \
	' 10 +11 +\+1 .*old_name\(\) .*\(now new_name\(\)\)'
