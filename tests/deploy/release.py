#!/usr/bin/env python3
"""Makes releases of a small repository with scripts/release.sh: what it refuses, what it changes, what it writes.

The repository has our scripts, and a scripts/package.sh of its own, which takes a second: it makes packages with the program
`true` in place of ours, and lets ninja read a header of nlohmann's library. Needs git, ninja and dpkg-dev.
"""
import copy
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import unittest

sys.dont_write_bytecode = True  # no __pycache__ in the source
import spdx
from changelog import CHANGELOG

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MACHINE = subprocess.run(["dpkg", "--print-architecture"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()

PAGE = """Install `mangrove_0.1.0_arm64.deb`, or take the image `mangrove:0.1.0`, or `mangrove:0.1.0-arm64`.
SimGrid 0.1.0 and version 1.0.1.0 are others.
"""
PACKAGE_SH = r"""#!/usr/bin/env bash
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
architecture=${1:-MACHINE} folder=build/${1:-release}
[ ! -e fails ] || { echo "nothing can be built" >&2; exit 1; }
version=$(scripts/version.py)
mkdir -p "$folder/bin"
cat > "$folder/build.ninja" <<'END'
rule make
  command = cp /bin/true $out && echo "$out: $headers" > $out.d
  deps = gcc
  depfile = $out.d
build one.o: make
  headers = HEADER /usr/include/stdlib.h
build two.o: make
  headers = /usr/include/CLI/CLI.hpp
build bin/mangrove: make one.o || bin/mangrove-sim
  headers = /usr/include/linux/types.h
build bin/mangrove-sim: make one.o two.o
END
root=/
if [ $# = 1 ]; then  # a system with a C library and a header-only library
  root=$PWD/build/$1-sysroot
  mkdir -p "$root/var/lib/dpkg/info" "$root/usr/lib/aarch64-linux-gnu" "$root/usr/include/nlohmann" "$root/usr/share/doc/nlohmann-json3-dev"
  touch "$root/usr/lib/aarch64-linux-gnu/libc.so.6" "$root/usr/include/stdlib.h" "$root/usr/include/nlohmann/json.hpp"
  cp /usr/share/doc/nlohmann-json3-dev/copyright "$root/usr/share/doc/nlohmann-json3-dev"
  echo 1 > "$root/var/lib/dpkg/info/format"
  for package in libc6:glibc:/usr/lib/aarch64-linux-gnu/libc.so.6 libc6-dev:glibc:/usr/include/stdlib.h \
    nlohmann-json3-dev:nlohmann-json3:/usr/include/nlohmann/json.hpp; do
    IFS=: read -r name source file <<< "$package"
    printf 'Package: %s\nStatus: install ok installed\nProvides: %s-thing (= 1)\nMaintainer: x\nVersion: 7-%s\nArchitecture: arm64\nSource: %s\nDescription: x\n\n' \
      "$name" "$name" "$1" "$source" >> "$root/var/lib/dpkg/status"
    echo "$file" > "$root/var/lib/dpkg/info/$name.list"
  done
  sed -i "s|/usr/include/stdlib.h|$root&|; s|HEADER|$root/usr/include/nlohmann/json.hpp|" "$folder/build.ninja"
fi
sed -i "s|HEADER|/usr/include/nlohmann/json.hpp|" "$folder/build.ninja"
ninja -C "$folder" > /dev/null
for name in mangrove mangrove-sim; do
  depends="libc6 (>= 2.34), adduser"
  [ $name = mangrove ] || depends="libc6 (>= 2.34), mangrove (= $version)"
  [ $# = 0 ] || depends="$depends, libc6-thing"
  content=$(mktemp -d)
  mkdir -p "$content/DEBIAN" "$content/usr/bin" "$content/etc/mangrove" "$content/usr/share/doc/$name"
  cp "$folder/bin/$name" "$content/usr/bin"
  echo "a: b" > "$content/etc/mangrove/$name.yaml"
  echo "text" > "$content/usr/share/doc/$name/copyright"
  ln -s "$name" "$content/usr/bin/$name-too"
  printf 'Package: %s\nVersion: %s\nArchitecture: %s\nMaintainer: A <a@example.org>\nDepends: %s\nDescription: a thing\n' \
    "$name" "$version" "$architecture" "$depends" > "$content/DEBIAN/control"
  chmod -R u=rwX,go=rX "$content"
  dpkg-deb --root-owner-group --build "$content" "$folder/${name}_${version}_$architecture.deb" > /dev/null
  rm -r "$content"
done
""".replace("MACHINE", MACHINE)


class Repository:
    """One with a version 0.1.0, changes that are not released, and our scripts."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.environment = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "GIT_AUTHOR_NAME": "A",
                            "GIT_AUTHOR_EMAIL": "a@example.org", "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.org"}
        for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "SOURCE_DATE_EPOCH"):
            self.environment.pop(name, None)
        for name in ("release.sh", "version.py", "sbom.py"):
            self.write(f"scripts/{name}", (ROOT / "scripts" / name).read_text(), 0o755)
        self.write("scripts/package.sh", PACKAGE_SH, 0o755)
        self.write("CMakeLists.txt", "cmake_minimum_required(VERSION 3.25)\nproject(mangrove VERSION 0.1.0 LANGUAGES CXX)\n")
        self.write("CHANGELOG.md", CHANGELOG)
        self.write("README.md", "Mangrove\n")
        self.write("docs/packages.md", PAGE)
        self.write("docs/decisions/0001.md", "Since mangrove:0.0.9 it is so.\n")
        self.write("deploy/base/kustomization.yaml", "images:\n  - name: mangrove\n    newTag: 0.1.0\n")
        self.write("python/mangrove/__init__.py", '__version__ = "0.1.0"\n')
        self.write("deploy/helm/Chart.yaml", "apiVersion: v2\nversion: 0.1.0\nappVersion: \"0.1.0\"\n")
        self.write(".gitignore", "/build*/\n__pycache__/\n")
        self.git("init", "--quiet", "--initial-branch", "main")
        self.commit("base: begin")

    def write(self, name, text, mode=0o644):
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(mode)

    def read(self, name):
        return (self.folder / name).read_text()

    def git(self, *arguments):
        return subprocess.run(["git", *arguments], cwd=self.folder, env=self.environment, check=True, stdout=subprocess.PIPE,
                              text=True).stdout.strip()

    def commit(self, subject):
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", subject)

    def run(self, script, *arguments):
        """(exit status, output)"""
        done = subprocess.run([self.folder / "scripts" / script, *arguments], cwd=self.folder, env=self.environment, check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return done.returncode, done.stdout

    def release(self, *arguments):
        return self.run("release.sh", *arguments)

    def state(self):
        """Everything that a release may change."""
        folders = sorted(str(path.relative_to(self.folder)) for path in self.folder.glob("build/*"))
        return self.git("rev-parse", "HEAD"), self.git("tag"), self.git("status", "--porcelain"), self.git("worktree", "list"), folders


class Releases(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.repository = Repository(pathlib.Path(self.temporary.name) / "repository")

    def refuses(self, status, message, *arguments):
        before = self.repository.state()
        code, output = self.repository.release(*arguments)
        self.assertEqual((code, before), (status, self.repository.state()), output)
        self.assertIn(message, output)

    def releases(self, *arguments):
        code, output = self.repository.release(*arguments)
        self.assertEqual(code, 0, output)
        return output


class Refusals(Releases):
    def test_a_wrong_command_line_ends_with_2(self):
        self.refuses(2, "expected a version")
        for version in ("1.2", "v1.2.3", "01.2.3", "1.2.3-rc.1", "1.2.3\n", ""):
            self.refuses(2, "version", "--architectures", "none", version)
        for version in ("0.1.0", "0.0.9"):
            self.refuses(2, "is not newer than 0.1.0", version)
        self.refuses(2, "unknown flag '--push'", "--push", "0.2.0")
        self.refuses(2, "unknown architecture 'riscv64'", "--architectures", "amd64,riscv64", "0.2.0")
        self.refuses(2, "named twice", "--architectures", f"{MACHINE},{MACHINE}", "0.2.0")
        self.refuses(2, "unknown '0.3.0'", "0.2.0", "0.3.0")
        self.refuses(2, "--output needs a folder", "0.2.0", "--output")

    def test_a_date_that_is_none(self):
        for date in ("2027-02-30", "2027-13-01", "20270131", "2027-W01-1", "today"):
            self.assertEqual(self.repository.run("version.py", "release", "0.2.0", date)[0], 2, date)
        self.assertEqual(self.repository.git("status", "--porcelain"), "")

    def test_versions_are_compared_as_numbers(self):
        self.repository.run("version.py", "release", "0.9.0", "2026-12-01")
        self.repository.write("CHANGELOG.md", self.repository.read("CHANGELOG.md").replace("## Unreleased\n", "## Unreleased\n\n- Another.\n"))
        self.repository.commit("release: 0.9.0")
        self.refuses(2, "is not newer than 0.9.0", "0.8.9")
        self.releases("--architectures", "none", "0.10.0")

    def test_changes_that_are_not_committed(self):
        self.repository.write("README.md", "changed\n")
        self.refuses(1, "changes that are not committed", "0.2.0")
        self.repository.git("checkout", "--quiet", "README.md")
        self.repository.write("new.md", "a file that git does not know\n")
        self.refuses(1, "changes that are not committed", "--dry-run", "0.2.0")

    def test_a_changelog_without_entries(self):
        self.repository.write("CHANGELOG.md", re.sub(r"(?s)(## Unreleased\n\n).*?(?=## 0)", r"\1", CHANGELOG))
        self.repository.commit("docs: say nothing")
        self.refuses(1, "no entry under ## Unreleased", "0.2.0")

    def test_a_page_that_names_another_version(self):
        self.repository.write("docs/packages.md", PAGE.replace("mangrove:0.1.0`", "mangrove:0.0.7`"))
        self.repository.commit("docs: name another")
        self.refuses(1, "docs/packages.md:1: 0.0.7, not 0.1.0", "0.2.0")

    def test_no_page_that_names_a_version(self):
        for name in ("docs/packages.md", "deploy/base/kustomization.yaml", "deploy/helm/Chart.yaml",
                     "python/mangrove/__init__.py"):
            self.repository.write(name, "nothing\n")
        self.repository.commit("docs: say less")
        self.refuses(1, "names a version", "0.2.0")

    def test_a_tag_or_a_folder_that_is_there(self):
        self.repository.git("tag", "v0.2.0")
        self.refuses(1, "the tag v0.2.0 is there already", "0.2.0")
        (self.repository.folder / "build/release-0.3.0").mkdir(parents=True)
        self.refuses(1, "is there already", "0.3.0")
        self.refuses(1, "there is no tag v0.4.0", "--again", "0.4.0")

    def test_no_branch(self):
        self.releases("--architectures", "none", "0.2.0")
        self.repository.git("checkout", "--quiet", "--detach", "HEAD^")
        self.repository.git("tag", "--delete", "v0.2.0")
        self.refuses(1, "no branch is checked out", "--architectures", "none", "--dry-run", "0.3.0")
        self.refuses(1, "no branch is checked out", "--architectures", "none", "0.3.0")
        self.repository.git("tag", "v0.2.0", "main")
        self.releases("--again", "--architectures", "none", "--output", "again", "0.2.0")

    def test_a_folder_that_is_not_there(self):
        self.refuses(1, "there is no folder", "--architectures", "none", "--output", "no/release", "0.2.0")
        self.assertFalse((self.repository.folder / "no").exists())

    def test_a_path_with_a_blank(self):
        self.repository.folder = self.repository.folder.rename(self.repository.folder.with_name("my repository"))
        self.refuses(1, "a blank in its path", "--architectures", MACHINE, "0.2.0")
        self.releases("--architectures", "none", "0.2.0")

    def test_a_tag_that_cannot_be_made(self):
        self.repository.git("config", "tag.gpgSign", "true")
        self.repository.git("config", "gpg.program", "false")
        self.repository.write("build/keep", "")
        self.refuses(1, "the tag v0.2.0 was not made", "--architectures", "none", "0.2.0")

    def test_a_branch_that_cannot_move(self):
        self.repository.write("scripts/package.sh", PACKAGE_SH + "touch ../../../.git/index.lock\n", 0o755)
        self.repository.commit("scripts: lock")
        self.repository.write("build/keep", "")
        self.refuses(1, "the commit was not made", "--architectures", MACHINE, "0.2.0")

    def test_a_build_that_fails_leaves_nothing(self):
        self.repository.write("fails", "")
        self.repository.commit("scripts: fail")
        self.repository.write("build/keep", "")
        self.refuses(1, "nothing can be built", "--architectures", MACHINE, "0.2.0")
        self.refuses(1, "nothing can be built", "--architectures", MACHINE, "--output", "elsewhere", "0.2.0")

    def test_a_package_of_another_version(self):
        self.repository.write("scripts/package.sh", PACKAGE_SH.replace("$(scripts/version.py)", "0.1.0"), 0o755)
        self.repository.commit("scripts: package another")
        self.repository.write("build/keep", "")
        self.refuses(1, f"mangrove-sim_0.1.0_{MACHINE}.deb was made", "--architectures", MACHINE, "0.2.0")

    def test_a_commit_made_meanwhile(self):
        self.repository.write("scripts/package.sh", PACKAGE_SH + "git -C \"$PWD/../..\" commit --quiet --allow-empty --message meanwhile\n", 0o755)
        self.repository.commit("scripts: disturb")
        code, output = self.repository.release("--architectures", MACHINE, "0.2.0")
        self.assertEqual((code, self.repository.git("tag"), self.repository.git("log", "-1", "--format=%s")), (1, "", "meanwhile"), output)
        self.assertIn("has changed meanwhile", output)
        self.assertEqual(list(self.repository.folder.glob("build/*")), [])

    def test_after_one_that_was_killed(self):
        self.repository.write("scripts/package.sh", "#!/bin/sh\nkill -KILL $PPID\n", 0o755)
        self.repository.commit("scripts: kill")
        self.assertEqual(self.repository.release("--architectures", MACHINE, "0.2.0")[0], -signal.SIGKILL)
        code, output = self.repository.release("--architectures", "none", "0.2.0")
        self.assertEqual(code, 1, output)
        folder = re.search(r"(/\S+) is there: .* remove it", output)[1]
        shutil.rmtree(folder)
        self.releases("--architectures", "none", "0.2.0")
        self.assertEqual(sorted(path.name for path in (self.repository.folder / "build").iterdir()), ["release-0.2.0"])


class Made(Releases):
    def test_a_dry_run_says_what_would_be_and_changes_nothing(self):
        before = self.repository.state()
        output = self.releases("--dry-run", "0.2.0") if MACHINE == "amd64" else self.releases("--dry-run", "--architectures", MACHINE, "0.2.0")
        self.assertEqual(before, self.repository.state())
        for text in ("CMakeLists.txt: 0.1.0 -> 0.2.0", "deploy/base/kustomization.yaml:3: 0.1.0 -> 0.2.0", "2 entries under Unreleased",
                     "tag v0.2.0", "mangrove-0.2.0.tar.xz", f"mangrove-sim_0.2.0_{MACHINE}.deb.spdx.json", "SHA256SUMS"):
            self.assertIn(text, output)

    def test_the_version_the_changelog_the_commit_and_the_tag(self):
        begin = self.repository.git("rev-parse", "HEAD")
        self.releases("--architectures", "none", "0.2.0")
        self.assertEqual(self.repository.git("status", "--porcelain"), "")
        self.assertEqual(self.repository.git("worktree", "list").count("\n"), 0)
        self.assertEqual(self.repository.git("rev-list", f"{begin}..HEAD", "--count"), "1")
        self.assertEqual(self.repository.git("cat-file", "-t", "v0.2.0"), "tag")
        self.assertEqual(self.repository.git("rev-parse", "v0.2.0^{commit}"), self.repository.git("rev-parse", "HEAD"))
        subject, _, body = self.repository.git("log", "-1", "--format=%B").partition("\n")
        self.assertEqual(subject, "release: 0.2.0")
        self.assertNotEqual(body.strip(), "")
        self.assertEqual(self.repository.run("version.py"), (0, "0.2.0\n"))
        self.assertEqual(self.repository.run("version.py", "check"), (0, ""))
        date = self.repository.git("log", "-1", "--format=%cd", "--date=format-local:%F")
        released = re.sub(r"## Unreleased\n", f"## Unreleased\n\n## 0.2.0 - {date}\n", CHANGELOG)
        self.assertEqual(re.sub(r"\d{4}-\d\d-\d\d", "", self.repository.read("CHANGELOG.md")), re.sub(r"\d{4}-\d\d-\d\d", "", released))
        page = PAGE.split("\n")
        self.assertEqual(self.repository.read("docs/packages.md"), "\n".join([page[0].replace("0.1.0", "0.2.0"), *page[1:]]))
        self.assertIn("newTag: 0.2.0", self.repository.read("deploy/base/kustomization.yaml"))
        self.assertIn("version: 0.2.0\nappVersion: \"0.2.0\"", self.repository.read("deploy/helm/Chart.yaml"))
        self.assertIn("0.0.9", self.repository.read("docs/decisions/0001.md"))
        self.refuses(1, "no entry under ## Unreleased", "0.3.0")

    def test_the_same_tag_gives_the_same_files(self):
        self.releases("--architectures", MACHINE, "0.2.0")
        self.repository.write("README.md", "a change that is not committed\n")
        again = pathlib.Path(self.temporary.name) / "again"
        self.releases("--again", "--architectures", MACHINE, "--output", str(again), "0.2.0")
        first = self.repository.folder / "build/release-0.2.0"
        names = sorted(path.name for path in first.iterdir())
        self.assertEqual(names, sorted(path.name for path in again.iterdir()))
        self.assertEqual(names, sorted(["SHA256SUMS", "mangrove-0.2.0.tar.xz"] + [
            f"{package}_0.2.0_{MACHINE}.deb{end}" for package in ("mangrove", "mangrove-sim") for end in ("", ".spdx.json")]))
        for name in names:
            self.assertEqual((first / name).read_bytes(), (again / name).read_bytes(), name)

    def test_a_folder_in_the_repository(self):
        self.releases("--architectures", "none", "--output", "new", "0.2.0")
        self.assertEqual(sorted(path.name for path in (self.repository.folder / "new").iterdir()), ["SHA256SUMS", "mangrove-0.2.0.tar.xz"])
        self.assertEqual(self.repository.git("status", "--porcelain"), "?? new/")
        self.assertEqual((self.repository.folder / "new").stat().st_mode & 0o777, 0o755)

    def test_the_archive_has_the_files_of_the_commit_with_its_time(self):
        self.repository.write("private", "not committed, ignored\n")
        self.repository.write(".git/info/exclude", "private\n")
        self.releases("--architectures", "none", "--output", str(pathlib.Path(self.temporary.name) / "out"), "0.2.0")
        time = int(self.repository.git("log", "-1", "--format=%ct"))
        with tarfile.open(pathlib.Path(self.temporary.name) / "out/mangrove-0.2.0.tar.xz") as archive:
            files = {member.name: member for member in archive if member.isfile()}
            self.assertEqual(sorted(files), sorted(f"mangrove-0.2.0/{name}" for name in self.repository.git("ls-files").split("\n")))
            self.assertEqual({(member.mtime, member.uid, member.gid) for member in files.values()}, {(time, 0, 0)})
            self.assertEqual(files["mangrove-0.2.0/scripts/release.sh"].mode & 0o777, 0o755)
            self.assertIn(b"VERSION 0.2.0 ", archive.extractfile("mangrove-0.2.0/CMakeLists.txt").read())
        subprocess.run(["tar", "-xf", "out/mangrove-0.2.0.tar.xz"], cwd=self.temporary.name, check=True)
        page = pathlib.Path(self.temporary.name) / "mangrove-0.2.0/docs/packages.md"
        right, wrong = page.read_text(), page.read_text().replace("0.2.0", "0.1.9")
        # versions are compared without git, and in a repository that does not have these files
        for is_in_another, text, status in ((False, right, 0), (False, wrong, 1), (True, right, 0), (True, wrong, 1)):
            if is_in_another:
                subprocess.run(["git", "init", "--quiet", self.temporary.name], check=True, env=self.repository.environment)
            page.write_text(text)
            done = subprocess.run([page.parent.parent / "scripts/version.py", "check"], check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.assertEqual(done.returncode, status, done.stderr)

    def test_checksums(self):
        self.releases("--architectures", MACHINE, "0.2.0")
        folder = self.repository.folder / "build/release-0.2.0"
        sums = dict(reversed(line.split("  ")) for line in (folder / "SHA256SUMS").read_text().splitlines())
        self.assertEqual(sums, {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir() if path.name != "SHA256SUMS"})


class Bills(Releases):
    def made(self, architecture):
        self.releases("--architectures", architecture, "0.2.0")
        return self.bill_of("mangrove", architecture)

    def bill_of(self, name, architecture):
        package = self.repository.folder / "build/release-0.2.0" / f"{name}_0.2.0_{architecture}.deb"
        return json.loads(pathlib.Path(f"{package}.spdx.json").read_text()), package

    def related(self, bill, relation):
        by_id = {one["SPDXID"]: one for one in bill["packages"]}
        return {by_id[one["relatedSpdxElement"]]["name"]: by_id[one["relatedSpdxElement"]] for one in bill["relationships"]
                if one["relationshipType"] == relation and one["relatedSpdxElement"] in by_id}

    def test_a_bill_follows_the_rules_and_fits_its_package(self):
        self.made(MACHINE)
        for name in ("mangrove", "mangrove-sim"):
            with self.subTest(name):
                self.assertEqual(spdx.problems(*self.bill_of(name, MACHINE)), [])

    def test_what_it_names(self):
        bill, _ = self.made(MACHINE)
        depends, built_in = self.related(bill, "DEPENDS_ON"), self.related(bill, "STATIC_LINK")
        self.assertEqual(sorted(depends), ["adduser", "libc6"])
        # not the packages of stdlib.h and of the kernel's types.h, nor what only the simulator reads, which ninja makes before
        self.assertEqual(sorted(built_in), ["nlohmann-json3-dev", "onnx"])
        simulator, _ = self.bill_of("mangrove-sim", MACHINE)
        self.assertEqual(sorted(self.related(simulator, "STATIC_LINK")), ["libcli11-dev", "nlohmann-json3-dev", "onnx"])
        version = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", "nlohmann-json3-dev"], check=True, stdout=subprocess.PIPE, text=True).stdout
        self.assertEqual(built_in["nlohmann-json3-dev"]["versionInfo"], version)
        self.assertIn("MIT", built_in["nlohmann-json3-dev"]["licenseDeclared"])
        time = int(self.repository.git("log", "-1", "--format=%ct"))
        made = subprocess.run(["date", "-u", "-d", f"@{time}", "+%FT%TZ"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
        self.assertEqual(bill["creationInfo"]["created"], made)

    @unittest.skipUnless(MACHINE == "amd64", "packages for arm64 are not made on another machine here")
    def test_of_another_architecture_it_names_the_libraries_of_that_one(self):
        bill, package = self.made("arm64")
        self.assertEqual(spdx.problems(bill, package), [])
        library = self.related(bill, "DEPENDS_ON")["libc6"]
        self.assertEqual(library["versionInfo"], "7-arm64")
        self.assertEqual(library["externalRefs"][0]["referenceLocator"], "pkg:deb/debian/libc6@7-arm64?arch=arm64&distro=debian-12&upstream=glibc")
        self.assertEqual(library["comment"], "It provides libc6-thing, which the package depends on.")
        self.assertEqual(self.related(bill, "STATIC_LINK")["nlohmann-json3-dev"]["versionInfo"], "7-arm64")

    def test_mistakes_in_a_bill_are_found(self):
        bill, package = self.made(MACHINE)

        def change(place, key, value):
            wrong = copy.deepcopy(bill)
            element = wrong
            for step in place:
                element = element[step]
            if value is None:
                del element[key]
            else:
                element[key] = value
            return wrong

        mistakes = [([], "spdxVersion", "SPDX-2.2"), ([], "dataLicense", None), ([], "colour", "red"), (["creationInfo"], "created", "today"),
                    (["packages", 0], "downloadLocation", None), (["packages", 0], "filesAnalyzed", False),
                    (["packages", 1], "licenseDeclared", "MIT AND"), (["packages", 1], "licenseDeclared", "LicenseRef-none"),
                    (["packages", 1, "externalRefs", 0], "referenceLocator", "libc6"), (["packages", 2], "SPDXID", bill["packages"][1]["SPDXID"]),
                    (["files", 0, "checksums", 0], "checksumValue", "0" * 40), (["files", 0], "fileName", "./other"),
                    (["relationships", 0], "relatedSpdxElement", "SPDXRef-none"), (["relationships", 0], "relationshipType", "LIKES"),
                    ([], "relationships", bill["relationships"][:-1])]
        for place, key, value in mistakes:
            with self.subTest(place=place, key=key):
                self.assertNotEqual(spdx.problems(change(place, key, value), package), [])

    def test_a_package_that_cannot_be_read(self):
        self.repository.write("broken.deb", "no package\n")
        code, output = self.repository.run("sbom.py", "broken.deb")
        self.assertEqual(code, 1, output)
        self.assertIn("broken.deb", output)
        self.assertNotIn("Traceback", output)
        self.assertEqual(self.repository.run("sbom.py")[0], 2)


class Ours(unittest.TestCase):
    def test_manifests_and_pages_name_our_version(self):
        done = subprocess.run([ROOT / "scripts/version.py", "check"], check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, ""))


if __name__ == "__main__":
    unittest.main()
