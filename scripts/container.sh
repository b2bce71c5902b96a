#!/usr/bin/env bash
# Builds the image mangrove:VERSION for this kind of machine, or mangrove:VERSION-arm64 on another one, from the Debian
# package that scripts/package.sh has made. tests/deploy/container.sh and container-arm64.sh run them. To build for arm64
# on another machine, its kernel must start the programs for arm64 with qemu, as Debian's systemd-binfmt makes it do.
#
#   container.sh                  # from debian:12-slim of Docker's registry
#   container.sh arm64            # for boards with 64-bit Arm processors (docs/kubernetes.md)
#   container.sh --base IMAGE     # from another image of Debian 12, e.g. of a registry at home; also after arm64
#   container.sh both             # mangrove:VERSION-all, one name for the images of both architectures, which are there
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
base=docker.io/library/debian:12-slim
preset=release suffix="" platform=()
if [ "${1-}" = arm64 ]; then
  preset=arm64 suffix=-arm64 platform=(--platform linux/arm64)
  shift
fi
if [ "${1-}" = both ]; then
  [ $# = 1 ] || { echo "container.sh: unknown '$2': expected nothing after both" >&2; exit 2; }
  scripts/install-packages.sh container
  version=$(scripts/version.py)
  list=mangrove:$version-all
  for architecture in amd64 arm64; do
    image=localhost/mangrove:$version
    [ $architecture = amd64 ] || image=$image-arm64
    [ "$(podman image inspect --format '{{.Architecture}}' "$image" 2> /dev/null)" = $architecture ] ||
      { echo "container.sh: there is no image $image for $architecture: make it first" >&2; exit 1; }
  done
  if podman manifest exists "$list"; then podman manifest rm "$list" > /dev/null; fi
  podman manifest create "$list" > /dev/null
  for image in "localhost/mangrove:$version" "localhost/mangrove:$version-arm64"; do
    podman manifest add "$list" "containers-storage:$image" > /dev/null
  done
  echo "$list: for amd64 and arm64"
  exit
fi
case ${1-} in
  "") ;;
  --base) base=${2:?"expected the name of an image after --base"} ;;
  *) echo "container.sh: unknown '$1': expected arm64, both, or --base IMAGE" >&2; exit 2 ;;
esac
[ $# -le 2 ] || { echo "container.sh: unknown '$3': expected nothing after --base IMAGE" >&2; exit 2; }

scripts/install-packages.sh container
package=$(echo build/$preset/mangrove_*.deb)
[ -e "$package" ] || { echo "container.sh: $package is missing: run scripts/package.sh${suffix:+ arm64} first" >&2; exit 1; }
image=mangrove:$(dpkg-deb --field "$package" Version)$suffix
context=$(mktemp -d)
trap 'rm -rf "$context"' EXIT
cp "$package" "$context/mangrove.deb"
cp deploy/collect-files.sh "$context"
# --format docker: the other one has no health check
buildah build "${platform[@]}" --isolation chroot --network host --format docker --build-arg BASE="$base" --tag "$image" \
  --file deploy/Containerfile "$context"
bytes=$(podman image inspect --format '{{.Size}}' "$image")
echo "$image: $bytes bytes"
[ "$bytes" -le 120000000 ] || { echo "container.sh: more than 120 MB is much for a small board" >&2; exit 1; }
