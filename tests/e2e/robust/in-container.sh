# SPDX-License-Identifier: Apache-2.0
#
# In a container: namespaces of users, processes, mounts, networks and names of
# its own, with perfrec inside. Without /proc it says that.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/surroundings.sh"
need unshare
unshare -Urpfmniu --mount-proc true 2>/dev/null ||
	skip 'no namespaces of a user are permitted here'
build_calls
for spaces in -Ur '-Urpf --mount-proc' '-Urn' '-Urm' '-Urpfmniu --mount-proc'; do
	# shellcheck disable=SC2086 # several words
	works "unshare $spaces" unshare $spaces \
		"$PERFREC" record -q --cpu 250 --alloc exact -o data ./calls 1000
done
# A user who is nobody there: no capabilities in any namespace.
works 'unshare -U' unshare -U "$PERFREC" record -q -o data ./calls 1000
# /proc of another namespace of processes: pids in it are not ours.
in_words 'the /proc of others' '/proc shows another pid namespace' unshare -Urpfm \
	"$PERFREC" record -q -o data ./calls 1000
run timeout 200 unshare -Urpfm "$O/perfrec-collect" -o data
expect_error 1 '/proc shows another pid namespace'
run timeout 200 unshare -Urpfm "$PERFREC" record -o data ./calls 10
expect_eq 'lines of a record' "$(wc -l <err)" 1
# Nothing is mounted at /proc.
cat >bare.sh <<'SCRIPT'
mount -t tmpfs none /proc || exit 99
exec "$@"
SCRIPT
in_words 'no /proc' '^perfrec.*/proc' unshare -Urpfm sh bare.sh \
	"$PERFREC" record -q -o data ./calls 1000
