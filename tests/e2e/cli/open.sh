# SPDX-License-Identifier: Apache-2.0
#
# perfrec open: the browser is started with the right URL and gets the file,
# whole; nobody else gets it; without a browser the way is printed; and whatever
# cannot be shown is refused by name.
. "$TOP/tests/e2e/lib.sh"
need python3

unset DISPLAY WAYLAND_DISPLAY BROWSER
build_calls
run "$PERFREC" record -q --cpu=off --alloc=off -o data ./calls 10 3
expect_status 3

# A browser: fetch.py does with its URL what $FETCH says.
cat >fetch.py <<'EOF'
import os, re, sys, urllib.error, urllib.request

url = sys.argv[1]
open('url', 'w').write(url)
file = re.search(r'(?:url|profileURL)=([^&]*)', url).group(1)
base = file.rsplit('/', 1)[0]


def fetch(url, method='GET', **headers):
    request = urllib.request.Request(url, method=method, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, dict(answer.headers), answer.read()
    except urllib.error.HTTPError as error:
        return error.code, dict(error.headers), b''


# A client that does not know the word, or uses another name, gets nothing. The
# server has no other files.
port = re.search(r':(\d+)/', file).group(1)
wrong = [
    fetch(f'http://127.0.0.1:{port}/'),
    fetch(f'http://127.0.0.1:{port}/{"0" * 32}/' + file.rsplit('/', 1)[1]),
    fetch(base + '/summary.json'),
    fetch(base + '/../summary.json'),
    fetch(base + '/'),
    fetch(file, Host='evil.example'),
    fetch(file, method='PUT'),
]
open('refused', 'w').write(' '.join(str(w[0]) for w in wrong))
status, headers, _ = fetch(file, method='OPTIONS', Origin='https://ui.perfetto.dev')
open('asked', 'w').write(f"{status} {headers.get('Access-Control-Allow-Origin')}")
if 'index.html' in url:
    open('index', 'wb').write(fetch(url.split('#')[0])[2])
status, headers, body = fetch(file, Origin='https://ui.perfetto.dev')
open('headers', 'w').write(f"{status} {headers.get('Access-Control-Allow-Origin')}")
# Parts, and a second request: a viewer may read in pieces, or again.
size = len(body)
parts = [('bytes=0-3', 0, 4), ('bytes=5-', 5, size), ('bytes=-6', size - 6, size),
         (f'bytes=2-{size + 9}', 2, size)]
for text, begin, end in parts:
    status, headers, part = fetch(file, Range=text)
    if (status, part, headers.get('Content-Range')) != (
            206, body[begin:end], f'bytes {begin}-{end - 1}/{size}'):
        body = f'{text}: {status} {headers}'.encode()
for text, status in ('bytes=4-2', 200), ('bytes=0-1,3-4', 200), (f'bytes={size}-', 416), \
        (f'bytes={size + 1}-', 416), ('lines=1-2', 200), ('bytes=', 200), ('bytes=x-2', 200):
    if fetch(file, Range=text)[0] != status:
        body = f'{text}: not {status}'.encode()
open('got.new', 'wb').write(body)
os.rename('got.new', 'got')
EOF
printf '#!/bin/sh\nexec python3 "%s/fetch.py" "$1" 2>"%s/fetch.err"\n' "$PWD" "$PWD" >browser
chmod +x browser

# perfrec ends when all is sent; the browser has it a moment later.
fetched()
{
	wait_for 60 test -f got
	cmp got "$1" || fail "$1 is not what was fetched: $(cat fetch.err)"
	rm got
}

# --- ui.perfetto.dev
run_ok env BROWSER="$PWD/browser" timeout 100 "$PERFREC" open --port 0 data
fetched data/trace.pftrace
grep -q '^https://ui.perfetto.dev/#!/?url=http://127.0.0.1:[0-9]*/[0-9a-f]\{32\}/trace.pftrace$' \
	url || fail "the URL is '$(cat url)'"
expect_eq 'whose page may fetch it' "$(cat headers)" '200 https://ui.perfetto.dev'
expect_eq 'the question before' "$(cat asked)" '204 https://ui.perfetto.dev'
expect_eq 'what is refused' "$(cat refused)" '404 404 404 404 404 404 405'

# --- a part: the browser gets the output of perfrec cut, and no file stays
"$PERFREC" cut --from 1us --to 4us -o part.pftrace data >/dev/null || fail 'cut'
run_ok env BROWSER="$PWD/browser" timeout 100 "$PERFREC" open --port 0 \
	--from 1us --to 4us data
fetched part.pftrace
"$PERFREC" cut --from 0s --thread calls -o part.pftrace data >/dev/null || fail 'cut'
run_ok env BROWSER="$PWD/browser" timeout 100 "$PERFREC" open --port 0 \
	--from 0s --thread calls data
fetched part.pftrace
run "$PERFREC" open --from 1h data
expect_error 1 "--from '1h': 'data' ends before that: give a time from 0s to "
run "$PERFREC" open --thread nobody data
expect_error 1 "--thread 'nobody': no thread has that number or name"
run "$PERFREC" open --from 2s --to 1s data
expect_error 2 "--to '1s': that is before --from '2s'"
run "$PERFREC" open --pprof --to 1s data
expect_error 2 '--to cannot be combined with --pprof'
run_ok env BROWSER="$PWD/browser" timeout 100 "$PERFREC" open --html --from 0s data
grep -q 'perfrec-data' data/report.html || fail 'no page of a part'
run "$PERFREC" open --html --from 1h data
expect_error 1 "--from '1h': 'data' ends before that: give a time from 0s to "

# --- speedscope: its files, and the profile; nobody else's page may fetch it
mkdir -p speedscope/dist/release
echo '<p>a viewer' >speedscope/dist/release/index.html
run_ok env BROWSER="$PWD/browser" timeout 100 "$PERFREC" open --port 0 \
	--speedscope=speedscope data
fetched data/wall.pb.gz
cmp index speedscope/dist/release/index.html || fail 'the viewer is not what was fetched'
expect_eq 'whose page may fetch it' "$(cat headers)" '200 None'
run "$PERFREC" open --speedscope=. --view cpu data
expect_error 1 "'data' has no cpu.pb.gz"
mkdir empty
run "$PERFREC" open --speedscope=empty data
expect_error 1 "'empty' is no package of speedscope"

# --- no browser, a browser that fails, and a browser that sends no request
for browser in '' false; do
	rm -f opened
	BROWSER=$browser timeout 100 "$PERFREC" open --port 0 data >opened 2>err &
	opener=$!
	wait_for 60 grep -sq '^    https://ui.perfetto.dev' opened
	# The way for another machine.
	wait_for 60 grep -q '^    ssh -L \([0-9]*\):127.0.0.1:\1 ' opened
	sh ./browser "$(sed -n 's/^    \(https:.*\)/\1/p' opened)"
	wait $opener || fail "perfrec open has failed: $(cat err)"
	fetched data/trace.pftrace
done
rm -f opened
"$PERFREC" open --port 0 data >opened 2>err &
opener=$!
wait_for 60 grep -sq 'Waiting' opened
kill -TERM $opener
wait $opener
status=$?
: >out
expect_error 1 'no browser has fetched the file'

# A page is made anew, and never through a link.
env BROWSER=echo "$PERFREC" open --html data >/dev/null || fail 'open --html'
grep -q perfrec-data data/report.html || fail 'the page is no page'
: >victim
ln -sf ../victim data/report.html
run "$PERFREC" open --html data
expect_error 1 "'data/report.html' is no plain file"
[ ! -s victim ] || fail 'the page was written through a link'
rm data/report.html
# A folder that somebody works in is not run in the browser.
echo evil >index.html
run "$PERFREC" open --speedscope data
expect_error 1 'speedscope is not installed'
rm index.html

# --- what cannot be shown
run "$PERFREC" open nothing
expect_error 1 "no recording in 'nothing': No such file"
run "$PERFREC" open empty
expect_error 1 "'empty' has no trace.pftrace"
cp -r data large
truncate -s 600M large/trace.pftrace
run "$PERFREC" open large
expect_error 1 "'large' has 600.* more than a browser takes: perfrec open --from TIME --until TIME shows a part, --html all of it, and perfrec cut"
# The size of a compressed trace is that of its content.
cp data/trace.pftrace large/trace.pftrace
jq '.totals.trace_unpacked_bytes = 22548578304' data/summary.json >large/summary.json
run "$PERFREC" open large
expect_error 1 "'large' has 21.*GiB, which is more than a browser takes: perfrec open --from"
run_ok "$PERFREC" report large
expect_match out 'trace.pftrace  too large for a browser; see below' \
	'too large to be opened as it is. Instead' '^ +perfrec report large +' \
	'^ +perfrec open --html large  ' \
	'^ +perfrec cut --slowest FUNC -o cut.pftrace large  '
expect_no_match out 'open it in'
run "$PERFREC" report data
expect_match out 'open it in https://ui.perfetto.dev$'
expect_no_match out 'too large' 'perfrec cut'
run "$PERFREC" open --html --pprof data
expect_error 2 '--pprof: it is --html already'
run "$PERFREC" open data large
expect_error 2 "'large': one recording at a time"
run env PATH=/nowhere "$PERFREC" open --pprof data
expect_error 1 'pprof is not installed: '
python3 - >port <<'EOF' &
import socket, time
s = socket.socket()
s.bind(('127.0.0.1', 0))
s.listen()
print(s.getsockname()[1], flush=True)
time.sleep(1000)
EOF
holder=$!
wait_for 60 test -s port
run "$PERFREC" open --port "$(cat port)" data
kill $holder
expect_error 1 "port $(cat port) of 127.0.0.1: Address already in use .choose another: --port"
