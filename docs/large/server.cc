/* SPDX-License-Identifier: Apache-2.0 */
/* server DIR REQUESTS - three threads serve requests of a database; one of them
 * compacts it first, as a maintenance job would. */
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "leveldb/db.h"

static leveldb::DB *db;
static int requests;

static void compact_all() { db->CompactRange(nullptr, nullptr); }

static void handle_request(int client, int number)
{
	std::string key = "k" + std::to_string(number * 7919L % requests) +
			  "/" + std::to_string(client);
	std::string value;

	if (client == 1 && number == requests * 2 / 3)
		compact_all();
	db->Put(leveldb::WriteOptions(), key, std::string(100, 'x'));
	db->Get(leveldb::ReadOptions(), key, &value);
}

static void serve(int client)
{
	for (int i = 0; i < requests; i++)
		handle_request(client, i);
}

int main(int argc, char **argv)
{
	leveldb::Options options;
	std::vector<std::thread> clients;

	options.create_if_missing = true;
	requests = argc > 2 ? atoi(argv[2]) / 3 : 0;
	leveldb::DestroyDB(argv[1], options);
	if (!requests || !leveldb::DB::Open(options, argv[1], &db).ok())
		return 1;
	for (int i = 0; i < 3; i++)
		clients.emplace_back(serve, i);
	for (std::thread &client : clients)
		client.join();
	delete db;
	return 0;
}
