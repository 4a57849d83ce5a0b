# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Completion of morph(1) and its daemons for bash. What may stand where is asked of the program itself.

_morph_words()
{
	local verb=${COMP_WORDS[1]-} sub=

	((COMP_CWORD > 1)) || verb=
	[[ $verb != profile ]] || ((COMP_CWORD < 3)) || sub=${COMP_WORDS[2]}
	# shellcheck disable=SC2086 # an empty verb is no word
	"${COMP_WORDS[0]}" help --words $verb $sub 2>/dev/null | cut -f 1
}

_morph()
{
	local word=${COMP_WORDS[COMP_CWORD]}

	COMPREPLY=()
	if [[ $COMP_CWORD == 1 || $word == -* || ($COMP_CWORD == 2 && ${COMP_WORDS[1]} == profile) ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(_morph_words)" -- "$word")
		[[ ${COMPREPLY[0]-} != *= ]] || compopt -o nospace
	fi
	[[ ${COMPREPLY[0]-} || $word == -* ]] || compopt -o default 2>/dev/null
}

# The daemons' options, from their --help.
_morph_daemon()
{
	local word=${COMP_WORDS[COMP_CWORD]}

	COMPREPLY=()
	if [[ $word == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$("$1" --help 2>/dev/null | grep -oE -- '--[a-z][a-z-]*=?')" -- "$word")
		[[ ${COMPREPLY[0]-} != *= ]] || compopt -o nospace
	else
		compopt -o default 2>/dev/null
	fi
}

complete -F _morph morph
complete -F _morph_daemon morphd morph-monitor morph-mount
