#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A machine's disk comes into another machine: a generation was made for a CPU with an instruction set that the new one has
# not. Under a real systemd, the first service that runs the program there runs the shipped file, long before morphd starts.

set -euo pipefail
: "${MORPH_SOURCE:?}" "${MORPH_BIN:?}" "${MORPH_PROGRAMS:?}"

. "$MORPH_SOURCE/tests/manager/machine.sh"

machine_make "$@"
machine_units morphd.service morph-start.service morph-worker@.service morph-worker.socket morphedit.slice
# The program that crashes stands for one with instructions that this CPU has not.
cat >"$root/etc/morph/morphd.conf" <<-'END'
	profile_command = touch {profile}
	editor_command = cp /opt/morph-test/crashing {output}
	edit_memory = 0
	idle_session = no
	minimum_samples = 1000
	minimum_free = 0
	edit_interval = 0
	decide_interval = 1
	idle_load = 1000
	idle_pressure = 100
END
mkdir "$units/local-fs.target.wants"
ln -s ../morph-start.service "$units/local-fs.target.wants/"

# ---- the machine of before, whose CPU has one instruction set more
sed '/^flags/s/$/ sse99/' /proc/cpuinfo >"$root/cpuinfo"
printf '[Service]\nBindReadOnlyPaths=/cpuinfo:/proc/cpuinfo\n' >"$units/morphd.service.d/cpuinfo.conf"
cat >"$root/before.sh" <<-'END'
	exec >/booted.log 2>&1
	export ASAN_OPTIONS=detect_leaks=0
	trap 'echo done >>/result' EXIT
	prog=/opt/morph-test/bin/prog
	systemctl start morphd || echo "morphd does not start" >>/result
	"$MORPH_BIN/manager-samples" /var/spool/morph/part /opt/morph-test/shipped $prog 1200 1
	mv /var/spool/morph/part /var/spool/morph/1.samples
	for _ in $(seq 600); do
		cmp -s $prog /opt/morph-test/crashing && break
		sleep 0.1
	done
	$prog && echo "no generation was put into place" >>/result
	systemctl stop morphd
	grep -q sse99 /var/lib/morph/cpu || echo "the CPU is not noted: $(cat /var/lib/morph/cpu)" >>/result
	journalctl -b --no-pager -u morphd -u morph-start
END
machine_run before 120

# ---- this one
rm "$units/morphd.service.d/cpuinfo.conf"
cat >"$root/after.sh" <<-'END'
	exec >/booted.log 2>&1
	export ASAN_OPTIONS=detect_leaks=0
	trap 'echo done >>/result' EXIT
	journalctl -b --no-pager -u morph-start -u early
	grep -qx '10 rounds' /early || echo "the program did not run as shipped before morphd: $(cat /early)" >>/result
	grep -q sse99 /var/lib/morph/cpu && echo "the old CPU is still noted" >>/result
	systemctl show -p Result --value morph-start | grep -qx success || echo "morph-start failed" >>/result
	systemctl start morphd || echo "morphd does not start" >>/result
	"$MORPH_BIN/morph" history /opt/morph-test/bin/prog | grep -q 'another CPU' || echo "morphd does not say why" >>/result
	# By hand, with morphd there: its business.
	"$MORPH_BIN/morph-start" || echo "morph-start fails beside morphd" >>/result
END
cat >"$units/early.service" <<-'END'
	[Unit]
	DefaultDependencies=no
	After=local-fs.target
	Before=sysinit.target
	[Service]
	Type=oneshot
	ExecStart=sh -c 'date +%%s.%%N; /opt/morph-test/bin/prog >/early 2>&1'
END
machine_run after 120 early.service
