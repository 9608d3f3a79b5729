# SPDX-License-Identifier: Apache-2.0
#
# Wrong options of every command: one line that names the option, its value and
# the allowed values; status 2, nothing on stdout, and no program starts.
. "$TOP/tests/e2e/lib.sh"

PATH=$O:$PATH
# A program that must never run.
ran="touch ran"

# refused REGEX COMMAND...
refused()
{
	regex=$1
	shift
	run timeout 200 "$@"
	expect_error 2 "$regex"
	expect_none perfrec.data perfrec.sock ran
}

# --- every option of every command, from options.tsv
# collector/options/opts_dump_main.c describes the fields.
awk -F '\t' -v OFS=, '$1 == "option" && $3 { print $2, $3, $6 }
	$1 == "option" && $4 { print $2, $4, $6 }' "$O/options.tsv" >options
[ "$(wc -l <options)" -gt 60 ] || fail 'the table of options is not there'
while IFS=, read -r command option value; do
	help="see $(echo "$command" | sed 's/+/[+]/g') --help"
	# shellcheck disable=SC2086 # a command and its subcommand
	case $option,$value in
	--*,)	# Some take one behind "=", or none.
		$command --help | grep -qF -e "$option[=" ||
		refused "error: option '$option' takes no value, but '1' was given; $help" \
			$command "$option=1" $ran ;;
	-?,)	;;
	*)	refused "error: option '$option' needs a value: (give|choose) .*; $help" \
			$command "$option"
		# report checks a key only after it has read the recording.
		[ "$option" = --sort ] || set -- $ran
		refused "error: $option '': (give|choose) [a-z]" \
			$command "$option" '' "$@"
		set -- ;;
	esac
done <options

# --- each kind of mistake, for each command
while IFS='|' read -r line regex; do
	# shellcheck disable=SC2086 # words
	refused "error: $regex" $line
done <<-'END'
	perfrec --frob|unknown option '--frob'; see perfrec --help
	perfrec -x|unknown option '-x'; see perfrec --help
	perfrec --versoin|unknown option '--versoin' .did you mean '--version'\?.; see perfrec --help
	perfrec --help=1|option '--help' takes no value
	perfrec reprot|unknown command 'reprot' .did you mean 'report'\?.; see perfrec --help
	perfrec frobnicate|unknown command 'frobnicate'; see perfrec --help
	perfrec-collect --frob|unknown option '--frob'; see perfrec-collect --help
	perfrec-collect -qo x|unknown option '-q'; see perfrec-collect --help
	perfrec-collect --out-put x|unknown option '--out-put' .did you mean '--output'\?.
	perfrec-collect --max 4G|option '--max' is ambiguous: choose --max-size or --max-total; see perfrec-collect --help
	perfrec-collect --ring-size 4M|unknown option '--ring-size'; see
	perfrec-collect --depth 65536|--depth '65536': give a number from 1 to 65535
	perfrec-collect --dep=0|--depth '0': give a number from 1 to 65535
	perfrec-collect --workers 9|--workers '9': give a number from 1 to 8
	perfrec-collect --max-size 255K|--max-size '255K': give a size of at least 256K
	perfrec-collect --max-total 0|--max-total '0': give a size of at least 1
	perfrec-collect --stack-size 61K|--stack-size '61K': give a size from 512 to 60K
	perfrec-collect --snapshot-interval 10|--snapshot-interval '10': give a time from 100ms to 24h
	perfrec-collect --on-full wait|--on-full 'wait': choose block or drop
	perfrec-collect --log loud|--log 'loud': choose error, warning, info or debug
	perfrec-collect --alloc some|--alloc 'some': choose off, auto, exact or sampled
	perfrec-collect --cpu 10001|--cpu '10001': give samples a second from 1 to 10000
	perfrec-collect --allow-uid no-such-user|--allow-uid 'no-such-user': (no such user; give the name or the number|only root may)
	perfrec-collect --recording x|--recording 'x': give a number from 0
	perfrec record --frob touch ran|unknown option '--frob'; see perfrec record --help
	perfrec record -qx touch ran|unknown option '-x'; see perfrec record --help
	perfrec record --fitler x touch ran|unknown option '--fitler' .did you mean '--filter'\?.
	perfrec record --frob=3 touch ran|unknown option '--frob=3'; see
	perfrec record --s 16K touch ran|option '--s' is ambiguous: choose --sched, --stack-size, --snapshot-interval, --snapshots, --snapshot-bytes or --sync; see
	perfrec record --f=x touch ran|option '--f=x' is ambiguous: choose --filter, --faults, --flight, --follow or --full-names; see
	perfrec record --log debug touch ran|unknown option '--log'; see
	perfrec record --ring-size 257M touch ran|--ring-size '257M': give a size from 64K to 256M
	perfrec record --ring-size 63K touch ran|--ring-size '63K': give a size from 64K to 256M
	perfrec record --categories ,- touch ran|--categories ',-': give globs
	perfrec record --exclude @ touch ran|--exclude '@': give a name or a shell pattern
	perfrec report --frob|unknown option '--frob' .did you mean '--from'\?.; see perfrec report --help
	perfrec report -v|unknown option '-v'; see perfrec report --help
	perfrec record --keep 1s touch ran|--keep 1s: a time needs --flight; .*--keep last
	perfrec record --keep newest touch ran|--keep 'newest': choose first or last; or, with --flight, give a time
	perfrec record --flight --keep last touch ran|--keep last: with --flight give a time, such as --keep 30s
	perfrec record --keep last --max-size 7M touch ran|--keep last: give a --max-size of at least 8M
	perfrec-collect --keep last --max-size 1M|--keep last: give a --max-size of at least 8M
	perfrec record --snapshots 3 touch ran|--snapshots: only with --flight
	perfrec record --flight --max-size 1G touch ran|--max-size: not with --flight, which writes snapshots
	perfrec record --flight --compress touch ran|--compress: not with --flight, which writes snapshots
	perfrec record --flight --keep 1s --margin 300ms touch ran|--margin 300 ms: give at most a quarter of --keep, which is 1.00 s
	perfrec-collect --flight --max-size 1G|--max-size: not with --flight, which writes snapshots
	perfrec report --stack=1|option '--stacks' takes no value, but '1' was given; see
	perfrec report --veiw cpu|unknown option '--veiw' .did you mean '--view'\?.
	perfrec report --s self|option '--s' is ambiguous: choose --sort or --stacks; see
	perfrec report --view all|--view 'all': choose functions, cpu, heap, span, wait, lock, path or io
	perfrec report --sort size|--sort 'size': choose self, total, calls, median, p99, max, on-cpu, runnable, blocked, switches or name
	perfrec report --view lock --sort total|--sort 'total': choose blocked, waits, max or name
	perfrec report --view path --sort self|--sort 'self': choose total, on-cpu or name
	perfrec report --view path --stacks|--stacks: choose --view cpu, heap, span, wait or lock
	perfrec report --view lock --markdown|--view lock has no --markdown: leave it out
	perfrec report --view lock --from 2s --to 1s|--to '1s': that is before --from '2s': give a later time
	perfrec report --view cpu --sort calls|--sort 'calls': choose self, total, samples or name
	perfrec report --limit 4294967296|--limit '4294967296': give a number from 0 to 4294967295
	perfrec ctl --frob list|unknown option '--frob'; see perfrec ctl --help
	perfrec ctl list -x|unknown option '-x'; see perfrec ctl --help
	perfrec ctl --sokcet x list|unknown option '--sokcet' .did you mean '--socket'\?.
	perfrec ctl halt|unknown command 'halt': choose list, pause, resume, flush, snapshot, stop, categories, functions, stats or forget; see perfrec ctl --help
	perfrec ctl|give a command: choose list, pause
	perfrec ctl --why x list|--why goes with snapshot; see perfrec ctl --help
	perfrec ctl --timeout 1s list|--timeout goes with flush and snapshot; see
	perfrec ctl categories ,|categories ',': give globs
	perfrec ctl categories|give a list of categories
	perfrec ctl pause a b|'b': one target at a time; see perfrec ctl --help
	perfrec ctl --socket s -o d list|give --socket or -o, not both; see perfrec ctl --help
	perfrec cc --frob touch ran|unknown option '--frob'; see perfrec cc --help
	perfrec cc -O2 a.c|unknown option '-O'; the compiler comes before its options: perfrec cc gcc
	perfrec cc --onyl . touch ran|unknown option '--onyl' .did you mean '--only'\?.
	perfrec cc --exclude no-such-path touch ran|--exclude 'no-such-path': No such file or directory here; give an absolute path
	perfrec cc --verb=2 touch ran|option '--verbose' takes no value, but '2' was given; see perfrec cc --help
	perfrec c++ --dry-rnu touch ran|unknown option '--dry-rnu' .did you mean '--dry-run'\?.; see perfrec c\+\+ --help
	perfrec c++ -O2 a.cc|unknown option '-O'; the compiler comes before its options: perfrec c\+\+ g\+\+
END
refused "categories '': give globs" perfrec ctl categories ''

# Messages show the value without its line breaks, and only its first part.
refused "error: --depth 'a\?b': give" perfrec record --depth "$(printf 'a\nb')" $ran
refused "error: --depth '(x{200})': give a number from 1 to 65535$" \
	perfrec record --depth "$(printf '%0300d' 0 | tr 0 x)" $ran
refused "error: unknown option '--x{198}'; see perfrec record --help$" \
	perfrec record "--$(printf '%0300d' 0 | tr 0 x)" $ran

# Abbreviations are options still, and so are two letters in one word.
run_ok perfrec record --quie --al off --cp=off -o data true
[ -s data/summary.json ] || fail 'abbreviated options: nothing was recorded'
run_ok perfrec record -qo again --alloc=off --cpu=off -- true
[ -s again/summary.json ] || fail '-qo: nothing was recorded'
