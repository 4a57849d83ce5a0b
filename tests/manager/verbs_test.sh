#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The path of a program through morphd, by the verbs: sampled, re-optimized, explained, rolled back.

. "$(dirname "$0")/lib.sh"

prog_install
config_write
refused 'morphd does not answer there' morph status
morphd_start
before=$(prog_stat)

# ---- a second morphd does not take the first one's socket
refused 'another morphd .*runtime_directory' "$MORPH_BIN/morphd" --config="$dir/morphd.conf" --bus=none \
	--set="state_directory=$dir/other-state"
is "the first one still answers" 0 "$(json status '.modules | length')"
MORPH_SOCKET=$dir/nowhere refused 'morphd does not answer there' morph explain "$prog"
MORPH_SOCKET=$dir/nowhere refused 'morphd does not answer there' morph history "$prog"

# ---- nothing known yet
is "modules" 0 "$(json status '.modules | length')"
refused 'no samples yet' morph reoptimize "$prog"
refused 'No such file' morph reoptimize "$dir/nothing"
refused 'carries no Morph data' morph explain /bin/true
cp "$0" "$dir/bin/script"
refused 'not an ELF\|carries no\|ELF' morph reoptimize "$dir/bin/script"
refused 'is not where packages install' morph reoptimize /etc/passwd

# ---- samples
sampled 1500
sampled 700
is "samples" 2200 "$(json status '.modules[0].samples')"
is "path" "$prog" "$(json status '.modules[0].path')"
is "user samples" 2200 "$(json status '.daemon.total_user')"
"$MORPH_BIN/manager-samples" "$dir/part" /bin/true /bin/true 99 77
mv "$dir/part" "$dir/spool/777777.samples"
spool_wait
is "others" 99 "$(json status '.others[] | select(.path == "/bin/true") | .samples')"
morph status -a | says '/bin/true .*carries no Morph data' || fail "status -a says why not"

# ---- edit
morph reoptimize "$prog" | says 'generation 1 is active' || fail "reoptimize says so"
prog_is made || fail "the made generation stands at the path"
is "owner, mode, time" "$before" "$(prog_stat)"
is "it runs" "10 rounds" "$("$prog")"
is "generation" 1 "$(json status '.modules[0].generation')"
morph explain "$prog" | says 'requested; 2200 samples' || fail "explain gives the reason"
is "outcome" "$prog: generation 1 is active" "$(json explain '.decisions[0].outcome' "$prog")"
(cd "$dir/bin" && morph history ./prog) | says 'activated' || fail "history has the event"
morph history "$prog" | says 'built' || fail "history of a program does not say that a generation was built"
is "whose generation was built" "$prog" "$(json history '[.events[] | select(.kind == "built") | .path][0]')"
(cd "$dir/bin" && morph verify --config="$dir/morphd.conf" ./prog) >"$dir/out" || true
! grep -q 'not an absolute path' "$dir/out" || fail "verify of a relative path: $(cat "$dir/out")"

# ---- samples of the new generation count for the same module
sampled 300 made
is "samples" 2500 "$(json status '.modules[0].samples')"
is "samples of generation 1" 300 "$(json explain '.generations[1].samples' "$prog")"

# ---- rollback
morph rollback "$prog" | says 'generation 0 is active again' || fail "rollback says so"
prog_is shipped || fail "the shipped file is back"
is "owner, mode, time after rollback" "$before" "$(prog_stat)"
morph rollback "$prog" | says 'already' || fail "a second rollback is no error"
morph rollback --to=1 "$prog" >/dev/null
prog_is made || fail "an earlier generation can be chosen"
refused 'no generation 9' morph rollback --to=9 "$prog"
morph rollback --all | says '^1 programs' || fail "rollback --all"
prog_is shipped || fail "the shipped file is back after --all"

# ---- pins
morph pin --reason='certified' "$prog"
refused 'is pinned (certified)' morph reoptimize "$prog"
is "pin" certified "$(json pin '.pins[0].reason')"
long=$(printf '%40000s' x)
status=0
said=$(morph pin --reason="$long" "$prog" 2>&1) || status=$?
[[ $status == 2 && $said == *'--reason: a text of 40000 bytes; give at most 8192' ]] || fail "a long reason: $status, $said"
morph pin --reason="${long:0:8192}" --function="${long:0:1000}" /none 2>&1 | says 'ended before' && fail "a reason as long as may be"
refused 'no optimization "foo" that can be left out' morph pin --without=foo "$prog"
morph pin --unpin "$prog"
refused 'is not pinned' morph pin --unpin "$prog"
morph reoptimize "$prog" >/dev/null
prog_is made || fail "without the pin it may be edited"

# ---- doctor, for what this test provides
checked()
{
	(morph doctor --json || true) | jq -r --arg name "$1" '.checks[] | select(.name == $name) | .state + " " + .text'
}
checked morphd | says '^ok version' || fail "doctor finds morphd: $(checked morphd)"
checked store | says "^ok $dir/state" || fail "doctor finds the store: $(checked store)"
checked "editor's user" | says '^ok each edit has a user of its own' || fail "doctor finds the user"
checked linker | says 'ld.lld' || fail "doctor looks for the linker"
status=0
MORPH_SOCKET=$dir/none morph doctor >"$dir/out" || status=$?
is "exit status of a doctor without morphd" 1 "$status"
grep -q '^fail  morphd: .*does not answer there' "$dir/out" || fail "doctor says that morphd is away"

# ---- a package upgrade
prog_install upgraded
sampled 50 upgraded
is "generation after an upgrade" 0 "$(json status '.modules[] | select(.path) | .generation')"
is "samples after an upgrade" 50 "$(json status '.modules[] | select(.path) | .samples')"
prog_is upgraded || fail "the new package's file is untouched"
morph history "$prog" | says 'replaced by another build' || fail "history tells of the upgrade"

# ---- usage
status=0
morph rollback 2>/dev/null || status=$?
is "exit status for wrong usage" 2 "$status"
morph status --help | says 'morph-status(1)' || fail "help"
morphd_stop
refused 'does not answer there' morph status
"$MORPH_BIN/morphd" --config="$dir/morphd.conf" --rollback-all | says '^0 programs' || fail "once"
