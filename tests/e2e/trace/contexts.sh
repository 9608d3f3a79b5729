# SPDX-License-Identifier: Apache-2.0
#
# Sixty coroutines that switch to one another wherever they are, and return by
# uc_link: each one's calls, as the program itself logs them, are on a track of
# their own, and nothing is repaired or guessed. Made before anything was
# recorded, they are said to be of unknown origin.
. "$TOP/tests/e2e/lib.sh"

build coroutines <<'SOURCE'
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>
#define COUNT 60
#define STACK (128 * 1024)
#define QUIET __attribute__((no_instrument_function))
#define CALL __attribute__((noinline))
/* The last is main's own. A track is the lowest that no other one uses. */
static ucontext_t contexts[COUNT + 1];
static int track[COUNT + 1], current = COUNT, over;
static unsigned seed;
static unsigned draw(void) QUIET;
static void logs(char what, const char *name) QUIET;
static void switches(void) QUIET;
static void any(int depth) QUIET;
CALL void left(int depth);
CALL void right(int depth);
CALL void leaf(void);
CALL void jumps(void);
CALL void body(void);

static unsigned draw(void)
{
	seed = seed * 1103515245u + 12345;
	return seed >> 16;
}
static void logs(char what, const char *name)
{
	printf("%d %c %s\n", track[current], what, name);
}
static int is_used(int number) QUIET;
static int is_used(int number)
{
	for (int i = 0; i < COUNT; i++)
		if (track[i] == number)
			return 1;
	return 0;
}
static void switches(void)
{
	int from = current, to = (int)(draw() % (COUNT + 1));

	if (to < COUNT && track[to] < 0)
		to = COUNT;
	if (to == from)
		return;
	if (to < COUNT && !track[to]) {
		int number = 1;

		while (is_used(number))
			number++;
		track[to] = number;
	}
	current = to;
	swapcontext(&contexts[from], &contexts[to]);
}
static void any(int depth)
{
	if (depth == 0)
		leaf();
	else if (draw() % 4 == 0)
		jumps();
	else if (draw() % 2)
		left(depth - 1);
	else
		right(depth - 1);
	if (draw() % 4 == 0)
		switches();
}
void left(int depth)
{
	volatile char frame[200];

	frame[0] = 1;
	logs('B', "left");
	any(depth);
	any(depth);
	logs('E', "left");
}
void right(int depth)
{
	logs('B', "right");
	any(depth);
	logs('E', "right");
}
void leaf(void)
{
	logs('B', "leaf");
	if (draw() % 3 == 0)
		switches();
	logs('E', "leaf");
}
void jumps(void)
{
	jmp_buf buffer;

	logs('B', "jumps");
	if (!setjmp(buffer)) {
		leaf();
		if (draw() % 2)
			longjmp(buffer, 1);
	}
	leaf();
	logs('E', "jumps");
}
void body(void)
{
	logs('B', "body");
	for (int i = 0; i < 4; i++)
		any(5);
	logs('E', "body");
	track[current] = -1;
	over++;
	current = COUNT;
}
int main(int argc, char **argv)
{
	seed = (unsigned)atoi(argv[argc - 1]);
	logs('B', "main");
	for (int i = 0; i < COUNT; i++) {
		getcontext(&contexts[i]);
		contexts[i].uc_stack.ss_sp = malloc(STACK);
		contexts[i].uc_stack.ss_size = STACK;
		contexts[i].uc_link = &contexts[COUNT];
		makecontext(&contexts[i], body, 0);
	}
	while (over < COUNT) {
		switches();
		right(1);
	}
	logs('E', "main");
	return 0;
}
SOURCE

for seed in 1 2 3; do
	run timeout 100 "$PERFREC" record --alloc=off --cpu=off -q -o data \
		./coroutines $seed
	expect_status 0
	sort -s -n -k1,1 out >logged
	"$O/tests/tools/trace_check" --dump data/trace.pftrace |
		awk '$1 ~ /[BE]/ && !/perfrec: / {
			split($3, tid, "/"); print tid[2] + 0, $1, $6 }' |
		sort -s -n -k1,1 >recorded
	diff logged recorded >differ ||
		fail "seed $seed: $(head -n 5 differ)"
	expect_eq "tracks of seed $seed" "$(json data/summary.json '.totals |
		.repaired_slices + .orphan_ends + .mixed_contexts +
		.dropped_spans')" 0
done

sed '/^int main/s/^/QUIET /; /^#define QUIET/a\
int main(int, char **) QUIET;' coroutines.c >source
cmp -s source coroutines.c && fail 'nothing is quiet'
build quiet <source
run timeout 100 "$PERFREC" record --alloc=off --cpu=off -o data ./quiet 1
expect_status 0
expect_match err 'mixed .* contexts of unknown origin'
"$O/tests/tools/trace_check" data/trace.pftrace || fail 'a rule is broken'
"$O/tests/tools/trace_check" --dump data/trace.pftrace |
	grep -c '^I.* perfrec: a context of unknown origin' >told
expect_eq 'contexts of unknown origin' \
	"$(json data/summary.json .totals.mixed_contexts)" "$(cat told)"
