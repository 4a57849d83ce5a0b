#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# morph config: what is in force and which line says so; every key stands in the manual and in the shipped file.

set -u
PATH=$MORPH_BIN:$PATH
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
failed=0

fail()
{
	printf 'FAILED: %s\n' "$*"
	failed=1
}

# value KEY FIELD: of the JSON
value()
{
	morph config --root="$root" --json "$1" | jq -r ".settings[0].$2"
}

mkdir -p "$root/etc/morph"/{morphd,monitor}.conf.d
[[ $(value half_life value) == 7d && $(value half_life file) == null ]] || fail "a default is not shown as one"
printf '# mine\nhalf_life = 2d\n' >"$root/etc/morph/morphd.conf"
[[ $(value half_life value) == 2d && $(value half_life default) == 7d ]] || fail "the file does not count"
[[ $(value half_life file) == "$root/etc/morph/morphd.conf" && $(value half_life line) == 2 ]] || fail "its line is not named"
echo 'half_life = 36h' >"$root/etc/morph/morphd.conf.d/50-site.conf"
[[ $(value half_life value) == 36h && $(value half_life file) == */50-site.conf ]] || fail "a drop-in does not win"
echo 'interval = 90' >"$root/etc/morph/monitor.conf.d/50-site.conf"
[[ $(value interval value) == 90s && $(value interval program) == morph-monitor ]] || fail "the monitor's drop-ins do not count"
morph config --root="$root" | grep -q "half_life  *$root/etc/morph/morphd.conf.d/50-site.conf:1  *36h" || fail "the table lacks it"
morph config --root="$root" --explain edit_timeout | grep -q '1s to 1d' || fail "--explain does not name the limits"

# Mistakes are told as the daemons tell them, and as the daemons are stopped by them.
echo 'half_lif = 1d' >"$root/etc/morph/morphd.conf.d/60-typo.conf"
said=$(morph config --root="$root" 2>&1) && fail "a typing error is let pass"
[[ $said == *'60-typo.conf:1: unknown key "half_lif"'* ]] || fail "it says: $said"
said=$(morphd --root="$root" --check-config 2>&1) && fail "morphd takes it"
[[ $said == *'60-typo.conf:1: unknown key "half_lif"'* ]] || fail "morphd says: $said"
rm "$root/etc/morph/morphd.conf.d/60-typo.conf"
morph config --root="$root" no_such_key 2>/dev/null && fail "an unknown key is no error"
morphd --root="$root" --check-config || fail "morphd does not take a good configuration"
morphd --check-config >"$root/printed" && morphd --config="$root/printed" --check-config | cmp - "$root/printed" ||
	fail "what --check-config prints is not read back: $(head -n 3 "$root/printed")"
for wrong in --set=watch_time --fall-through; do
	status=0
	said=$(morphd --root="$root" $wrong 2>&1) || status=$?
	[[ $status == 2 && $said == *"${wrong%=*}"* ]] || fail "$wrong: $status, $said"
done

# The manual and the shipped file know every key, and no other.
morph config --root=/nonexistent --json | jq -r '.settings[] | select(.program == "morphd") | .key' | sort >"$root/keys"
sed -n 's/^#\([a-z_]*\) = .*/\1/p' "$MORPH_SOURCE/systemd/morphd.conf" | sort >"$root/shipped"
diff <(grep -vx root "$root/keys") "$root/shipped" || fail "systemd/morphd.conf has other keys than morphd"
while read -r key; do
	grep -q "^\.It Cm $key\( \|\$\)" "$MORPH_SOURCE/docs/man/morphd.conf.5" || fail "morphd.conf.5 lacks $key"
done <"$root/keys"
for key in $(morph config --root=/nonexistent --json | jq -r '.settings[] | select(.program == "morph-monitor") | .key'); do
	grep -q "^\.It Va $key\$" "$MORPH_SOURCE/docs/man/morph-monitor.8" || fail "morph-monitor.8 lacks $key"
done
while IFS=$'\t' read -r key default; do
	[[ $default == "$(sed -n "s/^#$key = //p" "$MORPH_SOURCE/systemd/morphd.conf")" ]] || [[ $key == root || $key == decide_interval ]] ||
		fail "systemd/morphd.conf has another default for $key than $default"
done < <(morph config --root=/nonexistent --json | jq -r '.settings[] | select(.program == "morphd") | [.key, .default] | @tsv')
exit "$failed"
