#!/usr/bin/env python3
"""The version of Mangrove, which the line `project(mangrove VERSION ...)` of CMakeLists.txt holds.

    scripts/version.py                           # prints it
    scripts/version.py check                     # says where manifests, pages or CHANGELOG.md name another one
    scripts/version.py release 0.2.0 2027-01-31  # sets it everywhere, and gives what is Unreleased this version and date
    scripts/version.py --dry-run release 0.2.0 2027-01-31   # only says what that would change

Exit status 1 where something is wrong in the repository, 2 where the command line is. A version has three numbers, as
semantic versioning asks for, and nothing else: CMake has no others. scripts/release.sh makes a release.
"""
import datetime
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
NUMBER = r"(?:0|[1-9]\d*)"
VERSION = rf"{NUMBER}\.{NUMBER}\.{NUMBER}"
HELD = re.compile(rf"(?<=^project\(mangrove VERSION )({VERSION})(?=[ )])", re.MULTILINE)

# How files of these folders name the current version. Records of decisions and figures name earlier ones.
NAMING_FILES = ("README.md", "docs/*.md", "deploy/*", "python/mangrove/__init__.py")
MENTION = re.compile(rf"(?:(?<=mangrove:)|(?<=mangrove_)|(?<=mangrove-sim_)|(?<=mangrove-)|(?<=newTag: )|(?<=newTag: \")|"
                     rf"(?<=tag: )|(?<=tag: \")|(?<=appVersion: )|(?<=appVersion: \")|"
                     rf"(?<=__version__ = \"))({VERSION})(?!\d|\.\d)|"
                     rf"(?<![\w.])({VERSION})(?=-(?:amd64|arm64|all)\b)")
CHART = re.compile(rf"(?<=^version: )({VERSION})$", re.MULTILINE)  # of Helm: its own version is ours

UNRELEASED = re.compile(r"^## Unreleased\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
RELEASED = re.compile(rf"^## ({VERSION}) - (\d{{4}}-\d\d-\d\d)$", re.MULTILINE)


class Wrong(Exception):
    """Something in the repository is not as it must be."""


def numbers(version):
    return tuple(int(number) for number in version.split("."))


def read(name):
    return (ROOT / name).read_text()


def current():
    held = HELD.findall(read("CMakeLists.txt"))
    if len(held) != 1:
        raise Wrong("CMakeLists.txt: expected one line project(mangrove VERSION ...)")
    return held[0]


def naming_files():
    done = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", "--", *NAMING_FILES], check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True)
    names = done.stdout.split("\0")
    if done.returncode != 0 or not done.stdout:  # the source archive has no history, or lies in another repository
        files = [*ROOT.glob("README.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("deploy/**/*"),
                 *ROOT.glob("python/mangrove/__init__.py")]
        names = sorted(str(file.relative_to(ROOT)) for file in files if file.is_file())
    return [name for name in names if name and not name.startswith("docs/decisions/") and name != "docs/figures.md"]


def mentions():
    """(file, line, version, where in the text) of each place that names a version of Mangrove."""
    for name in naming_files():
        try:
            text = read(name)
        except (UnicodeDecodeError, FileNotFoundError):
            continue
        found = list(MENTION.finditer(text)) + (list(CHART.finditer(text)) if name.endswith("/Chart.yaml") else [])
        for match in found:
            group = 1 if match[1] else 2
            yield name, text.count("\n", 0, match.start()) + 1, match[group], match.span(group)


def check():
    version = current()
    found = list(mentions())
    wrong = [f"{name}:{line}: {named}, not {version} as CMakeLists.txt says" for name, line, named, _ in found if named != version]
    if not found:
        wrong.append("no manifest and no page names a version")
    released = RELEASED.search(read("CHANGELOG.md"))
    if not released or released[1] != version:
        wrong.append(f"CHANGELOG.md: the last version is {released[1] if released else 'missing'}, not {version} as CMakeLists.txt says")
    if len(re.findall(r"^## Unreleased$", read("CHANGELOG.md"), re.MULTILINE)) != 1:
        wrong.append("CHANGELOG.md: expected one section ## Unreleased")
    if wrong:
        raise Wrong("\n".join(wrong))


def release(version, date, dry_run):
    check()
    changelog = read("CHANGELOG.md")
    unreleased = UNRELEASED.search(changelog)
    if not re.search(r"^- ", unreleased[1], re.MULTILINE):
        raise Wrong("CHANGELOG.md: there is no entry under ## Unreleased")
    old = current()
    spans = {}
    for name, line, _, span in mentions():
        spans.setdefault(name, []).append(span)
        print(f"{name}:{line}: {old} -> {version}")
    print(f"CMakeLists.txt: {old} -> {version}")
    print(f"CHANGELOG.md: {unreleased[1].count(chr(10) + '- ')} entries under Unreleased -> ## {version} - {date}")
    if dry_run:
        return
    for name, places in spans.items():
        text = read(name)
        for start, end in sorted(places, reverse=True):
            text = text[:start] + version + text[end:]
        (ROOT / name).write_text(text)
    (ROOT / "CMakeLists.txt").write_text(HELD.sub(version, read("CMakeLists.txt")))
    heading = f"## Unreleased\n\n## {version} - {date}\n"
    (ROOT / "CHANGELOG.md").write_text(changelog[:unreleased.start()] + heading + unreleased[1] + changelog[unreleased.end():])
    check()


def is_date(text):
    try:
        return datetime.date.fromisoformat(text).isoformat() == text  # there are other forms in ISO 8601
    except ValueError:
        return False


def usage(message):
    print(f"version.py: {message}", file=sys.stderr)
    sys.exit(2)


def main(arguments):
    if "--help" in arguments:
        print(__doc__.strip())
        return
    dry_run = arguments[:1] == ["--dry-run"]
    arguments = arguments[dry_run:]
    if not arguments and not dry_run:
        print(current())
    elif arguments == ["check"] and not dry_run:
        check()
    elif arguments[:1] == ["release"] and len(arguments) == 3:
        version, date = arguments[1:]
        if not re.fullmatch(VERSION, version):
            usage(f"'{version}' is no version: expected three numbers, as in 1.4.0")
        if not is_date(date):
            usage(f"'{date}' is no date: expected one as in 2027-01-31")
        if numbers(version) <= numbers(current()):
            usage(f"{version} is not newer than {current()}, the last version")
        release(version, date, dry_run)
    else:
        usage(f"unknown '{' '.join(arguments)}': expected check, release VERSION DATE, or nothing")


try:
    main(sys.argv[1:])
except Wrong as wrong:
    print(f"version.py: {wrong}", file=sys.stderr)
    sys.exit(1)
