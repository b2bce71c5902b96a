#!/usr/bin/env python3
"""Writes a software bill of materials for a Debian package of Mangrove, as SPDX 2.3 in JSON.

    scripts/sbom.py build/release/mangrove_0.1.0_amd64.deb > mangrove_0.1.0_amd64.deb.spdx.json
    scripts/sbom.py --build build/release PACKAGE.deb                       # also what was compiled into the programs
    scripts/sbom.py --build build/arm64 --root build/arm64-sysroot PACKAGE.deb   # linked with libraries of that folder

It lists the package and its files with checksums; the Debian packages whose shared libraries the programs in it load
(DEPENDS_ON), with their versions as they were here when it was linked; other packages that it depends on (DEPENDS_ON);
and those whose headers or static libraries were compiled in, and that have no shared library (STATIC_LINK). Licences of
Debian packages are those of their copyright files where programs can read these, and NOASSERTION elsewhere.

--build FOLDER   where ninja has built the programs: its log knows every header that was read
--root FOLDER    the root of the Debian system that was linked with, with its list of packages. Default: /
--date SECONDS   when the bill was made, in seconds since 1970. Default: $SOURCE_DATE_EPOCH, or now

The same package, libraries and date give the same bytes. Exit status 1 where a package cannot be read, 2 for a wrong
command line.
"""
import argparse
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import urllib.parse
import uuid

AUTHORS = "Organization: The Mangrove authors"
LICENSE = "Apache-2.0"
COPYRIGHT = "2026 The Mangrove authors"
NOT_SAID = "NOASSERTION"

# Names of licences in Debian's copyright files, in lower case, and in SPDX's list. A + after a version comes before.
NAMES = {
    "apache-2.0": "Apache-2.0", "apache-2": "Apache-2.0", "expat": "MIT", "mit": "MIT", "isc": "ISC", "zlib": "Zlib",
    "bsd-2-clause": "BSD-2-Clause", "bsd-3-clause": "BSD-3-Clause", "bsd-4-clause": "BSD-4-Clause", "boost-1.0": "BSL-1.0",
    "bsl-1.0": "BSL-1.0", "mpl-2.0": "MPL-2.0", "mpl-2": "MPL-2.0", "mpl-1.1": "MPL-1.1", "cc0-1.0": "CC0-1.0", "cc-by-4.0": "CC-BY-4.0",
    "curl": "curl", "x11": "X11", "openssl": "OpenSSL", "unlicense": "Unlicense", "bsd-1-clause": "BSD-1-Clause",
}
GNU = re.compile(r"(l?gpl|agpl|gfdl)-(\d(?:\.\d)?)(\+)?")

# Sources of others that are in this repository.
BUNDLED = ({"name": "onnx", "versionInfo": "1.12.0", "licenseDeclared": "Apache-2.0",
            "copyrightText": "Copyright (c) ONNX Project Contributors", "supplier": "Organization: ONNX Project",
            "downloadLocation": "https://github.com/onnx/onnx/archive/refs/tags/v1.12.0.tar.gz",
            "purl": "pkg:github/onnx/onnx@v1.12.0", "comment": "mangrove/graph/onnx.proto has a part of its messages."},)

# Declarations of the kernel and of the C library, of which nothing is compiled in.
ONLY_DECLARATIONS = {"linux", "glibc"}


class Unreadable(Exception):
    """A package or a folder that cannot be used."""


def output_of(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise Unreadable(f"{' '.join(map(str, command))}: {done.stderr.strip()}")
    return done.stdout


class Debian:
    """The Debian packages below a root folder."""

    def __init__(self, root):
        self.root = pathlib.Path(root).resolve()
        self.query = ["dpkg-query", f"--admindir={self.root}/var/lib/dpkg"]
        listed = output_of(*self.query, "-W", "-f", "${db:Status-Status}\t${Package}\t${Version}\t${Architecture}\t${source:Package}\t${source:Version}\t${Provides}\n")
        self.packages = {}  # by name; of several architectures any: versions are the same
        for line in listed.splitlines():
            status, name, version, architecture, source, source_version, provides = line.split("\t")
            if status != "installed":
                continue
            self.packages[name] = {"name": name, "version": version, "architecture": architecture, "source": source,
                                   "source_version": source_version,
                                   "provides": [one.split()[0] for one in provides.split(",") if one.strip()]}
        if not self.packages:
            raise Unreadable(f"{self.root}/var/lib/dpkg lists no packages")

    def owners(self, paths):
        """{path: name of the package}, of paths from the root; without those that no package has."""
        found = {}
        paths = sorted(paths)
        for start in range(0, len(paths), 1000):
            some = paths[start:start + 1000]
            done = subprocess.run([*self.query, "-S", *some], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
            for line in done.stdout.splitlines():
                packages, separator, path = line.partition(": ")
                if separator and not packages.startswith("diversion"):
                    found[path] = packages.split(",")[0].split(":")[0]
        return found

    def owner_of_library(self, name):
        """The package that has the shared library, from its name in a program."""
        folders = sorted(self.root.glob("lib/*-linux-gnu")) + sorted(self.root.glob("usr/lib/*-linux-gnu")) + \
            [self.root / "lib", self.root / "usr/lib", self.root / "lib64"]
        for folder in folders:
            file = folder / name
            if not file.exists():
                continue
            inside = "/" + str(file.relative_to(self.root))
            real = "/" + str(file.resolve().relative_to(self.root))
            candidates = {inside, real}
            for path in (inside, real):  # files that Debian packages have in /lib are in /usr/lib
                candidates.add(path[4:] if path.startswith("/usr/lib") else "/usr" + path)
            owners = self.owners(candidates)
            if owners:
                return owners.get(inside) or sorted(owners.values())[0]
        return None

    def copyright(self, package):
        file = self.root / "usr/share/doc" / package / "copyright"
        try:
            return file.read_text(errors="replace")
        except OSError:
            return ""


def stanzas(text):
    """The paragraphs of a file in the form of Debian's control files, as {key in lower case: value}."""
    found = []
    for paragraph in re.split(r"\n[ \t]*\n(?=\S)", text.strip("\n")):
        fields, key = {}, None
        for line in paragraph.splitlines():
            if line.startswith("#"):
                continue
            begin = re.match(r"([A-Za-z][\w-]*):[ \t]*(.*)", line)
            if begin:
                key = begin[1].lower()
                fields[key] = begin[2]
            elif key and line[:1] in (" ", "\t"):
                fields[key] += "\n" + line[1:]
            elif line.strip():
                return found
        found.append(fields)
    return found


class Licences:
    """Licences of Debian packages in SPDX's words, and the texts of those that have no word there."""

    def __init__(self):
        self.texts = {}  # of LicenseRef-...

    def of_one(self, name, source, texts, whole):
        name = name.strip().strip("()")
        key = name.lower()
        if key in NAMES:
            return NAMES[key]
        if gnu := GNU.fullmatch(key):
            version = gnu[2] if "." in gnu[2] else gnu[2] + ".0"
            if (gnu[1], version) in (("gpl", "1.0"), ("gpl", "2.0"), ("gpl", "3.0"), ("lgpl", "2.0"), ("lgpl", "2.1"), ("lgpl", "3.0"),
                                     ("agpl", "3.0")):
                return f"{gnu[1].upper()}-{version}-{'or-later' if gnu[3] else 'only'}"
        reference = "LicenseRef-" + re.sub(r"[^A-Za-z0-9.-]+", "-", f"{source}-{name}".replace("+", "plus")).strip("-")
        self.texts.setdefault(reference, (name, texts.get(key) or whole))
        return reference

    def of(self, source, text):
        """An expression, or NOASSERTION."""
        if not re.match(r"\s*Format(-Specification)?:\s*\S*(copyright-format|dep5|DEP5)", text, re.IGNORECASE):
            return NOT_SAID
        parts = stanzas(text)
        texts = {}
        for part in parts:
            name, _, body = part.get("license", "").partition("\n")
            if body.strip():
                texts.setdefault(name.strip().lower(), body)
        expressions = []
        for part in parts:
            name = part.get("license", "").partition("\n")[0].strip()
            files = part.get("files", "").split()
            if not name or not files or all(file.startswith("debian/") for file in files):
                continue
            clauses = []
            for clause in re.split(r"\s*,\s*and\s+", name):
                atoms = re.split(r"\s*,?\s+(and|or)\s+|\s*,\s*", clause, flags=re.IGNORECASE)
                clauses.append(" ".join((atom or "and").upper() if (atom or "and").lower() in ("and", "or")
                                        else self.of_one(atom, source, texts, text) for atom in atoms))
            expression = " AND ".join(f"({clause})" if " OR " in clause and len(clauses) > 1 else clause for clause in clauses)
            if expression not in expressions:
                expressions.append(expression)
        if not expressions:
            return NOT_SAID
        single = len(expressions) == 1
        return " AND ".join(f"({e})" if " OR " in e and not single else e for e in expressions)


def checksums(content):
    return [{"algorithm": "SHA1", "checksumValue": hashlib.sha1(content).hexdigest()},
            {"algorithm": "SHA256", "checksumValue": hashlib.sha256(content).hexdigest()}]


def identifier(*words):
    return "SPDXRef-" + "-".join(re.sub(r"[^A-Za-z0-9.]+", "-", word.replace("+", "plus")).strip("-") for word in words)


def needed(file):
    """The shared libraries that a program or a library names."""
    return re.findall(r"\(NEEDED\).*\[(.+)\]", output_of("readelf", "--wide", "-d", file))


def made_of(build, program):
    """The files that ninja makes a program of, and the program, as its log names them."""
    found, new = set(), {f"bin/{program}"}
    while new:
        found |= new
        next_ones = set()
        for line in output_of("ninja", "-C", build, "-t", "query", *sorted(new)).splitlines():
            if match := re.match(r"    (?:\| )?([^|\s].*)$", line):  # after || are those that only have to be made before
                if is_input:
                    next_ones.add(match[1])
            elif line.startswith("  "):
                is_input = line.startswith("  input:")
        new = {file for file in next_ones - found if file.endswith((".o", ".a", ".gch"))}
        found |= {file for file in next_ones if file.startswith("/")}
    return found


def compiled_in(build, program, debian):
    """The Debian packages with the headers and static libraries that a program of the build folder was made of."""
    build = pathlib.Path(build).resolve()
    target = f"bin/{program}"
    inputs = made_of(build, program)
    read, is_input = set(), False
    for line in output_of("ninja", "-C", build, "-t", "deps").splitlines():
        if line[:1] not in (" ", ""):
            is_input = line.split(":")[0] in inputs
        elif is_input and line.strip():
            read.add(line.strip())
    read |= {file for file in inputs if file.endswith(".a")}
    paths = set()
    for file in read:
        path = pathlib.Path(os.path.normpath(build / file))
        if build not in path.parents and debian.root in path.parents:
            paths.add("/" + str(path.relative_to(debian.root)))
    if not paths:
        raise Unreadable(f"{build}: ninja's log names no header of a Debian package for {target}")
    return set(debian.owners(paths).values())


class Bill:
    """The document, while it is written."""

    def __init__(self, file, debian, date):
        self.file, self.debian, self.licences = pathlib.Path(file), debian, Licences()
        self.control = stanzas(output_of("dpkg-deb", "--field", file))[0]
        self.name, self.version, self.architecture = (self.control[key] for key in ("package", "version", "architecture"))
        self.packages, self.files, self.relations, self.date = [], [], [], date
        self.main = identifier("Package", self.name)

    def relate(self, one, relation, other):
        self.relations.append({"spdxElementId": one, "relationshipType": relation, "relatedSpdxElement": other})

    def add_package(self, folder):
        content = self.file.read_bytes()
        programs = []
        for path in sorted(file for file in pathlib.Path(folder).rglob("*") if file.is_file() and not file.is_symlink()):
            name, data = str(path.relative_to(folder)), path.read_bytes()
            is_program = data[:4] == b"\x7fELF"
            programs += [path] if is_program else []
            kind = "BINARY" if is_program else "DOCUMENTATION" if name.startswith("usr/share/") else "TEXT"
            self.files.append({"SPDXID": identifier("File", name), "fileName": f"./{name}", "fileTypes": [kind], "checksums": checksums(data),
                               "licenseConcluded": LICENSE, "licenseInfoInFiles": [NOT_SAID], "copyrightText": NOT_SAID})
            self.relate(self.main, "CONTAINS", self.files[-1]["SPDXID"])
        code = hashlib.sha1("".join(sorted(file["checksums"][0]["checksumValue"] for file in self.files)).encode()).hexdigest()
        self.packages.append({
            "SPDXID": self.main, "name": self.name, "versionInfo": self.version, "packageFileName": self.file.name,
            "supplier": AUTHORS, "downloadLocation": NOT_SAID, "filesAnalyzed": True,
            "packageVerificationCode": {"packageVerificationCodeValue": code}, "checksums": checksums(content),
            "licenseConcluded": LICENSE, "licenseDeclared": LICENSE, "licenseInfoFromFiles": [NOT_SAID], "copyrightText": COPYRIGHT,
            "summary": self.control["description"].splitlines()[0], "primaryPackagePurpose": "APPLICATION",
            "externalRefs": [reference(f"pkg:generic/{self.name}@{quoted(self.version)}?arch={self.architecture}")]})
        return programs

    def add_debian(self, name, relation):
        known = self.debian.packages.get(name)
        entry = {"SPDXID": identifier("Package", "deb", name), "name": name}
        text = self.debian.copyright(name) if known else ""
        purl = f"pkg:deb/debian/{quoted(name)}"
        if known:
            entry["versionInfo"] = known["version"]
            purl += f"@{quoted(known['version'])}?arch={known['architecture']}&distro=debian-12"
            if known["source"] != name:
                purl += f"&upstream={quoted(known['source'])}"
            entry["sourceInfo"] = f"built from the Debian source package {known['source']} {known['source_version']}"
        entry.update({"supplier": "Organization: Debian", "downloadLocation": NOT_SAID, "filesAnalyzed": False,
                      "licenseConcluded": NOT_SAID, "licenseDeclared": self.licences.of(known["source"], text) if known else NOT_SAID,
                      "copyrightText": NOT_SAID, "primaryPackagePurpose": "LIBRARY", "externalRefs": [reference(purl)]})
        self.packages.append(entry)
        self.relate(self.main, relation, entry["SPDXID"])

    def add_comment(self, name, comment):
        entry = next(package for package in self.packages if package["name"] == name)
        entry["comment"] = " ".join([*([entry["comment"]] if "comment" in entry else []), comment])

    def add_other(self, name, version):
        """A package that is no library, of which only the name is certain here."""
        entry = {"SPDXID": identifier("Package", "deb", name), "name": name}
        own = name.startswith("mangrove")
        purl = f"pkg:{'generic' if own else 'deb/debian'}/{quoted(name)}" + (f"@{quoted(version)}" if version else "")
        if version:
            entry["versionInfo"] = version
        entry.update({"supplier": AUTHORS if own else "Organization: Debian", "downloadLocation": NOT_SAID, "filesAnalyzed": False,
                      "licenseConcluded": NOT_SAID, "licenseDeclared": LICENSE if own else NOT_SAID, "copyrightText": NOT_SAID,
                      "externalRefs": [reference(purl)]})
        self.packages.append(entry)
        self.relate(self.main, "DEPENDS_ON", entry["SPDXID"])

    def add_bundled(self):
        for bundled in BUNDLED:
            entry = {"SPDXID": identifier("Package", "source", bundled["name"]), "filesAnalyzed": False, "licenseConcluded": NOT_SAID,
                     "primaryPackagePurpose": "SOURCE", "externalRefs": [reference(bundled["purl"])],
                     **{key: value for key, value in bundled.items() if key != "purl"}}
            self.packages.append(entry)
            self.relate(self.main, "STATIC_LINK", entry["SPDXID"])

    def document(self):
        self.relate("SPDXRef-DOCUMENT", "DESCRIBES", self.main)
        document = {
            "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": self.file.name,
            "documentNamespace": "",
            "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.date)),
                             "creators": [AUTHORS, f"Tool: mangrove-sbom.py-{self.version}"]},
            "packages": self.packages, "files": self.files}
        if self.licences.texts:
            document["hasExtractedLicensingInfos"] = [{"licenseId": licence, "name": name, "extractedText": text.strip()}
                                                      for licence, (name, text) in sorted(self.licences.texts.items())]
        document["relationships"] = self.relations
        ids = [entry["SPDXID"] for entry in self.packages + self.files]
        assert len(ids) == len(set(ids)), ids
        document["documentNamespace"] = f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(document))}"  # of this content
        return document


def quoted(text):
    return urllib.parse.quote(text, safe=":~")


def reference(purl):
    return {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}


def bill(file, build, root, date):
    debian = Debian(root)
    written = Bill(file, debian, date)
    with tempfile.TemporaryDirectory() as folder:
        output_of("dpkg-deb", "--extract", file, folder)
        programs = written.add_package(folder)
        libraries = {library for program in programs for library in needed(program)}
    loaded = {}
    for library in sorted(libraries):
        owner = debian.owner_of_library(library)
        if owner is None:
            raise Unreadable(f"no Debian package below {debian.root} has {library}, which {file} loads")
        loaded.setdefault(owner, []).append(library)
    for name in sorted(loaded):
        written.add_debian(name, "DEPENDS_ON")
    for relation in written.control.get("depends", "").split(","):
        match = re.match(r"\s*([a-z0-9][a-z0-9+.-]+)(?::\w+)?\s*(?:\(=\s*([^)]+)\))?", relation)
        if not match or match[1] in loaded:
            continue
        provider = next((name for name in sorted(loaded) if match[1] in debian.packages[name]["provides"]), None)
        if provider:
            written.add_comment(provider, f"It provides {match[1]}, which the package depends on.")
        else:
            written.add_other(match[1], match[2])
    if build:
        have_shared = {debian.packages[name]["source"] for name in loaded} | ONLY_DECLARATIONS
        found = {name for program in programs for name in compiled_in(build, program.name, debian)}
        for name in sorted(found):
            if debian.packages[name]["source"] not in have_shared:
                written.add_debian(name, "STATIC_LINK")
        written.add_bundled()
    return written.document()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     usage="sbom.py [--build FOLDER] [--root FOLDER] [--date SECONDS] PACKAGE.deb")
    parser.add_argument("--build", metavar="FOLDER", help=argparse.SUPPRESS)
    parser.add_argument("--root", metavar="FOLDER", default="/", help=argparse.SUPPRESS)
    parser.add_argument("--date", metavar="SECONDS", type=int, default=int(os.environ.get("SOURCE_DATE_EPOCH") or time.time()),
                        help=argparse.SUPPRESS)
    parser.add_argument("package", metavar="PACKAGE.deb", help=argparse.SUPPRESS)
    flags = parser.parse_args()
    try:
        document = bill(flags.package, flags.build, flags.root, flags.date)
    except (Unreadable, OSError) as wrong:
        print(f"sbom.py: {wrong}", file=sys.stderr)
        sys.exit(1)
    json.dump(document, sys.stdout, indent=2, ensure_ascii=False)
    print()


main()
