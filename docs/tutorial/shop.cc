// SPDX-License-Identifier: Apache-2.0
//
// shop.cc - the slow program of docs/TUTORIAL.md: two threads handle 20,000
// orders. Three things are wrong with it. -DFASTER mends the first one.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

struct Item {
	std::string name;
	long price;
};

class Catalog
{
      public:
	explicit Catalog(int items)
	{
		for (int i = 0; i < items; i++)
			add({ "article-" + std::to_string(i), 100 + i % 900 });
	}
	const Item *find(const std::string &name) const;

      private:
	void add(Item item)
	{
		place[item.name] = list.size();
		list.push_back(std::move(item));
	}
	std::vector<Item> list;
	std::unordered_map<std::string, size_t> place;
};

#ifdef FASTER
const Item *Catalog::find(const std::string &name) const
{
	auto found = place.find(name);

	return found == place.end() ? nullptr : &list[found->second];
}
#else
const Item *Catalog::find(const std::string &name) const
{
	for (const Item &item : list)
		if (item.name == name)
			return &item;
	return nullptr;
}
#endif

struct Order {
	int number;
	std::vector<std::string> lines;
};

struct Receipt {
	int order;
	long sum;
	std::string text;
};

class Shop
{
      public:
	explicit Shop(const Catalog &catalog) : catalog(catalog)
	{
	}
	void handle_order(const Order &order);
	long sum() const
	{
		return total;
	}

      private:
	std::string write_receipt(const Order &order, long sum) const;
	void audit();

	const Catalog &catalog;
	std::vector<std::unique_ptr<Receipt>> receipts; // all of them, for ever
	long total = 0;
};

std::string Shop::write_receipt(const Order &order, long sum) const
{
	std::string text = "order " + std::to_string(order.number) + "\n";

	for (const std::string &line : order.lines)
		text += "  " + line + "\n";
	return text + "sum " + std::to_string(sum) + "\n";
}

// Sorts a copy of every receipt that there ever was.
void Shop::audit()
{
	std::vector<std::string> texts;

	for (int round = 0; round < 8; round++) {
		texts.clear();
		for (const auto &receipt : receipts)
			texts.push_back(receipt->text);
		std::sort(texts.begin(), texts.end());
	}
	total += texts.empty() ? 0 : 1;
}

void Shop::handle_order(const Order &order)
{
	long sum = 0;

	for (const std::string &line : order.lines) {
		const Item *item = catalog.find(line);

		sum += item ? item->price : 0;
	}
	total += sum;
	receipts.push_back(std::make_unique<Receipt>(
		Receipt{ order.number, sum, write_receipt(order, sum) }));
	if (order.number % 1000 == 999)
		audit();
}

static Order make_order(int number)
{
	Order order{ number, {} };

	for (int i = 0; i < 4; i++)
		order.lines.push_back(
			"article-" +
			std::to_string((number * 7 + i * 131) % 900));
	return order;
}

static void serve(const Catalog *catalog, int from, int to, long *out)
{
	Shop shop(*catalog);

	for (int i = from; i < to; i++)
		shop.handle_order(make_order(i));
	*out = shop.sum();
}

int main()
{
	const Catalog catalog(900);
	long one = 0, other = 0;
	std::thread first(serve, &catalog, 0, 10000, &one);
	std::thread second(serve, &catalog, 10000, 20000, &other);

	first.join();
	second.join();
	printf("%ld\n", one + other);
	return 0;
}
