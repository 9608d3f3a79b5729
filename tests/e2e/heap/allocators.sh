# SPDX-License-Identifier: Apache-2.0
# timeout: 600
# long: sixteen threads allocate with each allocator
#
# Sixteen threads that allocate and free each other's blocks, on glibc's
# allocator and with jemalloc and tcmalloc beneath: every block is seen.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/alloc.sh"
need od

pairs=${ALLOC_PAIRS:-200000}
same_memory alloc_torture "$O/tests/progs/alloc_torture" 16 "$pairs"
options='--ring-size 64K' same_memory alloc_torture \
	"$O/tests/progs/alloc_torture" 16 "$pairs"

found=
for library in jemalloc tcmalloc_minimal; do
	beneath=$(ldconfig -p 2>/dev/null |
		sed -n "s/.*lib$library\.so\.[0-9]* .*=> //p" | head -n 1)
	[ "$beneath" ] || continue
	found="$found $library"
	same_memory alloc_torture "$O/tests/progs/alloc_torture" 16 "$pairs"
	echo '#include <map>
	#include <string>
	int main()
	{
		std::map<std::string, int> map;
		for (int i = 0; i < 50000; i++)
			map[std::to_string(i % 700) + " is a word"] += i;
		delete[] new long double[3];
		return map.size() != 700;
	}' >map.cc
	g++ -O1 -o map map.cc || fail 'g++'
	same_memory map ./map
done
[ "$found" ] || echo 'neither jemalloc nor tcmalloc is installed'
exit 0
