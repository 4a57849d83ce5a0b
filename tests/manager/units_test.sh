#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What systemd, D-Bus and polkit are told: well-formed, complete, and as tight as the decision says.

set -euo pipefail
: "${MORPH_SOURCE:?}" "${MORPH_BIN:?}"

fail()
{
	echo "FAILED: $*" >&2
	exit 1
}

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
units=$dir/units # as an installation in /usr has them
mkdir "$units"
for template in "$MORPH_SOURCE"/systemd/*.in; do
	sed 's|@MORPH_BINDIR@|/usr/bin|; s|@MORPH_SBINDIR@|/usr/sbin|; s|@MORPH_LIBEXECDIR@|/usr/libexec|' "$template" >"$units/$(basename "$template" .in)"
done

# ---- every key has its default in the sample, and the sample is right
: >"$dir/empty"
"$MORPH_BIN/morphd" --check-config --config="$dir/empty" >"$dir/defaults"
sed -n 's/^#\([a-z_]* = \)/\1/p' "$MORPH_SOURCE/systemd/morphd.conf" >"$dir/sample"
"$MORPH_BIN/morphd" --check-config --config="$dir/sample" >"$dir/from-sample"
diff "$dir/defaults" "$dir/from-sample" || fail "morphd.conf shows other values than the defaults"
cut -d' ' -f1 "$dir/sample" | sort >"$dir/keys-sample"
cut -d' ' -f1 "$dir/defaults" | grep -v '^root$' | sort >"$dir/keys"
diff "$dir/keys" "$dir/keys-sample" || fail "morphd.conf does not show every key"
for key in $(cat "$dir/keys"); do
	grep -q "^\\.It.*\\b$key\\b" "$MORPH_SOURCE/docs/man/morphd.conf.5" || fail "morphd.conf(5) lacks $key"
done

# ---- every kind of event has an identifier of its own, which the catalogue of the journal explains
"$MORPH_BIN/morph" log --events >"$dir/events"
sed -n 's/^#define EVENT_[A-Z_]* "\(.*\)"/\1/p' "$MORPH_SOURCE/manager/keep/journal.h" | sort >"$dir/kinds"
cut -d' ' -f1 "$dir/events" | sort | diff "$dir/kinds" - || fail "not every kind of event has a message ID"
[ "$(awk '{ print $2 }' "$dir/events" | grep -xE '[0-9a-f]{32}' | sort -u | wc -l)" = "$(wc -l <"$dir/kinds")" ] || fail "message IDs"
for kind in $(cat "$dir/kinds"); do
	grep -qE "^\\.It (.* )?$kind( |\$)" "$MORPH_SOURCE/docs/man/morph-history.1" || fail "morph-history(1) lacks $kind"
done
if command -v journalctl >/dev/null; then
	mkdir -p "$dir/root/usr/lib/systemd/catalog" "$dir/root/var/lib/systemd/catalog"
	cp "$MORPH_SOURCE/systemd/morph.catalog" "$dir/root/usr/lib/systemd/catalog/"
	journalctl --root="$dir/root" --update-catalog >"$dir/verify" 2>&1 || fail "the catalogue: $(cat "$dir/verify")"
	for id in $(awk '{ print $2 }' "$dir/events"); do
		grep -q "^-- $id\$" "$MORPH_SOURCE/systemd/morph.catalog" || fail "the catalogue lacks $id"
	done
	[ "$(journalctl --root="$dir/root" --dump-catalog | grep -c '^Subject: ')" = "$(wc -l <"$dir/kinds")" ] ||
		fail "systemd does not take the whole catalogue"
fi

# ---- XML
if command -v python3 >/dev/null; then
	for file in org.morph.Manager1.conf org.morph.policy; do
		python3 -c 'import sys, xml.dom.minidom as x; x.parse(sys.argv[1])' "$MORPH_SOURCE/systemd/$file"
	done
fi
grep -q 'id="org.morph.manage"' "$MORPH_SOURCE/systemd/org.morph.policy" || fail "the action's name"

# ---- units
command -v systemd-analyze >/dev/null || { echo "skipped: there is no systemd-analyze"; exit 77; }
sed "s|^ExecStart=.*|ExecStart=$MORPH_BIN/morphd|; /^Documentation=/d" "$units/morphd.service" \
	>"$dir/morphd.service"
for unit in morph-worker.socket morph-worker@.service; do
	sed "s|^ExecStart=[^ ]*|ExecStart=$MORPH_BIN/morph-worker|; /^Documentation=/d" "$units/$unit" >"$dir/$unit"
done
for unit in morph-fetch.socket morph-fetch@.service; do
	sed "s|^ExecStart=[^ ]*|ExecStart=$MORPH_BIN/morph-worker|; /^Documentation=/d" "$units/$unit" >"$dir/$unit"
done
systemd-analyze verify "$dir/morph-fetch.socket" "$dir/morph-fetch@1.service" >"$dir/verify" 2>&1 || fail "$(cat "$dir/verify")"
! grep -E "morph-fetch" "$dir/verify" || fail "$(cat "$dir/verify")"
for unit in morph-rebuild.timer morph-rebuild.service; do
	sed "s|^ExecStart=[^ ]*|ExecStart=$MORPH_BIN/morph|; /^Documentation=/d" "$units/$unit" >"$dir/$unit"
done
for unit in morph-{restart,notify,tune}.{timer,service}; do
	sed "s|^ExecStart=[^ ]*|ExecStart=$MORPH_BIN/morph|; /^Documentation=/d" "$units/$unit" >"$dir/$unit"
done
systemd-analyze verify "$dir"/morph-{restart,notify,tune}.timer >"$dir/verify" 2>&1 || fail "$(cat "$dir/verify")"
! grep -E "morph-(restart|notify|tune)" "$dir/verify" || fail "$(cat "$dir/verify")"
systemd-analyze verify "$dir/morph-rebuild.timer" >"$dir/verify" 2>&1 || fail "$(cat "$dir/verify")"
! grep -E "morph-rebuild" "$dir/verify" || fail "$(cat "$dir/verify")"
systemd-analyze verify "$dir/morphd.service" "$dir/morph-worker.socket" "$dir/morph-worker@1.service" >"$dir/verify" 2>&1 ||
	fail "$(cat "$dir/verify")"
! grep -E "morph-worker" "$dir/verify" || fail "$(cat "$dir/verify")"
! grep -q "morphd.service" "$dir/verify" || fail "$(cat "$dir/verify")"
sed "s|^ExecStart=[^ ]*|ExecStart=$MORPH_BIN/morph-start|; /^Documentation=/d" "$units/morph-start.service" >"$dir/morph-start.service"
systemd-analyze verify "$dir/morph-start.service" >"$dir/verify" 2>&1 || fail "$(cat "$dir/verify")"
! grep -q "morph-start" "$dir/verify" || fail "$(cat "$dir/verify")"
mkdir -p "$dir/mount"
for unit in morph-mount.socket morph-mount@.service; do
	sed "s|^ExecStart=[^ ]*|ExecStart=$MORPH_BIN/morph-mount|; /^Documentation=/d" "$units/$unit" >"$dir/mount/$unit"
done
systemd-analyze verify "$dir/mount/morph-mount.socket" "$dir/mount/morph-mount@1.service" >"$dir/verify" 2>&1 || true
! grep -q "morph-mount" "$dir/verify" || fail "$(cat "$dir/verify")"
# It mounts for the system, so it must not get a mount namespace of its own.
! grep -E '^(Protect(System|Home|Kernel|ControlGroups|Proc|Clock)|Private(Tmp|Devices|Network|Mounts|Users)|ReadWritePaths|ReadOnlyPaths|InaccessiblePaths|BindPaths|RootDirectory|RuntimeDirectory|StateDirectory)' \
	"$units/morph-mount@.service" || fail "the helper would mount in a namespace of its own"
grep -q '^CapabilityBoundingSet=CAP_SYS_ADMIN$' "$units/morph-mount@.service" || fail "the helper's capabilities"
grep -q '^SocketMode=0600$' "$units/morph-fetch.socket" || fail "who may have something fetched"
grep -q '^DynamicUser=yes$' "$units/morph-fetch@.service" || fail "the user of a fetch"
grep -q '^InaccessiblePaths=.*-/var/lib/morph' "$units/morph-fetch@.service" || fail "what a fetch may see"
! grep -q '^Requires=.*morph-fetch' "$units/morphd.service" || fail "a network must be the operator's choice"
for hook in suspend resume; do
	grep -q "morph-mount $hook || :\$" "$units/dpkg.cfg" || fail "dpkg's hook $hook must never stop an installation"
done
# Only root gives jobs, each has a user of its own, and all of it ends with it.
grep -q '^SocketMode=0600$' "$units/morph-worker.socket" || fail "who may give jobs"
grep -q '^DynamicUser=yes$' "$units/morph-worker@.service" || fail "the user of a job"
grep -q '^KillMode=control-group$' "$units/morph-worker@.service" || fail "the end of a job"
# exposed UNIT TENTHS: at most that much, by systemd's own measure
exposed()
{
	systemd-analyze security --offline=yes --threshold="$2" --no-pager "$1" >"$dir/security" 2>&1 || fail "$(tail -1 "$dir/security")"
}
exposed "$dir/morphd.service" 15
exposed "$dir/morph-start.service" 25
exposed "$dir/morph-worker@.service" 25
exposed "$dir/morph-fetch@.service" 40
sed "s|^ExecStart=.*|ExecStart=$MORPH_BIN/morph-monitor|; /^Documentation=/d" "$units/morph-monitor.service" \
	>"$dir/morph-monitor.service"
systemd-analyze verify "$dir/morph-monitor.service" >"$dir/verify" 2>&1 || fail "$(cat "$dir/verify")"
exposed "$dir/morph-monitor.service" 25
