# SPDX-License-Identifier: Apache-2.0
#
# Files that are rebuilt or deleted while they are in use: recorded functions have
# the names of the loaded file, or none and a reason, but never those of the new
# file.
. "$TOP/tests/e2e/lib.sh"

# library NAME FILE: NAME_work(N) calls NAME_leaf() N times.
library()
{
	sed "s/NAME/$1/g" <<-'SOURCE' |
	__attribute__((noinline)) static void NAME_leaf(void)
	{
		__asm__ volatile("");
	}
	void NAME_work(int n)
	{
		while (n--)
			NAME_leaf();
	}
	void (*work)(int) = NAME_work;
	SOURCE
		gcc -O1 -g -fPIC -shared -finstrument-functions \
			-o "$2" -x c - || fail "cannot compile $2"
}

build uses <<'SOURCE'
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
__attribute__((noinline)) static void leaf(void) { __asm__ volatile(""); }
/* What happens to the files: "replace" or "delete". */
static void change(const char *how, const char *file)
{
	char other[64];

	snprintf(other, sizeof(other), "%s.new", file);
	if (!strcmp(how, "delete") ? unlink(file) : rename(other, file)) {
		perror(file);
		exit(1);
	}
}
int main(int argc, char **argv)
{
	void *before = dlopen("./before.so", RTLD_NOW), *plugin;
	void (**work)(int) = dlsym(before, "work");

	(void)argc;
	change(argv[1], "uses.copy");
	change(argv[1], "before.so");
	for (int i = 0; i < 50; i++)
		leaf();
	(*work)(60);
	plugin = dlopen("./plugin.so", RTLD_NOW);
	change(argv[1], "plugin.so");
	work = dlsym(plugin, "work");
	(*work)(70);
	dlclose(plugin);
	return 0;
}
SOURCE

for how in replace delete; do
	library before before.so
	library plugin plugin.so
	library wrong before.so.new
	cp before.so.new plugin.so.new
	cp uses uses.copy
	build_calls && cp calls uses.copy.new
	run_ok "$PERFREC" record -q -o data ./uses.copy $how
	cp err "err.$how"
	"$O/tests/tools/trace_check" --counts data/trace.pftrace >counts ||
		fail "$how: a rule is broken"
	expect_match counts '^50	leaf$' '^1	main$'
	expect_no_match counts 'wrong|work\(long'
	# Each has its names, or an offset and a reason.
	for name in before plugin; do
		grep -q "$name\.so.*no names" err && continue
		calls=60
		[ $name = before ] || calls=70
		expect_match counts "^$calls	${name}_leaf\$" \
			"^1	${name}_work\$"
	done
	expect_eq "$how: calls" "$(awk '{ n += $1 } END { print n }' counts)" \
		186
	json data/summary.json '.functions[] | "\(.calls)\t\(.name)"' |
		sort >summary
	sort counts | diff - summary || fail "$how: the summary differs"
done
expect_no_match err.replace 'uses.copy'
