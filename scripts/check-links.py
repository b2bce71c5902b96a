#!/usr/bin/env python3
"""Checks the Markdown pages of the repository: every link to a file or to a heading must lead somewhere.

    scripts/check-links.py [PAGE...]      # default: every *.md that git knows

Links to other sites are not followed. Exit status 1 where a link is broken; each is told with file and line.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINK = re.compile(r"(?<!`)\[[^\]\[]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^\s*(```|~~~)")


def lines_outside_code(text):
    """(number, line) of what is not in a fenced block."""
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        if FENCE.match(line):
            inside = not inside
        elif not inside:
            yield number, line


def anchor(heading):
    """As GitHub makes it."""
    heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", heading).replace(" ", "-")


def anchors(page):
    found = set()
    for _, line in lines_outside_code(page.read_text()):
        if match := re.match(r"#+\s+(.*?)\s*#*$", line):
            name, count = anchor(match[1]), 0
            while (name if not count else f"{name}-{count}") in found:
                count += 1
            found.add(name if not count else f"{name}-{count}")
        found.update(re.findall(r'<a (?:id|name)="([^"]+)"', line))
    return found


def broken(page):
    for number, line in lines_outside_code(page.read_text()):
        for target in LINK.findall(re.sub(r"`[^`]*`", "``", line)):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, heading = target.partition("#")
            file = (page.parent / path).resolve() if path else page
            if not file.exists():
                yield number, target, "no such file"
            elif heading and file.suffix == ".md" and heading not in anchors(file):
                yield number, target, "no such heading"


def pages():
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.md"], check=False,
                            stdout=subprocess.PIPE, text=True).stdout
    known = [ROOT / name for name in listed.split("\0") if name]
    return [page for page in known if page.exists()] or [ROOT / "README.md", *ROOT.glob("docs/**/*.md")]


def main():
    chosen = [pathlib.Path(name).resolve() for name in sys.argv[1:]] or pages()
    wrong = [f"{page.relative_to(ROOT)}:{number}: {target}: {why}" for page in chosen for number, target, why in broken(page)]
    print("\n".join(wrong), end="\n" if wrong else "")
    sys.exit(bool(wrong))


main()
