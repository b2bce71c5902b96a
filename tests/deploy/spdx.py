#!/usr/bin/env python3
"""Checks a software bill of materials of scripts/sbom.py against the rules of SPDX 2.3, and against its package.

    spdx.py PACKAGE.deb.spdx.json PACKAGE.deb

The rules are those of https://spdx.github.io/spdx-spec/v2.3/ for the fields that we write; another field is a mistake.
Exit status 1 where one is broken; each is told.
"""
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import tempfile

IDENTIFIER = r"SPDXRef-[a-zA-Z0-9.-]+"
HEX = {"SHA1": 40, "SHA256": 64}
TEXT, TEXTS, FLAG, OBJECT, OBJECTS = "text", "list of texts", "true or false", "object", "list of objects"

# of each element: its fields, with what they hold, and whether they must be there
DOCUMENT = {"spdxVersion": (TEXT, True), "dataLicense": (TEXT, True), "SPDXID": (TEXT, True), "name": (TEXT, True),
            "documentNamespace": (TEXT, True), "creationInfo": (OBJECT, True), "packages": (OBJECTS, True), "files": (OBJECTS, True),
            "hasExtractedLicensingInfos": (OBJECTS, False), "relationships": (OBJECTS, True)}
CREATION = {"created": (TEXT, True), "creators": (TEXTS, True)}
PACKAGE = {"SPDXID": (TEXT, True), "name": (TEXT, True), "downloadLocation": (TEXT, True), "filesAnalyzed": (FLAG, True),
           "versionInfo": (TEXT, False), "packageFileName": (TEXT, False), "supplier": (TEXT, True), "sourceInfo": (TEXT, False),
           "packageVerificationCode": (OBJECT, False), "checksums": (OBJECTS, False), "licenseConcluded": (TEXT, True),
           "licenseDeclared": (TEXT, True), "licenseInfoFromFiles": (TEXTS, False), "copyrightText": (TEXT, True), "summary": (TEXT, False),
           "comment": (TEXT, False), "primaryPackagePurpose": (TEXT, False), "externalRefs": (OBJECTS, True)}
FILE = {"SPDXID": (TEXT, True), "fileName": (TEXT, True), "fileTypes": (TEXTS, True), "checksums": (OBJECTS, True),
        "licenseConcluded": (TEXT, True), "licenseInfoInFiles": (TEXTS, True), "copyrightText": (TEXT, True)}
CHECKSUM = {"algorithm": (TEXT, True), "checksumValue": (TEXT, True)}
REFERENCE = {"referenceCategory": (TEXT, True), "referenceType": (TEXT, True), "referenceLocator": (TEXT, True)}
EXTRACTED = {"licenseId": (TEXT, True), "name": (TEXT, True), "extractedText": (TEXT, True)}
RELATIONSHIP = {"spdxElementId": (TEXT, True), "relationshipType": (TEXT, True), "relatedSpdxElement": (TEXT, True)}

LICENCES = {"Apache-2.0", "MIT", "ISC", "Zlib", "BSD-1-Clause", "BSD-2-Clause", "BSD-3-Clause", "BSD-4-Clause", "BSL-1.0", "MPL-1.1", "MPL-2.0",
            "CC0-1.0", "CC-BY-4.0", "curl", "X11", "OpenSSL", "Unlicense"} | {
                f"{name}-{kind}" for name in ("GPL-1.0", "GPL-2.0", "GPL-3.0", "LGPL-2.0", "LGPL-2.1", "LGPL-3.0", "AGPL-3.0")
                for kind in ("only", "or-later")}
PURL = re.compile(r"pkg:(deb/debian|generic|github/onnx)/([a-z0-9.-]|%[0-9A-F]{2})+(@[A-Za-z0-9.:~%_-]+)?(\?[a-z]+=[a-z0-9.-]+(&[a-z]+=([a-z0-9.-]|%[0-9A-F]{2})+)*)?", re.ASCII)
RELATIONS = {"DESCRIBES", "CONTAINS", "DEPENDS_ON", "STATIC_LINK"}


def holds(value, kind):
    if kind == TEXT:
        return isinstance(value, str) and value != ""
    if kind == TEXTS:
        return isinstance(value, list) and value and all(isinstance(one, str) and one for one in value)
    if kind == FLAG:
        return isinstance(value, bool)
    if kind == OBJECT:
        return isinstance(value, dict)
    return isinstance(value, list) and value and all(isinstance(one, dict) for one in value)


def licences_in(expression):
    """The identifiers in an expression; None where it is none. SPDX, annex D: no operators but AND and OR here."""
    tokens = re.findall(r"[()]|[^\s()]+", expression)
    found, position = [], 0

    def term():
        nonlocal position
        if position < len(tokens) and tokens[position] == "(":
            position += 1
            if not alternatives() or position >= len(tokens) or tokens[position] != ")":
                return False
        elif position < len(tokens) and tokens[position] not in (")", "AND", "OR"):
            found.append(tokens[position])
        else:
            return False
        position += 1
        return True

    def alternatives():
        nonlocal position
        if not term():
            return False
        while position < len(tokens) and tokens[position] in ("AND", "OR"):
            position += 1
            if not term():
                return False
        return True

    return found if alternatives() and position == len(tokens) else None


class Check:
    def __init__(self, document):
        self.document, self.wrong = document, []

    def expect(self, holds_true, what):
        if not holds_true:
            self.wrong.append(what)

    def fields(self, element, allowed, where):
        """Whether it has the fields it must have, of the right kind."""
        before = len(self.wrong)
        for name, (kind, must) in allowed.items():
            if name in element:
                self.expect(holds(element[name], kind), f"{where}: {name} is not a {kind}, or empty")
            elif must:
                self.wrong.append(f"{where}: there is no {name}")
        for name in element:
            self.expect(name in allowed, f"{where}: {name} is unknown")
        return len(self.wrong) == before

    def checksums(self, element, where):
        for checksum in element.get("checksums", []):
            if self.fields(checksum, CHECKSUM, where):
                length = HEX.get(checksum["algorithm"])
                self.expect(length and re.fullmatch(f"[0-9a-f]{{{length}}}", checksum["checksumValue"]), f"{where}: {checksum}")

    def licence(self, element, where):
        extracted = {one.get("licenseId") for one in self.document.get("hasExtractedLicensingInfos", [])}
        for name in ("licenseConcluded", "licenseDeclared"):
            expression = element.get(name, "NOASSERTION")
            if expression != "NOASSERTION":
                found = licences_in(expression)
                self.expect(found is not None, f"{where}: {name} is no expression: {expression}")
                for licence in found or []:
                    self.expect(licence in LICENCES or licence in extracted, f"{where}: {name} has the unknown licence {licence}")

    def package(self, package):
        where = package.get("SPDXID", "a package")
        if not self.fields(package, PACKAGE, where):
            return
        self.checksums(package, where)
        self.licence(package, where)
        self.expect(re.fullmatch(r"(Organization|Person): .+", package["supplier"]), f"{where}: supplier {package['supplier']}")
        self.expect(re.fullmatch(r"NOASSERTION|NONE|https://\S+", package["downloadLocation"]), f"{where}: downloadLocation")
        self.expect(package.get("primaryPackagePurpose", "SOURCE") in ("APPLICATION", "LIBRARY", "SOURCE"), f"{where}: primaryPackagePurpose")
        self.expect(package["filesAnalyzed"] == ("packageVerificationCode" in package), f"{where}: packageVerificationCode")
        for reference in package["externalRefs"]:
            if self.fields(reference, REFERENCE, where):
                kind = reference["referenceCategory"], reference["referenceType"]
                self.expect(kind == ("PACKAGE-MANAGER", "purl"), f"{where}: a reference of the kind {kind}")
                self.expect(PURL.fullmatch(reference["referenceLocator"]), f"{where}: no purl: {reference['referenceLocator']}")

    def identifiers(self):
        document = self.document
        known = [document["SPDXID"]] + [one.get("SPDXID", "") for one in document["packages"] + document["files"]]
        for one in known:
            self.expect(re.fullmatch(IDENTIFIER, one), f"{one}: no identifier")
            self.expect(known.count(one) == 1, f"{one}: there are several of this identifier")
        related = set()
        for relation in document["relationships"]:
            if self.fields(relation, RELATIONSHIP, "a relationship"):
                self.expect(relation["relationshipType"] in RELATIONS, f"{relation['relationshipType']}: an unknown relationship")
                related.add(relation["relatedSpdxElement"])
                for end in (relation["spdxElementId"], relation["relatedSpdxElement"]):
                    self.expect(end in known, f"{end}: a relationship with what is not there")
        for one in known[1:]:
            self.expect(one in related, f"{one}: nothing is related to it")

    def all(self):
        document = self.document
        if not self.fields(document, DOCUMENT, "the document"):
            return self.wrong
        for name, value in (("spdxVersion", "SPDX-2.3"), ("dataLicense", "CC0-1.0"), ("SPDXID", "SPDXRef-DOCUMENT")):
            self.expect(document[name] == value, f"{name} is {document[name]}")
        self.expect(re.fullmatch(r"(https?://|urn:uuid:)[^#\s]+", document["documentNamespace"]), "documentNamespace")
        if self.fields(document["creationInfo"], CREATION, "creationInfo"):
            self.expect(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", document["creationInfo"]["created"]), "created")
            for creator in document["creationInfo"]["creators"]:
                self.expect(re.fullmatch(r"(Organization|Person|Tool): .+", creator), f"creator {creator}")
        for package in document["packages"]:
            self.package(package)
        for file in document["files"]:
            where = file.get("SPDXID", "a file")
            if self.fields(file, FILE, where):
                self.checksums(file, where)
                self.licence(file, where)
                self.expect("SHA1" in [one["algorithm"] for one in file["checksums"]], f"{where}: there is no SHA1")
                self.expect(set(file["fileTypes"]) <= {"BINARY", "DOCUMENTATION", "TEXT"}, f"{where}: fileTypes")
        used = json.dumps(document["packages"])
        for extracted in document.get("hasExtractedLicensingInfos", []):
            if self.fields(extracted, EXTRACTED, "a licence"):
                licence = extracted["licenseId"]
                self.expect(re.fullmatch(r"LicenseRef-[a-zA-Z0-9.-]+", licence), f"{licence}: no identifier of a licence")
                self.expect(licence in used, f"{licence}: nothing has this licence")
        self.identifiers()
        return self.wrong

    def against(self, package):
        """Whether it describes this Debian package."""
        main = next((one for one in self.document["packages"] if one.get("packageFileName") == pathlib.Path(package).name), None)
        if main is None:
            self.wrong.append(f"it does not describe {pathlib.Path(package).name}")
            return self.wrong
        sums = {one["algorithm"]: one["checksumValue"] for one in main["checksums"]}
        self.expect(sums.get("SHA256") == hashlib.sha256(pathlib.Path(package).read_bytes()).hexdigest(), "the checksum of the package")
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["dpkg-deb", "--extract", package, folder], check=True)
            real = {f"./{path.relative_to(folder)}": hashlib.sha1(path.read_bytes()).hexdigest()
                    for path in pathlib.Path(folder).rglob("*") if path.is_file() and not path.is_symlink()}
        listed = {file["fileName"]: next(one["checksumValue"] for one in file["checksums"] if one["algorithm"] == "SHA1")
                  for file in self.document["files"]}
        self.expect(listed == real, f"files: {sorted(set(listed.items()) ^ set(real.items()))}")
        code = hashlib.sha1("".join(sorted(real.values())).encode()).hexdigest()
        self.expect(main["packageVerificationCode"] == {"packageVerificationCodeValue": code}, "packageVerificationCode")
        depends = subprocess.run(["dpkg-deb", "--field", package, "Depends"], check=True, stdout=subprocess.PIPE, text=True).stdout
        needed = {re.match(r"[a-z0-9.+-]+", one.strip())[0] for one in depends.split(",") if one.strip() and "|" not in one}
        by_id = {one["SPDXID"]: one["name"] for one in self.document["packages"]}
        named = {by_id[one["relatedSpdxElement"]] for one in self.document["relationships"] if one["relationshipType"] == "DEPENDS_ON"}
        named |= {name for one in self.document["packages"] for name in re.findall(r"It provides (\S+),", one.get("comment", ""))}
        self.expect(needed <= named, f"the package depends on {sorted(needed - named)}, which are not listed")
        return self.wrong


def problems(document, package):
    check = Check(document)
    return check.all() or check.against(package)


def main():
    if len(sys.argv) != 3:
        print("usage: spdx.py PACKAGE.deb.spdx.json PACKAGE.deb", file=sys.stderr)
        sys.exit(2)
    wrong = problems(json.loads(pathlib.Path(sys.argv[1]).read_text()), sys.argv[2])
    print("\n".join(wrong), end="\n" if wrong else "")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
