# SPDX-License-Identifier: Apache-2.0
#
# Completion of perfrec and perfrec-collect for bash. The tables are made of
# collector/options/opts.def (scripts/completion.awk); a key is a command
# ("perfrec record"), or a command and one of its options.

#@TABLES@

# _perfrec_say KIND [WORDS]: what can stand for $cur.
_perfrec_say()
{
	case $1 in
	words)	mapfile -t COMPREPLY < <(compgen -W "$2" -- "$cur") ;;
	user)	mapfile -t COMPREPLY < <(compgen -u -- "$cur") ;;
	command)
		mapfile -t COMPREPLY < <(compgen -c -- "$cur") ;;
	recording*)
		_perfrec_recordings ;;
	function)
		_perfrec_functions ;;
	folder)	mapfile -t COMPREPLY < <(compgen -d -- "$cur")
		compopt -o filenames 2>/dev/null ;;
	file)	mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		compopt -o filenames 2>/dev/null ;;
	esac
}

# Folders that hold a recording, and all others if there are none.
_perfrec_recordings()
{
	local folder found=()

	mapfile -t COMPREPLY < <(compgen -d -- "$cur")
	compopt -o filenames 2>/dev/null
	for folder in "${COMPREPLY[@]}"; do
		[ -e "$folder/summary.json" ] && found+=("$folder")
	done
	[ ${#found[@]} -eq 0 ] || COMPREPLY=("${found[@]}")
}

# Patterns for the functions of the recording that the line names. bash takes
# what is in front of the last ":" for words of their own.
_perfrec_functions()
{
	local name before=${cur%"${cur##*:}"}

	while read -r name; do
		[[ $name == "$cur"* ]] || continue
		printf -v name %q "${name#"$before"}"
		COMPREPLY+=("$name")
	done < <(perfrec __complete functions "${line[@]}" 2>/dev/null)
}

# _perfrec_program FIRST: a command line of another program, from that word on.
_perfrec_program()
{
	if declare -F _comp_command_offset >/dev/null; then
		_comp_command_offset "$1"
	elif declare -F _command_offset >/dev/null; then
		_command_offset "$1"
	elif [ "$1" -eq "$COMP_CWORD" ]; then
		_perfrec_say command
	else
		_perfrec_say file
	fi
}

# _perfrec_take WORD: goes on behind a word in front of the cursor. Sets $operand,
# the index of the first word that is no option, and $option, if it wants a value.
# bash takes "--alloc=exact" for three words.
_perfrec_take()
{
	if [ "$1" = = ]; then
		return
	elif [ -n "$option" ] || [ "$1" = -- ]; then
		[ -n "$option" ] || options=0
		option=
	elif [[ $1 == -* ]] && [ "$options" -eq 1 ]; then
		option=$1
		[ -n "${_perfrec_values[$command $1]-}" ] || option=
	elif [ "$operand" -eq 0 ]; then
		operand=$i
	fi
}

# _perfrec_words: the words of the line up to the cursor in $line, and the index
# of each in COMP_WORDS in $at. bash takes "ns::f" for three words.
_perfrec_words()
{
	local i word last

	for ((i = 0; i <= COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		last=$((${#line[@]} - 1))
		if ((i > 1)) && { [[ $word == :* ]] ||
			[[ $word && ${line[last]} == *: ]]; }; then
			line[last]+=$word
		else
			line+=("$word")
			at+=("$i")
		fi
	done
}

_perfrec()
{
	local command=${COMP_WORDS[0]##*/} cur last line=() at=()
	local first=1 operand=0 option='' options=1 operands words i

	COMPREPLY=()
	_perfrec_words
	last=$((${#line[@]} - 1))
	cur=${line[last]}
	if [ "$command" = perfrec ] && [ "$last" -gt 1 ]; then
		command="perfrec ${line[1]}"
		first=2
	fi
	read -r operands words <<<"${_perfrec_operands[$command]-}"
	[ -n "$operands" ] || return
	for ((i = first; i < last; i++)); do
		[ "$operands" = program ] && [ "$operand" -gt 0 ] && break
		_perfrec_take "${line[i]}"
	done
	[ "$operand" -gt 0 ] || operand=$last
	if [ -n "$option" ]; then
		[ "$cur" != = ] || cur=
		read -r operands words <<<"${_perfrec_values[$command $option]}"
		_perfrec_say "$operands" "$words"
	elif [ "$operands" = program ] && [ "$operand" -lt "$last" ]; then
		_perfrec_program "${at[operand]}"
	elif [[ $cur == -* ]] && [ $options -eq 1 ]; then
		_perfrec_say words "${_perfrec_options[$command]}"
	elif [ "$operands" = program ]; then
		_perfrec_program "${at[operand]}"
	elif [ "$operand" -eq "$last" ] || [ "$operands" = recordings ]; then
		_perfrec_say "$operands" "$words"
	elif [ "$operands" = function ]; then
		_perfrec_say recording
	fi
}
complete -F _perfrec perfrec perfrec-collect
