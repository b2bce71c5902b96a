#!/usr/bin/env bash
# Installs the packages of scripts/package.sh in a fresh Debian 12, uses them there, upgrades, removes and purges them.
# Root only: it makes a root file system with debootstrap and mounts /proc in it. Packages for arm64 are tried on another
# machine too: its kernel is told to start the programs for arm64 with the emulator qemu, which knows the instructions of a
# Cortex-A53.
#
#   tests/deploy/package.sh build/release    # the folder of the packages
set -euo pipefail
[ $# = 1 ] || { echo "usage: package.sh FOLDER" >&2; exit 2; }
[ "$(id -u)" = 0 ] || { echo "package.sh: only root can make a root file system" >&2; exit 1; }
package=$(echo "$1"/mangrove_*.deb)
[ -e "$package" ] || { echo "package.sh: $package is missing: expected the packages of scripts/package.sh" >&2; exit 1; }
simulator=$(echo "$1"/mangrove-sim_*.deb)
architecture=$(dpkg-deb --field "$package" Architecture)
here=$(dirname -- "${BASH_SOURCE[0]}")
worlds=$here/../../examples/worlds
# shellcheck source=/dev/null
. "$here/emulator.sh"
address=127.0.0.1:17070
work=$(mktemp -d)
root=$work/root
looks=150  # for the text that a service writes when it is ready
clean() {
  set +e  # one failure must not leave the rest behind
  for job in $(jobs -p); do
    kill "$job" 2> /dev/null || true
    wait "$job" || true
  done
  for mount in dev proc; do mountpoint -q "$root/$mount" && umount "$root/$mount"; done
  rm -rf --one-file-system "$work"
  end_emulator
}
trap clean EXIT
enter=(chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C
  ${http_proxy:+http_proxy="$http_proxy"})
inside() { "${enter[@]}" "$@"; }
fail() { echo "package.sh: $*" >&2; exit 1; }
step() { echo "-- $*"; }

if [ "$architecture" != "$(dpkg --print-architecture)" ]; then
  step "an emulator of $architecture"
  [ "$architecture" = arm64 ] || fail "$package is for $architecture: expected this machine's architecture, or arm64"
  begin_emulator
  enter+=(QEMU_CPU=cortex-a53)
  looks=3000  # everything takes 10 to 20 times as long
fi
enter_as_service=("${enter[@]}" setpriv --reuid mangrove --regid mangrove --clear-groups env HOME=/var/lib/mangrove)

step "a fresh Debian 12"
debootstrap --arch="$architecture" --variant=minbase bookworm "$root" > "$work/debootstrap.log" || { tail "$work/debootstrap.log" >&2; exit 1; }
mount -t proc proc "$root/proc"
mount --bind /dev "$root/dev"

step "bills of materials"
build=$1 libraries=/
[ "$architecture" = "$(dpkg --print-architecture)" ] || libraries=$here/../../build/$architecture-sysroot
for each in "$package" "$simulator"; do
  "$here/../../scripts/sbom.py" --build "$build" --root "$libraries" "$each" > "$work/bill.json"
  "$here/spdx.py" "$work/bill.json" "$each"
done

step "install"
cp "$package" "$root/tmp/mangrove.deb"
inside apt-get update -q > "$work/apt.log"
inside apt-get install -q -y --no-install-recommends systemd /tmp/mangrove.deb > "$work/apt.log" 2>&1 || { tail -n 20 "$work/apt.log" >&2; exit 1; }
inside mangrove --version
for file in /usr/share/man/man1/mangrove.1.gz /usr/share/bash-completion/completions/mangrove /lib/systemd/system/mangrove-node.service \
  /lib/systemd/system/mangrove-coordinator.service /etc/mangrove/node.yaml /usr/share/doc/mangrove/copyright /usr/share/mangrove/job.schema.json; do
  [ -s "$root$file" ] || fail "$file is missing"
done
[ "$(inside stat -c '%U %a' /var/lib/mangrove)" = "mangrove 700" ] || fail "/var/lib/mangrove: $(inside stat -c '%U %a' /var/lib/mangrove)"
missing=$(inside ldd /usr/bin/mangrove | grep "not found" || true)
[ -z "$missing" ] || fail "libraries are missing: $missing"

for unit in mangrove-coordinator mangrove-node; do
  inside systemd-analyze verify --man=no "/lib/systemd/system/$unit.service"
  inside systemd-analyze security --offline=true --threshold=30 --no-pager "/lib/systemd/system/$unit.service" | tail -n 1  # 3.0
  inside systemctl enable "$unit" 2> "$work/enable.log"
  [ -L "$root/etc/systemd/system/multi-user.target.wants/$unit.service" ] || fail "$unit: $(cat "$work/enable.log")"
done

step "a coordinator and a node, with the command lines of their units"
start() {  # UNIT LOG: sets $started
  local command
  read -ra command < <(sed -n 's/^ExecStart=//p' "$root/lib/systemd/system/$1.service")
  "${enter_as_service[@]}" "${command[@]}" > "$2" 2>&1 &
  started=$!
}
wait_for() {  # FILE TEXT: until the service that was started last has said so
  for _ in $(seq "$looks"); do
    grep -q "$2" "$1" && return
    kill -0 "$started" 2> /dev/null || break
    sleep 0.2  # between two looks
  done
  cat "$1" >&2
  fail "'$2' did not come"
}
echo "listen: $address" >> "$root/etc/mangrove/coordinator.yaml"
start mangrove-coordinator "$work/coordinator.log"
coordinator=$started
wait_for "$work/coordinator.log" "coordinator ready on"
"${enter_as_service[@]}" mangrove invite --role node --coordinator "$address" > "$work/node.join"
inside install -o mangrove -m 600 /dev/stdin /etc/mangrove/node.join < "$work/node.join"
printf 'join: /etc/mangrove/node.join\nname: board\nthreads: 1\n' >> "$root/etc/mangrove/node.yaml"
start mangrove-node "$work/node.log"
node=$started
wait_for "$work/node.log" "node board ready on"
"${enter_as_service[@]}" mangrove train --coordinator "$address" --model mlp --data glyphs --limit 500 \
  --run-dir /var/lib/mangrove/runs/first --quiet
[ -s "$root/var/lib/mangrove/runs/first/model.onnx" ] || fail "no model was trained"
kill "$node" "$coordinator"
wait "$node" || fail "the node ended with status $?"
wait "$coordinator" || fail "the coordinator ended with status $?"

step "the simulator"
cp "$simulator" "$root/tmp/mangrove-sim.deb"
cp "$worlds"/boards.yaml "$worlds"/job.yaml "$root/tmp"
simulate() { inside mangrove sim /tmp/boards.yaml /tmp/job.yaml --limit 400 --run-dir /tmp/simulated --quiet; }
if simulate 2> "$work/sim.log"; then fail "there is a simulator without its package"; fi
grep -q "the package mangrove-sim has it" "$work/sim.log" || fail "without it one reads: $(cat "$work/sim.log")"
inside apt-get install -q -y --no-install-recommends /tmp/mangrove-sim.deb > "$work/apt.log" 2>&1 || { tail -n 20 "$work/apt.log" >&2; exit 1; }
simulate > "$work/sim.log"
[ -s "$root/usr/share/man/man1/mangrove-sim.1.gz" ] || fail "mangrove-sim has no page"
[ -s "$root/tmp/simulated/model.onnx" ] || fail "nothing was simulated: $(cat "$work/sim.log")"
inside apt-get purge -q -y mangrove-sim > "$work/apt.log" 2>&1

step "upgrade"
dpkg-deb -R "$package" "$work/next"
version=$(dpkg-deb --field "$package" Version)
sed -i "s/^Version: .*/Version: $version+next/" "$work/next/DEBIAN/control"
dpkg-deb --root-owner-group -b "$work/next" "$root/tmp/next.deb" > /dev/null
inside apt-get install -q -y --no-install-recommends /tmp/next.deb > "$work/apt.log" 2>&1 || { tail -n 20 "$work/apt.log" >&2; exit 1; }
[ "$(inside dpkg-query -W mangrove)" = $'mangrove\t'"$version+next" ] || fail "it is still $(inside dpkg-query -W mangrove)"
grep -q "^name: board" "$root/etc/mangrove/node.yaml" || fail "the upgrade has changed settings"

step "remove, then purge"
inside apt-get remove -q -y mangrove > "$work/apt.log" 2>&1
[ ! -e "$root/usr/bin/mangrove" ] || fail "the program is still there"
[ -s "$root/var/lib/mangrove/runs/first/model.onnx" ] || fail "removing has lost the state"
[ -s "$root/etc/mangrove/node.yaml" ] || fail "removing has lost the settings"
inside apt-get purge -q -y mangrove > "$work/apt.log" 2>&1
for path in /var/lib/mangrove /etc/mangrove /usr/share/doc/mangrove /lib/systemd/system/mangrove-node.service \
  /etc/systemd/system/multi-user.target.wants/mangrove-{coordinator,node}.service; do
  if [ -e "$root$path" ] || [ -L "$root$path" ]; then fail "purging has left $path"; fi
done
inside getent passwd mangrove > /dev/null && fail "purging has left the user mangrove"
echo "installed, used, upgraded, removed and purged"
