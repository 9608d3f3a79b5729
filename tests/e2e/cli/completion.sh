# SPDX-License-Identifier: Apache-2.0
#
# Completion of perfrec and perfrec-collect: in bash by the function that bash
# would call, in zsh at a terminal, in fish by its own command. The test uses the
# files that `make install` installs. zsh and fish are tested if they are
# installed.
. "$TOP/tests/e2e/lib.sh"
need bash

shells=$O/completion
PATH=$O:$PATH
mkdir folder
: >file.c

# In bash: completes the last word of a line, whose words are separated as bash
# does. Prints the completions in order.
cat >complete.bash <<'BASH'
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
complete -p perfrec perfrec-collect >/dev/null || exit 1
_perfrec
printf '%s\n' "${COMPREPLY[@]}"
BASH

# offers WANTED WORD...: the completions of the last WORD in bash are WANTED.
offers()
{
	wanted=$1
	shift
	expect_eq "bash: $*" "$(bash complete.bash \
		"$shells/bash-completion/completions/perfrec" "$@" | paste -s -d ' ')" \
		"$wanted"
}
commands=$(awk -F'\t' '$1 == "command" && sub(/^perfrec /, "", $2) { print $2 }' \
	"$O/options.tsv" | paste -s -d ' ')
offers "$commands" perfrec ''
offers 'record report replay' perfrec re
offers '--help --version' perfrec --
offers '--on-full --on-finish --on-finish-timeout' perfrec record --on
offers '--output --overhead --otlp-version --on-full --on-finish --on-finish-timeout' perfrec-collect --o
offers 'block drop' perfrec record --on-full ''
offers 'exact' perfrec record --alloc ex
# bash makes three words of --alloc=ex, and two of --alloc=
offers 'exact' perfrec record --alloc = ex
offers 'off auto exact sampled' perfrec record --alloc =
offers '--compress' perfrec record --alloc = exact --com
offers '--compress' perfrec record --alloc exact -q --com
offers 'functions cpu heap span wait lock path io' perfrec report --view ''
offers '--view' perfrec report folder --vi
offers 'cpu' perfrec report folder --view cp
offers 'error warning info debug' perfrec-collect --log ''
offers 'list pause resume flush snapshot stop categories functions stats forget' perfrec ctl ''
offers 'pause' perfrec ctl --json p
offers '' perfrec ctl pause ''
offers '' perfrec record --filter '' # there is no recording
offers '' perfrec no-such-command ''
# Recordings, and functions of the recording on the command line.
mkdir other
build_calls
"$PERFREC" record -q --cpu off --alloc off -o mine ./calls 10 ||
	fail 'perfrec record'
rm calls
jq '(.functions[0] | .calls = 1) as $one | .functions = [
	$one + {name: "ns::alpha(int)", calls: 3},
	$one + {name: "void ns::Box<int>::beta<long>(int)", calls: 2},
	$one + {name: "gamma\u001b;rm"}]' mine/summary.json >new ||
	fail 'no summary'
mv new mine/summary.json
offers 'mine' perfrec report ''
offers 'mine' perfrec diff mine ''
offers 'other' perfrec report o
mv mine perfrec.data
offers 'ns::alpha ns::Box\*::beta\* gamma\*\;rm' perfrec graph ''
offers 'alpha' perfrec graph ns :: al
offers 'ns::alpha ns::Box\*::beta\*' perfrec graph n
offers 'perfrec.data' perfrec graph ns :: alpha ''
offers 'alpha' perfrec record --filter ns :: al
offers '--full-names' perfrec graph ns :: alpha --f
# Folders, files and users.
offers 'folder' perfrec report f
offers 'folder' perfrec record -o f
offers 'folder' perfrec-collect --output f
offers 'file.c folder' perfrec-collect --socket f
offers 'file.c folder' perfrec cc --only f
offers 'root' perfrec-collect --allow-uid roo
# Commands, and what follows them is theirs.
offers 'perfrec-collect' perfrec record perfrec-c
offers 'perfrec-collect' perfrec record -- perfrec-c
offers 'perfrec-collect' perfrec record --depth 3 -o folder perfrec-c
offers 'perfrec-collect' perfrec c++ --verbose perfrec-c
offers 'file.c' perfrec cc gcc fi
offers '' perfrec record -- true --on-f
offers '' perfrec record true --on-f

# Nothing that --help names is missing, and nothing else is offered.
for command in 'perfrec record' 'perfrec report' 'perfrec ctl' 'perfrec cc' \
	'perfrec c++' perfrec-collect; do
	# shellcheck disable=SC2086 # a command and its subcommand
	"$O/"$command --help | sed '1,/^$/d' |
		grep -oE '^ {2,6}-(o|q|-[a-z-]+)(, --[a-z-]+)?' |
		tr -d ' ' | tr ',' '\n' | LC_ALL=C sort >told
	[ -s told ] || fail "$command --help names no option"
	# shellcheck disable=SC2086
	bash complete.bash "$shells/bash-completion/completions/perfrec" \
		$command - | LC_ALL=C sort >offered
	cmp told offered || fail "$command: completion is not --help"
done
cmp "$shells/bash-completion/completions/perfrec" \
	"$shells/bash-completion/completions/perfrec-collect" ||
	fail 'bash: perfrec-collect has other completions'

# In zsh, which completes at a terminal only: what stands in the line when each
# has been completed, which has one way to go on.
if command -v zsh >/dev/null; then
	zsh -n "$shells/zsh/site-functions/_perfrec" || fail 'zsh: syntax'
	cat >complete.zsh <<-'ZSH'
	zmodload zsh/zpty
	zpty shell 'TERM=dumb zsh -f -i'
	zpty -w shell "unsetopt zle_bracketed_paste; PS1=; fpath=($1 \$fpath)"
	zpty -w shell 'say() { print -r -- "<$BUFFER>"; BUFFER=; zle accept-line }'
	zpty -w shell "zle -N say; bindkey '^X' say"
	zpty -w shell "autoload -Uz compinit; compinit -u -D; echo be''gin"
	zpty -r shell answer '*begin*' || exit 1
	for line in "${@:2}"; do
		zpty -n -w shell "$line"$'\t\C-x'
		zpty -r shell answer '*<*>*' || exit 1
		print -r -- "${${answer##*<}%%>*}"
	done
	ZSH
	while read -r line end; do
		printf '%s\n' "$line" | tr _ ' ' >>lines
		printf '%s\n' "$line$end" | tr _ ' ' >>completed
	done <<-'END'
		perfrec_rec ord
		perfrec_--ver sion
		perfrec_record_--comp ress
		perfrec_record_--on-full_bl ock
		perfrec_record_--alloc=ex act
		perfrec_report_--view=he ap
		perfrec_report_--view_cpu_fold er/
		perfrec_report_per frec.data/
		perfrec_graph_ns::al pha
		perfrec_record_--filter_ns::al pha
		perfrec_ctl_--json_fl ush
		perfrec-collect_--quie t-notes
		perfrec-collect_--socket_fil e.c
		perfrec_record_-o_fold er/
		perfrec_record_perfrec-coll ect
		perfrec_record_--_perfrec-coll ect
		perfrec_record_--depth_3_--_perfrec-collect_--quie t-notes
		perfrec_c++_--only_file.c_perfrec-coll ect
	END
	tr '\n' '\0' <lines | xargs -0 timeout 100 zsh complete.zsh \
		"$shells/zsh/site-functions" | sed 's/ $//' >zsh
	diff completed zsh || fail 'zsh: these lines (<) became those (>)'
else
	echo 'zsh is not installed: its completion is not tried'
fi

# In fish: what its own command for this prints.
if command -v fish >/dev/null; then
	for file in "$shells"/fish/vendor_completions.d/*.fish; do
		fish -n "$file" || fail "fish: syntax of $file"
	done
	while read -r line wanted; do
		line=$(echo "$line" | tr _ ' ')
		expect_eq "fish: $line" "$(fish --no-config -c "
			set fish_complete_path $shells/fish/vendor_completions.d
			complete -C '$line'" | cut -f 1 | paste -s -d ' ')" "$wanted"
	done <<-'END'
		perfrec_rec record
		perfrec_--ver --version
		perfrec_record_--on-fu --on-full
		perfrec_record_--on-full_ block drop
		perfrec_report_--view_ cpu functions heap span
		perfrec_report_fold folder/
		perfrec_ctl_p pause
		perfrec_report_per perfrec.data/
		perfrec_graph_ns::a ns::alpha
		perfrec_record_--filter_ns::a ns::alpha
		perfrec_record_-o_fold folder/
		perfrec_record_--filter_x_--_perfrec_rec record
		perfrec_cc_--only_file.c_perfrec_rec record
		perfrec-collect_--log_ debug error info warning
	END
else
	echo 'fish is not installed: its completion is not tried'
fi
