#!/usr/bin/env bash
# Makes build/arm64-sysroot, a folder with the libraries of Debian 12 for 64-bit Arm that Mangrove is linked with, so that
# `scripts/build.sh arm64` can build for boards on another machine. It takes about half a minute and 700 MB. A folder that
# is there already, made of the same packages, is left alone. Needs root for nothing but the packages that it installs.
# The folder looks like a package being built, DEBIAN included: dpkg-shlibdeps finds there which package has which library.
# It also looks like a system on which these packages are installed: `dpkg-query --admindir` tells which file is of which.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
scripts/install-packages.sh arm64

sysroot=build/arm64-sysroot
# libraries with their headers; gRPC's settings for CMake name its plugin, which is not run
packages=$({ scripts/install-packages.sh --list build | grep -E -- '-dev$|^protobuf-compiler' | grep -v '^libdnnl'
             printf '%s\n' libstdc++-12-dev libc6-dev; } | sort -u | paste -sd,)
made_of=$sysroot/DEBIAN/packages
installed=$sysroot/var/lib/dpkg
[ -s "$installed/status" ] && [ "$(cat "$made_of" 2> /dev/null)" = "$packages" ] && exit

rm -rf "$sysroot"
mkdir -p "$sysroot"
mmdebstrap --quiet --variant=extract --architectures=arm64 --skip=cleanup/apt/cache --include="$packages" bookworm - |
  tar -x -C "$sysroot" --exclude='./dev/*' --no-same-owner
# links that lead from the root of a board are made to lead from where they are
find "$sysroot" -type l -lname '/*' | while IFS= read -r link; do
  ln -snrf "$sysroot$(readlink "$link")" "$link"
done
mkdir -p "$sysroot/DEBIAN" "$installed/info"
echo 1 > "$installed/info/format"
: > "$installed/status"
for package in "$sysroot"/var/cache/apt/archives/*.deb; do
  dpkg-deb --control "$package" "$sysroot/DEBIAN/one"
  for file in shlibs symbols; do
    [ ! -e "$sysroot/DEBIAN/one/$file" ] || cat "$sysroot/DEBIAN/one/$file" >> "$sysroot/DEBIAN/$file"
  done
  rm -r "$sysroot/DEBIAN/one"
  dpkg-deb --field "$package" | sed 's/^Package: .*/&\nStatus: install ok installed/' >> "$installed/status"
  echo >> "$installed/status"
  name=$(dpkg-deb --field "$package" Package)
  [ "$(dpkg-deb --field "$package" Multi-Arch)" != same ] || name=$name:$(dpkg-deb --field "$package" Architecture)
  dpkg-deb --fsys-tarfile "$package" | tar -t | sed 's|^\.||; s|/$||; s|^$|/.|' > "$installed/info/$name.list"
done
rm -r "$sysroot/var/cache/apt/archives"
echo "$packages" > "$made_of"
