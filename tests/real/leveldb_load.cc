/* SPDX-License-Identifier: Apache-2.0
 *
 * leveldb_load DIR COUNT - fill a new database with COUNT values, read each
 * back, and walk over all. Prints the same for the same COUNT.
 */
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "leveldb/db.h"

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	const std::string path = argv[1];
	const int count = atoi(argv[2]);
	leveldb::Options options;
	leveldb::DB *opened;
	std::string value;
	long bytes = 0, steps = 0;

	options.create_if_missing = true;
	leveldb::DestroyDB(path, options);
	if (!leveldb::DB::Open(options, path, &opened).ok())
		return 1;
	std::unique_ptr<leveldb::DB> db(opened);
	for (int i = 0; i < count; i++)
		db->Put(leveldb::WriteOptions(),
			"k" + std::to_string(i * 7919L % count),
			std::string(100, 'x'));
	for (int i = 0; i < count; i++)
		if (db->Get(leveldb::ReadOptions(), "k" + std::to_string(i),
			    &value)
			    .ok())
			bytes += (long)value.size();
	std::unique_ptr<leveldb::Iterator> at(
		db->NewIterator(leveldb::ReadOptions()));
	for (at->SeekToFirst(); at->Valid(); at->Next())
		steps++;
	for (at->SeekToLast(); at->Valid(); at->Prev())
		steps++;
	printf("%ld bytes, %ld steps\n", bytes, steps);
	return 0;
}
