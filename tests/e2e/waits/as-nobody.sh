# SPDX-License-Identifier: Apache-2.0
#
# As nobody, who may see no kernel and has 64 KiB of locked memory.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/waits.sh"
need setpriv
[ "$(id -u)" = 0 ] || skip 'only root becomes nobody'

# nobody COMMAND... The rings of perf events are paid from what the user has for
# all processes together, so this is a user whom no other test is.
cat >nobody <<SCRIPT
#!/bin/sh
ulimit -l 64
exec setpriv --reuid $((60000 + $$ % 5000)) --regid 65534 --clear-groups \
	env -u XDG_RUNTIME_DIR HOME=/nonexistent "\$@"
SCRIPT
chmod 755 nobody
chmod 711 .
mkdir -m 777 own
mkdir programs
cp "$O"/perfrec* "$O/libperfrec_preload.so" "$WAITS/cpus" "$WAITS/locks" \
	"$WAITS/tasks" programs
cd own || exit 1
sums=
../nobody ../programs/cpus probe >/dev/null || sums=--sums

# as_nobody DIR OPTIONS PROGRAM FAMILY
as_nobody()
{
	dir=$1
	# shellcheck disable=SC2086 # a list of options
	run_ok ../nobody ../programs/perfrec record -q $2 -o "$dir" \
		"../programs/$3" "$4"
	cp out "$dir.truth"
	# shellcheck disable=SC2086 # no word, or one
	waits_agree "$dir" $sums
}
as_nobody sampled '' cpus overcommitted
as_nobody bare '--cpu off' locks rwlock
as_nobody forks '' tasks forks
