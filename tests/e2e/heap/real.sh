# SPDX-License-Identifier: Apache-2.0
# timeout: 600
# long: records five real programs
#
# Real programs allocate as an independent count says, to the byte: SQLite,
# Lua, sort, xmllint and a C++ program, as they are installed, without any
# instrumentation; and their output stays the same.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/alloc.sh"
need g++ od

if command -v sqlite3 >/dev/null; then
	sh "$TOP/tests/real/workload.sql.sh" 1 >sql
	input=sql
	same_memory sqlite3 sqlite3 :memory:
	input=/dev/null
fi
lua=$(command -v lua5.4 || command -v lua5.3) || lua=''
if [ "$lua" ]; then
	cat >work.lua <<-'LUA'
	local words, count = {}, 0
	for i = 1, 30000 do
		local word = ("w%d"):format(i * 7919 % 10007)
		words[word] = (words[word] or "") .. i % 10
		if i % 1000 == 0 then words = {} end
	end
	for _ in pairs(words) do count = count + 1 end
	print(count)
	LUA
	same_memory "$(basename "$(readlink -f "$lua")")" "$lua" work.lua
fi

seq 1 100000 | sed 's/\(.*\)\(..\)$/\2\1/' >numbers
same_memory sort sort --parallel=4 -S 2M numbers
if command -v xmllint >/dev/null; then
	{
		echo '<list>'
		seq 1 20000 | sed 's|.*|<item id="&"><a>text &</a><b/></item>|'
		echo '</list>'
	} >large.xml
	same_memory xmllint xmllint --xpath 'count(//a)' large.xml
fi

cat >words.cc <<'SOURCE'
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>
struct alignas(64) line { char bytes[192]; };
static std::string *kept;
int main()
{
	std::map<std::string, std::vector<std::string>> words;
	std::vector<std::unique_ptr<line>> lines;
	for (unsigned i = 0; i < 40000; i++) {
		std::string word = "a word that is not short " +
			std::to_string(i * 2654435761u % 1009);
		words[word].push_back(word + std::to_string(i));
		if (i % 100 == 0)
			lines.emplace_back(new line());
		if (i % 5000 == 0)
			words.clear();
	}
	delete[] new char[7];
	kept = new std::string(1000, 'k');
	std::printf("%zu %zu\n", words.size(), lines.size());
}
SOURCE
for flags in -O0 '-O2 -finstrument-functions'; do
	# shellcheck disable=SC2086 # a list of options
	g++ -std=c++17 -g $flags -o words words.cc || fail 'g++'
	same_memory words ./words
done
"$PERFREC" report --view heap --json --stacks data >stacks.json
expect_eq 'what was not freed, and by whom' "$(json stacks.json '
	[.stacks[] | select(.value.inuse_space == 1001) |
		.stack[-1].name] | unique | join(" ")')" main
