# SPDX-License-Identifier: Apache-2.0
#
# The output of --json has the members of docs/JSON.md, which are those of
# tests/golden/json-members.txt: none is missing, none has another type, and a
# new member is in the list. Members are added, never changed.
. "$TOP/tests/e2e/lib.sh"

# ./wait: allocates, has an asynchronous slice, works for 0.2 s of CPU time, and
# waits for a file.
build wait -I"$TOP/preload" <<'SOURCE'
#include <perfrec.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
__attribute__((noinline)) static void *allocate(void) { return malloc(100); }
__attribute__((noinline)) static void work(void)
{
	volatile unsigned long i = 0;

	while (clock() < CLOCKS_PER_SEC / 5)
		i++;
}
int main(int argc, char **argv)
{
	alarm(600);
	for (int i = 0; i < 10; i++)
		free(allocate());
	if (!allocate())
		return 1;
	PERFREC_ASYNC_BEGIN(PERFREC_PROCESS_TRACK, 1, "slice");
	work();
	PERFREC_ASYNC_END(PERFREC_PROCESS_TRACK, 1, "slice");
	while (argc > 1 && access(argv[1], F_OK) < 0)
		usleep(10000);
	return 0;
}
SOURCE

# ./locked: one thread waits for a mutex, the other for a condition.
# Each is asleep before the other goes on.
build locked -D_GNU_SOURCE -I "$TOP/tests/e2e/lib" -pthread <<'SOURCE'
#include <asleep.h>
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t done = PTHREAD_COND_INITIALIZER;
static volatile pid_t first, worker;
static void *run(void *unused)
{
	worker = gettid();
	pthread_mutex_lock(&lock);
	await_sleep(&first);
	pthread_cond_signal(&done);
	pthread_mutex_unlock(&lock);
	return unused;
}
int main(void)
{
	pthread_t thread;

	first = gettid();
	pthread_mutex_lock(&lock);
	pthread_create(&thread, 0, run, 0);
	await_sleep(&worker);
	pthread_cond_wait(&done, &lock);
	pthread_mutex_unlock(&lock);
	pthread_join(thread, 0);
	return 0;
}
SOURCE

# members TITLE: of the object on stdin, with "[]" for any index. The values of
# profiles have the names of their types, which are KEY here.
members()
{
	echo "# $1"
	jq -r '[paths as $p | {p: $p, t: (getpath($p) | type)} |
		.p |= (map(if type == "number" then "[]" else "." + . end) |
			join("") | ltrimstr(".")) |
		.p |= sub("(?<a>(^|\\.)(self|total|sum|value|values))\\.(alloc|inuse|peak|wall|on_cpu|cpu|runnable|blocked|switches|calls|samples|temporary)[a-z_]*"; "\(.a).KEY") |
		.p |= sub("^resource\\..*"; "resource.KEY") |
		"\(.p) \(.t)"] | unique | .[]' || fail "$1: no JSON"
}

"$PERFREC" record -q --alloc=exact --cpu 250 -o live ./wait go &
recorder=$!
trap 'touch go' EXIT
# records: whether the program is there.
records()
{
	# No text is no error to jq -e (1.6).
	"$PERFREC" ctl -o live list --json 2>/dev/null |
		jq '.programs[0].pid' | grep -q '[0-9]'
}
wait_for 60 records
{
	members 'perfrec ctl list' <<-JSON
	$("$PERFREC" ctl -o live list --json)
	JSON
	members 'perfrec ctl flush' <<-JSON
	$("$PERFREC" ctl -o live flush --json)
	JSON
	members 'perfrec ctl stats' <<-JSON
	$("$PERFREC" ctl -o live stats --json)
	JSON
	members 'perfrec ctl functions' <<-JSON
	$("$PERFREC" ctl -o live functions --json)
	JSON
	members 'perfrec top' <<-JSON
	$("$PERFREC" top -o live --json --count 1 --interval 100ms)
	JSON
	touch go
	wait $recorder || fail "perfrec record: status $?"
	members summary.json <live/summary.json
	"$PERFREC" report --json live | members 'perfrec report'
	for view in cpu heap span; do
		"$PERFREC" report --json --view $view live |
			members "perfrec report --view $view"
	done
	"$PERFREC" record -q --alloc=off --calls-to=access,open -o io ./wait go
	"$PERFREC" report --json --view io io | members 'perfrec report --view io'
	"$PERFREC" record -q -o locks ./locked
	"$PERFREC" report --json --view lock locks |
		members 'perfrec report --view lock'
	"$PERFREC" report --json --view lock --stacks locks |
		members 'perfrec report --view lock --stacks'
	"$PERFREC" report --json --view path locks |
		members 'perfrec report --view path'
	# The switches of so short a run may permit no estimate.
	"$PERFREC" what-if --json 'main -50%' locks | members 'perfrec what-if'
	"$PERFREC" report --json --stacks --view heap live |
		members 'perfrec report --stacks'
	"$PERFREC" report --json --from 0s live | members 'perfrec report --from'
	cp -r live again
	"$PERFREC" report --json live again | members 'perfrec report A B'
	"$PERFREC" find --json work live | members 'perfrec find'
	"$PERFREC" doctor --json . | members 'perfrec doctor'
	"$PERFREC" diff --json live live | members 'perfrec diff'
	"$PERFREC" aggregate --json live again | members 'perfrec aggregate'
} >got
# A line of the list that ends in "?" need not be there.
awk '
	FNR == 1 { files++; title = "" }
	/^# / { title = $0; next }
	!title { next }
	files == 1 { wanted[title ": " $1 " " $2] = $3 }
	files == 2 { seen[title ": " $0] = 1 }
	END {
		for (line in wanted)
			if (wanted[line] != "?" && !(line in seen))
				print "missing: " line
		for (line in seen)
			if (!(line in wanted))
				print "not in the list: " line
	}' "$TOP/tests/golden/json-members.txt" got >differs
if [ -s differs ]; then
	cat differs
	fail 'members are added (to tests/golden/json-members.txt), never' \
		'changed: docs/JSON.md'
fi
