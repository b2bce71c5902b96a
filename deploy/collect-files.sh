#!/bin/sh
# Collects in a folder what a container needs to run a program, and nothing else: the program, the shared libraries that
# it loads, and a busybox for people who look into the container. Scanners of vulnerabilities find the packages of these
# files in /var/lib/dpkg/status.d. deploy/Containerfile runs it while it builds the image.
#
#   collect-files.sh PROGRAM FOLDER
set -eu
program=$1
folder=$2
work=$(mktemp -d)

libraries=$(ldd "$program" | awk '{ for (i = 1; i <= NF; ++i) if ($i ~ /^\//) print $i }')  # the loader too
[ -n "$libraries" ] || { echo "collect-files.sh: $program has no shared libraries" >&2; exit 1; }
mkdir -p "$folder/etc/ssl/certs" "$folder/var/lib/dpkg/status.d"
for name in bin lib lib64; do  # since Debian 12 links into /usr
  [ ! -L "/$name" ] || { mkdir -p "$folder/usr/$name" && cp -P "/$name" "$folder/$name"; }
done
for file in "$program" /bin/busybox $libraries; do
  mkdir -p "$folder$(dirname "$file")"
  cp -L "$file" "$folder$file"
  dpkg-query -S "$(readlink -f "$file")" "$file" 2> "$work/unknown" | cut -d: -f1 >> "$work/packages" || true
done
ln -s busybox "$folder/bin/sh"
cp /etc/ssl/certs/ca-certificates.crt "$folder/etc/ssl/certs"
cp /etc/os-release /etc/debian_version /etc/nsswitch.conf "$folder/etc"
grep -E '^(root|mangrove):' /etc/passwd > "$folder/etc/passwd"
grep -E '^(root|mangrove):' /etc/group > "$folder/etc/group"
echo ca-certificates >> "$work/packages"
sort -u "$work/packages" | while read -r package; do
  dpkg-query -s "$package" > "$folder/var/lib/dpkg/status.d/$package"
done
cp --parents /usr/share/doc/*/copyright "$folder"  # of other packages too: some keep the licence for several
install -d -m 1777 "$folder/tmp"
install -d -o mangrove -g mangrove -m 700 "$folder/var/lib/mangrove"
