# SPDX-License-Identifier: Apache-2.0
#
# --patch moves the functions of entry builds. All calls are counted: of functions that
# cannot be moved and keep their sites, of a plugin before dlopen() returns, and if a
# thread runs before perfrec can move anything.
. "$TOP/tests/e2e/lib.sh"
need jq gcc

cat >alone.h <<'C'
#ifdef __clang__
#define ALONE __attribute__((noinline, optnone))
#else
#define ALONE __attribute__((noipa))
#endif
C
cat >plugin.c <<'C'
#include "alone.h"
ALONE long plugin_leaf(long i)
{
	__asm__ volatile("" ::: "memory"); /* clang would drop a call */
	return i * 5;
}
__attribute__((constructor)) static void plugin_start(void) { plugin_leaf(1); }
long plugin_work(long n)
{
	long sum = 0;
	for (long i = 0; i < n; i++)
		sum += plugin_leaf(i);
	return sum;
}
C
cat >host.c <<'C'
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include "alone.h"
ALONE long vary(int n, ...)
{
	va_list list;
	long sum = 0;

	va_start(list, n);
	while (n--)
		sum += va_arg(list, long);
	va_end(list);
	return sum;
}
ALONE double fixed(long a, double b, long c, long d, long e, long f,
				    long g, long h, long i)
{
	return b + (double)(a + c + d + e + f + g + h + i);
}
static void *work(void *none)
{
	double sum = 0;

	for (long i = 0; i < 1000; i++)
		sum += fixed(i, 0.5, 1, 2, 3, 4, 5, 6, vary(2, i, 1L));
	printf("%.1f\n", sum);
	return none;
}
int main(void)
{
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 2; i++) {
		void *plugin = dlopen("./plugin.so", RTLD_NOW);
		long (*run)(long) = (long (*)(long))dlsym(plugin, "plugin_work");
		printf("%ld\n", run(100));
		dlclose(plugin);
	}
	fflush(stdout);
	if (!fork()) {
		work(NULL);
		fflush(stdout);
		_exit(0);
	}
	wait(NULL);
	return 0;
}
C
# calls NAME: the number of its calls, recorded or only counted.
calls()
{
	json data/summary.json "[.functions[] | select(.name == \"$1\") | .calls] | add // 0"
}
for cc in gcc clang; do
	command -v $cc >compiler || continue
	"$PERFREC" cc --hooks=entry -- $cc -O2 -fPIC -shared -o plugin.so plugin.c &&
		"$PERFREC" cc --hooks=entry -- $cc -O2 -pthread -o host host.c ||
		fail "cannot compile by $cc"
	./host >expected || fail "$cc: host fails alone"
	for options in '' '--count *' '--exclude nothing'; do
		set -f
		# shellcheck disable=SC2086 # two words, or none
		run "$PERFREC" record --patch --alloc=off --cpu=off $options -o data -- ./host
		set +f
		expect_status 0
		cmp -s out expected || fail "$cc, $options: $(diff out expected)"
		expect_no_match err '^  patched'
		for count in 'fixed 3000' 'vary 3000' 'plugin_leaf 202' 'plugin_start 2' \
			'plugin_work 2' 'main 1' 'work 3'; do
			expect_eq "$cc, $options: ${count% *}" "$(calls "${count% *}")" \
				"${count#* }"
		done
		expect_eq "$cc, $options: late" "$(json data/summary.json \
			'.totals | "\(.missed_modules) \(.late_modules)"')" '0 0'
		"$O/tests/tools/trace_check" data/trace.pftrace >checked ||
			fail "$cc, $options: $(cat checked)"
	done
done

# A thread that a constructor has started before perfrec's library: nothing is moved.
cat >early.c <<'C'
#include <pthread.h>
#include <unistd.h>
static void *wait_for_ever(void *none)
{
	for (;;)
		pause();
	return none;
}
__attribute__((constructor)) static void early(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, wait_for_ever, NULL);
}
C
gcc -O2 -fPIC -shared -pthread -Wl,-z,initfirst -o libearly.so early.c &&
	"$PERFREC" cc --hooks=entry -- gcc -O2 -pthread -o host host.c -L. \
		-Wl,--no-as-needed -learly "-Wl,-rpath,$PWD" ||
	fail 'cannot compile early.c'
run "$PERFREC" record --patch --alloc=off --cpu=off -o data -- ./host
expect_status 0
expect_eq 'calls of fixed beside a thread' "$(calls fixed)" 3000
expect_eq 'calls of vary beside a thread' "$(calls vary)" 3000
expect_no_match err 'could not be recorded'
exit 0
