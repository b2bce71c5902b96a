#!/usr/bin/env bash
# Builds the image mangrove:VERSION for this kind of machine, or mangrove:VERSION-arm64 on another one, from the Debian
# package that scripts/package.sh has made. tests/deploy/container.sh and container-arm64.sh run them. To build for arm64
# on another machine, its kernel must start the programs for arm64 with qemu, as Debian's systemd-binfmt makes it do.
#
#   container.sh                  # from debian:12-slim of Docker's registry
#   container.sh arm64            # for boards with 64-bit Arm processors (docs/kubernetes.md)
#   container.sh --base IMAGE     # from another image of Debian 12, e.g. of a registry at home; also after arm64
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
base=docker.io/library/debian:12-slim
preset=release suffix="" platform=()
if [ "${1-}" = arm64 ]; then
  preset=arm64 suffix=-arm64 platform=(--platform linux/arm64)
  shift
fi
case ${1-} in
  "") ;;
  --base) base=${2:?"expected the name of an image after --base"} ;;
  *) echo "container.sh: unknown '$1': expected arm64, or --base IMAGE" >&2; exit 2 ;;
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
