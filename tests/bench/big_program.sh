#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# big_program.sh OUTPUT - a C++ program with more than 100 MB of debug
# information: templates of the standard library, compiled once. Further
# compile units are copies of its assembly code under other names, which takes
# half a minute instead of three. Existing parts are not built again.
set -eu

output=$1
copies='01 02 03 04 05 06 07 08 09 10 11 12'
[ ! -x "$output" ] || exit 0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$(dirname "$output")"
output=$(realpath "$output")
cd "$work"

cat >u00.cc <<'END'
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>
namespace u00 {
template <int N> struct key {
	int number;
	std::string text;
	int more[N];
	bool operator<(const key &other) const { return text < other.text; }
};
template <int N> int work(int n)
{
	std::map<key<N>, std::vector<key<N>>> map;
	std::unordered_map<int, std::unique_ptr<key<N>>> pointers;
	std::set<key<N>> set;
	std::vector<key<N>> all;
	std::function<int(const key<N> &)> plus = [&](const key<N> &k) {
		return k.number + n;
	};

	for (int i = 0; i < n; i++) {
		key<N> k{ i, std::to_string(i % 17), {} };
		map[k].push_back(k);
		set.insert(k);
		pointers[i] = std::make_unique<key<N>>(k);
	}
	for (auto &pair : map)
		all.insert(all.end(), pair.second.begin(), pair.second.end());
	std::sort(all.begin(), all.end());
	std::variant<int, std::string, key<N>> any = all.at(0);
	return std::accumulate(all.begin(), all.end(), 0,
			       [&](int s, const key<N> &k) { return s + plus(k); }) +
	       (int)any.index() + (int)pointers.size();
}
template <int N> int all(int n)
{
	if constexpr (N > 0)
		return work<N>(n) + all<N - 1>(n);
	return n;
}
}
int call_u00(int n) { return u00::all<20>(n); }
END
${CXX:-g++} -std=c++17 -g -O1 -S -o u00.s u00.cc
for copy in $copies; do
	sed "s/u00/u$copy/g" u00.s >copy.s
	as -o "u$copy.o" copy.s
	echo "int call_u$copy(int);" >>calls.h
	echo "sum += call_u$copy(argc);" >>calls
done
{
	cat calls.h
	echo 'int main(int argc, char **) { int sum = 0;'
	cat calls
	echo 'return sum & 1; }'
} >main.cc
${CXX:-g++} -g -o program main.cc u??.o
mv program "$output"
