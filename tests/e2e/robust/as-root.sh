# SPDX-License-Identifier: Apache-2.0
#
# As root, also as root of a user namespace only: recordings are complete.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/surroundings.sh"
build_calls
as=
if [ "$(id -u)" != 0 ]; then
	need unshare
	as='unshare -Ur'
	$as true 2>/dev/null || skip 'nobody becomes root here'
fi
# shellcheck disable=SC2086 # several words
works root $as "$PERFREC" record -q --cpu 250 --alloc exact -o data ./calls 1000
# HOME and the rest of the environment are not needed.
# shellcheck disable=SC2086 # several words
works 'root without an environment' $as env -i "$PERFREC" record -q -o data \
	./calls 1000
