# SPDX-License-Identifier: Apache-2.0
#
# Signals reach the program once, whoever sends them; the terminal's job
# control works as if perfrec were not there.
. "$TOP/tests/e2e/lib.sh"
need script

# ./counts writes its pid to ./up, waits for a signal, prints those it gets
# until none has come for a second, and exits with 40 + their number.
build counts <<'SOURCE'
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
int main(void)
{
	struct timespec second = { .tv_sec = 1 }, *limit = NULL;
	sigset_t set;
	int count = 0, signal;
	FILE *up;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGRTMIN);
	sigprocmask(SIG_BLOCK, &set, NULL);
	up = fopen("up", "w");
	fprintf(up, "%d\n", getpid());
	fclose(up);
	for (;;) {
		signal = sigtimedwait(&set, NULL, limit);
		if (signal < 0 && errno == EINTR)
			continue;
		if (signal < 0)
			break;
		printf("signal %d\n", signal == SIGRTMIN ? 0 : signal);
		fflush(stdout);
		limit = &second;
		count++;
	}
	return 40 + count;
}
SOURCE

start()
{
	rm -f up
	"$PERFREC" record -q "$@" >out 2>err &
	perfrec=$!
	wait_for 60 test -s up
}

# Sent to perfrec alone: passed on.
start ./counts
kill -USR1 $perfrec
wait $perfrec
expect_eq 'status after USR1' $? 41
expect_eq 'signals' "$(cat out)" 'signal 10'

start ./counts
kill -RTMIN $perfrec
wait $perfrec
expect_eq 'status after RTMIN' $? 41

# A signal that ends the program ends perfrec the same way.
start ./counts
kill -TERM $perfrec
wait $perfrec
expect_eq 'status after TERM' $? 143

# ^C at a terminal: the program gets the signal, and perfrec waits for its end.
rm -f up
mkfifo keys
script -qefc "'$PERFREC' record -q ./counts; echo status \$?" typescript \
	<keys >/dev/null 2>&1 &
exec 3>keys
wait_for 60 test -s up
printf '\003' >&3
wait_for 60 grep -q 'status 4' typescript
exec 3>&-
wait
expect_match typescript 'status 41'
expect_eq 'signals' "$(grep -c 'signal 2' typescript)" 1

# ^Z stops the whole job, fg lets it go on.
rm -f up
script -qefc "bash -m -c '\"$PERFREC\" record -q ./counts; echo stopped \$?;
	fg >/dev/null; echo status \$?'" typescript <keys >/dev/null 2>&1 &
exec 3>keys
wait_for 60 test -s up
printf '\032' >&3
wait_for 60 grep -q 'stopped 148' typescript
kill -USR1 "$(cat up)"
wait_for 60 grep -q 'status 4' typescript
exec 3>&-
wait
expect_match typescript 'status 41' 'signal 10'
