# SPDX-License-Identifier: Apache-2.0
#
# --patch moves the functions of a library that dlopen() loads before its constructors
# run, so every call is recorded: in each of several loads, in a plugin that another
# library's constructor loads, with two threads that load at once, while a thread closes a
# library, and in a forked child. A library in another namespace stays as it is, and the
# summary names it. dlopen() does not wait for ever.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"
need jq gcc python3

# plugin NAME [OPTION...]: NAME.so with NAME_work(n), which calls NAME_leaf() n times. Its
# constructor calls NAME_leaf() once.
plugin()
{
	name=$1
	shift
	sed "s/NAME/$name/g" >"$name.c" <<-'C'
	__attribute__((noipa)) long NAME_leaf(long i) { return i * 5; }
	__attribute__((constructor)) static void NAME_start(void) { NAME_leaf(1); }
	long NAME_work(long n)
	{
		long sum = 0;
		for (long i = 0; i < n; i++)
			sum += NAME_leaf(i);
		return sum;
	}
	C
	cat >>"$name.c"
	gcc -O1 -fPIC -shared -pthread -o "$name.so" "$name.c" "$@" ||
		fail "cannot compile $name.c"
}
plugin again </dev/null
plugin other </dev/null
plugin inner </dev/null
plugin child </dev/null
plugin space </dev/null
plugin twice </dev/null
# Its constructor loads a library, and starts a thread that runs in this one.
plugin outer <<'C'
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
static pthread_t thread;
static void *run(void *none)
{
	outer_work(1000);
	return none;
}
__attribute__((constructor)) static void load(void)
{
	void *inner = dlopen("./inner.so", RTLD_NOW);
	((long (*)(long))dlsym(inner, "inner_work"))(10);
	pthread_create(&thread, NULL, run, NULL);
}
void outer_end(void) { pthread_join(thread, NULL); }
C
for name in left right; do
	plugin $name </dev/null
done
cat >host.c <<'C'
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void *library;
static void call(const char *name, long n)
{
	char symbol[32];
	snprintf(symbol, sizeof(symbol), "%s_work", name);
	printf("%s %ld\n", name, ((long (*)(long))dlsym(library, symbol))(n));
}
static void *load(const char *path)
{
	library = dlopen(path, RTLD_NOW);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	return library;
}
static pthread_barrier_t both;
static void *thread(void *name)
{
	char path[32], symbol[32];
	void *mine;
	snprintf(path, sizeof(path), "./%s.so", (char *)name);
	snprintf(symbol, sizeof(symbol), "%s_work", (char *)name);
	for (int i = 0; i < 20; i++) {
		pthread_barrier_wait(&both);
		mine = dlopen(path, RTLD_LAZY);
		((long (*)(long))dlsym(mine, symbol))(10);
		pthread_barrier_wait(&both);
		dlclose(mine);
	}
	return NULL;
}
int main(void)
{
	pthread_t threads[2];
	void *first;

	/* At the same address, at another one, after another library there. */
	for (int i = 0; i < 3; i++) {
		load("./again.so");
		call("again", 100);
		dlclose(library);
	}
	first = load("./other.so");
	load("./again.so");
	call("again", 100);
	library = first;
	call("other", 100);
	/* Loaded already. */
	load("./again.so");
	call("again", 100);
	load("./outer.so");
	call("outer", 50);
	((void (*)(void))dlsym(library, "outer_end"))();
	pthread_barrier_init(&both, NULL, 2);
	pthread_create(&threads[0], NULL, thread, "left");
	pthread_create(&threads[1], NULL, thread, "right");
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	fflush(stdout);
	if (!fork()) {
		load("./child.so");
		call("child", 10);
		return 0;
	}
	wait(NULL);
	/* The same in the parent, where the child had it. */
	load("./child.so");
	call("child", 20);
	return 0;
}
C
gcc -O1 -pthread -o host host.c || fail 'cannot compile host.c'
cat >truth <<'T'
again_leaf 504
again_start 4
again_work 5
child_leaf 32
child_start 2
child_work 2
inner_leaf 11
inner_start 1
inner_work 1
left_leaf 220
left_start 20
left_work 20
other_leaf 101
other_start 1
other_work 1
outer_end 1
outer_leaf 1051
outer_start 1
outer_work 2
right_leaf 220
right_start 20
right_work 20
T

# calls: of functions in plugins, as truth has them.
calls()
{
	json data/summary.json '[.functions[] | select(.name | test("^(again|child|inner|left|other|outer|right)_"))] |
		group_by(.name)[] | "\(.[0].name) \([.[].calls] | add)"' | sort
}
# unpatched: how many files were not patched, and why.
unpatched()
{
	json data/summary.json '"\(.totals.files_unpatched) \([.notes[] |
		select(startswith("No function of"))] | join(" "))"'
}
./host >expected || fail 'the program fails alone'
for options in '' '--count *'; do
	set -f
	# shellcheck disable=SC2086 # two words, or none
	run "$PERFREC" record --patch --alloc=off --cpu=off $options -o data -- ./host
	set +f
	expect_status 0
	cmp -s out expected || fail "$options: $(diff out expected)"
	calls >recorded
	cmp -s recorded truth || fail "$options: $(diff truth recorded)"
	expect_eq 'files that were not patched' "$(unpatched)" '0 '
	"$O/tests/tools/trace_check" data/trace.pftrace >checked ||
		fail "$options: $(cat checked)"
done

# Another thread closes a library while dlopen() looks for a dependency: the dynamic
# linker waits for a pipe, which is the first file with its name.
gcc -O1 -fPIC -shared -o libneeded.so -xc - <<'C'
int needed(void) { return 1; }
C
mkdir first
mkfifo first/libneeded.so
plugin between -Wl,-rpath,"$PWD/first:$PWD" -L. -Wl,--no-as-needed -lneeded </dev/null
cat >closes.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static atomic_int closer;
static sem_t may_close;
static void *load(void *none)
{
	void *library = dlopen("./between.so", RTLD_NOW);
	if (!library)
		fprintf(stderr, "%s\n", dlerror());
	else
		printf("%ld\n", ((long (*)(long))dlsym(library, "between_work"))(10));
	return none;
}
static void *close_one(void *library)
{
	sem_wait(&may_close);
	closer = gettid();
	dlclose(library);
	return NULL;
}
/* Returns true if that thread waits for the dynamic linker's lock: in futex(). */
static int is_waiting(void)
{
	char path[64], text[8] = "";
	FILE *file;
	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", closer);
	file = fopen(path, "r");
	if (!file)
		return 0;
	if (!fgets(text, sizeof(text), file))
		text[0] = '\0';
	fclose(file);
	return !strncmp(text, "202 ", 4);
}
int main(void)
{
	/* Of a class that the dynamic linker skips. */
	static const char header[1024] = "\177ELF\1";
	void *other = dlopen("./other.so", RTLD_NOW);
	pthread_t threads[2];
	int fd;
	sem_init(&may_close, 0, 0);
	/* pthread_create() takes that lock. */
	pthread_create(&threads[0], NULL, close_one, other);
	pthread_create(&threads[1], NULL, load, NULL);
	fd = open("first/libneeded.so", O_WRONLY);
	sem_post(&may_close);
	while (!is_waiting())
		usleep(1000);
	if (write(fd, header, sizeof(header)) != sizeof(header))
		return 1;
	close(fd);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	return 0;
}
C
gcc -O1 -pthread -o closes closes.c || fail 'cannot compile closes.c'
run_ok "$PERFREC" record --patch --alloc=off --cpu=off -o data -- ./closes
expect_eq output "$(head -n 1 out)" 225
expect_eq 'calls in a library that was loaded meanwhile' "$(json data/summary.json \
	'[.functions[] | select(.name | startswith("between_")) | "\(.name) \(.calls)"] |
	sort | join(", ")')" 'between_leaf 11, between_start 1, between_work 1'
expect_eq 'files that were not patched' "$(unpatched)" '0 '

# A library in another namespace is named, also if the program has it in its own
# namespace as well: calls of the copy are missing. A program that maps a part of its
# own text once more, as V8 does, is not named: its functions are recorded.
cat >spaces.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
__asm__(".text; .skip 8192, 0x90"); /* so the first page is a part */
int main(void)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	void *space;

	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 4096) ==
	    MAP_FAILED)
		return 1;
	if (!dlopen("./twice.so", RTLD_NOW) ||
	    !dlmopen(LM_ID_NEWLM, "./twice.so", RTLD_NOW))
		return 1;
	space = dlmopen(LM_ID_NEWLM, "./space.so", RTLD_NOW);
	printf("%ld\n", ((long (*)(long))dlsym(space, "space_work"))(10));
	fflush(stdout);
	getchar();
	return 0;
}
C
gcc -O1 -o spaces spaces.c || fail 'cannot compile spaces.c'
mkfifo input
rm -rf data
start_daemon --patch
preload ./spaces <input >out.spaces &
program=$!
exec 9>input
space_is_listed()
{
	"$PERFREC" ctl --json functions >listed.json 2>/dev/null &&
		[ "$(json listed.json '[.functions[].functions[] |
			select(.name | endswith("/space.so")) | .refused] | first')" = \
			'it came after the program had started' ]
}
wait_for 60 space_is_listed
run "$PERFREC" ctl functions
expect_status 0
expect_match out "space.so +\(stays as it is: it came after the program had started\)$"
exec 9>&-
wait $program
expect_eq 'exit status' $? 0
stop_daemon
expect_eq output "$(cat out.spaces)" 225
summary=$(find data -name summary.json)
run "$PERFREC" report "${summary%/*}"
expect_match out "No function of $PWD/space.so was recorded: it came after the"
expect_match out "No function of $PWD/twice.so was recorded: it came after the"
expect_eq 'files that were not patched' \
	"$(json "$summary" .totals.files_unpatched)" 2

# The collector is stopped, then killed: dlopen() goes on.
cat >steps.c <<'C'
#include <dlfcn.h>
#include <stdio.h>
int main(void)
{
	char name[32], path[40], symbol[40];
	setvbuf(stdout, NULL, _IOLBF, 0);
	while (scanf("%31s", name) == 1) {
		void *library;
		snprintf(path, sizeof(path), "./%s.so", name);
		snprintf(symbol, sizeof(symbol), "%s_work", name);
		library = dlopen(path, RTLD_NOW);
		printf("%s %ld\n", name, ((long (*)(long))dlsym(library, symbol))(10));
	}
	return 0;
}
C
gcc -O1 -o steps steps.c || fail 'cannot compile steps.c'
lines()
{
	[ "$(wc -l <out.steps)" -ge "$1" ]
}
rm -rf data input
mkfifo input
PERFREC_DEADLINE_MS=2000 "$PERFREC" record -q --patch --alloc=off --cpu=off -o data \
	-- ./steps <input >out.steps 2>err.steps &
recorder=$!
exec 9>input
echo again >&9
wait_for 60 lines 1
collector=$(pgrep -P $recorder -x perfrec-collect)
stop_process "$collector"
echo other >&9
wait_for 60 lines 2
kill -CONT "$collector"
echo child >&9
wait_for 60 lines 3
kill -KILL "$collector"
echo inner >&9
wait_for 60 lines 4
exec 9>&-
wait $recorder
expect_eq output "$(cat out.steps)" 'again 225
other 225
child 225
inner 225'

# Extension modules of python.
cat >extensions.py <<'P'
import _json, _sqlite3
print(_json.encode_basestring('"'), _sqlite3.connect(':memory:').execute('select 2 + 3').fetchall())
P
python3 extensions.py >expected || fail 'python has no such modules'
run "$PERFREC" record --patch=all --alloc=off --cpu=off -o data -- python3 extensions.py
expect_status 0
cmp -s out expected || fail "python: $(diff out expected)"
for name in _json _sqlite3; do
	expect_eq "the constructor of $name" "$(json data/summary.json \
		"[.functions[] | select(.name == \"PyInit_$name\") | .calls] | add")" 1
done
expect_eq 'files that were not patched' "$(unpatched)" '0 '
