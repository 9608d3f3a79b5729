# SPDX-License-Identifier: Apache-2.0
#
# A pattern that matches nothing is most likely misspelled: the recording has a
# note, unless the pattern matches in some program of it.
. "$TOP/tests/e2e/lib.sh"
prog overhead/busy
build other <<'SOURCE'
__attribute__((noinline)) int other(int i) { return i + 1; }
int main(void) { return other(0) != 1; }
SOURCE

run_ok "$PERFREC" record --filter '*' --filter 'nosuch_?' --exclude 'busy*' \
	--exclude '@busy*' --exclude @othre --count 'nosuch*' --count leaf \
	--count other -o data -- sh -c './busy 1000 2 2; ./other'
json data/summary.json '.notes[]' | grep 'matches nothing' >notes
expect_eq 'notes' "$(cut -d: -f1 notes)" "--filter 'nosuch_?' matches nothing
--exclude 'busy*' matches nothing
--exclude '@othre' matches nothing
--count 'nosuch*' matches nothing that can be counted"
grep -q "note *--exclude 'busy\*' matches nothing" out err ||
	fail "it is not printed"

# A library that is not there; the program's own name, and libraries without their end.
gcc -O2 -o plain -xc - <<'C'
int main(void) { return 0; }
C
run_ok "$PERFREC" record --patch='nosuch*,libc,plain' --alloc=off --cpu=off -o data -- ./plain
json data/summary.json '.notes[]' | grep 'matches nothing' >notes
expect_eq 'files that are not there' "$(cut -d: -f1 notes)" \
	"--patch 'nosuch*' matches nothing that the program loads
--patch 'libc' matches nothing that the program loads"
gcc -O2 -shared -fPIC -o libpart.so.1 -xc - <<'C'
int part(void)
{
	__asm__ volatile("nop; nop; nop; nop; nop");
	return 0;
}
C
gcc -O2 -o plain -xc - -Wl,-rpath,"$PWD" -xnone ./libpart.so.1 <<'C'
int part(void);
int main(void) { return part(); }
C
run_ok "$PERFREC" record --patch=libpart --alloc=off --cpu=off -o data -- ./plain
expect_eq 'functions of a library without its end' \
	"$(json data/summary.json '[.functions[].name] | join(" ")')" part

# It is found in a library that is there for a moment.
build plugin.so -shared -fPIC <<'SOURCE'
__attribute__((noinline)) int plugged(int i) { return i + 1; }
SOURCE
build host -ldl <<'SOURCE'
#include <dlfcn.h>
__attribute__((noinline)) int host(void *library)
{
	int (*plugged)(int) = (int (*)(int))dlsym(library, "plugged");
	return plugged(0) != 1;
}
int main(void)
{
	void *library = dlopen("./plugin.so", RTLD_NOW);
	int result = host(library);
	return result | dlclose(library);
}
SOURCE
run_ok "$PERFREC" record -q --exclude plugged --exclude '@plugin.so' \
	--count plugged -o data -- ./host
expect_eq 'notes' "$(json data/summary.json '.notes[]' | grep matches)" ''

# Without symbols nothing has a name.
strip -o stripped other
run_ok "$PERFREC" record --count other -o data -- ./stripped
json data/summary.json '.notes[]' >notes
expect_match notes "--count 'other' matches nothing that can be counted: functions of a program without symbols have no names"
