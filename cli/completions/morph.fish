# SPDX-License-Identifier: Apache-2.0
#
# Completion of morph(1) and its daemons for fish. What may stand where is asked of the program itself.

function __morph_words
    set -l words (commandline -opc)
    set -l program $words[1]
    set -e words[1]
    if test (count $words) -gt 1; and test $words[1] != profile
        set words $words[1]
    end
    $program help --words $words[1..2] 2>/dev/null
end

function __morph_daemon_options
    set -l words (commandline -opc)
    $words[1] --help 2>/dev/null | string match -r -a -- '--[a-z][a-z-]*=?'
end

# Where only a verb may stand, no file is offered.
complete -c morph -n 'test (count (commandline -opc)) -eq 1' -f -a '(__morph_words)'
complete -c morph -n 'test (count (commandline -opc)) -gt 1; and string match -q -- "-*" (commandline -ct)' -f -a '(__morph_words)'
complete -c morph -n 'test (count (commandline -opc)) -eq 2; and test (commandline -opc)[2] = profile' -a '(__morph_words)'
for daemon in morphd morph-monitor morph-mount
    complete -c $daemon -n 'string match -q -- "-*" (commandline -ct)' -f -a '(__morph_daemon_options)'
end
