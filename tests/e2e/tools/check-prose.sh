# SPDX-License-Identifier: Apache-2.0
#
# scripts/check-prose.awk marks sentences that hide their noun or actor, in each
# kind of file, and accepts plain ones.
. "$TOP/tests/e2e/lib.sh"

mkdir -p room docs
echo 'room 0' >limits
echo 'docs 0' >>limits

# check FILE: FILE becomes the standard input without its margin, and is checked.
check()
{
	sed 's/^> //' >"$1"
	run awk -f "$TOP/scripts/check-prose.awk" -v MODE=list limits "$1"
	mv out list
	run awk -f "$TOP/scripts/check-prose.awk" limits "$1"
}
# plain FILE, marked FILE LINE MARK: the check accepts the text, or finds MARK.
plain()
{
	check "$1"
	expect_status 0
	[ ! -s out ] || fail "$1 has too many: $(cat out)"
}
marked()
{
	check "$1"
	expect_status 1
	expect_match out "^${1%/*}: [0-9]* of 1,000 .* may be "
	expect_match list "^$1:$2: $3: "
	[ "$(wc -l <list)" = 1 ] || fail "one sentence: $(cat list)"
}

plain room/a.c <<'END'
> /* The writer appends the block. It never waits for the reader, and the
>  * reader frees the block. */
> int begin; /* What does it cost? The benchmark measures that. */
> // The course of the river is of no importance.
END
marked room/a.c 1 'starts with a preposition or relative' <<'END'
> /* Of these the oldest one comes first. The writer frees the block. */
END
marked room/a.h 2 'clause instead of a noun' <<'END'
> /*
>  * The reader checks each length.
>  * The writer appends
>  * what is due now.
>  */
END
# A sentence over two lines; one after code; two comments on a line.
marked room/a.c 1 'pronoun instead of a noun' <<'END'
> /* The table lists the threads and all those
>  * that have ended before. */
END
marked room/a.S 2 'tell' <<'END'
> 	nop
> 	ret /* short */ /* The collector is told of the end. */
END
marked room/a.js 1 'pronoun at the end' <<'END'
> const a = 1; // The reader takes the sums of it.
END
marked docs/a.md 3 'begin is a verb' <<'END'
> # What the heading says does not count
> 
> The slice ends at the begin of the next.
> 
>     What is indented is code, and of no interest to it.
END
marked docs/a.1 2 'as many as' <<'END'
> .SH NAME
> The daemon keeps \fIas many of\fR the files.
END
marked room/a.sh 1 'starts with What or Which' <<'END'
> # What the script prints goes to a file.
> echo 'What the text of a command says does not count.' >out
END
# A limit of marks per 1,000 sentences; folders without a limit may have 20.
echo 'room 500' >limits
plain room/a.c <<'END'
> /* Of these the oldest one comes first. The writer frees the block. */
END
echo '# no limits' >limits
marked room/a.c 1 'starts with a preposition or relative' <<'END'
> /* Of these the oldest one comes first. The writer frees the block. */
END
