# SPDX-License-Identifier: Apache-2.0
# long: compiles and records many programs
#
# Programs and libraries that define functions which the shim interposes, and find
# the next one by dlsym(RTLD_NEXT): the shim is the next, and must continue behind
# itself, not at the head of the list, which would be an endless recursion.
# Recorded, without a collector and disabled, they behave as without the shim, and
# each block is counted once.
. "$TOP/tests/e2e/lib.sh"
need g++
shim=$O/libperfrec_preload.so

# as_without NAME COMMAND...: with the shim, unrecorded and disabled, with
# $front preloaded in front of it and $behind behind it, the same output.
front='' behind=''
as_without()
{
	name=$1
	shift
	plain=0
	LD_PRELOAD=$front:$behind "$@" >plain.out 2>plain.err || plain=$?
	for disabled in 0 1; do
		PERFREC_QUIET=1 PERFREC_DISABLE=$disabled \
			LD_PRELOAD=$front:$shim:$behind run "$@"
		expect_status "$plain"
		cmp plain.out out || fail "$name: another output"
		cmp plain.err err || fail "$name: another stderr"
	done
}

# blocks NAME COMMAND...: sets $blocks to the allocations of an exact recording.
# perfrec record puts its library in front of those in $behind.
blocks()
{
	name=$1
	shift
	rm -rf data
	LD_PRELOAD=$behind run "$PERFREC" record -q --alloc=exact --cpu=off \
		-o data -- "$@"
	expect_status 0
	cmp plain.out out || fail "$name: another output when recorded"
	blocks=$(json data/summary.json '.totals.allocs')
	live=$(json data/summary.json '.totals.live_blocks')
}

# A malloc() that serves what comes before it knows the next by itself.
cat >own.h <<'SOURCE'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
static void *(*next)(size_t);
static char early[65536];
static size_t used;
void *malloc(size_t size)
{
	if (next)
		return next(size);
	used += (size + 15) & ~15ul;
	return early + used - ((size + 15) & ~15ul);
}
void free(void *block)
{
	static void (*next_free)(void *);
	if ((char *)block >= early && (char *)block < early + sizeof(early))
		return;
	if (!next_free)
		*(void **)&next_free = dlsym(RTLD_NEXT, "free");
	next_free(block);
}
static void find(void)
{
	*(void **)&next = dlsym(RTLD_NEXT, "malloc");
}
SOURCE
cat >work.h <<'SOURCE'
#include <stdio.h>
#include <stdlib.h>
static void *volatile kept;
static int work(void)
{
	static char buffer[64];
	setvbuf(stdout, buffer, _IOLBF, sizeof(buffer));
	for (int i = 0; i < 100; i++) {
		kept = malloc(10);
		free(kept);
	}
	kept = calloc(3, 3);
	kept = realloc(kept, 1000);
	free(kept);
	printf("done\n");
	return 0;
}
SOURCE
cat >plain.c <<'SOURCE'
#include "work.h"
int main(void) { return work(); }
SOURCE
cat >late.c <<'SOURCE'
#include "own.h"
#include "work.h"
int main(void) { find(); return work(); }
SOURCE
cat >preinit.c <<'SOURCE'
#include "own.h"
#include "work.h"
__attribute__((section(".preinit_array"), used)) static void (*at)(void) = find;
int main(void) { return work(); }
SOURCE
cat >constructor.c <<'SOURCE'
#include "own.h"
#include "work.h"
__attribute__((constructor)) static void at(void) { find(); }
int main(void) { return work(); }
SOURCE
for program in plain late preinit constructor; do
	for hooks in '' -finstrument-functions; do
		# shellcheck disable=SC2086 # an option or none
		gcc -O1 -fno-builtin $hooks -o $program $program.c ||
			fail "gcc $program"
		as_without $program ./$program
		blocks $program ./$program
		expect_eq "$program $hooks: blocks, live" "$blocks $live" '102 0'
	done
done

# The same in a library, in front of the shim and behind it; one of them has
# the old kind of hash table only.
cat >wrap.c <<'SOURCE'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
void *malloc(size_t size)
{
	static void *(*next)(size_t);
	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "malloc");
	return next(size);
}
void free(void *block)
{
	static void (*next)(void *);
	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "free");
	next(block);
}
SOURCE
for hash in gnu sysv; do
	gcc -O1 -fno-builtin -shared -fPIC -Wl,--hash-style=$hash \
		-o wrap_$hash.so wrap.c || fail "gcc wrap_$hash.so"
	front=./wrap_$hash.so as_without "front $hash" ./plain
	behind=./wrap_$hash.so as_without "behind $hash" ./plain
	behind=./wrap_$hash.so blocks "behind $hash" ./plain
	expect_eq "behind $hash: blocks, live" "$blocks $live" '102 0'
done
front=./wrap_gnu.so behind=./wrap_sysv.so as_without both ./plain
# A library in front that is the program's own has its blocks counted once.
gcc -O1 -fno-builtin -o needs plain.c -Wl,--no-as-needed ./wrap_gnu.so ||
	fail 'gcc needs'
as_without needs ./needs
blocks needs ./needs
expect_eq 'needs: blocks, live' "$blocks $live" '102 0'

# An allocator of the program's own, without a reallocarray(): the C library's
# calls the program's realloc(), as only that knows the block.
cat >pool.h <<'SOURCE'
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
static char pool[1 << 20];
static size_t used;
void *malloc(size_t size)
{
	char *block = pool + used + 16;
	used += 16 + ((size + 15) & ~15ul);
	memcpy(block - 8, &size, 8);
	return block;
}
void free(void *block)
{
	if (block && ((char *)block < pool || (char *)block >= pool + used))
		abort();
}
void *calloc(size_t count, size_t size)
{
	return malloc(count * size);
}
void *realloc(void *block, size_t size)
{
	void *moved = malloc(size);
	size_t before = 0;
	if (block)
		memcpy(&before, (char *)block - 8, 8);
	memcpy(moved, block, before < size ? before : size);
	return moved;
}
SOURCE
cat >array.h <<'SOURCE'
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void)
{
	char *block = malloc(10), *other = reallocarray(NULL, 3, 4);
	strcpy(block, "kept");
	block = reallocarray(block, 100, 20);
	puts(block);
	free(block);
	free(other);
	puts(reallocarray(NULL, -1, 16) ? "?" : strerror(errno));
	return 0;
}
SOURCE
cat >array_own.c <<'SOURCE'
#include "pool.h"
#include "array.h"
SOURCE
cat >array_next.c <<'SOURCE'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
void *realloc(void *block, size_t size)
{
	static void *(*next)(void *, size_t);
	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "realloc");
	return next(block, size);
}
#include "array.h"
SOURCE
echo '#include "array.h"' >array_none.c
echo '#include "pool.h"' >pool.c
gcc -O1 -fno-builtin -shared -fPIC -o pool.so pool.c || fail 'gcc pool.so'
for program in own next none; do
	gcc -O1 -fno-builtin -w -o array_$program array_$program.c ||
		fail "gcc array_$program"
	as_without array_$program ./array_$program
	blocks array_$program ./array_$program
	case $program in
	own) expect='0 0' ;;
	# with the buffer of standard output
	*) expect='4 1' ;;
	esac
	expect_eq "array_$program: blocks, live" "$blocks $live" "$expect"
done
front=./pool.so as_without 'pool in front' ./array_none
behind=./pool.so as_without 'pool behind' ./array_none

# operator new and delete, with a shared C++ runtime and with the program's own.
# With the latter there is no next function, and the behaviour of the program is
# its own matter.
for flags in '-DTHROW' '-DTHROW -rdynamic' '-DTHROW -no-pie' \
	'-static-libstdc++ -static-libgcc -Wl,--allow-multiple-definition'; do
	# shellcheck disable=SC2086 # a list
	g++ -O1 $flags -o new "$TOP/tests/progs/robust/new.cc" || fail "g++ $flags"
	as_without "new $flags" ./new
	blocks "new $flags" ./new
	# The runtime keeps one, for exceptions when there is no memory.
	expect_eq "new $flags: blocks, live" "$blocks $live" \
		"$([ "$flags" = "${flags#-DTHROW}" ] && echo 11 || echo 21) 1"
done

# Other functions that the shim interposes, each defined by the program.
prog robust/others
as_without others ./others
expect_match out '^0 of 16$'
for cpu in off '99,signal'; do
	run_ok "$PERFREC" record -q --cpu=$cpu -o others.data -- ./others
	cmp plain.out out || fail "others, --cpu=$cpu: another output"
done
exit 0
