/* SPDX-License-Identifier: Apache-2.0
 *
 * corpus_cxx - as corpus.c, for what C has not: exceptions that pass through
 * inlined functions, destructors, templates, virtual functions, lambdas.
 */
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <vector>

namespace {

struct guard {
	int *count;
	explicit guard(int *where) : count(where)
	{
		++*count;
	}
	~guard()
	{
		--*count;
	}
};

int g_open;

inline int thrower(int x)
{
	guard held(&g_open);

	if (x % 3 == 0)
		throw std::runtime_error("three");
	if (x % 5 == 0)
		throw x;
	return x;
}

inline int catcher(int x)
{
	guard held(&g_open);

	try {
		guard again(&g_open);

		return thrower(x) + thrower(x + 1);
	} catch (const std::exception &error) {
		return (int)std::strlen(error.what());
	}
}

int outer(int x)
{
	try {
		guard held(&g_open);

		switch (x & 7) {
		case 0:
			return catcher(x);
		case 1:
			return catcher(x + 1) * 2;
		case 2:
			return thrower(x);
		case 3:
			return catcher(x) + thrower(x + 1);
		case 4:
			throw 'c';
		case 5:
			return -catcher(x);
		default:
			return x;
		}
	} catch (int value) {
		return value;
	} catch (...) {
		return -1;
	}
}

struct shape {
	virtual ~shape() = default;
	virtual int area() const
	{
		return 0;
	}
};

struct box : shape {
	int side;
	explicit box(int s) : side(s)
	{
	}
	int area() const override
	{
		return side * side;
	}
};

template <typename T> T largest(const std::vector<T> &list)
{
	return *std::max_element(list.begin(), list.end(),
				 [](const T &a, const T &b) { return a < b; });
}

int never(int x) noexcept
{
	std::vector<int> list(static_cast<size_t>(x) + 1, x);

	return largest(list);
}

} // namespace

int main()
{
	std::map<int, int> seen;
	std::vector<std::unique_ptr<shape>> shapes;
	int all = 0;

	for (int i = 1; i < 40; i++) {
		all += outer(i) + never(i);
		seen[i % 7] += outer(i + 1);
		if (i & 1)
			shapes.push_back(std::make_unique<shape>());
		else
			shapes.push_back(std::make_unique<box>(i));
	}
	for (const auto &one : shapes)
		all += one->area();
	std::function<int(int)> call = [&](int x) { return x + all; };
	for (const auto &[key, value] : seen)
		all += value + key;
	printf("%d %d %d\n", all, call(3), g_open);
	return 0;
}
