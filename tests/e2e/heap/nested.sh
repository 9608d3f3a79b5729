# SPDX-License-Identifier: Apache-2.0
# timeout: 600
# long: records each of its programs twice
#
# Functions that allocate call each other, and perfrec counts each block once. The
# programs print their own counts.
. "$TOP/tests/e2e/lib.sh"
need g++

# figures COMMAND...: records it, and prints allocations, bytes, and the blocks
# and bytes that are in use at the end.
figures()
{
	run_ok "$PERFREC" record -q --alloc=exact --cpu=off --on-full block \
		-o data -- "$@"
	expect_eq "$*: frees that cannot be" "$(json data/summary.json '.totals |
		.double_frees + .implied_frees + .late_frees +
		.dropped_allocs + .dropped_frees')" 0
	json data/summary.json '.totals | [.allocs, .alloc_bytes, .live_blocks,
		.live_bytes] | map(tostring) | join(" ")'
}

# same_count WHAT COMMAND...: with "work" behind it, the command allocates by so
# much more than with "idle" as it prints.
same_count()
{
	what=$1
	shift
	idle=$(figures "$@" idle) || fail "$idle"
	work=$(figures "$@" work) || fail "$work"
	expect_eq "$what: allocations, bytes, live blocks, live bytes" \
		"$(echo "$work $idle" | awk '{ print $1 - $5, $2 - $6,
			$3 - $7, $4 - $8 }')" "$(cat out)"
}

# --- operators of the program: jumps, signals, threads and contexts in them ----
cat >operators.cc <<'SOURCE'
#include <csetjmp>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <pthread.h>
#include <string>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#define HUGE_SIZE 77777777
static bool works;
static __thread bool raises, switches, jumps;
static long allocs, bytes, frees, freed;
static void *take(size_t n)
{
	void *p = malloc(n);

	__atomic_fetch_add(&allocs, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&bytes, n, __ATOMIC_RELAXED);
	return p;
}
static void give(void *p, size_t n)
{
	__atomic_fetch_add(&frees, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&freed, n, __ATOMIC_RELAXED);
	free(p);
}
static sigjmp_buf out;
static ucontext_t here, there;
static char stack[65536];
static void between()
{
	if (raises)
		raise(SIGUSR1);
	if (switches)
		swapcontext(&here, &there);
	if (jumps)
		siglongjmp(out, 1);
}
struct header {
	size_t n;
	header *next;
	void *block;
	size_t bytes;
};
static header *list;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void track(void *p, size_t n)
{
	header *node = (header *)take(sizeof(header));

	node->block = p;
	node->bytes = n;
	pthread_mutex_lock(&lock);
	node->next = list;
	list = node;
	pthread_mutex_unlock(&lock);
}
static size_t untrack(void *p)
{
	header **at = &list, *node;
	size_t n;

	pthread_mutex_lock(&lock);
	while ((*at)->block != p)
		at = &(*at)->next;
	node = *at;
	*at = node->next;
	pthread_mutex_unlock(&lock);
	n = node->bytes;
	give(node, sizeof(header));
	return n;
}
void *operator new(size_t n)
{
	char *p;

	if (n >= HUGE_SIZE)
		throw std::bad_alloc();
#if HEADER
	p = (char *)take(n + 16);
	*(size_t *)p = n + 16;
	between();
	return p + 16;
#elif ALIGN
	p = (char *)take(n + 64 + 16);
	between();
	char *q = (char *)(((size_t)p + 16 + 63) & ~(size_t)63);
	((void **)q)[-1] = p;
	((size_t *)q)[-2] = n + 64 + 16;
	return q;
#elif TRACK
	p = (char *)take(n);
	between();
	track(p, n);
	return p;
#else
	static char pool[16 << 20];
	static size_t used;
	p = pool + __atomic_fetch_add(&used, (n + 15) & ~15ul, __ATOMIC_RELAXED);
	between();
	return p;
#endif
}
void operator delete(void *q) noexcept
{
	if (!q)
		return;
#if HEADER
	char *p = (char *)q - 16;
	give(p, *(size_t *)p);
#elif ALIGN
	give(((void **)q)[-1], ((size_t *)q)[-2]);
#elif TRACK
	give(q, untrack(q));
#endif
}
void operator delete(void *q, size_t) noexcept
{
	operator delete(q);
}
static void *volatile kept;
static void handler(int)
{
	bool again = raises;

	raises = false;
	if (works) {
		void *p = take(40);
		kept = new int[3];
		delete[] (int *)kept;
		give(p, 40);
	}
	raises = again;
}
static void fiber()
{
	for (;;) {
		switches = false;
		kept = new char[30];
		delete[] (char *)kept;
		kept = take(50);
		switches = true;
		swapcontext(&there, &here);
	}
}
template <class T> static void both(int i, T *(*make)())
{
	kept = make();
	if (i % 2)
		delete[] (T *)kept;
}
static int *plain() { return new int[25]; }
static char *nothrow() { return new (std::nothrow) char[31]; }
static void forms(int rounds)
{
	for (int i = 0; works && i < rounds; i++) {
		both(i, plain);
		both(i, nothrow);
		kept = new int;
		delete (int *)kept;
		kept = new (std::nothrow) long;
		std::string grows(20 + i % 7, 'x');
		grows.append(grows);
	}
}
static void *thread(void *)
{
	forms(100);
	return NULL;
}
static void thrown()
{
	for (volatile int i = 0; i < 10; i++) {
		try {
			if (works)
				kept = new char[HUGE_SIZE];
			else
				throw std::bad_alloc();
		} catch (std::bad_alloc &) {
		}
		if (works)
			kept = new (std::nothrow) char[HUGE_SIZE];
		else
			try {
				throw std::bad_alloc();
			} catch (std::bad_alloc &) {
			}
	}
	for (volatile int i = 0; works && i < 10; i++) {
		jumps = true;
		if (!sigsetjmp(out, 1))
			kept = new char[10];
		jumps = false;
		forms(1);
	}
}
int main(int, char **argv)
{
	pthread_t threads[4];

	works = !strcmp(argv[1], "work");
	signal(SIGUSR1, handler);
	forms(100);
	raises = true;
	forms(20);
	raises = false;
	getcontext(&there);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = sizeof(stack);
	makecontext(&there, fiber, 0);
	switches = true;
	forms(20);
	switches = false;
	thrown();
	for (pthread_t &each : threads)
		pthread_create(&each, NULL, thread, NULL);
	for (pthread_t each : threads)
		pthread_join(each, NULL);
	char line[100];
	int length = snprintf(line, sizeof(line), "%ld %ld %ld %ld\n", allocs,
		bytes, allocs - frees, bytes - freed);
	if (write(1, line, length) != length)
		_exit(1);
	_exit(0);
}
SOURCE
for kind in HEADER ALIGN TRACK POOL; do
	hooks=
	[ $kind != TRACK ] || hooks=-finstrument-functions
	# shellcheck disable=SC2086 # none, or one
	g++ -std=c++17 -O1 -Wno-mismatched-new-delete $hooks -D$kind \
		-o operators operators.cc -lpthread || fail 'g++'
	same_count "$kind" ./operators
done

# --- allocators that call themselves by their public names --------------------
cat >beneath.c <<'SOURCE'
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
static _Alignas(16) char pool[1ul << 30];
static size_t used;
void between(void) __attribute__((weak));
void *malloc(size_t n)
{
	size_t at = __atomic_fetch_add(&used, (n + 47) & ~15ul,
				       __ATOMIC_RELAXED);

	((size_t *)(pool + at))[1] = n;
	return pool + at + 16;
}
void *realloc(void *old, size_t n);
void free(void *p)
{
	/* How libraries free that have one function for all. */
	if (p && FREE_IS_REALLOC)
		realloc(p, 0);
}
void *realloc(void *old, size_t n)
{
	char *p;

	if (old && !n) {
		if (!FREE_IS_REALLOC)
			free(old);
		return NULL;
	}
	if (between)
		between();
	p = malloc(n);
	for (size_t i = 0; old && i < n && i < ((size_t *)old)[-1]; i++)
		p[i] = ((char *)old)[i];
	if (REALLOC_FREES)
		free(old);
	return p;
}
void *calloc(size_t n, size_t m)
{
	return realloc(NULL, n * m);
}
int posix_memalign(void **out, size_t alignment, size_t n)
{
	char *p = malloc(n + alignment + 16);
	uintptr_t at = ((uintptr_t)p + 16 + alignment - 1) & -alignment;

	((size_t *)at)[-1] = n;
	*out = (void *)at;
	return 0;
}
void *memalign(size_t alignment, size_t n)
{
	void *p;

	return posix_memalign(&p, alignment, n) ? NULL : p;
}
void *aligned_alloc(size_t alignment, size_t n)
{
	return memalign(alignment, n);
}
SOURCE
cat >uses.cc <<'SOURCE'
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <new>
#include <unistd.h>
static bool works, raises;
static long allocs, bytes, frees, freed;
static void *volatile kept;
static void handler(int)
{
	void *p = malloc(44);

	kept = new int[3];
	free(p);
	allocs += 2;
	bytes += 44 + 12;
	frees++;
	freed += 44;
}
extern "C" void between(void)
{
	if (raises)
		raise(SIGUSR1);
}
static void took(void *p, size_t n, bool stays = false)
{
	kept = p;
	allocs++;
	bytes += n;
	if (stays)
		return;
	frees++;
	freed += n;
	free(p);
}
static void moves(size_t from, size_t to)
{
	void *p = malloc(from);

	allocs++;
	bytes += from;
	kept = p;
	p = realloc(p, to);
	frees++;
	freed += from;
	took(p, to);
}
static void all()
{
	void *p;

	moves(60, 100);
	moves(100, 33);
	took(realloc(NULL, 70), 70);
	took(calloc(7, 11), 77, true);
	took(reallocarray(NULL, 9, 5), 45);
	if (!posix_memalign(&p, 64, 1000))
		took(p, 1000);
	took(memalign(4096, 33), 33);
	took(aligned_alloc(32, 320), 320, true);
	p = malloc(5);
	allocs++;
	bytes += 5;
	frees++;
	freed += 5;
	kept = realloc(p, 0);
	kept = new char[50];
	delete[] (char *)kept;
	kept = ::operator new(1000, std::align_val_t(256));
	::operator delete(kept, std::align_val_t(256));
	allocs += 2;
	bytes += 1050;
	frees += 2;
	freed += 1050;
}
int main(int, char **argv)
{
	works = !strcmp(argv[1], "work");
	signal(SIGUSR1, handler);
	for (int i = 0; works && i < 100; i++) {
		raises = i & 1;
		all();
	}
	char line[100];
	int length = snprintf(line, sizeof(line), "%ld %ld %ld %ld\n", allocs,
		bytes, allocs - frees, bytes - freed);
	if (write(1, line, length) != length)
		_exit(1);
	_exit(0);
}
SOURCE
for kind in '0 0' '0 1' '1 1'; do
	gcc -O2 -w -fno-builtin -fPIC -shared -o libbeneath.so beneath.c \
		-DFREE_IS_REALLOC="${kind% *}" -DREALLOC_FREES="${kind#* }" ||
		fail 'gcc'
	g++ -std=c++17 -O1 -fno-builtin -rdynamic -o uses uses.cc \
		./libbeneath.so || fail 'g++'
	same_count "free() is realloc(), which frees: $kind" ./uses
done

# --- operators of an allocator, which throw -----------------------------------
# The library defines malloc(), so it is an allocator, and the malloc() inside its
# operator new is not counted. After an exception none of its functions runs.
sed 's/FREE_IS_REALLOC/0/; s/REALLOC_FREES/1/' beneath.c >whole.c
cat >operators_beneath.cc <<'SOURCE'
#include <cstddef>
#include <new>
extern "C" void *malloc(size_t);
extern "C" void free(void *);
void *operator new(size_t n)
{
	if (n > 1ul << 30)
		throw std::bad_alloc();
	return (char *)malloc(n + 32) + 32;
}
void operator delete(void *p) noexcept { free((char *)p - 32); }
void operator delete(void *p, size_t) noexcept { operator delete(p); }
extern "C" void *of_library(size_t n) { return malloc(n); }
SOURCE
cat >catches.cc <<'SOURCE'
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <unistd.h>
static void *volatile kept;
extern "C" void *of_library(size_t);
static bool works;
static long caught;
__attribute__((noinline)) static void deeper()
{
	char deep[2000];

	kept = deep;
	if (works) {
		kept = of_library(99);
		kept = new int;
		delete (int *)kept;
		kept = new long[5];
		delete[] (long *)kept;
	}
	kept = deep;
}
int main(int, char **argv)
{
	volatile size_t huge = 1ul << 40;

	works = !strcmp(argv[1], "work");
	for (int i = 0; i < 50; i++)
		try {
			if (works)
				kept = new char[huge];
			throw std::bad_alloc();
		} catch (std::bad_alloc &) {
			caught += works;
			deeper();
		}
	char line[100];
	int length = snprintf(line, sizeof(line), "%ld %ld %ld %ld\n",
		3 * caught, (99 + 4 + 40) * caught, caught, 99 * caught);
	if (write(1, line, length) != length)
		_exit(1);
	_exit(0);
}
SOURCE
gcc -O2 -w -fno-builtin -fPIC -c whole.c &&
	g++ -O1 -fno-builtin -fPIC -shared -o libwhole.so whole.o \
		operators_beneath.cc &&
	g++ -O1 -o catches catches.cc ./libwhole.so || fail 'g++'
same_count 'exceptions' ./catches

# --- sizes: an aligned operator new rounds up ---------------------------------
cat >sizes.cc <<'SOURCE'
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <new>
#include <unistd.h>
static void *volatile kept;
static jmp_buf out;
static void jump() { longjmp(out, 1); }
int main(int, char **argv)
{
	const std::align_val_t page{4096};
	bool works = !strcmp(argv[1], "work");
	volatile size_t huge = 1ul << 60;
	void *p;

	for (volatile int i = 0; works && i < 100; i++) {
		kept = ::operator new(4000, page);
		if (posix_memalign(&p, 4096, 8000))
			return 1;
		kept = p;
		::operator delete(kept = ::operator new[](10, page), page);
		kept = aligned_alloc(4096, 4096);
		kept = ::operator new(100, page, std::nothrow);
		kept = memalign(4096, 300);
		/* One that ends otherwise leaves nothing to the next. (With
		 * mimalloc it ends the program.) */
		std::set_new_handler(jump);
		if (getenv("JUMPS") && !setjmp(out))
			kept = ::operator new(huge, page);
		std::set_new_handler(NULL);
		kept = aligned_alloc(4096, 8192);
	}
	char line[100];
	int n = works ? 100 : 0;
	int length = snprintf(line, sizeof(line), "%d %d %d %d\n", 7 * n,
		(4000 + 8000 + 10 + 4096 + 100 + 300 + 8192) * n, 6 * n,
		(4000 + 8000 + 4096 + 100 + 300 + 8192) * n);
	if (write(1, line, length) != length)
		_exit(1);
	_exit(0);
}
SOURCE
g++ -std=c++17 -w -O1 -o sizes sizes.cc || fail 'g++'
same_count 'sizes' env JUMPS=1 ./sizes
for library in jemalloc tcmalloc_minimal mimalloc; do
	beneath=$(ldconfig -p 2>/dev/null |
		sed -n "s/.*lib$library\.so\.[0-9.]* .*=> //p" | head -n 1)
	[ "$beneath" ] || continue
	export LD_PRELOAD="$beneath"
	same_count "sizes with $library" ./sizes
	unset LD_PRELOAD
done

# --- a malloc() of the program's own ------------------------------------------
# A wrapper of the next malloc() is recorded behind it. Any other malloc() is not
# seen, but libstdc++'s operators are.
cat >front.cc <<'SOURCE'
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <new>
#include <string>
#include <unistd.h>
#if FORWARDS
extern "C" void *malloc(size_t n)
{
	static void *(*real)(size_t);

	if (!real)
		real = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
	return real(n);
}
extern "C" void free(void *p)
{
	static void (*real)(void *);

	if (!real)
		real = (void (*)(void *))dlsym(RTLD_NEXT, "free");
	real(p);
}
#else
alignas(16) static char pool[1 << 26];
static size_t used;
extern "C" void *malloc(size_t n)
{
	used += (n + 15) & ~15ul;
	return pool + used;
}
extern "C" void free(void *) {}
extern "C" void *calloc(size_t n, size_t m) { return malloc(n * m); }
extern "C" void *realloc(void *old, size_t n)
{
	return old ? memmove(malloc(n), old, n) : malloc(n);
}
extern "C" void *aligned_alloc(size_t alignment, size_t n)
{
	return (void *)(((size_t)malloc(n + alignment) + alignment - 1) &
			-alignment);
}
#endif
static void *volatile kept;
int main(int, char **argv)
{
	int n = strcmp(argv[1], "work") ? 0 : 1000;

	for (int i = 0; i < n; i++) {
		kept = new int[10];
		if (i & 1)
			delete[] (int *)kept;
		kept = malloc(100);
		kept = new (std::nothrow) char;
		kept = ::operator new(100, std::align_val_t(64));
		::operator delete(kept, std::align_val_t(64));
		std::string text(100, 'x');
		kept = &text;
	}
	char line[100];
	int length = snprintf(line, sizeof(line), "%d %d %d %d\n",
		(4 + FORWARDS) * n, (242 + 100 * FORWARDS) * n,
		n + n / 2 + FORWARDS * n, (21 + 100 * FORWARDS) * n);
	if (write(1, line, length) != length)
		_exit(1);
	_exit(0);
}
SOURCE
for forwards in 1 0; do
	g++ -std=c++17 -w -O1 -DFORWARDS=$forwards -o front front.cc -ldl ||
		fail 'g++'
	same_count "malloc() in front, forwards: $forwards" ./front
done
