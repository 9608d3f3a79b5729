// SPDX-License-Identifier: Apache-2.0
//
// Counts and sorts words in maps: templates, strings, many small functions.
#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

static unsigned int state = 1;

static unsigned int draw()
{
	state = state * 1103515245 + 12345;
	return state >> 8;
}

__attribute__((noinline)) static std::string word()
{
	return "a longer word, number " + std::to_string(draw() % 500);
}

__attribute__((noinline)) static void planted(std::vector<std::string> &to)
{
	to.emplace_back(100, 'x');
}

int main()
{
	std::map<std::string, int> sorted;
	std::unordered_map<std::string, int> counted;
	std::vector<std::string> all;
	int count = 4000;

#ifdef WORK
	count += count / 50;
#endif
	for (int i = 0; i < count; i++) {
		all.push_back(word());
		sorted[all.back()]++;
		counted[all.back()]++;
	}
	std::sort(all.begin(), all.end());
#ifdef CALL
	word();
#endif
#ifdef BLOCK
	planted(all);
#endif
	return sorted.size() == counted.size() ? 0 : 1;
}
