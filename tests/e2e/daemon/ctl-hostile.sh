# SPDX-License-Identifier: Apache-2.0
#
# Clients of the control socket that say nothing, nonsense, too much, or go
# away at any moment: the collector serves others as if they were not there.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"

# ./client TEXT HOW: sends TEXT, with \n for newlines; HOW: go away at once,
# read the answer, or stay silent until killed. Says "up" when TEXT is sent.
cat >client.c <<'SOURCE'
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	struct sockaddr_un address = { AF_UNIX, "perfrec.sock.ctl" };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	char answer[4096];
	ssize_t got;

	if (connect(fd, (struct sockaddr *)&address, sizeof(address)))
		return 2;
	send(fd, argv[1], strlen(argv[1]), MSG_NOSIGNAL);
	if (!strcmp(argv[2], "go"))
		return 0;
	if (!strcmp(argv[2], "stay")) {
		fclose(fopen("up", "a"));
		pause();
	}
	while ((got = read(fd, answer, sizeof(answer))) > 0)
		fwrite(answer, 1, (size_t)got, stdout);
	return argc == 3 ? 0 : 1;
}
SOURCE
gcc -o client client.c || fail 'cannot compile client.c'
newline='
'
build_calls
start_daemon

ask()
{
	./client "$1" read >out || fail "'$1': cannot connect"
	expect_eq "answer to '$1'" "$(json out .error)" "$2"
}
ask "halt$newline" 'unknown request'
ask "$newline" 'unknown request'
ask " list$newline" 'unknown request'
ask "pause nobody$newline" \
	"no program 'nobody' is being recorded (see perfrec ctl list)"
ask "$(head -c 9000 /dev/zero | tr '\0' x)" 'the request is too long'
ask "stop $(head -c 400 /dev/zero | tr '\0' x)$newline" \
	"no program '$(head -c 400 /dev/zero | tr '\0' x)' is being recorded (see perfrec ctl list)"
for text in '' 'list' "list$newline" "flush$newline" "top$newline" "pause$newline" \
	"resume$newline" "stop nobody$newline" \
	"list${newline}list${newline}stop$newline"; do
	for i in 1 2 3; do
		./client "$text" go || fail "'$text': cannot connect"
	done
done

# More than it takes at a time, and all silent: others wait for a moment.
trap 'kill -KILL $collector $clients' EXIT
clients=
for i in $(seq 40); do
	./client 'lis' stay &
	clients="$clients $!"
done
wait_for 60 test -e up
answers()
{
	"$PERFREC" ctl list >/dev/null 2>&1
}
wait_for 60 answers
LD_PRELOAD=$SHIM ./calls 1000 >out || fail 'the program'
wait_for 60 has_summary calls
kill $clients
wait $clients 2>/dev/null
clients=
ask "halt$newline" 'unknown request'
files=$(ls /proc/$collector/fd | wc -l)
for i in $(seq 20); do
	./client "list$newline" go
done
no_more_files()
{
	[ "$(ls /proc/$collector/fd | wc -l)" -le "$files" ]
}
wait_for 60 no_more_files
trap - EXIT
stop_daemon
expect_eq 'spans' "$(json data/calls-*/summary.json .totals.spans)" 1002
