#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# An edit is frozen while others want the machine, goes on when they are gone, its time stands still meanwhile, and it is
# cancelled without a trace when it takes too long. In a control group, and by signals where there can be none.

. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../../attack.sh"

# In a group of the test's own: each morphd that starts removes what a killed one left in the same group.
groups=$(awk '$(NF - 2) == "cgroup2" || / - cgroup2 / { print $5; exit }' /proc/self/mountinfo)
outside=$groups$(sed -n 's/^0:://p' /proc/self/cgroup)
[ -n "$groups" ] && mkdir "$groups/morph-test.$$" 2>/dev/null && echo $$ >"$groups/morph-test.$$/cgroup.procs" ||
	{ rmdir "$groups/morph-test.$$" 2>/dev/null || true; echo "skipped: no control groups can be made here"; exit 77; }
trap 'finish; echo $$ >"$outside/cgroup.procs"; rmdir "$groups/morph-test.$$"' EXIT

automatic=yes
config_write
sed -i 's/^idle_pressure.*/idle_pressure = 10/' "$dir/morphd.conf"
printf 'edit_timeout = 20s\nresume_after = 1s\nfrozen_time = 1h\n' >>"$dir/morphd.conf"
# An editor that waits for a word. It is known by its name, which no other process has, and starts none while it waits: one that
# is frozen before it has a name of its own outlives a killed morphd, until the next one starts.
waiter=morph-freeze-test-$$
mkfifo -m 666 "$dir/tools/never"
cat >"$dir/tools/$waiter" <<-END
	#!/bin/bash
	exec 3<>$dir/tools/never
	while [ ! -e $dir/tools/go ]; do read -r -t 0.05 -u 3 || true; done
	cp $dir/tools/made "\$1"
END
chmod 755 "$dir/tools/$waiter"
sed -i "s|^editor_command.*|editor_command = $dir/tools/$waiter {output}|" "$dir/morphd.conf"
# morphd reads /proc and /sys under its root, and the test says there how busy the machine is.
mkdir -p "$dir/root/proc/pressure" "$dir/root$dir"
cp /proc/cpuinfo "$dir/root/proc/cpuinfo"
for name in bin spool run state; do
	mkdir -p "$dir/root$dir/$name"
	[ ! -d "$dir/$name" ] || rmdir "$dir/$name"
	ln -s "$dir/root$dir/$name" "$dir/$name"
done
busy()
{
	echo "some avg10=$1 avg60=0.00 avg300=0.00 total=0" >"$dir/root/proc/pressure/new"
	mv "$dir/root/proc/pressure/new" "$dir/root/proc/pressure/cpu"
}

# once more from the beginning, with an edit under way
edit_begin()
{
	rm -rf "$dir/root$dir/state"/* "$dir/tools/go"
	prog_install
	busy 0.00
	morphd_start --root="$dir/root"
	sampled 1200
	eventually editor_runs
}

editor_pids()
{
	pgrep -f "^/bin/bash $dir/tools/$waiter" || true
}

editor_runs()
{
	[ -n "$(editor_pids)" ]
}

editor_is_gone()
{
	! editor_runs
}

group()
{
	find "$groups" -maxdepth 4 -type d -name "morph-edit.$morphd.*"
}

is_frozen()
{
	grep -qx 'frozen 1' "$(group)/cgroup.events" && [ "$(json status '.daemon.edit_frozen_s')" != null ]
}

# ---- it is frozen, and its time stands still
edit_begin
morph doctor | says 'others first: .* in a control group of their own' || fail "doctor: how edits are frozen"
for pid in $(editor_pids); do
	grep -q "morph-edit.$morphd" "/proc/$pid/cgroup" || fail "the editor is not in the group"
	[ "$(chrt -p "$pid" | sed -n 's/.*policy: //p')" = SCHED_IDLE ] || fail "the editor is not scheduled as idle"
	[ "$(ionice -p "$pid")" = idle ] || fail "the editor's I/O is not idle"
done
before=$(date +%s%N)
busy 99.00
eventually is_frozen
echo "frozen and told after $((($(date +%s%N) - before) / 1000000)) ms"
json status '.daemon.edit_frozen' | says 'CPU pressure 99.0 %' || fail "status: why"
morph status | says 'the edit has been frozen for' || fail "status: the edit stands still"
touch "$dir/tools/go"
sleep 21 # more than edit_timeout
prog_is shipped || fail "a frozen edit goes on"
is_frozen || fail "a frozen edit does not wait"
busy 0.00
eventually prog_is made
is "failures" 0 "$(json status '.modules[0].failed_edits')"
[ -z "$(group)" ] || fail "the group is left: $(group)"
morphd_stop

# ---- cancelled without a trace: also when the machine is never busy for as long as that
cancelled()
{
	json explain '.decisions[0].outcome' "$prog" | says 'cancelled: others needed the machine'
}
sed -i 's/^frozen_time.*/frozen_time = 3s/; s/^resume_after.*/resume_after = 0/' "$dir/morphd.conf"
sed -i 's/^edit_interval.*/edit_interval = 1h/' "$dir/morphd.conf"
edit_begin
flapping()
{
	! cancelled || return 0
	busy 99.00
	sleep 1
	busy 0.00
	sleep 0.5
	return 1
}
eventually flapping
attack_held frozen-edit-kept-for-ever cancelled
eventually editor_is_gone
[ -z "$(group)" ] || fail "the group is left: $(group)"
[ -z "$(ls "$dir/root$dir/state/work" 2>/dev/null)" ] || fail "files are left"
prog_is shipped || fail "a cancelled edit changed the program"
is "samples that count as new" 1200 "$(json status '.modules[0].new_samples')"
is "failures" 0 "$(json status '.modules[0].failed_edits')"
is "generations" 0 "$(json status '.modules[0].generations')"
morphd_stop

# ---- whoever asks for something does not wait for a frozen edit
cancelled_for_request()
{
	json explain '.decisions[0].outcome' "$prog" | says 'cancelled: it was frozen, and somebody asked'
}
sed -i 's/^frozen_time.*/frozen_time = 1h/' "$dir/morphd.conf"
edit_begin
busy 99.00
eventually is_frozen
(
	eventually cancelled_for_request
	touch "$dir/tools/go"
) &
waiting=$!
timeout 60 "$MORPH_BIN/morph" reoptimize "$prog" >/dev/null || true
wait "$waiting" || true
attack_held frozen-edit-starves-others prog_is made
morphd_stop

# ---- a morphd that is killed leaves nothing frozen behind
sed -i 's/^edit_interval.*/edit_interval = 0/' "$dir/morphd.conf"
edit_begin
busy 99.00
eventually is_frozen
left=$(group)
kill -9 "$morphd"
wait "$morphd" 2>/dev/null || true
eventually editor_is_gone
[ -d "$left" ] || fail "the test does not test anything: the group is gone"
morphd_start --root="$dir/root"
[ ! -d "$left" ] || fail "the group of a killed morphd is left"
morphd_stop

# ---- where there can be no control group
cat >"$dir/tools/elsewhere" <<-END
	#!/bin/bash
	umount -l $groups
	exec $MORPH_BIN/morphd "\$@"
END
chmod 755 "$dir/tools/elsewhere"
rm -rf "$dir/root$dir/state"/* "$dir/tools/go"
prog_install
busy 0.00
unshare -m "$dir/tools/elsewhere" --config="$dir/morphd.conf" --bus=none --root="$dir/root" >>"$dir/morphd.log" 2>&1 &
morphd=$!
pids+=("$morphd")
morphd_wait
morph doctor | says 'others first: .* by signals, because' || fail "doctor: by signals"
sampled 1200
eventually editor_runs
busy 99.00
are_stopped()
{
	local pid

	for pid in $(editor_pids); do
		grep -q '^State:.T' "/proc/$pid/status" || return 1
	done
}
eventually are_stopped
touch "$dir/tools/go"
sleep 1
prog_is shipped || fail "a stopped edit goes on"
busy 0.00
eventually prog_is made
morphd_stop
attacks_end
