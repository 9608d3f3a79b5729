# SPDX-License-Identifier: Apache-2.0
#
# The object of a wait names the process at the other end: of a pipe, of a pair of
# Unix sockets, and of a connection to an epoll server.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/waits.sh"

perf_permitted || skip 'the kernel tells of no switches'

# waited_on PATTERN: at least 8 of 20 waits; the poller may have missed some.
waited_on()
{
	awk -v pattern="$1" '$0 ~ pattern { waits += $1 } END { exit waits < 8 }' \
		objects || echo "too few waits on $1" >>few
}

# On a busy machine the poller may miss most: three attempts.
for try in 1 2 3; do
	waits_record data tasks objects
	grep '^parent' err >ids ||
		fail "the program does not say who it is: $(cat err)"
	read -r _ parent _ _ _ pipe _ <ids
	run_ok "$PERFREC" report --json --view wait data
	jq -r '.functions[] | "\(.self.waits) \(.name)"' out >objects ||
		fail "no objects: $(head -c 300 out)"
	: >few
	waited_on "[[]pipe $pipe from tasks $parent[]]"
	waited_on "[[]unix socket [0-9]+ to tasks $parent[]]"
	waited_on "[[]tcp 127.0.0.1:[0-9]+ 127.0.0.1:[0-9]+ to tasks $parent[]]"
	waited_on "[[]epoll [0-9]+[]]"
	[ -s few ] || break
	[ "$try" != 3 ] || fail "$(cat few) in: $(cat objects)"
done
