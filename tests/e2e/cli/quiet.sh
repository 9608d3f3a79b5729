# SPDX-License-Identifier: Apache-2.0
#
# A reason for not recording is printed once, not by each process: under perfrec
# record by the summary, one line for each reason, and not by processes; with
# the library preloaded by hand, by the first process of a tree.
. "$TOP/tests/e2e/lib.sh"
need pgrep
SHIM=$O/libperfrec_preload.so

# no_lines WHAT: the last run wrote nothing on stderr.
no_lines()
{
	[ ! -s err ] || fail "$1: $(cat err)"
}

# one_line WHAT REGEX: exactly one, which matches.
one_line()
{
	expect_eq "lines of $1" "$(wc -l <err)" 1
	expect_match err "$2"
}

many='for i in 1 2 3 4 5; do env true; done; env true'

# --- perfrec record ----------------------------------------------------------
# The shell sets a limit without room for rings: six times env and true fail.
limited="ulimit -v 60000; $many"
run_ok "$PERFREC" record -q -o data sh -c "$limited"
one_line 'a limit' \
	'^perfrec: lost 12 of the programs.*: its ulimit -v'
expect_eq 'refused' \
	"$(json data/summary.json '.totals.refused_programs')" 12
run "$PERFREC" record -o data sh -c "$limited"
expect_eq 'lines with the summary' "$(grep -c 'its ulimit' err)" 1
expect_match err '^  lost +12 of the programs'

# PERFREC_QUIET=0 lets each process print its line.
PERFREC_QUIET=0 "$PERFREC" record -q -o data sh -c "$limited" 2>err
expect_eq 'loud' "$(grep -c '^perfrec: not recording: RLIMIT_FSIZE' err)" 12

# Reasons that programs reported before perfrec ended count, although the
# collector has not read them: it is stopped until perfrec has asked it to end.
cat >limited.sh <<'END'
echo $$ >pid
read -r _ <go
ulimit -v 60000
for i in 1 2 3 4 5 6 7 8 9 10; do env true; done
END
mkfifo go
is_reaped()
{
	[ ! -e /proc/"$(cat pid)" ]
}
"$PERFREC" record -q -o data sh limited.sh 2>err &
perfrec=$!
wait_for 60 [ -s pid ]
collector=$(pgrep -P $perfrec perfrec-collect) || fail 'no collector'
stop_process "$collector"
echo >go
wait_for 60 is_reaped
kill -CONT "$collector"
wait $perfrec || fail "perfrec record: $(cat err)"
expect_eq 'refused while the collector stood still' \
	"$(json data/summary.json '.totals.refused_programs')" 20

# Processes that are gone before anybody could sample them are no reason to
# speak of --cpu.
run "$PERFREC" record -q --cpu 99 -o data sh -c "$many"
expect_no_match err 'CPU samples.*No such process'

# Another user than perfrec's cannot be recorded, only counted.
as_nobody="setpriv --reuid 65534 --regid 65534 --clear-groups"
if [ "$(id -u)" = 0 ] && $as_nobody test -r "$SHIM" 2>/dev/null; then
	run_ok "$PERFREC" record -q -o data $as_nobody sh -c "$many"
	one_line 'another user' \
		'^perfrec: lost 13 of the programs .*: it runs as another user$'
fi

# --- by hand -----------------------------------------------------------------
run env LD_PRELOAD="$SHIM" sh -c "$many"
one_line 'no collector' \
	'^perfrec: not recording: no collector is listening .*perfrec record'
# Each command of a shell that has it exported only is a tree of its own.
run sh -c "export LD_PRELOAD='$SHIM'; ls; ls"
expect_eq 'lines of two trees' "$(wc -l <err)" 2
run env LD_PRELOAD="$SHIM" PERFREC_QUIET=1 sh -c "$many"
no_lines 'quiet'
