#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Writes SQL for SQLite's shell: tables, indexes, joins, windows, recursive
# queries, text search by pattern, transactions that are rolled back, and
# statements that fail. The same for the same argument.
#
# usage: workload.sql.sh ROUNDS
set -eu

awk -v rounds="$1" '
BEGIN {
	print ".bail off"
	print "create table city(id integer primary key, name text unique,"
	print " people integer, region integer);"
	print "create table road(a integer, b integer, length real);"
	print "create index road_a on road(a, length);"
	print "create view crowded as select * from city where people > 500;"
	for (round = 1; round <= rounds; round++) {
		print "begin;"
		for (i = 1; i <= 100; i++) {
			id = (round * 100 + i)
			printf "insert into city values(%d, %s, %d, %d);\n", id,
				"\047city " id * 7919 % 100003 "\047",
				id * 31 % 997, id % 13
			printf "insert into road values(%d, %d, %f);\n", id,
				round * 100 + id * 17 % 100, id % 71 / 7
		}
		print "commit;"
		print "select region, count(*), avg(people) from city"
		print " group by region having count(*) > 3 order by 3 desc limit 3;"
		print "select c.name, sum(r.length) over (partition by c.region"
		print " order by c.id) from crowded c join road r on r.a = c.id"
		printf " where c.id > %d order by 2 desc, 1 limit 3;\n", round * 100
		print "with recursive f(n, a, b) as (select 1, 0, 1 union all"
		print " select n + 1, b, (a + b) % 1000003 from f where n < 200)"
		print " select max(a), sum(b) from f;"
		print "select count(*), max(upper(name)) from city"
		printf " where name like \047%%%d%%\047;\n", round % 10
		print "begin; update city set people = people + 1; rollback;"
		printf "insert into city values(%d, null, 0, 0);\n", round * 100 + 1
		print "select no_such_function(1);"
		print "delete from road where length < 1;"
		if (round % 8 == 0)
			print "delete from city; delete from road; vacuum;"
	}
	print "select count(*), sum(people) from city;"
	print "pragma integrity_check;"
}'
