# SPDX-License-Identifier: Apache-2.0
#
# pull.sh - for tests of --listen, sourced after lib.sh, stacks.sh and daemon.sh:
# programs to record, and requests to a daemon that listens.
need protoc jq gcc python3

# build_programs: ./one and ./two BLOCKS FILE [burn], and ./churns FILE. Each makes FILE
# when it has its blocks, and ends once there is a file "stop".
build_programs()
{
build one <<'SOURCE'
#include <stdlib.h>
#include <unistd.h>
#include <fcntl.h>
static void *kept[4096];
static int keeps;
static volatile long sum;

static void __attribute__((noinline)) step(int blocks, int bytes)
{
	while (blocks-- > 0)
		kept[keeps++] = malloc(bytes);
}
static void __attribute__((noinline)) burn(void)
{
	for (long i = 0; i < 3000000; i++)
		sum += i;
}
int main(int argc, char **argv)
{
	alarm(3000);
	step(atoi(argv[1]), 1000);
	free(kept[0]);
	close(open(argv[2], O_CREAT | O_WRONLY, 0600));
	while (access("stop", F_OK) != 0)
		if (argc > 3)
			burn();
		else
			usleep(5000);
	return 0;
}
SOURCE
cp one two
build churns <<'SOURCE'
#include <stdlib.h>
#include <unistd.h>
#include <fcntl.h>
static void *kept[4000];
static void *volatile last;

static void __attribute__((noinline)) before(void)
{
	for (int i = 0; i < 4000; i++)
		kept[i] = malloc(1000);
}
static void __attribute__((noinline)) later(int i)
{
	free(kept[i % 4000]);
	kept[i % 4000] = NULL;
	last = malloc(70);
}
int main(int argc, char **argv)
{
	alarm(3000);
	before();
	close(open(argv[1], O_CREAT | O_WRONLY, 0600));
	for (int i = 0; access("stop", F_OK) != 0; i++) {
		later(i);
		usleep(20000);
	}
	return 0;
}
SOURCE
}

# start OPTION...: a daemon that listens; $base is where.
start()
{
	start_daemon --listen 127.0.0.1:0 "$@"
	base=http://127.0.0.1:$(sed -n 's|.*serving profiles at http://127.0.0.1:\([0-9]*\)/.*|\1|p' collect.log)
}
# http PATH [METHOD [NAME: VALUE]...]: prints the status; the answer goes into files
# $answer and $answer.head.
cat >ask.py <<'SCRIPT'
import http.client, sys, urllib.parse
base, out, path, method = sys.argv[1:5]
connection = http.client.HTTPConnection(urllib.parse.urlsplit(base).netloc, timeout=250)
try:
    connection.request(method, path, headers=dict(
        text.split(': ', 1) for text in sys.argv[5:]))
    answer = connection.getresponse()
    with open(out + '.head', 'w') as head:
        for name, value in answer.getheaders():
            print(f'{name}: {value}', file=head)
    with open(out, 'wb') as body:
        body.write(answer.read())
    print(answer.status)
except (OSError, http.client.HTTPException):
    print('none')
SCRIPT
http()
{
	path=$1 method=${2:-GET}
	[ $# -lt 2 ] || shift
	shift
	python3 ask.py "$base" "${answer:-body}" "$path" "$method" "$@"
}
# expect_get CODE PATH [METHOD [NAME: VALUE]...]
expect_get()
{
	want=$1
	shift
	code=$(http "$@")
	[ "$code" = "$want" ] ||
		fail "$1: status $code, expected $want: $(cat body.head body)"
}
# programs: whose samples are in the profile that was read last.
programs()
{
	awk '/^string_table:/ { name[count++] = $2 }
		/^  label/ { in_label = 1 }
		in_label && $1 == "key:" { key = $2 }
		in_label && $1 == "str:" { seen[key " " $2]; in_label = 0 }
		END { for (pair in seen) { split(pair, part, " ");
			print name[part[1]] "=" name[part[2]] } }' stacks.text |
		tr -d '"' | LC_ALL=C sort | tr '\n' ' '
}

# lasts NS: the last profile covers NS. The two clocks may
# differ a little.
lasts()
{
	awk -v least="$1" '/^duration_nanos:/ && $2 >= least * 0.99 &&
		$2 < 1000000000000 { ok = 1 }
		END { exit !ok }' stacks.text || fail "$(grep nanos stacks.text)"
}

# start_all: a daemon that records everything, and the three programs. $began is when.
start_all()
{
	start --alloc exact --cpu 499 --sched on
	preload ./one 10 did.one burn &
	one=$!
	preload ./two 20 did.two &
	two=$!
	preload ./churns did.churns &
	churns=$!
	wait_for 60 test -e did.one -a -e did.two -a -e did.churns
	began=$(date +%s)
}

# stop_all: the programs and the daemon; each program has its summary.
stop_all()
{
	touch stop
	wait $one || fail 'one'
	wait $two || fail 'two'
	wait $churns || fail 'churns'
	stop_daemon
	for name in one two churns; do
		has_summary $name || fail "no summary of $name"
	done
}
