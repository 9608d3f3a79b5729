# SPDX-License-Identifier: Apache-2.0
# long: computes for seconds
#
# Four slow programs, within a budget of 5 %: a search that is quadratic, a tiny
# function that is called 300 million times, a lock that is held over I/O, and a rare
# stall. The first rows of the first table name the culprit in each. Where that
# table has its times from calls, the first rows of --view cpu must, and the two
# culprits that wait are not looked for.
. "$TOP/tests/e2e/lib.sh"

# program NAME: compiles stdin and $common as an entry build, and records it to
# NAME.data twice: the second run knows what the first has learned.
program()
{
	{
		echo "$common"
		cat
	} >"$1.c"
	"$PERFREC" cc --hooks=entry "${CC:-gcc}" -O2 -g -o "$1" "$1.c" -pthread ||
		fail "cannot compile $1.c"
	for _ in 1 2; do
		run_ok "$PERFREC" record -q --alloc=off --overhead 5% -o "$1.data" "./$1"
	done
	run_ok "$PERFREC" report --json --limit 0 "$1.data"
	cp out "$1.json"
	source=$(json "$1.json" '.time_from // "calls"')
}

# first NAME COUNT: functions in the first COUNT rows of the table.
first()
{
	if [ "$source" = samples ]; then
		json "$1.json" "[.functions[].name][:$2] | join(\" \")"
	else
		run_ok "$PERFREC" report --view cpu --json --limit "$2" "$1.data"
		json out '[.functions[].name] | join(" ")'
	fi
}

expect_among()
{
	case " $2 " in
	*" $3 "*) ;;
	*) fail "$1: $3 is not among the first rows: $2" ;;
	esac
}

# most_blocked NAME: the function that was blocked longest, callees included,
# among functions with more than two calls.
most_blocked()
{
	json "$1.json" '[.functions[] | select(.calls > 2)] |
		max_by(.blocked_ns // 0).name'
}

export XDG_CACHE_HOME=$PWD/cache
common='
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#define APART __attribute__((noinline)) static
APART void wait_ms(int ms)
{
	struct timespec time = { .tv_nsec = ms * 1000000l };

	nanosleep(&time, NULL);
}
APART unsigned long long mix(unsigned long long x, int turns)
{
	for (int i = 0; i < turns; i++)
		x = x * 6364136223846793005u + 1;
	return x;
}
'

program quadratic <<'SOURCE'
static unsigned int known[20000], count;
APART int is_known(unsigned int word)
{
	for (unsigned int i = 0; i < count; i++)
		if (known[i] == word)
			return 1;
	return 0;
}
APART void add_word(unsigned int word)
{
	if (!is_known(word))
		known[count++] = word;
}
int main(void)
{
	unsigned long long x = 1;

	for (unsigned int i = 0; i < 20000; i++) {
		add_word(i * 2654435761u);
		x = mix(x, 1000);
	}
	wait_ms(1);
	printf("%u %llu\n", count, x);
	return 0;
}
SOURCE
expect_among quadratic "$(first quadratic 1)" is_known

program tiny <<'SOURCE'
static unsigned int bits[1 << 16];
APART unsigned int get_bit(unsigned int i)
{
	return bits[i >> 5 & 0xffff] >> (i & 31) & 1;
}
APART unsigned int count_bits(unsigned int from)
{
	unsigned int sum = 0;

	for (unsigned int i = 0; i < 1 << 20; i++)
		sum += get_bit(from + i);
	return sum;
}
int main(void)
{
	unsigned int sum = 0;

	for (unsigned int i = 0; i < 300; i++)
		sum += count_bits(i << 20);
	wait_ms(1);
	printf("%u %llu\n", sum, mix(1, 1000));
	return 0;
}
SOURCE
expect_among tiny "$(first tiny 2)" get_bit
[ "$source" = samples ] || exit 0

program stall <<'SOURCE'
APART void refresh_cache(int request)
{
	if (request % 10000 == 7777)
		wait_ms(60);
}
APART unsigned long long serve(int request, unsigned long long x)
{
	refresh_cache(request);
	return mix(x, 6000);
}
int main(void)
{
	unsigned long long x = 1;

	for (int i = 0; i < 50000; i++)
		x = serve(i, x);
	printf("%llu\n", x);
	return 0;
}
SOURCE
expect_among stall "$(first stall 4)" wait_ms
expect_among stall "$(first stall 20)" refresh_cache

program locked <<'SOURCE'
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long long table[1024];
APART void save_table(void)
{
	pthread_mutex_lock(&lock);
	wait_ms(20);
	pthread_mutex_unlock(&lock);
}
APART void change_table(unsigned int i)
{
	pthread_mutex_lock(&lock);
	table[i % 1024] += i;
	pthread_mutex_unlock(&lock);
}
static void *work(void *unused)
{
	unsigned long long x = 1;

	for (int i = 0; i < 60000; i++) {
		x = mix(x, 3000);
		change_table((unsigned int)x);
	}
	return unused;
}
int main(void)
{
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	for (int i = 0; i < 40; i++) {
		save_table();
		wait_ms(5);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("%llu\n", table[7]);
	return 0;
}
SOURCE
expect_among locked "$(first locked 20)" save_table
case $(most_blocked locked) in
wait_ms | save_table | change_table) ;;
*)	fail "locked: most blocked is $(most_blocked locked)" ;;
esac
