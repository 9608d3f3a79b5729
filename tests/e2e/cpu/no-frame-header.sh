# SPDX-License-Identifier: Apache-2.0
#
# Stacks through files that have .eh_frame without the table .eh_frame_hdr, as
# Free Pascal and some build systems link them: each stack of lib_leaf() has all of
# its callers. In a stripped file functions begin where .eh_frame says.
. "$TOP/tests/e2e/lib.sh"

cat >lib.c <<'SOURCE'
volatile unsigned long sink;
__attribute__((noinline)) void lib_leaf(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		sink += i;
}
__attribute__((noinline)) void lib_call(unsigned long n)
{
	lib_leaf(n);
	sink++;
}
SOURCE
cat >main.c <<'SOURCE'
void lib_call(unsigned long n);
extern volatile unsigned long sink;
__attribute__((noinline)) static void calls(void)
{
	for (int i = 0; i < 40; i++) {
		lib_call(3000000);
		sink++;
	}
}
int main(void)
{
	calls();
	return 0;
}
SOURCE

# stacks NAME: those of lib_leaf() of ./NAME, by ./lib_NAME.so.
stacks()
{
	run_ok "$PERFREC" record -q --alloc=off --cpu 997 -o "data.$1" -- "./$1"
	if json "data.$1/summary.json" '.notes[]' | grep -q '^no CPU samples'
	then
		skip 'perf_event is denied here'
	fi
	run_ok "$PERFREC" export --to folded --value cpu "data.$1"
	grep 'lib_leaf' out >stacks || fail "$1: lib_leaf() was not sampled"
}

for linker in bfd gold lld mold; do
	flags="-O2 -fuse-ld=$linker -Wl,--no-eh-frame-hdr"
	# shellcheck disable=SC2086 # a list of flags
	{
		gcc $flags -fPIC -shared -o "lib_$linker.so" lib.c &&
			gcc $flags -o "$linker" main.c "./lib_$linker.so"
	} 2>/dev/null || continue
	readelf -lW "$linker" "lib_$linker.so" | grep -q GNU_EH_FRAME && continue
	stacks "$linker"
	if grep -v 'main;calls;lib_call;lib_leaf' stacks; then
		fail "$linker: stacks without callers"
	fi
	tested=1
done
[ "${tested:-}" ] || skip 'no linker leaves .eh_frame_hdr out'

strip bfd && stacks bfd
start=$(readelf -hW bfd | sed -n 's/.*Entry point address: *//p')
if grep -vE "^bfd\\+$start;.*(bfd\\+0x[0-9a-f]+;){2}lib_call;lib_leaf" stacks
then
	fail 'stacks of the stripped program'
fi
