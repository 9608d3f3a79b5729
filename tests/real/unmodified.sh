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
# Output and exit status are what they are when nobody records. The CPU time is
# what wait4() says, within 2 %, and at most 2 % of it is [unknown]. Nothing is
# lost, and what is known of their memory is consistent.
#
# usage: unmodified.sh BUILD DIR [NAME...]
#
# BUILD is the make's $(O), DIR a folder to work in. Prints a line or two for
# each program, and at the end "N passed, N failed, N skipped". Skips what is not
# installed and cannot be; exits with 1 when one is wrong, and with 77 when all
# are skipped.
set -eu

build=$(cd "$1" && pwd) || exit 2
mkdir -p "$2"
# shellcheck disable=SC2034 # of fetch.sh
dir=$(cd "$2" && pwd) || exit 2
here=$(cd "$(dirname "$0")" && pwd)
shift 2
[ $# -gt 0 ] || set -- xz ffmpeg nginx postgres
# shellcheck source=tests/real/compare.sh
. "$here/compare.sh"
# shellcheck source=tests/real/fetch.sh
. "$here/fetch.sh"
# shellcheck source=tests/real/parts.sh
. "$here/parts.sh"
need_tools "$build"

export PERFREC_DEADLINE_MS=20000
# Where programs that are not root's may come, too.
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

# Whose program is recorded; empty: ours.
user=

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
		-o "$out/data" -- "$@"
	if ! diff -r "$out/plain" "$out/recorded" >"$out/differ"; then
		echo "$name: its output is not the same with perfrec:"
		head -n 5 "$out/differ"
		return 1
	fi
	bad=0
	compare_cpu "$name" "$build" "$out/data" no || bad=1
	compare_ends "$name" "$out/data" no || bad=1
	compare_losses || bad=1
	return $bad
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
	# The load is not what is recorded, and runs as long as that.
	cat >"$work/load" <<-'END'
		export PERFREC_DISABLE=1
		url=http://127.0.0.1:18080/file
		until curl -s -o /dev/null $url; do sleep 0.05; done
		ab -q -n 20000 -c 8 -H 'Accept-Encoding: gzip' $url |
			grep -E '^(Complete|Failed) requests'
		curl -s $url | cksum
	END
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
		$bin/pgbench -n -c 4 -j 2 -t 500 2>/dev/null |
			grep 'transactions actually'
		$bin/psql -Atc 'SELECT count(*), sum(aid) FROM pgbench_accounts'
	END
	record sh "$here/serve.sh" "$work/no-socket" "sh $work/load" \
		"$bin/postgres" -D "$work/pg/data" -k "$work/pg" -h '' \
		-c fsync=off -c log_min_messages=panic
}

for name; do
	part "$name" "record_$name"
done
parts_end
