/* SPDX-License-Identifier: Apache-2.0
 *
 * templates - a C++ program of many tiny functions: parses a JSON document with
 * nlohmann's library, changes it, writes it and parses it again. The same calls
 * for the same argument.
 *
 * usage: templates ROUNDS
 */
#include <cstdio>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

using nlohmann::json;

static unsigned int next_number(unsigned int *state)
{
	*state = *state * 1103515245 + 12345;
	return *state >> 16;
}

static json make_document(unsigned int seed)
{
	json document = json::object();

	for (int i = 0; i < 60; i++) {
		json row = json::object();

		row["id"] = next_number(&seed);
		row["name"] = "name " + std::to_string(next_number(&seed));
		row["part"] = next_number(&seed) / 7.0;
		for (int j = 0; j < 8; j++)
			row["list"].push_back(next_number(&seed) % 100);
		document["row " + std::to_string(i)] = row;
	}
	return document;
}

static long sum_of(const json &value)
{
	long sum = 0;

	if (value.is_number())
		return value.get<long>();
	if (value.is_string())
		return (long)value.get<std::string>().size();
	for (const json &part : value)
		sum += sum_of(part);
	return sum;
}

static long one_round(unsigned int seed)
{
	std::string text = make_document(seed).dump(2);
	json again = json::parse(text);
	std::map<long, std::vector<std::string>> by_sum;

	for (const auto &part : again.items())
		by_sum[sum_of(part.value())].push_back(part.key());
	try {
		(void)json::parse(text.substr(0, text.size() / 2));
	} catch (const json::parse_error &) {
		return by_sum.begin()->first + (long)text.size();
	}
	return 0;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1;
	long sum = 0;

	for (int i = 0; i < rounds; i++)
		sum += one_round((unsigned int)i % 100 + 1);
	printf("%ld\n", sum);
	return 0;
}
