#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# morphd --user, as a user without privilege: generations of that user's own programs and of packaged ones stand in a shadow
# directory, names lead to them as long as they are what PATH would find, and nobody else can put anything there.

. "$(dirname "$0")/../lib.sh"
. "$MORPH_SOURCE/tests/attack.sh"

user=61001 other=61002
home=$dir/home system=$dir/system/bin shadow=$dir/home/run/morph/bin
export HOME=$home XDG_RUNTIME_DIR=$home/run ASAN_OPTIONS=detect_leaks=0
unset XDG_STATE_HOME XDG_CONFIG_HOME
mkdir -p "$home"/{.local/bin,.config/morph,run} "$system" "$dir/tools"
cp "$MORPH_PROGRAMS"/* "$dir/tools/"
chown -R $user:$user "$home"
chmod 700 "$home" "$home/run"

as()
{
	setpriv --reuid="$1" --regid="$1" --clear-groups "${@:2}"
}

as $user test -x "$MORPH_BIN/morphd" || { echo "skipped: user $user cannot reach $MORPH_BIN"; exit 77; }

own()
{
	as $user "$MORPH_BIN/morph" --user "$@"
}

# config [LINE...]: only what happens is looked at, never the clock
config()
{
	printf '%s\n' 'profile_command = touch {profile}' "editor_command = cp $dir/tools/made {output}" 'edit_memory = 0' 'idle_session = no' \
		'minimum_samples = 1000' 'minimum_free = 0' 'edit_interval = 0' 'automatic = no' 'decide_interval = 1h' \
		"prefixes = $dir" "shadow_path = $home/.local/bin:$home/bin:$system:/usr/bin:/bin" "$@" >"$home/.config/morph/morphd.conf"
}

started()
{
	setpriv --reuid=$user --regid=$user --clear-groups "$MORPH_BIN/morphd" --user >>"$dir/morphd.log" 2>&1 &
	morphd=$!
	pids+=("$morphd")
	morphd_wait own
}

# install FILE PROGRAM [OWNER]: as dpkg does it, by rename
install_program()
{
	cp "$MORPH_PROGRAMS/$2" "$1.new"
	chown "${3:-0}" "$1.new"
	chmod 755 "$1.new"
	mv "$1.new" "$1"
}

# sampled FILE PROGRAM
n=0
sampled()
{
	n=$((n + 1))
	"$MORPH_BIN/manager-samples" "$dir/part" "$MORPH_PROGRAMS/$2" "$1" 2000 $n
	chown $user "$dir/part"
	mv "$dir/part" "$home/.local/state/morph/spool/$n.samples"
	for _ in $(seq 1200); do
		if ! compgen -G "$home/.local/state/morph/spool/*.samples" >/dev/null; then return; fi
		sleep 0.05
	done
	fail "the spool is not taken"
}

# found NAME: what a shell of the user's starts
found()
{
	as $user env PATH="$shadow:$home/.local/bin:$home/bin:$system:/usr/bin:/bin" bash -c "readlink -f \"\$(command -v $1)\""
}

# leads NAME PROGRAM: to a file with these bytes
leads()
{
	cmp -s "$(found "$1")" "$MORPH_PROGRAMS/$2"
}

falls_through()
{
	[ "$(readlink "$shadow/$1")" = "$2" ]
}

absent()
{
	[ ! -e "$shadow/$1" ] && [ ! -L "$shadow/$1" ]
}

# ---- by default nothing of root's is used
refused "for users without privilege" "$MORPH_BIN/morphd" --user
refused 'your own morphd is not running; start it (`systemctl --user start' as $user "$MORPH_BIN/morph" --user status
as $user "$MORPH_BIN/morphd" --user --check-config >"$dir/defaults"
! grep -E '^(state|spool|runtime|shadow)_directory|^(worker|fetch|mount)_socket|^watch_file' "$dir/defaults" | grep -v " = $home/" ||
	fail "a default that is not the user's own"
grep -q '^activation = shadow$' "$dir/defaults" || fail "the default activation"
own config --json | jq -e '.settings[] | select(.key == "spool") | .value == env.HOME + "/.local/state/morph/spool"' >/dev/null ||
	fail "the monitor's spool"

# ---- a program of the user's, and one of the system's with another name for it
config
install_program "$home/.local/bin/prog" shipped $user
install_program "$system/tool" upgraded
ln -s tool "$system/alternative"
before=$(stat -c '%i %Y %Z %s' "$home/.local/bin/prog" "$system/tool")
started
sampled "$home/.local/bin/prog" shipped
own reoptimize "$home/.local/bin/prog" >/dev/null || fail "reoptimize: $(tail -3 "$dir/morphd.log")"
leads prog made || fail "prog is $(found prog)"
is "the generation" 1 "$(own status --json | jq '.modules[0].generation')"
is "output" "10 rounds" "$(as $user env PATH="$shadow:/usr/bin" prog)"
own verify "$home/.local/bin/prog" >"$dir/out" || fail "verify: $(cat "$dir/out")"
says "ok .*$shadow/prog leads to generation 1" <"$dir/out" || fail "verify: $(cat "$dir/out")"
config "editor_command = cp $dir/tools/foreign {output}"
kill -HUP "$morphd"
sampled "$system/tool" upgraded
own reoptimize "$system/tool" >/dev/null || fail "reoptimize of a packaged program: $(tail -3 "$dir/morphd.log")"
leads tool foreign || fail "tool is $(found tool)"
leads alternative foreign || fail "another name for it is $(found alternative)"
is "the programs' own files" "$before" "$(stat -c '%i %Y %Z %s' "$home/.local/bin/prog" "$system/tool")"
own status | says "put $shadow first in PATH" || fail "status: $(own status | head -5)"
as $user env PATH="$shadow:/usr/bin:$dir/tools" "$MORPH_BIN/morph" --user status | says "PATH has $dir/tools" ||
	fail "status, of a directory that shadow_path lacks"
sampled "$(readlink -f "$shadow/prog")" made
[ "$(own explain --json "$home/.local/bin/prog" | jq '.generations[1].samples')" = 2000 ] || fail "samples of the generation"

# ---- at once, though the clock of morphd looks once an hour
install_program "$system/tool" other
eventually falls_through tool "$system/tool"
eventually falls_through alternative "$system/alternative"
leads tool other || fail "an upgraded program: $(found tool)"
install_program "$system/tool" upgraded
sampled "$system/tool" upgraded
own reoptimize "$system/tool" >/dev/null
leads tool foreign || fail "not again: $(found tool)"
rm "$system/tool"
eventually absent tool
eventually absent alternative
own history "$system/tool" | says 'the file was removed' || fail "history"
install_program "$home/.local/bin/cat" other $user # before the system's
eventually test "$(found cat)" = "$home/.local/bin/cat"
rm "$home/.local/bin/cat"

# ---- another program of that name, before it in PATH; and gone again
install_program "$system/prog" shipped
for _ in 1 2 3; do own status >/dev/null; done # morphd has looked at the directory: the new shadow_path alone makes it look again
config "shadow_path = $system:$home/.local/bin:/usr/bin"
kill -HUP "$morphd"
sampled "$system/prog" shipped
eventually falls_through prog "$system/prog"
rm "$system/prog"
eventually leads prog made

# ---- rolled back, ended, killed: a name stays, and leads to the program as shipped
own rollback "$home/.local/bin/prog" >/dev/null
falls_through prog "$home/.local/bin/prog" || fail "after the rollback: $(readlink "$shadow/prog")"
is "generations left" "" "$(ls "$home/.local/state/morph/shadow")"
own reoptimize "$home/.local/bin/prog" >/dev/null
leads prog made || fail "after the rollback, again"
kill -TERM "$morphd"
wait "$morphd" || fail "morphd ended with status $?"
falls_through prog "$home/.local/bin/prog" || fail "after the end: $(readlink "$shadow/prog")"
started
leads prog made || fail "after a start: $(found prog)"
kill -KILL "$morphd"
wait "$morphd" 2>/dev/null || true
leads prog made || fail "after a kill"
as $user "$MORPH_BIN/morphd" --user --fall-through # as the unit does
falls_through prog "$home/.local/bin/prog" || fail "after --fall-through"
install_program "$home/.local/bin/prog" upgraded $user # while nobody looks
started
falls_through prog "$home/.local/bin/prog" || fail "upgraded while nobody looked: $(readlink "$shadow/prog")"
install_program "$home/.local/bin/prog" shipped $user
sampled "$home/.local/bin/prog" shipped
own reoptimize "$home/.local/bin/prog" >/dev/null
for round in $(seq 10); do # killed at any moment of an activation: the name leads to one of the two
	(own rollback "$home/.local/bin/prog" && own reoptimize "$home/.local/bin/prog") >/dev/null 2>&1 &
	sleep "0.0$((RANDOM % 10))$((RANDOM % 10))"
	kill -KILL "$morphd"
	wait "$morphd" 2>/dev/null || true
	wait $! || true
	leads prog made || leads prog shipped || fail "round $round: $(found prog)"
	started
	generation=$(own status --json | jq '.modules[] | select(.path == env.HOME + "/.local/bin/prog") | .generation')
	leads prog "$([ "$generation" -gt 0 ] && echo made || echo shipped)" || fail "round $round: generation $generation is $(found prog)"
done

# ---- attacks
mkdir -m 777 "$dir/open"
install_program "$dir/open/theirs" shipped $other
install_program "$system/theirs2" shipped $other
install_program "$system/raised" shipped
chmod u+s "$system/raised"
config "shadow_path = $dir/open:$system:$home/.local/bin:/usr/bin"
kill -HUP "$morphd"
sampled "$dir/open/theirs" shipped
not_taken()
{
	! own reoptimize "$1" >"$dir/out" 2>&1 && grep -qE "$2" "$dir/out" && absent "$(basename "$1")"
}
attack_held shadow-another-users-program not_taken "$system/theirs2" "belongs to user $other"
attack_held shadow-program-in-a-directory-that-all-may-write not_taken "$dir/open/theirs" "anybody may write|belongs to user"
attack_held shadow-set-user-id-program not_taken "$system/raised" "more rights than its caller"
as $other cp "$MORPH_PROGRAMS/crashing" "$dir/open/prog" # first in PATH, and theirs
touch "$system/.changed" && rm "$system/.changed"
hidden()
{
	own reoptimize "$home/.local/bin/prog" >/dev/null 2>&1
	eventually absent prog
}
attack_held shadow-name-that-others-may-take hidden
rm "$dir/open/prog"

# refuses DIRECTORY PATTERN: as shadow_directory
refuses()
{
	config "shadow_directory = $1"
	kill -TERM "$morphd"
	wait "$morphd" || return 1
	started
	! own reoptimize "$home/.local/bin/prog" >"$dir/out" 2>&1 && grep -qE "$2" "$dir/out"
}
as $user mkdir -m 777 "$home/everybodys"
attack_held shadow-directory-that-all-may-write refuses "$home/everybodys" "anybody may write"
mkdir "$dir/others"
chown $other "$dir/others"
attack_held shadow-directory-of-another-user refuses "$dir/others" "belongs to user $other"
as $user mkdir "$home/files"
as $user ln -s /usr/bin/env "$home/files/prog"
attack_held shadow-directory-with-other-files refuses "$home/files" "has files of others"
is "a file that was there" /usr/bin/env "$(readlink "$home/files/prog")"
asked_by_another()
{
	! as $other env MORPH_SOCKET="$home/run/morph/socket" "$MORPH_BIN/morph" status >/dev/null 2>&1
}
attack_held shadow-asked-by-another-user asked_by_another
attacks_end
