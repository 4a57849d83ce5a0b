#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# scripts/boot: two machines at once do not see each other's control groups, and what is stopped leaves nothing behind.

set -euo pipefail
: "${MORPH_SOURCE:?}"

skip()
{
	echo "skipped: $*"
	exit 77
}

fail()
{
	echo "FAILED: $*"
	tail -n 30 "$work"/log.*
	exit 1
}

# eventually COMMAND...: within a minute
eventually()
{
	for _ in $(seq 600); do
		if "$@" >/dev/null 2>&1; then return; fi
		sleep 0.1
	done
	fail "never: $*"
}

if [ "${1:-}" != inside ]; then
	[ "$(id -u)" = 0 ] || skip "a machine is booted, which needs root"
	{ command -v systemd-nspawn >/dev/null && [ -e /lib/systemd/systemd ]; } || skip "there is no systemd to boot"
	exec unshare --mount --propagation private bash "$0" inside
fi
work=$(mktemp -d)
pids=()
trap 'kill "${pids[@]}" 2>/dev/null || true; wait; umount -R -l "$work"; rm -rf "$work"' EXIT
mount -t tmpfs tmpfs "$work"
mkdir "$work/shared"

# The machine waits for the other one, then says whose slices it sees.
boot()
{
	mkdir "$work/$1" "$work/$1"/{upper,work,root}
	mount -t overlay -o "lowerdir=/,upperdir=$work/$1/upper,workdir=$work/$1/work" overlay "$work/$1/root" ||
		skip "no layer can be put over this machine's root"
	cat >"$work/$1/root/etc/systemd/system/own.service" <<-END
		[Service]
		Type=oneshot
		Slice=of$1.slice
		ExecStart=sh -c 'touch /shared/is.$1; while [ ! -e /shared/go ]; do sleep 0.1; done; find /sys/fs/cgroup -name "of*.slice" >/shared/sees.$1'
		ExecStopPost=systemctl --no-block poweroff
	END
	printf '[Unit]\nRequires=basic.target\nAfter=basic.target\nWants=own.service\n' >"$work/$1/root/etc/systemd/system/own.target"
	"$MORPH_SOURCE/scripts/boot" "$work/$1/root" --private-network --bind="$work/shared:/shared" systemd.unit=own.target >"$work/log.$1" 2>&1 &
	pids+=($!)
}

boot 1
boot 2
eventually test -e "$work/shared/is.1"
eventually test -e "$work/shared/is.2"
touch "$work/shared/go"
for i in 1 2; do
	wait "${pids[i - 1]}" || fail "machine $i ends with status $?"
	[ "$(cat "$work/shared/sees.$i")" = "/sys/fs/cgroup/of$i.slice" ] || fail "machine $i sees $(cat "$work/shared/sees.$i")"
done

# Stopped in the middle; and killed, which it cannot even notice.
groups()
{
	find /sys/fs/cgroup -maxdepth 5 -type d -name "morph-machine-$1"
}
is_gone()
{
	! pgrep -f "^systemd-nspawn.* --machine=morph-$1 "
}
rm "$work/shared"/*
boot 3
eventually test -e "$work/shared/is.3"
[ -n "$(groups "${pids[2]}")" ] || skip "no cgroup2 file system is mounted"
# The number of another one that begins with this one's: what it has is not touched.
beside=$(groups "${pids[2]}" | head -n 1)0
mkdir -p "$beside/empty"
kill "${pids[2]}"
eventually is_gone "${pids[2]}"
wait "${pids[2]}" || true
[ -z "$(groups "${pids[2]}")" ] || fail "a control group is left: $(groups "${pids[2]}")"
[ -d "$beside/empty" ] || fail "another machine's control group is gone"
rmdir "$beside/empty" "$beside"
boot 4
eventually test -e "$work/shared/is.4"
kill -s KILL "${pids[3]}"
eventually is_gone "${pids[3]}"
for group in $(groups "${pids[3]}"); do # nobody was there to remove it
	find "$group" -depth -type d -exec rmdir {} +
done
