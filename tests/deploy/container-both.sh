#!/usr/bin/env bash
# Gives two images one name with `scripts/container.sh both`, and sends it to a folder and, where Debian's docker-registry is
# installed, to a registry on this machine. From there each kind of machine gets its image. The images are small ones of the
# test, in a storage of its own. Root only.
#
#   tests/deploy/container-both.sh
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.."
[ "$(id -u)" = 0 ] || { echo "container-both.sh: only root can make images here" >&2; exit 1; }
work=$(mktemp -d)
registry=""  # its process
clean() {
  [ -z "$registry" ] || kill "$registry" 2> /dev/null || true
  rm -rf "$work"
}
trap clean EXIT
fail() { echo "container-both.sh: $*" >&2; exit 1; }
step() { echo "-- $*"; }
version=$(scripts/version.py)
printf '[storage]\ndriver = "vfs"\ngraphroot = "%s/storage"\nrunroot = "%s/run"\n' "$work" "$work" > "$work/storage.conf"
export CONTAINERS_STORAGE_CONF=$work/storage.conf

image() {  # TAG ARCHITECTURE
  local container
  container=$(buildah from --arch "$2" scratch)
  echo "$2" > "$work/kind"
  buildah copy --quiet "$container" "$work/kind" /kind > /dev/null
  buildah config --arch "$2" --user 7070 --healthcheck "CMD /kind" "$container" 2> "$work/config.log"  # it warns of other formats
  buildah commit --quiet --format docker "$container" "mangrove:$1" > /dev/null
  buildah rm "$container" > /dev/null
}
both() { scripts/container.sh both > "$work/both.log" 2>&1; }

step "without the images"
if both; then fail "it made one name of nothing"; fi
grep -q "there is no image localhost/mangrove:$version for amd64" "$work/both.log" || fail "it said: $(cat "$work/both.log")"
image "$version" amd64
image "$version-arm64" amd64
if both; then fail "it took an image for amd64 as one for arm64"; fi
grep -q "there is no image localhost/mangrove:$version-arm64 for arm64" "$work/both.log" || fail "it said: $(cat "$work/both.log")"

step "one name, twice"
image "$version-arm64" arm64
for _ in 1 2; do both || fail "$(cat "$work/both.log")"; done
[ "$(cat "$work/both.log")" = "mangrove:$version-all: for amd64 and arm64" ] || fail "it said: $(cat "$work/both.log")"

step "in a folder"
podman manifest push --quiet --all "mangrove:$version-all" "oci:$work/folder:localhost/mangrove:$version" > /dev/null
kinds=$(python3 - "$work/folder" <<'END'
import json, pathlib, sys
folder = pathlib.Path(sys.argv[1])
blob = lambda entry: json.loads((folder / "blobs" / entry["digest"].replace(":", "/")).read_text())
(index,) = json.loads((folder / "index.json").read_text())["manifests"]
print(*sorted(blob(blob(entry)["config"])["architecture"] + "=" + entry["platform"]["architecture"] for entry in blob(index)["manifests"]))
END
)
[ "$kinds" = "amd64=amd64 arm64=arm64" ] || fail "the folder has $kinds"

command -v docker-registry > /dev/null || { echo "one name for both; no docker-registry here, so no registry was tried"; exit; }
step "in a registry"
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
cat > "$work/registry.yaml" <<END
version: 0.1
storage: {filesystem: {rootdirectory: $work/registry}}
http: {addr: "127.0.0.1:$port"}
END
docker-registry serve "$work/registry.yaml" > "$work/registry.log" 2>&1 &
registry=$!
for _ in $(seq 50); do
  (: < "/dev/tcp/127.0.0.1/$port") 2> /dev/null && break
  sleep 0.2  # between two looks
done
name=127.0.0.1:$port/mangrove:$version
podman manifest push --quiet --all --format v2s2 --tls-verify=false "mangrove:$version-all" "docker://$name" > /dev/null ||
  fail "$(tail -n 5 "$work/registry.log")"
podman rmi --all --force > /dev/null
for architecture in amd64 arm64; do
  podman pull --quiet --arch "$architecture" --tls-verify=false "$name" > /dev/null
  got=$(podman image inspect --format '{{.Architecture}} {{.User}} {{.HealthCheck.Test}}' "$name")
  [ "$got" = "$architecture 7070 [CMD /kind]" ] || fail "a machine with $architecture gets: $got"
  folder=$(podman image mount "$name")
  [ "$(cat "$folder/kind")" = "$architecture" ] || fail "a machine with $architecture gets the files of $(cat "$folder/kind")"
  podman image umount "$name" > /dev/null
done
echo "one name for both, in a folder and in a registry"
