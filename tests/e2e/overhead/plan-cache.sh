# SPDX-License-Identifier: Apache-2.0
#
# The plan of a large program is made once: the next recording takes it from the
# cache, unless the file is another one, or the plan is damaged. Each recording
# counts the calls right.
. "$TOP/tests/e2e/lib.sh"
export XDG_CACHE_HOME="$PWD/cache"
functions=2000

# Much code for each function, and no more calls of hooks: to read it takes most of
# the time. To write the text takes as long with a plan as without one, some 25 ms on
# a busy machine. Without this code the plan took no longer than that.
code='__asm__ volatile(".rept 600\n\tnop\n\t.endr");'

# write_large EXTRA: functions that each do EXTRA first; main calls each once.
write_large()
{
	echo 'static volatile long sum;'
	i=0
	while [ $i -lt $functions ]; do
		echo "__attribute__((noinline)) void f$i(long n)"
		printf '%s\n' "{ $1 if (n > 0) sum += n * $i; else sum -= n; $code }"
		i=$((i + 1))
	done
	echo 'int main(void) {'
	i=0
	while [ $i -lt $functions ]; do
		echo "f$i($i);"
		i=$((i + 1))
	done
	echo 'return 0; }'
}
# make_large EXTRA: the build-id is the same, whatever the code is.
make_large()
{
	write_large "$1" >large.c
	"$PERFREC" cc --hooks=entry gcc -O0 -Wl,--build-id=0x123456 \
		-o large.new large.c || fail 'it does not compile'
	mv large.new large
}
record()
{
	rm -rf before
	[ ! -d cache ] || cp -r cache before
	# On a very busy machine the text is not ready within the second that a
	# program waits, and that is said. Then again, with the cache as it was.
	for attempt in 1 2 3 4 5; do
		run_ok "$PERFREC" record -q --overhead 5% --alloc=off --cpu=off \
			-o data "$@" -- ./large
		[ "$(json data/summary.json .totals.unconnected_starts)" -ne 0 ] ||
			break
		rm -rf cache
		[ ! -d before ] || cp -r before cache
	done
	expect_eq "stderr, $*" "$(cat err)" ''
	expect_eq 'calls' "$(json data/summary.json \
		'[.functions[] | select(.name | test("^f[0-9]")) | .calls] | add')" \
		$functions
}
# The CPU time in us that the collector took to plan and patch.
patch_us()
{
	json data/summary.json '.totals.patch_ns / 1000 | floor'
}

make_large ''
record --no-cache
[ ! -e cache/perfrec/plan-123456 ] || fail '--no-cache has kept a plan'
record
first=$(patch_us)
plan=cache/perfrec/plan-123456
[ -s $plan ] || fail "no plan in the cache: $(ls cache/perfrec)"
cp $plan first.plan
record
second=$(patch_us)
[ $((second * 2)) -lt "$first" ] ||
	fail "planning took $first us, and $second us with its plan in the cache"
cmp -s $plan first.plan || fail 'the plan was made again'

# The same build-id, and other code at the same addresses.
make_large 'sum ^= 1;'
record
! cmp -s $plan first.plan || fail 'the plan of another file was taken'
cp $plan other.plan

head -c 5000 other.plan >$plan
record
cmp -s $plan other.plan || fail 'the damaged plan is still there'
run_ok "$PERFREC" ctl forget
[ ! -e $plan ] || fail 'ctl forget has left the plan'
