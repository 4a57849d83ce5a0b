# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# For tests that need a machine with systemd (source it, after MORPH_SOURCE, MORPH_BIN, MORPH_PROGRAMS are known): this
# machine's own root is booted in a container, with a layer over it that takes all that is written.
#
#	machine_make "$@"		$root: the machine's root; the test is run again in a mount namespace of its own
#	machine_units NAME...		units of systemd/ in it, with the programs of this build
#	machine_user_units NAME...	the same of those for `systemctl --user`
#	machine_run NAME SECONDS [UNIT...]	boots with these units and powers off; meanwhile /NAME.sh ran there, with what morphd needs
#	machine_boot TARGET SECONDS	until it powers off; $work/boot.log is its console

skip()
{
	echo "skipped: $*"
	exit 77
}

machine_gone()
{
	cd /
	umount -R -l "$work" 2>/dev/null || true
	rm -rf "$work"
}

machine_make()
{
	if [ "${1:-}" != inside ]; then
		[ "$(id -u)" = 0 ] || skip "a machine is booted, which needs root"
		command -v systemd-nspawn >/dev/null || skip "there is no systemd-nspawn"
		[ -e /lib/systemd/systemd ] || skip "there is no systemd to boot"
		[ -e /proc/pressure/cpu ] || skip "this kernel tells of no pressure"
		exec unshare --mount --propagation private bash "$0" inside
	fi
	work=$(mktemp -d)
	trap machine_gone EXIT
	mount -t tmpfs -o size=2g tmpfs "$work"
	mkdir "$work"/{upper,work,root}
	mount -t overlay -o "lowerdir=/,upperdir=$work/upper,workdir=$work/work" overlay "$work/root" ||
		skip "no layer can be put over this machine's root"
	root=$work/root
	units=$root/etc/systemd/system
	for path in "$MORPH_BIN" "$MORPH_PROGRAMS"; do
		[ -e "$root$path/." ] || skip "$path is not in the file system of the root"
	done
	mkdir -p "$root/etc/morph" "$root/opt/morph-test/bin"
	cp "$MORPH_PROGRAMS"/* "$root/opt/morph-test/"
	cp "$MORPH_PROGRAMS/shipped" "$root/opt/morph-test/bin/prog"
	chmod -R go+rX "$root/opt/morph-test"
	cp "$MORPH_SOURCE/systemd/morphd.tmpfiles" "$root/etc/tmpfiles.d/morphd.conf"
	cp "$MORPH_SOURCE/systemd/morph.catalog" "$root/usr/lib/systemd/catalog/"
}

# unit_make UNIT DIRECTORY NAME
unit_make()
{
	sed -E "s|@MORPH_SBINDIR@/|$MORPH_BIN/|; s|@MORPH_LIBEXECDIR@/morph/|$MORPH_BIN/|; s|@MORPH_BINDIR@/|$MORPH_BIN/|" \
		"$MORPH_SOURCE/systemd/$1.in" >"$2/$3"
	case $3 in
	*.service)
		mkdir -p "$2/$3.d"
		printf '[Service]\nEnvironment=ASAN_OPTIONS=detect_leaks=0\nMemoryDenyWriteExecute=no\n' >"$2/$3.d/test.conf"
		;;
	esac
}

# The sanitizers of a developer's build look into their own process when it ends, which the units forbid.
machine_units()
{
	for unit; do
		if [ -e "$MORPH_SOURCE/systemd/$unit" ]; then
			cp "$MORPH_SOURCE/systemd/$unit" "$units/"
			continue
		fi
		unit_make "$unit" "$units" "$unit"
	done
	sed -i -E "s|^(ExecStart=.*/morphd)$|\\1 --config=/etc/morph/morphd.conf|" "$units/morphd.service"
}

machine_user_units()
{
	mkdir -p "$root/etc/systemd/user"
	for unit; do
		unit_make "${unit/./-user.}" "$root/etc/systemd/user" "$unit"
	done
}

machine_boot()
{
	timeout "$2" "$MORPH_SOURCE/scripts/boot" "$root" --private-network systemd.unit="$1" >"$work/boot.log" 2>&1 || true
}

# machine_result: /result has what is not so, and "done"
machine_result()
{
	if [ ! -e "$root/result" ]; then
		tail -n 30 "$work/boot.log"
		echo "FAILED: the machine did not boot"
		exit 1
	fi
	[ "$(cat "$root/result")" = done ] || { tail -n 80 "$root/booted.log"; echo "FAILED: $(cat "$root/result")"; exit 1; }
	rm "$root/result"
}

machine_run()
{
	cat >"$units/$1.service" <<-END
		[Unit]
		After=dbus.socket morph-worker.socket
		Requires=morph-worker.socket
		[Service]
		Type=oneshot
		Environment=MORPH_BIN=$MORPH_BIN
		ExecStart=bash /$1.sh
		ExecStopPost=systemctl --no-block poweroff
	END
	printf '[Unit]\nRequires=%s\nAfter=basic.target\nWants=%s\n' "basic.target dbus.socket ${*:3}" "$1.service" >"$units/$1.target"
	machine_boot "$1.target" "$2"
	machine_result
}
