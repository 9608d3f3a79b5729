# SPDX-License-Identifier: Apache-2.0
#
# Libraries that define malloc() and other functions only in the version that
# programs ask for, which dlsym() does not find (libc_malloc_debug). The shim
# passed over them. Now the shim's next function is the function that the program
# would use without the shim, recorded or not.
. "$TOP/tests/e2e/lib.sh"

case $(uname -m) in
aarch64) base=GLIBC_2.17 ;;
*) base=GLIBC_2.2.5 ;;
esac

# The C library's own: it finds that a block was written beyond its end, and
# logs each call. Behind the block is a byte that comes from its address, never
# 1, and each other byte says how far back that byte is. So all bytes are 1: with
# the last one alone, 9 of 1,500 runs detected nothing, as the byte that was
# looked for was 0, like the byte in front.
cat >overflow.c <<'SOURCE'
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
	char *volatile p = malloc(24);
	for (int i = 0; i <= 24; i++)
		p[i] = 1;
	free(p);
	puts("not detected");
	return 0;
}
SOURCE
cat >traced.c <<'SOURCE'
#include <mcheck.h>
#include <stdlib.h>
int main(void)
{
	mtrace();
	for (int i = 0; i < 10; i++) {
		void *volatile p = malloc(24);
		p = realloc(p, 100);
		free(p);
	}
	return 0;
}
SOURCE
gcc -w -O0 -o overflow overflow.c && gcc -w -O0 -o traced traced.c ||
	fail 'gcc'
debug=libc_malloc_debug.so.0
lines()
{
	grep -c '^@.*[-+<>]' "$1"
}
if LD_PRELOAD=$debug true 2>&1 | grep -q .; then
	echo "no $debug: only libraries of the test's own"
else
	LD_PRELOAD=$debug MALLOC_TRACE=plain.log ./traced
	for alloc in off exact sampled; do
		LD_PRELOAD=$debug GLIBC_TUNABLES=glibc.malloc.check=3 \
			run "$PERFREC" record -q --alloc=$alloc -o data-$alloc \
			-- ./overflow
		expect_status 134
		expect_match err 'free\(\): invalid pointer'
		LD_PRELOAD=$debug MALLOC_TRACE=$alloc.log \
			run "$PERFREC" record -q --alloc=$alloc -o trace-$alloc \
			-- ./traced
		expect_status 0
		expect_eq "--alloc=$alloc: calls that mtrace() saw" \
			"$(lines $alloc.log)" "$(lines plain.log)"
	done
	allocs=$(json trace-exact/summary.json .totals.allocs)
	[ "$allocs" -ge 20 ] || fail "mtrace(): $allocs blocks"
fi

# Others: of malloc(), of a function with a newer version, in front of the shim
# and behind it; with a version that programs do not ask for, it is not called.
cat >hidden.c <<'SOURCE'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>
void *hidden_malloc(size_t size)
{
	static void *(*next)(size_t);
	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "malloc");
	write(1, "m", size == 4321);
	return next(size);
}
int hidden_create(pthread_t *thread, const pthread_attr_t *attributes,
		  void *(*function)(void *), void *argument)
{
	static int (*next)(pthread_t *, const pthread_attr_t *,
			   void *(*)(void *), void *);
	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "pthread_create");
	write(1, "c", 1);
	return next(thread, attributes, function, argument);
}
__asm__(".symver hidden_malloc, malloc@" MALLOC);
__asm__(".symver hidden_create, pthread_create@" CREATE);
SOURCE
cat >user.c <<'SOURCE'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static void *thread(void *argument)
{
	return malloc(4321);
}
int main(void)
{
	pthread_t id;
	pthread_create(&id, NULL, thread, NULL);
	pthread_join(id, NULL);
	free(malloc(4321));
	return 0;
}
SOURCE
gcc -w -O0 -fno-builtin -pthread -o user user.c || fail 'gcc user.c'
newer=$(readelf -sW --dyn-syms user | sed -n \
	's/.* pthread_create@\(GLIBC_[0-9.]*\).*/\1/p' | head -n 1)
# hidden NAME MALLOC CREATE: a library that defines the two in these versions.
hidden()
{
	printf '%s\n' "$2 { };" "$3 { };" | sort -u >"$1.map"
	gcc -w -O1 -fno-builtin -shared -fPIC -DMALLOC="\"$2\"" \
		-DCREATE="\"$3\"" -Wl,--version-script="$1.map" -o "$1.so" \
		hidden.c || fail "gcc $1.so"
}
hidden asked "$base" "$newer"
hidden other FOO_1 FOO_2
hidden old "$base" GLIBC_2.0
for library in asked other old; do
	LD_PRELOAD=./$library.so run ./user
	expect_status 0
	mv out plain
	for front in "./$library.so:$O/libperfrec_preload.so" \
		"$O/libperfrec_preload.so:./$library.so"; do
		LD_PRELOAD=$front PERFREC_QUIET=1 run ./user
		expect_eq "$front: output" "$(cat out)" "$(cat plain)"
	done
	for alloc in off exact; do
		LD_PRELOAD=./$library.so run "$PERFREC" record -q \
			--alloc=$alloc -o data-$library-$alloc -- ./user
		expect_status 0
		expect_eq "$library, --alloc=$alloc: output" "$(cat out)" \
			"$(cat plain)"
	done
done
LD_PRELOAD=./asked.so run ./user
expect_match out '^cmm$'
