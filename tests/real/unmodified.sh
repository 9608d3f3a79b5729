#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Records programs as Debian ships them, without hooks:
#
#     xz          two threads
#     ffmpeg      many libraries and threads
#     nginx       a master and two workers under load
#     postgres    a server of many processes, and pgbench
#
# Output and exit status are the same as without recording. The CPU time is that of
# wait4(), within 2 %, and at most 2 % of it is [unknown]. Nothing is lost, and the
# figures about their memory are consistent.
#
# --patch: each call of each function that can be moved, of these and twelve more:
#
#     bash git sqlite perl lua node    loops, children, exceptions, just-in-time code
#     python      its tests of exceptions and threads
#     gxx clang   compilers, with 200,000 functions
#     redis       a server under load
#     chromium    many processes, and a page whose script runs
#     qt          an offscreen window, signals and threads
#
# The output is the same, calls nest in the trace, and nothing is lost. Functions of
# sqlite, lua, bash and perl that have a name are called as often as callgrind counts.
#
# usage: unmodified.sh [--patch] BUILD DIR [NAME...]
#
# BUILD is the make's $(O), DIR a folder to work in. Prints a line or two for each
# program, and at the end "N passed, N failed, N skipped". Skips programs that
# cannot be installed; exits with 1 if one is wrong, and with 77 if all are skipped.
set -eu

patch=
if [ "$1" = --patch ]; then
	patch=yes
	shift
fi
build=$(cd "$1" && pwd) || exit 2
mkdir -p "$2"
# shellcheck disable=SC2034 # of fetch.sh
dir=$(cd "$2" && pwd) || exit 2
here=$(cd "$(dirname "$0")" && pwd)
shift 2
[ $# -gt 0 ] || set -- xz ffmpeg nginx postgres \
	${patch:+bash git sqlite perl lua node python gxx clang redis chromium qt}
# Recorded calls make the load slower, so it is a 20th.
part=${patch:+20}
part=${part:-1}
# shellcheck source=tests/real/compare.sh
. "$here/compare.sh"
# shellcheck source=tests/real/fetch.sh
. "$here/fetch.sh"
# shellcheck source=tests/real/parts.sh
. "$here/parts.sh"
need_tools "$build"

export PERFREC_DEADLINE_MS=20000
# Programs of other users need access as well.
work=$(mktemp -d)
chmod 755 "$work"
trap 'rm -rf "$work"' EXIT

# output FOLDER COMMAND...: stdout, stderr and the exit status to FOLDER.
output()
{
	folder=$1
	shift
	mkdir -p "$folder"
	status=0
	timeout -k 5 300 "$@" </dev/null >"$folder/out" 2>"$folder/err" ||
		status=$?
	echo "exit status $status" >"$folder/status"
}

# The user of the recorded program; empty: the own one.
user=
# With --patch: the functions of files whose names match this have as many calls as
# callgrind counts; empty: no file's.
counted=

# record COMMAND...: not recorded, then recorded, and all is compared.
record()
{
	out=$work/run
	rm -rf "$out"
	mkdir -p "$out"
	[ -z "$user" ] || chown "$user" "$out"
	as="${user:+setpriv --reuid=$user --regid=$user --clear-groups}"
	# shellcheck disable=SC2086 # words
	output "$out/plain" $as "$@"
	# shellcheck disable=SC2086 # words
	output "$out/recorded" $as "$build/perfrec" record --quiet \
		${patch:+--patch=all --cpu=off --alloc=off} \
		-o "$out/data" -- "$@"
	# perfrec says, also if --quiet, that children of vfork() are not recorded, and
	# that there are too many stacks.
	[ -z "$patch" ] ||
		sed -i -E '/^perfrec(-collect)?: (lost|warning)/d' "$out/recorded/err"
	if ! diff -r "$out/plain" "$out/recorded" >"$out/differ"; then
		echo "$name: its output is not the same with perfrec:"
		head -n 5 "$out/differ"
		return 1
	fi
	bad=0
	if [ -n "$patch" ]; then
		compare_patched || bad=1
	else
		compare_cpu "$name" "$build" "$out/data" no || bad=1
	fi
	# Exceptions end calls of moved functions.
	compare_ends "$name" "$out/data" "${patch:-no}" || bad=1
	compare_losses || bad=1
	[ -z "$patch" ] || [ -z "$counted" ] || compare_calls "$@" || bad=1
	return $bad
}

# variables COMMAND...: the number of environment variables that COMMAND sets.
variables()
{
	"$@" env -0 | tr -dc '\0' | wc -c
}

# compare_calls COMMAND...: of named functions, with those of callgrind. COMMAND must
# not fork: callgrind counts the calls of the parent for the child as well. Shells have a
# call for each variable of the environment, so callgrind gets the number perfrec sets.
compare_calls()
{
	type valgrind >/dev/null 2>&1 || return 0
	more=$(($(variables "$build/perfrec" record --quiet --patch --cpu=off \
		--alloc=off -o "$out/env" --) - $(variables valgrind -q --tool=none)))
	pad=
	while [ "$more" -gt 0 ]; do
		pad="$pad PAD_$more=1"
		more=$((more - 1))
	done
	# shellcheck disable=SC2086 # several words
	env $pad valgrind -q --tool=callgrind --callgrind-out-file="$out/callgrind" \
		"$@" </dev/null >"$out/valgrind" 2>&1
	awk -v files="$counted" -f "$here/callgrind_calls.awk" "$out/callgrind" |
		sort >"$out/counted"
	jq -r --arg files "$counted" '[.functions[] |
		select(.module // "" | test($files))] | group_by(.name)[] |
		"\(.[0].name) \([.[].calls] | add)"' "$out/data/summary.json" |
		grep -v ' .* ' | sort >"$out/calls"
	join "$out/calls" "$out/counted" >"$out/both"
	awk -v name="$name" '
		$2 != $3 { print name ": " $1 " has " $2 " calls, callgrind counts " $3 }
		END { print name ": calls of " NR " functions compared with callgrind"
			exit NR < 50 }' "$out/both" >"$out/compared" || bad=1
	cat "$out/compared"
	[ "$(wc -l <"$out/compared")" -eq 1 ]
}

compare_patched()
{
	jq -r --arg name "$name" '.totals |
		"\($name): \(.functions_patched) functions patched, \(
		.functions_unpatched) not, \(.spans) spans"' \
		"$out/data/summary.json"
	"$build/tests/tools/trace_check" "$out/data/trace.pftrace" >"$out/check" || {
		tail -n 3 "$out/check"
		return 1
	}
	jq -e '.totals | .functions_patched > 0 and .spans > 0 and
		.dropped_spans + .unslotted_spans + .edge_spans == 0' \
		"$out/data/summary.json" >/dev/null || {
		echo "$name: no spans, or lost ones: WRONG"
		return 1
	}
}

compare_losses()
{
	jq -r --arg name "$name" '.totals | [
		"lost_cpu_samples", "dropped_allocs", "dropped_frees",
		"unslotted_allocs", "unslotted_frees", "broken_rings",
		"odd_heap_records", "double_frees", "refused_programs"
		] as $zero | . as $totals | $zero[] |
		select(($totals[.] // 0) != 0) |
		"\($name): \($totals[.]) \(.): WRONG"' \
		"$out/data/summary.json" >"$out/lost"
	cat "$out/lost"
	[ ! -s "$out/lost" ]
}

# --- the programs -----------------------------------------------------------------

record_xz()
{
	need_package xz xz-utils
	cat /usr/lib/*-linux-gnu/libc.so.6 "$build"/perfrec* >"$work/input"
	cat "$work/input" "$work/input" "$work/input" >"$work/input3"
	# shellcheck disable=SC2016 # for the inner shell
	record sh -c 'xz -6 -T2 --block-size=1MiB -c "$0" | cksum' \
		"$work/input3"
}

record_ffmpeg()
{
	need_package ffmpeg ffmpeg
	record ffmpeg -v error -f lavfi \
		-i testsrc2=size=640x360:duration=20:rate=25 \
		-c:v libx264 -preset fast -threads 2 -flags +bitexact -f md5 -
}

record_nginx()
{
	need_package nginx nginx
	need_package ab apache2-utils
	need_package curl curl
	mkdir -p "$work/nginx"
	head -c 20000 /usr/share/common-licenses/GPL-3 >"$work/nginx/file"
	chmod 755 "$work/nginx"
	chmod 644 "$work/nginx/file"
	cat >"$work/nginx.conf" <<-END
		daemon off;
		worker_processes 2;
		pid $work/nginx.pid;
		error_log $work/nginx.error crit;
		events { }
		http {
			access_log off;
			client_body_temp_path $work/body;
			proxy_temp_path $work/proxy;
			fastcgi_temp_path $work/fastcgi;
			uwsgi_temp_path $work/uwsgi;
			scgi_temp_path $work/scgi;
			gzip on;
			gzip_types *;
			server {
				listen 127.0.0.1:18080 reuseport;
				root $work/nginx;
			}
		}
	END
	# perfrec does not record the load, which runs until the server ends.
	cat >"$work/load" <<-'END'
		export PERFREC_DISABLE=1
		url=http://127.0.0.1:18080/file
		until curl -s -o /dev/null $url; do sleep 0.05; done
		ab -q -n REQUESTS -c 8 -H 'Accept-Encoding: gzip' $url |
			grep -E '^(Complete|Failed) requests'
		curl -s $url | cksum
	END
	sed -i "s/REQUESTS/$((20000 / part))/" "$work/load"
	record sh "$here/serve.sh" "$work/no-socket" "sh $work/load" \
		nginx -e "$work/nginx.error" -c "$work/nginx.conf"
}

record_postgres()
{
	need_package psql postgresql
	bin=$(find /usr/lib/postgresql -name bin | sort | tail -n 1)
	if [ -z "$bin" ] || ! id postgres >/dev/null 2>&1 ||
		[ "$(id -u)" -ne 0 ]; then
		echo 'postgres is not there, or we are not root'
		exit 77
	fi
	mkdir -m 700 "$work/pg"
	chown postgres:postgres "$work/pg"
	user=postgres
	setpriv --reuid=postgres --regid=postgres --clear-groups \
		"$bin/initdb" -A trust -D "$work/pg/data" >"$work/pg.log" ||
		return 1
	cat >"$work/load" <<-END
		export PGHOST=$work/pg PGUSER=postgres PGDATABASE=postgres
		until $bin/pg_isready -q; do sleep 0.05; done
		$bin/pgbench -q -i -s 2 2>/dev/null
		$bin/pgbench -n -c 4 -j 2 -t $((500 / part)) 2>/dev/null |
			grep 'transactions actually'
		$bin/psql -Atc 'SELECT count(*), sum(aid) FROM pgbench_accounts'
	END
	record sh "$here/serve.sh" "$work/no-socket" "sh $work/load" \
		"$bin/postgres" -D "$work/pg/data" -k "$work/pg" -h '' \
		-c fsync=off -c log_min_messages=panic
}

record_bash()
{
	# shellcheck disable=SC2016 # for bash
	record bash -c 'declare -A seen
		for i in {1..3000}; do seen[$((i * i % 97))]+=x; done
		(exit 3) || echo "child: $?"
		echo "${!seen[@]}" | tr " " "\n" | sort -n | cksum
		trap "echo trapped" USR1; kill -USR1 $$; echo "${#seen[@]}"' ||
		return 1
	counted=bash
	# shellcheck disable=SC2016 # for bash
	record bash -c 'declare -A seen
		for i in {1..3000}; do seen[$((i * i % 97))]+=x; done
		f() { local n=$1; ((n > 1)) && f $((n - 1)); return 0; }
		f 50; [[ ${!seen[*]} == *9* ]] && echo "${#seen[@]}"
		trap "echo trapped" USR1; kill -USR1 $$; printf "%s\n" a b c'
}

record_git()
{
	need_package git git
	rm -rf "$work/git"
	mkdir "$work/git"
	# shellcheck disable=SC2016 # for the inner shell
	record sh -c 'cd "$0" && rm -rf .git && seq 5000 >file && git init -q . &&
		export GIT_AUTHOR_DATE="2026-01-01T00:00:00" &&
		export GIT_COMMITTER_DATE="$GIT_AUTHOR_DATE" &&
		git config user.name a && git config user.email a@b &&
		git add file && git commit -qm one && echo more >>file &&
		git commit -qam two && git log --stat && git gc -q &&
		git fsck --strict && git blame file | cksum' "$work/git"
}

record_sqlite()
{
	need_package sqlite3 sqlite3
	counted=sqlite
	record sqlite3 :memory: 'CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT);
		WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c
			WHERE x < 20000)
		INSERT INTO t SELECT x, printf("%d-%d", x, x * x % 997) FROM c;
		CREATE INDEX i ON t (b); SELECT count(*), sum(a), max(b) FROM t;
		SELECT count(DISTINCT substr(b, 1, 3)) FROM t; PRAGMA integrity_check'
}

record_perl()
{
	need_package perl perl
	counted=perl
	# Otherwise the order of hashes is another one in each run.
	export PERL_HASH_SEED=0
	# shellcheck disable=SC2016 # for perl
	record perl -e 'my %h; $h{$_ % 97} .= $_ for 1 .. 30000;
		print join(",", map { length $h{$_} } sort keys %h), "\n";
		eval { die "thrown\n" }; print $@;
		local $SIG{ALRM} = sub { print "alarm\n" }; alarm 1; select undef, undef, undef, 3;
		print scalar(() = join("", map { $h{$_} } sort keys %h) =~ /12+3/g), "\n"'
}

record_lua()
{
	need_package lua5.4 lua5.4
	counted=lua
	record lua5.4 -e 'local t = {} for i = 1, 20000 do t[i] = tostring(i) end
		print(#table.concat(t), pcall(error, "thrown"))
		local c = coroutine.wrap(function() for i = 1, 3 do coroutine.yield(i) end end)
		print(c(), c(), c(), ("%.3f"):format(math.pi))'
}

record_node()
{
	need_package node nodejs
	# shellcheck disable=SC2016 # for node
	record node -e 'const m = new Map();
		for (let i = 0; i < 20000; i++) m.set(`k${i}`, i * i);
		try { null.x } catch (e) { console.log(e.message) }
		console.log(m.size, JSON.stringify([...m]).length);
		console.log(require("crypto").createHash("sha256").update("x").digest("hex"));
		setTimeout(() => console.log("late"), 10)'
}

record_python()
{
	need_package python3 python3
	need_package /usr/lib/python3.11/test/test_exceptions.py \
		libpython3.11-testsuite
	# The other lines have times.
	record sh -c 'python3 -m test test_exceptions test_thread 2>&1 |
		grep -E "^Result:|^(Total tests|All)"'
}

record_gxx()
{
	need_package g++ g++
	printf '#include <map>\n#include <string>\nint main() {
		std::map<std::string, int> m; m["x"]++; return m.size() - 1; }\n' \
		>"$work/a.cc"
	# shellcheck disable=SC2016 # for the inner shell
	record sh -c 'cd "$0" && g++ -O2 -S -o - a.cc | cksum' "$work"
}

record_clang()
{
	need_package clang clang
	printf 'int main(int n, char **v) { for (int i = 0; v[i]; i++) n += *v[i];
		return n; }\n' >"$work/a.c"
	# shellcheck disable=SC2016 # for the inner shell
	record sh -c 'cd "$0" && clang -O2 -S -o - a.c | cksum' "$work"
}

record_redis()
{
	need_package redis-server redis-server
	mkdir -p "$work/redis"
	cat >"$work/load" <<-'END'
		export PERFREC_DISABLE=1
		until redis-cli -p 18081 ping >/dev/null 2>&1; do sleep 0.05; done
		for i in $(seq 200); do
			echo "SET key$i $i"
			echo "LPUSH list $((i * i))"
		done | redis-cli -p 18081 | sort | uniq -c | cksum
		redis-cli -p 18081 eval "return #redis.call('keys', '*')" 0
		redis-cli -p 18081 sort list limit 0 3
	END
	record sh "$here/serve.sh" "$work/no-socket" "sh $work/load" \
		redis-server --port 18081 --save '' --dir "$work/redis" \
		--logfile "$work/redis/log"
}

record_chromium()
{
	need_package chromium chromium
	cat >"$work/page.html" <<-'END'
		<!doctype html><p id=a></p><script>let s = 0;
		for (let i = 0; i < 50000; i++) s += i * i % 7;
		document.getElementById("a").textContent = s;</script>
	END
	# It complains on stderr of what a machine lacks, with times.
	# shellcheck disable=SC2016 # for the inner shell
	record sh -c 'chromium --headless --no-sandbox --disable-gpu --user-data-dir="$0/chromium" \
		--dump-dom "file://$0/page.html" 2>/dev/null' "$work"
}

record_qt()
{
	need_package /usr/include/x86_64-linux-gnu/qt5/QtWidgets/QLabel qtbase5-dev
	cat >"$work/qt.cc" <<-'END'
		#include <QtConcurrent/QtConcurrent>
		#include <QtWidgets/QtWidgets>
		#include <cstdio>
		int main(int argc, char **argv)
		{
			QApplication app(argc, argv);
			QStandardItemModel model(50, 3);
			QTableView view;
			QLabel label("text");
			int clicks = 0;
			QPushButton button("press");
			QObject::connect(&button, &QPushButton::clicked, [&] { clicks++; });
			view.setModel(&model);
			view.resize(300, 200);
			view.show();
			label.show();
			for (int i = 0; i < 20; i++) {
				model.setItem(i, i % 3, new QStandardItem(QString::number(i * i)));
				button.click();
				app.processEvents();
			}
			QList<int> list;
			for (int i = 0; i < 1000; i++)
				list << i;
			auto sum = QtConcurrent::blockingMappedReduced<long>(
				list, +[](const int &i) -> long { return i * i % 97; },
				+[](long &all, const long &one) { all += one; });
			QString text = QJsonDocument(QJsonArray{ clicks, (int)sum,
				view.grab().width() }).toJson(QJsonDocument::Compact);
			QTimer::singleShot(20, &app, &QApplication::quit);
			app.exec();
			puts(text.toUtf8().constData());
			puts(QRegularExpression("(\\d+)").match(text).captured(1).toUtf8().constData());
			return 3;
		}
	END
	include=/usr/include/x86_64-linux-gnu/qt5
	g++ -O2 -fPIC -w -o "$work/qt" "$work/qt.cc" -I$include -lQt5Widgets -lQt5Gui \
		-lQt5Concurrent -lQt5Core || return 1
	record env QT_QPA_PLATFORM=offscreen XDG_RUNTIME_DIR="$work" "$work/qt"
}

for name; do
	part "$name" "record_$name"
done
parts_end
