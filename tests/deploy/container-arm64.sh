#!/usr/bin/env bash
# Builds the image of scripts/container.sh arm64 on another machine, and trains in a container of it, under emulation of a
# Cortex-A53. Root only.
#
#   tests/deploy/container-arm64.sh
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.."
[ "$(id -u)" = 0 ] || { echo "container-arm64.sh: only root can make a root file system" >&2; exit 1; }
# shellcheck source=/dev/null
. tests/deploy/emulator.sh
base=localhost/debian-arm64:12-slim
work=$(mktemp -d)
clean() {
  set +e  # one failure must not leave the rest behind
  rm -rf "$work"
  end_emulator
}
trap clean EXIT
fail() { echo "container-arm64.sh: $*" >&2; exit 1; }
step() { echo "-- $*"; }
export QEMU_CPU=cortex-a53
begin_emulator

step "a base of Debian 12 for arm64, where no registry is reached"
if ! podman image exists "$base"; then
  debootstrap --arch=arm64 --variant=minbase bookworm "$work/debian" > "$work/debootstrap.log" ||
    { tail "$work/debootstrap.log" >&2; exit 1; }
  tar -C "$work/debian" --exclude='./usr/share/locale/*' --exclude='./usr/share/man/*' --exclude='./var/cache/apt/*' \
    --exclude='./var/lib/apt/lists/*' -c . | podman import --os linux --arch arm64 - "$base" > /dev/null
  rm -rf "$work/debian"
fi

step "the image"
scripts/container.sh arm64 --base "$base" > "$work/build.log" 2>&1 || { tail -n 30 "$work/build.log" >&2; exit 1; }
tail -n 1 "$work/build.log"
image=$(sed -n 's/^\(mangrove:[^ ]*\): .*/\1/p' "$work/build.log")
[ "$(podman image inspect --format '{{.Architecture}} {{.User}}' "$image")" = "arm64 7070:7070" ] ||
  fail "$image is for another architecture, or runs as root"

step "a training in a container"
# a machine without systemd has neither its cgroups nor its journal; the limits are those that root has here
podman --runtime runc --cgroup-manager cgroupfs --events-backend file run --rm --platform linux/arm64 --network none \
  --read-only --no-healthcheck --log-driver k8s-file --ulimit nofile=1024:1024 --ulimit nproc=1000:1000 \
  --env QEMU_CPU="$QEMU_CPU" "$image" train --model mlp --data glyphs --limit 500 --local 2 --run-dir /tmp/run --quiet
echo "built and trained"
