# SPDX-License-Identifier: Apache-2.0
#
# A program under an audit library that watches calls (LD_AUDIT, sotruss,
# LD_PROFILE): the dynamic linker looked for the shim's procedure linkage table,
# which it does not have, and crashed. Such programs run, and are recorded as
# without the audit library.
. "$TOP/tests/e2e/lib.sh"
need sotruss

cat >audit.c <<'SOURCE'
#define _GNU_SOURCE
#include <link.h>
#ifdef __x86_64__
#define PLTENTER la_x86_64_gnu_pltenter
#define REGS La_x86_64_regs
#else
#define PLTENTER la_aarch64_gnu_pltenter
#define REGS La_aarch64_regs
#endif
unsigned la_version(unsigned version)
{
	return version < LAV_CURRENT ? version : LAV_CURRENT;
}
unsigned la_objopen(struct link_map *map, Lmid_t space, uintptr_t *cookie)
{
	return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}
#ifdef CALLS
ElfW(Addr) PLTENTER(ElfW(Sym) *symbol, unsigned number, uintptr_t *from,
	uintptr_t *to, REGS *registers, unsigned *flags, const char *name,
	long *frame)
{
	return symbol->st_value;
}
#endif
SOURCE
gcc -w -shared -fPIC -DCALLS -o calls.so audit.c &&
	gcc -w -shared -fPIC -o objects.so audit.c || fail 'gcc audit.c'

build program -pthread <<'SOURCE'
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void *volatile kept;
static void *thread(void *argument)
{
	for (int i = 0; i < 100; i++) {
		kept = malloc(10);
		free(kept);
	}
	return argument;
}
int main(void)
{
	pthread_t id;
	pthread_create(&id, NULL, thread, NULL);
	pthread_join(id, NULL);
	if (!fork()) {
		thread(NULL);
		_exit(0);
	}
	wait(NULL);
	return dlopen("libm.so.6", RTLD_NOW) ? 5 : 6;
}
SOURCE

for audit in '' ./calls.so ./objects.so ./objects.so:./calls.so; do
	data=data$(echo "$audit" | tr -c 'a-z\n' -)
	run "$PERFREC" record -q --alloc=exact --cpu=off -o "$data" -- \
		env LD_AUDIT="$audit" ./program
	expect_status 5
	expect_eq "$audit: spans" "$(json "$data/summary.json" .totals.spans)" 3
	# 100 by each process; the dynamic linker's own differ.
	frees=$(json "$data/summary.json" .totals.frees)
	[ "$frees" -ge 200 ] && [ "$frees" -le 300 ] ||
		fail "$audit: $frees blocks freed"
done

run "$PERFREC" record -q -o data-sotruss -- sotruss -F libc.so.6 ./program
expect_status 5
expect_eq 'sotruss: spans' "$(json data-sotruss/summary.json .totals.spans)" 3

mkdir profiles
run "$PERFREC" record -q -o data-profile -- \
	env LD_PROFILE=libperfrec_preload.so LD_PROFILE_OUTPUT="$PWD/profiles" \
	./program
expect_status 5
expect_eq 'LD_PROFILE: spans' "$(json data-profile/summary.json .totals.spans)" 3
