# SPDX-License-Identifier: Apache-2.0
#
# Plugins and perfrec record --calls-to. perfrec leaves alone the plugins that a library
# opened before recording: two of them may define the same function. The program has a
# malloc() of its own, so it starts to record only behind the constructors.
. "$TOP/tests/e2e/lib.sh"
need jq gcc

cat >plugin.c <<'C'
const char *plugin_name(void) { return NAME; }
const char *plugin_call(void) { return plugin_name(); }
C
for binding in lazy now; do
	for name in first second; do
		gcc -O1 -fPIC -shared -fsemantic-interposition "-DNAME=\"$name $binding\"" \
			-Wl,-z,relro,-z,$binding -o "$name-$binding.so" plugin.c ||
			fail 'cannot compile plugin.c'
	done
done
gcc -O1 -w -fPIC -shared -o libopens.so -xc - <<'C' || fail 'cannot compile libopens.so'
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static const char *(*call[2])(void);
__attribute__((constructor)) static void open_plugins(void)
{
	call[0] = dlsym(dlopen(getenv("FIRST"), RTLD_LAZY), "plugin_call");
	call[1] = dlsym(dlopen(getenv("SECOND"), RTLD_LAZY), "plugin_call");
}
void opens_show(void)
{
	printf("%s, %s, %d\n", call[0](), call[1](), getppid() > 0);
}
C
gcc -O1 -w -fno-builtin -Wl,-z,lazy -o host -xc - -xnone ./libopens.so <<'C' ||
#include <stddef.h>
#include <string.h>
static _Alignas(16) char pool[1 << 22];
static size_t used;
void *malloc(size_t bytes)
{
	char *at = pool + used + 16;
	used += (bytes + 16 + 15) & -16ul;
	if (used > sizeof(pool)) return NULL;
	((size_t *)at)[-1] = bytes;
	return at;
}
void free(void *at) { (void)at; }
void *calloc(size_t count, size_t bytes) { return malloc(count * bytes); }
void *realloc(void *at, size_t bytes)
{
	void *to = malloc(bytes);
	size_t had = at ? ((size_t *)at)[-1] : 0;
	if (to && at) memcpy(to, at, had < bytes ? had : bytes);
	return to;
}
void opens_show(void);
int main(void) { opens_show(); return 0; }
C
	fail 'cannot compile the host'

for binding in lazy now; do
	export FIRST="./first-$binding.so" SECOND="./second-$binding.so"
	run "$PERFREC" record -q --calls-to='getppid,opens_*' --alloc=off --cpu=off \
		-o data -- ./host
	expect_status 0
	expect_eq "output of plugins that bind $binding" "$(cat out)" \
		"first $binding, second $binding, 1"
	expect_eq "calls with plugins that bind $binding" "$(json data/summary.json \
		'[.functions[] | "\(.name) \(.calls)"] | sort | join(", ")')" \
		'getppid 1, opens_show 1'
done

# The summary names a plugin that is closed before perfrec has read it: the collector is
# stopped meanwhile. It does not name a plugin that was read and calls no requested function.
gcc -O1 -fPIC -shared -o unread.so -xc - <<'C'
#include <unistd.h>
int plugin_run(void) { return getppid() > 0; }
C
cp unread.so late.so
gcc -O1 -fPIC -shared -o other.so -xc - <<'C'
#include <unistd.h>
int plugin_run(void) { return getuid() >= 0; }
C
gcc -O1 -fPIC -shared -finstrument-functions -o hooked.so -xc - <<'C'
int plugin_run(void) { return 1; }
C
gcc -O1 -o opens -xc - <<'C'
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
int main(void)
{
	char line[64];

	while (fgets(line, sizeof(line), stdin)) {
		void *plugin;

		line[strcspn(line, "\n")] = '\0';
		plugin = dlopen(line, RTLD_NOW);
		printf("%d\n", ((int (*)(void))dlsym(plugin, "plugin_run"))());
		fflush(stdout);
		if (!strcmp(line, "./unread.so"))
			dlclose(plugin);
	}
	return 0;
}
C
mkfifo input
"$PERFREC" record --calls-to=getppid --alloc=off --cpu=off -o data -- ./opens <input \
	>out 2>err &
recorder=$!
exec 9>input
answered()
{
	[ "$(wc -l <out)" -ge "$1" ]
}
# Libraries are read in their order.
printf './other.so\n./hooked.so\n./late.so\n' >&9
wait_for 60 answered 3
wait_for 60 function_is getppid span
collector=$("$PERFREC" ctl -o data list --json | jq .collector.pid)
stop_process "$collector"
echo ./unread.so >&9
wait_for 60 answered 4
exec 9>&-
kill -CONT "$collector"
wait $recorder || fail "exit status $?: $(cat err)"
expect_match err 'note +/.*/unread.so was closed before perfrec had read it'
expect_match err 'note +/.*/late.so was connected'
expect_no_match err 'note .*(other|hooked).so'
