/* SPDX-License-Identifier: Apache-2.0
 *
 * sqlite_threads - a multi-threaded workload of SQLite: every thread has a
 * database of its own in memory, fills and queries it, and adds up the results.
 * Prints one line a thread, in order; the same for the same arguments.
 *
 * usage: sqlite_threads THREADS ROUNDS
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "sqlite3.h"

#define THREADS_MAX 64
#define ROWS 200

struct worker {
	pthread_t thread;
	int number, rounds;
	uint64_t sum;
};

static void must(sqlite3 *db, int status, int expected, const char *what)
{
	if (status == expected)
		return;
	fprintf(stderr, "%s: %s\n", what, sqlite3_errmsg(db));
	exit(1);
}

static void run(sqlite3 *db, const char *sql)
{
	must(db, sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK, sql);
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *statement = NULL;

	must(db, sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK,
	     sql);
	return statement;
}

static void fill(sqlite3 *db, const struct worker *worker, int round)
{
	sqlite3_stmt *insert =
		prepare(db, "insert into item(kind, price, name)"
			    " values(?1 % 17, ?1 * 37 % 1009, 'item ' || ?1)");

	run(db, "begin");
	for (int row = 0; row < ROWS; row++) {
		sqlite3_bind_int(insert, 1, row * (worker->number + 1) + round);
		must(db, sqlite3_step(insert), SQLITE_DONE, "insert");
		sqlite3_reset(insert);
	}
	run(db, "commit");
	sqlite3_finalize(insert);
}

static void query(sqlite3 *db, struct worker *worker)
{
	sqlite3_stmt *select =
		prepare(db, "select kind, count(*), sum(price), max(name)"
			    " from item where price > 100 group by kind"
			    " order by sum(price) desc");

	while (sqlite3_step(select) == SQLITE_ROW)
		for (int column = 0; column < 3; column++)
			worker->sum =
				worker->sum * 31 +
				(uint64_t)sqlite3_column_int64(select, column);
	sqlite3_finalize(select);
}

static void *work(void *argument)
{
	struct worker *worker = argument;
	sqlite3 *db = NULL;

	must(db, sqlite3_open(":memory:", &db), SQLITE_OK, "open");
	run(db, "create table item(id integer primary key, kind, price, name);"
		"create index by_price on item(price)");
	for (int round = 0; round < worker->rounds; round++) {
		fill(db, worker, round);
		query(db, worker);
		run(db, "delete from item where id % 3 = 0 or price < 50");
		if (round % 16 == 15)
			run(db, "delete from item; vacuum");
	}
	sqlite3_close(db);
	return NULL;
}

int main(int argc, char **argv)
{
	static struct worker workers[THREADS_MAX];
	int threads = argc == 3 ? atoi(argv[1]) : 0;

	if (threads < 1 || threads > THREADS_MAX) {
		fputs("usage: sqlite_threads THREADS ROUNDS\n", stderr);
		return 2;
	}
	for (int i = 0; i < threads; i++) {
		workers[i].number = i;
		workers[i].rounds = atoi(argv[2]);
		if (pthread_create(&workers[i].thread, NULL, work,
				   &workers[i])) {
			fputs("cannot start a thread\n", stderr);
			return 1;
		}
	}
	for (int i = 0; i < threads; i++) {
		pthread_join(workers[i].thread, NULL);
		printf("thread %d: %llu\n", i,
		       (unsigned long long)workers[i].sum);
	}
	return 0;
}
