#!/usr/bin/env bash
# Makes a release: sets the version everywhere (scripts/version.py), turns what is Unreleased in CHANGELOG.md into the
# changes of this version, commits, tags, and writes into a folder: the source archive, the Debian packages, a software
# bill of materials for each package (SPDX 2.3), and the checksums of all of them. Nothing is pushed.
#
#   release.sh 0.2.0                            # into build/release-0.2.0, packages for amd64 and arm64
#   release.sh --dry-run 0.2.0                  # only says what it would do
#   release.sh --architectures amd64 0.2.0      # packages for these only; none: the source archive only
#   release.sh --output /srv/releases/0.2.0 0.2.0
#   release.sh --again 0.2.0                    # the files of a version that has its tag, once more
#
# All is built from the commit of the release, in a copy of it, so files that are not committed do not count. Times in the
# files are the commit's, so the same tag gives the same source archive. Commit and tag are made last, when all files are
# there: a release that fails leaves nothing behind. It needs a clean working tree. Exit status 1 where the release failed,
# 2 where the command line is wrong.
set -euo pipefail
here=$PWD
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
fail() { echo "release.sh: $*" >&2; exit 1; }
usage() { echo "release.sh: $*; see release.sh --help" >&2; exit 2; }

dry_run="" again="" architectures=amd64,arm64 output="" version=""
while [ $# -gt 0 ]; do
  case $1 in
    --help) sed -n '2,/^set /{/^set /d; s/^# \{0,1\}//; p}' "scripts/${BASH_SOURCE[0]##*/}"; exit ;;
    --dry-run) dry_run=yes ;;
    --again) again=yes ;;
    --architectures) [ $# -gt 1 ] || usage "--architectures needs a list, such as amd64,arm64"
      architectures=$2 && shift ;;
    --output) [ -n "${2-}" ] || usage "--output needs a folder"
      output=$2 && shift ;;
    -*) usage "unknown flag '$1'" ;;
    *) [ -z "$version" ] || usage "unknown '$1': expected one version"
      version=$1 ;;
  esac
  shift
done
[ -n "$version" ] || usage "expected a version, such as 0.2.0"
[[ $version =~ ^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)$ ]] ||
  usage "'$version' is no version: expected three numbers, as in 1.4.0"
[ "$architectures" != none ] || architectures=""
IFS=, read -ra architectures <<< "$architectures"
for architecture in "${architectures[@]}"; do
  case $architecture in amd64 | arm64) ;; *) usage "unknown architecture '$architecture': expected amd64, arm64 or none" ;; esac
done
[ "$(printf '%s\n' "${architectures[@]}" | sort -u | wc -l)" -ge ${#architectures[@]} ] || usage "an architecture is named twice"
[ -n "$output" ] || output=$PWD/build/release-$version
case $output in /*) ;; *) output=$here/$output ;; esac
parent=$(dirname "$output")
tag=v$version
work=$PWD/build/.release
tree=$work/tree    # the commit of the release, and what is built from it
files=$work/files  # the files of the release, until all are there

for program in git python3 xz dpkg-deb; do
  command -v "$program" > /dev/null || fail "$program is missing: scripts/install-packages.sh package installs it"
done
has_changed() { [ -n "$(git status --porcelain)" ]; }
machine=$(dpkg --print-architecture)
for architecture in "${architectures[@]}"; do
  [ "$architecture" = "$machine" ] || [ "$architecture" = arm64 ] || fail "packages for $architecture cannot be made on $machine"
  [[ $PWD != *[[:space:]]* ]] || fail "packages cannot be built in a folder with a blank in its path: $PWD"  # see CXXFLAGS
done
[ "$parent" = "$PWD/build" ] || { [ -d "$parent" ] && [ -w "$parent" ]; } || fail "there is no folder $parent that can be written to"
[ ! -e "$output" ] || fail "$output is there already: remove it, or name another folder with --output"
[ ! -e "$work" ] || fail "$work is there: another release is being made, or one was killed; then remove it"
begin=$(git rev-parse --verify --quiet 'HEAD^{commit}') || fail "there is no commit here"
if [ -n "$again" ]; then
  commit=$(git rev-parse --verify --quiet "refs/tags/$tag^{commit}") || fail "there is no tag $tag: make the release without --again"
else
  branch=$(git symbolic-ref --quiet --short HEAD) || fail "no branch is checked out, so none would get the commit"
  date=$(date -u +%F)
  changes=$(scripts/version.py --dry-run release "$version" "$date") || exit
  git rev-parse --verify --quiet "refs/tags/$tag" > /dev/null && fail "the tag $tag is there already: --again makes its files"
  if has_changed; then
    git status --short >&2
    fail "there are changes that are not committed"
  fi
  git var GIT_COMMITTER_IDENT > /dev/null || fail "git does not know who commits: set user.name and user.email"
fi

archive=mangrove-$version.tar.xz
if [ -n "$dry_run" ]; then
  if [ -n "$again" ]; then
    echo "from the tag $tag, commit $(git rev-parse --short "$commit")"
  else
    printf '%s\n' "$changes" "commit \"release: $version\" on $branch after $(git rev-parse --short HEAD), tag $tag; neither is pushed"
  fi
  echo "$output:"
  echo "  $archive"
  for architecture in "${architectures[@]}"; do
    for package in mangrove mangrove-sim; do
      printf '  %s\n' "${package}_${version}_$architecture.deb"{,.spdx.json}
    done
  done
  echo "  SHA256SUMS"
  exit
fi

mkdir -p build
mkdir "$work"
clean() { rm -rf "$work" && git worktree prune; }
trap clean EXIT
mkdir "$files"
git worktree prune  # of a release that was killed
git worktree add --quiet --detach "$tree" "${commit:-$begin}"

if [ -z "$again" ]; then
  "$tree"/scripts/version.py release "$version" "$date"
  git -C "$tree" commit --quiet --all --message "release: $version" --message "The version of $date. CHANGELOG.md says what has changed."
  commit=$(git -C "$tree" rev-parse HEAD)
fi
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct "$commit")
export SOURCE_DATE_EPOCH
export CXXFLAGS="-ffile-prefix-map=$tree/=${CXXFLAGS:+ $CXXFLAGS}"  # the folder of the build is named in no program

echo "== $archive =="
git -c tar.umask=0022 archive --format=tar --prefix="mangrove-$version/" "$commit" | xz -9 --threads=1 > "$files/$archive"

for architecture in "${architectures[@]}"; do
  echo "== packages for $architecture =="
  root=/ folder=$tree/build/release flags=()
  if [ "$architecture" != "$machine" ]; then
    root=$tree/build/$architecture-sysroot folder=$tree/build/$architecture flags=("$architecture")
  fi
  "$tree"/scripts/package.sh "${flags[@]}"
  for package in "$folder"/mangrove*.deb; do
    name=${package##*/}
    [[ $name == *_${version}_$architecture.deb ]] || fail "$name was made, not a package of $version for $architecture"
    cp "$package" "$files"
    "$tree"/scripts/sbom.py --build "$folder" --root "$root" "$files/$name" > "$files/$name.spdx.json"
  done
done

(cd "$files" && sha256sum -- * > SHA256SUMS.new && mv SHA256SUMS.new SHA256SUMS)
if [ -z "$again" ]; then
  if has_changed || [ "$(git rev-parse HEAD)" != "$begin" ]; then fail "the working tree has changed meanwhile"; fi
fi
mkdir --mode 755 "$output"
undo() { rm -rf "$output" && fail "$*"; }
mv "$files"/* "$output" || undo "the files could not be moved to $output"
if [ -z "$again" ]; then  # the tag last: where there is one, its commit is on the branch
  git merge --quiet --ff-only "$commit" || undo "the commit was not made"
  git tag --annotate --message "Mangrove $version" "$tag" "$commit" || { git reset --quiet --keep "$begin"; undo "the tag $tag was not made"; }
fi
echo "== $output =="
(cd "$output" && stat --format '%n: %s bytes' -- *)
[ -n "$again" ] || echo "committed and tagged $tag; to publish it: git push --follow-tags"
