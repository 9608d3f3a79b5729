# SPDX-License-Identifier: Apache-2.0
#
# After the last process of a program has ended, the collector does not look at all
# processes of the machine for forgotten children with changed functions.
. "$TOP/tests/e2e/lib.sh"
need strace

cat >plain.c <<'C'
__attribute__((noipa)) int work(int i)
{
	__asm__ volatile("nop; nop; nop; nop; nop");
	return i;
}
int main(void) { return work(0); }
C
gcc -O2 -o plain plain.c || fail 'cannot compile plain.c'
strace -f -qq -e trace=openat -o calls true || skip 'strace cannot trace'
run_ok strace -f -qq -e trace=openat -o calls "$PERFREC" record -q --patch --alloc=off --cpu=off \
	-o data -- sh -c 'for i in 1 2 3 4 5 6 7 8 9 10; do ./plain; done'
expect_eq 'recorded functions' "$(json data/summary.json \
	'.functions[] | select(.name == "work") | .calls')" 10
# The end of a recording looks for programs that go on.
searches=$(grep -c '"/proc/1/stat"' calls)
[ "$searches" -gt 0 ] || fail 'even perfrec record has not looked at process 1'
[ "$searches" -lt 10 ] || fail "$searches searches for 10 programs"
