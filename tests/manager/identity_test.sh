#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# An unprivileged user beside the real monitor and the real morphd: whose samples, starts and crashes count for what?
# A build ID, a name, a signal and a mount namespace of one's own are nothing that anybody else is judged by.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/../attack.sh"
export ASAN_OPTIONS=detect_leaks=0

user=4321
mkdir -p "$dir/user" "$dir/spool" "$dir/run/monitor" "$dir/user/copies"
chown -R "$user:$user" "$dir/user"
# As many samples on any machine: a slow one has 36 a second for the usual share.
echo 'overhead_budget = 1 %' >"$dir/monitor.conf"

as()
{
	local id=$1

	shift
	setpriv --reuid="$id" --regid="$id" --clear-groups "$@"
}
as_user() { as "$user" "$@"; }

as_user test -x "$MORPH_BIN/manager-attacker" || { echo "skipped: users cannot reach $MORPH_BIN"; exit 77; }
"$MORPH_BIN/morph-monitor" --config "$dir/monitor.conf" --once --duration 0.2 --output "$dir/probe.samples" 2>"$dir/monitor.log" ||
	{ echo "skipped: $(tail -1 "$dir/monitor.log")"; exit 77; }

# log_of NAME SECONDS: the whole machine, into $dir/NAME, beside the monitor that writes for morphd
log_of()
{
	"$MORPH_BIN/morph-monitor" --config "$dir/monitor.conf" --once --duration "$2" --output "$dir/$1.samples" 2>>"$dir/monitor.log"
	morph dump --json "$dir/$1.samples" >"$dir/$1"
}

monitor_start()
{
	"$MORPH_BIN/morph-monitor" --config "$dir/monitor.conf" --spool "$dir/spool" --run-directory "$dir/run/monitor" \
		--interval 1s 2>>"$dir/monitor.log" &
	monitor=$!
	pids+=("$monitor")
	eventually test -s "$dir/run/monitor/status.json"
}

build_id()
{
	readelf -n "$1" | sed -n 's/.*Build ID: //p'
}

# a program of the user's own: hot where it likes, with any build ID
fake()
{
	"$MORPH_LLVM_DIR/bin/clang" -O1 -fuse-ld=lld "-Wl,--build-id=0x$2" "$MORPH_SOURCE/tests/manager/attacker.c" -o "$1"
}

samples()
{
	json explain ".generations[$1].samples" "$prog"
}

# All that the monitor has seen is known to morphd.
settled()
{
	sleep 2.5
	for _ in $(seq 100); do
		if ! compgen -G "$dir/spool/*.samples" >/dev/null; then return; fi
		sleep 0.05
	done
}

generation_is() { [ "$(json status ".modules[] | select(.path == \"$prog\") | .generation")" = "$1" ]; }
jq_is() { jq -e "$@" >/dev/null; }
is_equal() { [ "$1" = "$2" ]; }
is_at_least() { [ "$1" -ge "$2" ]; }
counts_at_least() { settled; [ "$(samples 0)" -ge "$1" ]; }

work_program() { timeout 3 "$prog" 2000000000 >/dev/null || true; }

config_write
cat >>"$dir/morphd.conf" <<-END
	watch_file = $dir/run/monitor/watch
	watch_time = 1h
END
prog_install

# ---- a name: the user's file comes first, with the build ID of a program that root will run
id=$(build_id "$MORPH_PROGRAMS/shipped")
fake "$dir/user/fake" "$id"
morphd_start
monitor_start
as_user "$dir/user/fake" busy 3
settled
work_program
work_program
settled
is_known() { [ "$(json status ".modules[] | select(.path == \"$prog\") | .samples")" -gt 0 ] 2>/dev/null; }
eventually is_known
attack_held identity-path-squats-the-name-of-roots-program is_equal "$prog" \
	"$(json explain '.target.sampled_path' "$prog")"

# ---- a build ID: the user's hot loop counts nothing
settled
before=$(samples 0)
as_user "$dir/user/fake" busy 3
settled
attack_held identity-same-build-id-counts-for-the-program is_equal "$before" "$(samples 0)"
apart() { morph status -a --all-users --json | jq -e --arg f "$dir/user/fake" '.others[] | select(.path == $f) | .samples > 0' >/dev/null; }
apart || fail "the user's file was not sampled, so nothing was attacked"

# ---- the real file, by another user: counts
others_run_counts() # once more, where a busy machine gave it little of the CPU
{
	for _ in 1 2 3 4 5; do
		as 4322 timeout 2 "$prog" 2000000000 >/dev/null || true
		if counts_at_least $((before + 20)); then return; fi
	done
	return 1
}
others_run_counts || fail "what another user runs of the real file does not count"

# ---- a container's own copy by its overlay
before=$(samples 0)
mkdir -p "$dir/lower" "$dir/upper" "$dir/work" "$dir/merged"
cp "$prog" "$dir/lower/prog"
unshare -m sh -c "mount -t overlay overlay -o lowerdir=$dir/lower,upperdir=$dir/upper,workdir=$dir/work $dir/merged &&
	mount --bind $dir/merged/prog $prog && timeout 3 $prog 2000000000" >/dev/null 2>"$dir/err" &
container=$!
log_of container 2
wait "$container" || true
[ ! -s "$dir/err" ] || fail "no overlay: $(cat "$dir/err")"
settled
attack_held identity-overlay-of-a-container-counts-for-the-host is_equal "$before" "$(samples 0)"
attack_held identity-overlay-of-a-container-has-the-hosts-name jq_is --arg p "$prog" \
	'[.modules[] | select(.path == $p)] | length > 0 and all(.[]; .mount_namespace > 0)' "$dir/container"

# ---- a bind mount in a user namespace of the user's
as_user unshare -Urm sh -c "mount --bind $dir/user/fake /usr/bin/ls && exec /usr/bin/ls busy 4" &
bound=$!
log_of bound 3
wait "$bound" || fail "no user namespace"
attack_held identity-bind-mount-becomes-usr-bin-ls jq_is --arg id "$id" \
	'[.modules[] | select(.path == "/usr/bin/ls" and .build_id == $id)] | length > 0 and all(.[]; .mount_namespace > 0)' "$dir/bound"
attack_held identity-root-in-a-user-namespace-is-root jq_is --arg id "$id" \
	'[.modules[] | select(.path == "/usr/bin/ls" and .build_id == $id)] | all(.[]; .user == 4321)' "$dir/bound"

# ---- a generation, and a copy of it
sampled_enough() { [ "$(samples 0)" -ge 1000 ]; }
for _ in $(seq 12); do sampled_enough || { work_program; settled; }; done
morph reoptimize "$prog" >/dev/null
prog_is made || fail "no generation"
settled
before=$(samples 1)
cp "$prog" "$dir/user/copy"
chown "$user" "$dir/user/copy"
as_user timeout 3 "$dir/user/copy" 2000000000 >/dev/null || true
settled
attack_held identity-copy-of-a-generation-counts is_equal "$before" "$(samples 1)"
attack_held identity-copy-of-a-generation-has-its-own-crashes is_equal 0 "$(json explain '.generations[1].crashes' "$prog")"

# ---- signals that nobody's fault raised
setpriv --reuid="$user" --regid="$user" --clear-groups "$prog" 2000000000 >/dev/null &
victim=$!
sleep 0.5
as_user kill -SEGV "$victim"
wait "$victim" || true
settled
attack_held identity-kill-segv-condemns-a-generation generation_is 1

# ---- real faults, but one user's only, in a program that runs well for others
printf 'static int *p; __attribute__((constructor)) static void crash(void) { *(volatile int *)p = 0; }\n' >"$dir/user/crash.c"
"$MORPH_LLVM_DIR/bin/clang" -fuse-ld=lld -shared -fPIC -O1 "$dir/user/crash.c" -o "$dir/user/crash.so"
"$prog" 100 >/dev/null
as 4322 "$prog" 100 >/dev/null
settled
for _ in $(seq 20); do as_user sh -c "ulimit -c 0; exec env LD_PRELOAD=$dir/user/crash.so $prog" >/dev/null 2>&1 || true; done
settled
settled
is_at_least "$(json explain '.generations[1].crashes' "$prog")" 10 ||
	fail "the crashes were not seen, so nothing was attacked: $(json explain '.generations[1].crashes' "$prog")"
attack_held identity-crashes-of-one-user-condemn-a-generation generation_is 1
attack_held identity-crashes-of-one-user-count-for-all is_equal 0 "$(json explain '.target.watch_crashes' "$prog")"

# ---- a generation that always crashes, while the user's processes die by the thousand
storm_with()
{
	local kind=$1

	as_user "$MORPH_BIN/manager-attacker" "$kind" 16 >"$dir/$kind" &
	storm=$!
	sleep 3
	for _ in 1 2 3; do (ulimit -c 0; "$prog" 100) >/dev/null 2>&1 || true; done
	for _ in $(seq 100); do
		if generation_is 0; then return; fi
		sleep 0.1
	done
}
# Before, the shipped file gets a record in which crashes are nothing new.
morph rollback "$prog" >/dev/null
(ulimit -c 0; as_user "$MORPH_BIN/manager-attacker" victims 8 "$prog") >"$dir/victims"
is_at_least "$(cat "$dir/victims")" 500 || fail "the shipped file was killed $(cat "$dir/victims") times only"
settled
sed -i "s|^editor_command.*|editor_command = cp $dir/tools/crashing {output}|" "$dir/morphd.conf"
kill -HUP "$morphd"
sleep 0.5
morph reoptimize "$prog" >/dev/null
prog_is crashing || fail "no crashing generation"
storm_with kills
attack_held identity-storm-of-kills-blinds-the-watch prog_is shipped
attack_held identity-storm-on-the-shipped-files-record is_equal 0 "$(json explain '.generations[0].crashes' "$prog")"
wait "$storm"
is_at_least "$(cat "$dir/kills")" 1000 || fail "a storm of $(cat "$dir/kills")"

# ---- what is condemned is listed; only root lifts it
listed() { json pardon '.condemned[].path' | grep -qx "$prog"; }
listed || fail "morph pardon does not list what is condemned"
morph pardon | says 'it crashed [0-9]* times' || fail "nor why"
as_user env MORPH_SOCKET="$MORPH_SOCKET" "$MORPH_BIN/morph" pardon "$prog" >/dev/null 2>"$dir/err" || true
attack_held identity-pardon-by-nobody listed
grep -q 'only root' "$dir/err" || fail "morph pardon as another user says: $(cat "$dir/err")"
morph pardon "$prog"
! listed || fail "root's pardon"
refused 'nothing is held against it' morph pardon "$prog"

# ---- the same with faults that are real, and the condemnation ends by itself
sed -i '/^condemned_time/d' "$dir/morphd.conf"
echo 'condemned_time = 20s' >>"$dir/morphd.conf"
kill -HUP "$morphd"
sleep 0.5
morph reoptimize "$prog" >/dev/null
prog_is crashing || fail "no crashing generation after the pardon"
storm_with faults
attack_held identity-storm-of-faults-blinds-the-watch prog_is shipped
wait "$storm"
is_at_least "$(cat "$dir/faults")" 1000 || fail "a storm of $(cat "$dir/faults")"
not_listed() { ! listed; }
attack_held identity-condemned-for-ever within 60 not_listed
morph history "$prog" | says 'long ago' || fail "history does not tell that it has ended"

# ---- a flood of files, while root's program is new
settled
before=$(samples 0)
copies=()
for i in $(seq 1500); do copies+=("$dir/user/copies/$i"); done
cp "$MORPH_BIN/manager-attacker" "$dir/user/copies/0"
strip "$dir/user/copies/0" 2>/dev/null || true
for copy in "${copies[@]}"; do cp "$dir/user/copies/0" "$copy"; done
as_user "$MORPH_BIN/manager-attacker" files 28 "${copies[@]}" >"$dir/files" &
flood=$!
sleep 8
cp "$MORPH_PROGRAMS/other" "$dir/bin/late"
log_of flood 10 & # long enough for a machine on which each of three has a part
late=$!
# It starts again until the log ends: the log takes seconds to begin beside the flood, and one run may be over by then.
while kill -0 "$late" 2>/dev/null; do timeout 3 nice -n -15 "$dir/bin/late" 2000000000 >/dev/null || true; done
wait "$late"
attack_held identity-flood-of-files-pushes-out-others jq_is --arg p "$dir/bin/late" \
	'[.modules[] | select(.path == $p) | .samples] | add > 50' "$dir/flood"
wait "$flood"
is_at_least "$(cat "$dir/files")" 700 || fail "a flood of $(cat "$dir/files")"
settled
attack_held identity-flood-loses-what-is-known is_at_least "$(samples 0)" "$before"

# ---- what the monitor keeps
capabilities() { printf %d "0x$(sed -n 's/^CapPrm:\t//p' "/proc/$1/status")"; }
is_without() { (( ($(capabilities "$1") & $2) == 0 )); }
ptrace_and_read=$((1 << 19 | 1 << 2 | 1 << 1 | 1 << 40))
finder=$(pgrep -P "$monitor" -f . | head -1)
[ -n "$finder" ] || fail "the monitor has no finder"
attack_held identity-monitor-keeps-ptrace-and-reading is_without "$monitor" "$ptrace_and_read"
attack_held identity-finder-can-load-programs is_without "$finder" $((1 << 39 | 1 << 38 | 1 << 21 | 1 << 34))
attack_held identity-finder-may-call-anything grep -qx 'Seccomp:	2' "/proc/$finder/status"

attacks_end
