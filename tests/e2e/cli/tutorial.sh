# SPDX-License-Identifier: Apache-2.0
#
# Every command of the first part of docs/TUTORIAL.md works, and shows what the
# page says: this test runs the lines that begin with "    $ " in their order.
. "$TOP/tests/e2e/lib.sh"
need g++

cp "$TOP/docs/tutorial/shop.cc" .
ln -s "$O/perfrec" perfrec
export PATH="$PWD:$PATH"
sed -n '/^## Commands by question/q; s/^    \$ //p' "$TOP/docs/TUTORIAL.md" >commands
[ "$(wc -l <commands)" -ge 10 ] || fail 'the page has lost its commands'
number=0
while IFS= read -r command <&3; do
	number=$((number + 1))
	sh -c "$command" >"out.$number" 2>"err.$number" </dev/null || {
		cat "err.$number"
		fail "status $? of: $command"
	}
	echo "$command" >"command.$number"
done 3<commands

# shown REGEX COMMAND: what the command that has these words has printed.
shown()
{
	number=$(grep -lF -e "$2" command.* | head -n 1 | sed 's/command\.//')
	[ -n "$number" ] || fail "no command has '$2'"
	cat "err.$number" "out.$number" | grep -qE "$1" || {
		cat "err.$number" "out.$number"
		fail "'$2' does not show '$1'"
	}
}
# Where the clock is slow (kvm-clock), times are from samples. Then inlined functions
# have rows as well, and these two may be behind the first 20.
"$PERFREC" report --limit 0 before >all.out || fail 'perfrec report'
expect_match all.out ' 80,000 .* Catalog::find' ' 20 .* Shop::audit\(\)'
shown '80,000 calls' 'graph Catalog::find'
shown '80,000 .* 100.0  Shop::handle_order' 'graph Catalog::find'
# Lines come from a few samples. All of them may be in the hook that ends the call,
# which the compiler gives a line of the header of std::string.
shown '^ +[0-9.]+ ms +([0-9]+ +if \(item\.name == name\)|[0-9]+ +.*for \(const Item|3587 )' \
	'annotate Catalog::find'
shown 'Catalog::find' 'diff before after'
shown 'Shop::audit\(\)' 'replay'
shown 'Shop::write_receipt' 'view heap'
grep -q perfrec-data before.html || fail 'the page is no page'
# Within the budget, long calls are recorded as well.
expect_eq 'long calls within the budget' \
	"$(jq '.functions[] | select(.name == "Shop::audit()") | .calls' \
		budget/summary.json)" 20
