#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Editors that fail in every way a program can fail: each time one sentence, the program as it was,
# nothing left behind, and morphd still there.

. "$(dirname "$0")/../lib.sh"

prog_install
config_write
morphd_start
sampled 5000
before=$(prog_stat)

# use KEY VALUE: change a setting and let morphd read it
use()
{
	sed -i "s|^$1 = .*|$1 = $2|" "$dir/morphd.conf"
	kill -HUP "$morphd"
	eventually grep -q "read .*morphd.conf again" "$dir/morphd.log"
	: >"$dir/morphd.log"
}

# fails_with PATTERN EDITOR-COMMAND
fails_with()
{
	use editor_command "$2"
	refused "$1" morph reoptimize "$prog"
	prog_is shipped || fail "after $2 the program is not as shipped"
	is "owner, mode, time after $2" "$before" "$(prog_stat)"
	is "generations after $2" 0 "$(json status '.modules[0].generations')"
	[ ! -e "$dir/state/work" ] || fail "after $2 the work directory is still there"
	is "files beside the program" prog "$(ls -A "$dir/bin")"
}

tool()
{
	printf '#!/bin/bash\n%s\n' "$2" >"$dir/tools/$1"
	chmod 755 "$dir/tools/$1"
}

fails_with 'exit status 1' '/bin/false'
tool complain 'echo first; echo "ld.lld: cannot find libm.so.6" >&2; exit 3'
fails_with 'cannot find libm.so.6.*exit status 3' "$dir/tools/complain"
tool crash 'kill -SEGV $$'
fails_with 'killed by signal 11' "$dir/tools/crash"
fails_with 'wrote no file' '/bin/true'
fails_with 'cannot run' "$dir/tools/nonexistent"
fails_with 'not a file of a plausible size' 'touch {output}'
fails_with 'not a file of a plausible size' 'mkdir {output}'
fails_with 'Too many levels\|wrote' 'ln -s /bin/true {output}'
fails_with 'not ELF\|ELF' 'cp /etc/services {output}'
fails_with 'carries no block map' 'cp /bin/true {output}'
fails_with 'was made from another file' "cp $dir/tools/foreign {output}"
fails_with 'no build ID of its own' 'cp {original} {output}'
fails_with 'unknown variable' 'cp {orignal} {output}'
tool truncated "head -c 5000 $dir/tools/made >\$1"
fails_with 'morph\|damaged\|past\|ELF' "$dir/tools/truncated {output}"
tool large 'head -c 3000000 /dev/zero >$1'
use edit_file_size 1M || true
echo 'edit_file_size = 1M' >>"$dir/morphd.conf"
fails_with 'killed by signal 25\|exit status' "$dir/tools/large {output}"
echo 'edit_timeout = 1s' >>"$dir/morphd.conf"
fails_with 'took longer than 1 s' 'sleep 60'
# What it leaves running is stopped with it.
tool fork "sleep 98.7 & sleep 98.7"
fails_with 'took longer than 1 s' "$dir/tools/fork"
! pgrep -f 'sleep 98.7' >/dev/null || fail "the editor's child still runs"
sed -i '/^edit_timeout/d; /^edit_file_size/d' "$dir/morphd.conf"

# ---- what an editor can see and do
tool look 'id -un; cat /proc/self/oom_score_adj; chrt -p $$ | head -1; ls /sys/class/net | grep -v lo$; env | cut -d= -f1 | sort | tr "\n" " "; exit 4' 
use editor_command "$dir/tools/look"
tool report 'exec >&2; echo "$(id -un) $(cat /proc/self/oom_score_adj) $(grep -c : /proc/net/dev) $(ulimit -c) $(grep NoNewPrivs /proc/self/status | cut -f2)"; exit 4'
fails_with '6[1-5][0-9][0-9][0-9] 1000 1 0 1' "$dir/tools/report"
tool escape "echo x >$prog; rm -f $prog $dir/state/state.db; ls $dir/state/store; exit 1"
fails_with 'Permission denied' "$dir/tools/escape"

# ---- the profile command fails
use editor_command "cp $dir/tools/made {output}"
use profile_command /bin/false
refused 'the profile could not be made' morph reoptimize "$prog"
is "failed edits are counted" true "$(json status '.modules[0].failed_edits > 15')"
use profile_command 'touch {profile}'

# ---- and after all that, one that works
morph reoptimize "$prog" >/dev/null
prog_is made || fail "an edit after failures"
is "failures are forgotten" 0 "$(json status '.modules[0].failed_edits')"
# The same result again is the same generation.
morph reoptimize "$prog" >/dev/null
is "generations" 1 "$(json status '.modules[0].generations')"

# ---- stopped in the middle: the client hears it, nothing is left
use editor_command 'sleep 60'
morph reoptimize "$prog" >"$dir/out" 2>&1 &
client=$!
eventually test -e "$dir/state/work/profile"
morphd_stop
! wait "$client" || fail "the client must fail"
grep -q 'morphd was stopped\|morphd ended' "$dir/out" || fail "the client says: $(cat "$dir/out")"
[ ! -e "$dir/state/work" ] || fail "the work directory is still there"
prog_is made || fail "stopping changes nothing"
