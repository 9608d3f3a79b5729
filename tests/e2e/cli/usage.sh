# SPDX-License-Identifier: Apache-2.0
#
# Bad input: one line that names the thing, status 2 for wrong usage and 1
# for the rest, nothing on stdout, nothing left behind.
. "$TOP/tests/e2e/lib.sh"

# refused STATUS REGEX ARGUMENT...
refused()
{
	expected=$1 regex=$2
	shift 2
	run "$PERFREC" "$@"
	expect_error "$expected" "$regex"
	expect_none perfrec.data perfrec.data.old new
}

refused 2 "unknown command 'recrod'.*--help" recrod
refused 2 'no command to record' record
refused 2 'no command to record' record --
refused 2 "unknown option '--frob'.*--help" record --frob true
refused 2 "unknown option '-z'.*--help" record -z true
refused 2 "option '--json' takes no value, but '1' was given; .*--help" record --json=1 true
refused 2 "option '-o' needs a value.*--help" record -o
refused 2 "option '--filter' needs a value.*--help" record --filter
refused 2 "--filter '': give a name or a shell pattern" record --filter '' ls
refused 2 "--exclude '@': give a name or a shell pattern" record --exclude @ ls
refused 2 "-o '': give the name of a folder" record -o '' true
refused 2 "--depth '0x': give a number" record --depth 0x true
refused 2 "--depth '0': give a number" record --depth 0 true
refused 2 "--depth '65536': give a number from 1 to 65535" \
	record --depth 65536 true
refused 2 "--overhead '0.0001%': give a percentage .* of at least 0.001 and below 100" \
	record --overhead 0.0001% true
refused 2 "--workers '9': give a number from 1 to 8" record --workers 9 true
refused 2 "--max-size '12Q': give a size of at least 256K, such as" record --max-size 12Q true
refused 2 "--max-size '99999999999G': give a size" \
	record --max-size 99999999999G true
for size in 0 10 262143 255K; do
	refused 2 "--max-size '$size': give a size of at least 256K" \
		record --max-size $size true
done
refused 2 "--ring-size '63K': give a size from 64K" record --ring-size 63K true
refused 2 "--on-full 'wait': choose block or drop" record --on-full wait true
refused 2 "--alloc 'some': choose off, auto, exact or sampled, or sampled:BYTES" record --alloc some true
refused 2 "--alloc '': choose off" record --alloc= true
refused 2 "--alloc 'sampled:': choose .*sampled:BYTES with a size from 1 to 1G" record --alloc=sampled: true
refused 2 "--alloc 'sampled:0': choose .* from 1 to 1G" record --alloc=sampled:0 true
refused 2 "--alloc 'sampled:2G': choose .* from 1 to 1G" record --alloc=sampled:2G true
refused 2 "--alloc 'exact:1': choose off" record --alloc=exact:1 true
for hz in '' 0 10001 99999999999999999999 -1 9x ,perf signal 99.5; do
	refused 2 "--cpu '$hz': give samples a second from 1 to 10000" \
		record --cpu="$hz" true
done
refused 2 "--cpu '99,': .* with ,perf or ,signal" record --cpu=99, true
refused 2 "--cpu '9,perfs': .* with ,perf or ,signal" record --cpu=9,perfs true
refused 2 "--stack-size '511': give a size" record --stack-size 511 true
refused 2 "--stack-size '61K': give a size" record --stack-size 61K true
for time in 10 99ms 25h 0s 1d s; do
	refused 2 "--snapshot-interval '$time': give a time from 100ms" \
		record --snapshot-interval $time true
done
refused 2 "--categories '.*': give globs" record --categories "$(printf 'a\tb')" true
refused 2 "--categories '.*': give globs" \
	record --categories "$(printf '%04095d' 0)" true
refused 2 "--sort 'size': choose self" report --sort size
refused 2 "--limit '-1': give a number" report --limit -1
refused 1 "no such folder: 'a'" report a b
refused 2 "'': give the name of a folder" report ''
refused 2 "-o '': give the name of a folder" ctl -o '' list
refused 2 "--socket '': give the path of a socket" ctl --socket= list

# Commands that cannot run.
refused 1 "cannot run 'no-such-command': No such file .*no folder of PATH" \
	record no-such-command
refused 1 "cannot run './nowhere': No such file" record -- ./nowhere a b
refused 1 "cannot run '': No such file" record ''
refused 1 "cannot run '/': Permission denied .it is a folder" record -o new /
echo 'echo hello' >plain
refused 1 "cannot run './plain': Permission denied .chmod" record ./plain
printf '#!/no/such/interpreter\n' >script
chmod +x script
refused 1 "cannot run './script': its interpreter '/no/such/interpreter'" \
	record ./script
# Found only when it is tried: what the collector had made is removed.
printf '\177ELF and nothing more' >broken
chmod +x broken
refused 1 "cannot run './broken': Exec format error .it is no program" \
	record -o new ./broken

# Where nothing can be written.
refused 1 "/no/such/folder/x'.*No such file" record -o /no/such/folder/x true
mkdir foreign
echo precious >foreign/notes
refused 1 "'foreign' holds 'notes', which perfrec did not write" record -o foreign true
refused 1 "'plain' exists and is no folder" record -o plain true
expect_eq 'the foreign file' "$(cat foreign/notes)" precious

# Folders that are no recording.
refused 1 "no such folder: 'perfrec.data' .record first" report
refused 1 "'foreign' is no finished recording" report foreign
refused 1 "'plain' is no finished recording" report plain
refused 1 "'plain' is no finished recording: it is a file" graph main plain
mkdir killed several several/one
: >killed/trace.pftrace
refused 1 "'killed' is no finished recording: its collector was killed; perfrec report --repair killed" \
	graph main killed
refused 1 "'killed/trace.pftrace': it is empty, or no trace" report --repair killed
: >several/one/summary.json
refused 1 "'several' is no finished recording, .*such as several/one" report several
rm -r killed several
for text in '' '[' '[]' '{}' '"perfrec"' '{"perfrec":{},"totals":0}' \
	'{"perfrec":{},"totals":{"spans":"many"}}' \
	'{"perfrec":{},"totals":{"spans":-1}}' \
	'{"perfrec":{},"totals":{},"command":[1]}' \
	'{"perfrec":{},"totals":{},"functions":[{"name":{}}]}' \
	'{"perfrec":{},"totals":{},"files":[{"bytes":1.5}]}'; do
	echo "$text" >foreign/summary.json
	refused 1 "'foreign' is no recording of perfrec" report foreign
done
head -c 4096 /dev/urandom >foreign/summary.json
refused 1 "'foreign' is no recording of perfrec" report foreign

# Asked for, help is a result.
for command in '' record report; do
	run_ok "$PERFREC" $command --help
	expect_match out '^usage: perfrec'
	[ ! -s err ] || fail "help on stderr"
done
# In the other ways that people type.
for command in '' record ctl diff cc; do
	"$PERFREC" $command --help >told
	run_ok "$PERFREC" help $command
	cmp out told || fail "perfrec help $command is not $command --help"
	run_ok "$PERFREC" $command -h
	cmp out told || fail "$command -h is not $command --help"
done
"$PERFREC" report --help >told
run "$PERFREC" report -h data
cmp out told || fail 'perfrec report -h data'
refused 2 "unknown command 'recrod' .did you mean 'record'" help recrod
refused 2 "'report': one command at a time" help record report
refused 2 "unknown option '-x'" report -xh
run "$PERFREC" --version
expect_match out '^perfrec [0-9]'
