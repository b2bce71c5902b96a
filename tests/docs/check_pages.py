#!/usr/bin/env python3
"""Checks that every page of a capability has the order that docs/README.md promises:  check_pages.py

The pages are those that the first table of docs/README.md links to. Each of them says what the capability is for, and
then has the sections of SECTIONS in this order, each once; sections of its own may stand between them. "Try it" has a
command and, unless all of its commands are marked as not run, what they print. "How it works" has a picture: drawn in
text, an image, or both.
"""
import pathlib
import re
import sys

DOCS = pathlib.Path(__file__).resolve().parent.parent.parent / "docs"
SECTIONS = ("Try it", "How it works", "Limits", "Measured")
COMMANDS = ("sh", "python", "py")
OUTPUT = ("", "text")
DRAWN = re.compile(r"[│┤├┐└┘┌─►◄▲▼▁▇]|[-=]>")


def capability_pages():
    """The names of the files, in the order of the table."""
    table = re.search(r"^\| I want to \|.*\n\| --- .*\n((?:\|.*\n)+)", (DOCS / "README.md").read_text(), re.MULTILINE)
    if not table:
        sys.exit("docs/README.md: no table that begins with 'I want to'")
    return list(dict.fromkeys(re.findall(r"\]\(([\w-]+\.md)(?:#[\w-]+)?\)", table[1])))


def sections_of(text):
    """[(heading, body)] of the second level; the first heading is "" for what stands before them."""
    outside = re.sub(r"^ *```.*?^ *```", lambda block: re.sub("^#", " ", block[0], flags=re.MULTILINE), text,
                     flags=re.MULTILINE | re.DOTALL)
    parts = re.split(r"^## (.+)$", outside, flags=re.MULTILINE)
    return list(zip(["", *parts[1::2]], parts[::2]))


def blocks_of(body):
    """[(whether it is marked as not run, language, text)] of the fenced blocks."""
    return re.findall(r"^(<!-- not run: [^\n]*\n+)? *```(\w*)\n(.*?)^ *```", body, re.MULTILINE | re.DOTALL)


def problems_of(text):
    """What is missing on a page, as sentences."""
    sections = sections_of(text)
    headings = [heading for heading, _ in sections if heading in SECTIONS]
    if headings != list(SECTIONS):
        return [f"has the sections {', '.join(headings) or 'none'} of those that each page has; "
                f"expected {', '.join(SECTIONS)}, in this order"]
    bodies = dict(sections)
    problems = []
    purpose = re.sub(r"```.*?```", "", bodies[""], flags=re.DOTALL).partition("\n")[2]  # without the title
    if len(purpose.split()) < 10:
        problems.append("does not say, before the first section, what it is for")
    tried = blocks_of(bodies["Try it"])
    if not any(language in COMMANDS for _, language, _ in tried):
        problems.append("'Try it' has no command")
    runs_here = any(language in COMMANDS and not is_skipped for is_skipped, language, _ in tried)
    if runs_here and not any(language in OUTPUT for _, language, _ in tried):
        problems.append("'Try it' does not show what its commands print")
    how = bodies["How it works"]
    if "![" not in how and not any(language in OUTPUT and DRAWN.search(block) for _, language, block in blocks_of(how)):
        problems.append("'How it works' has no picture")
    problems += [f"'{heading}' is empty" for heading in ("Limits", "Measured") if not bodies[heading].strip()]
    return problems


def main():
    pages = capability_pages()
    wrong = [f"docs/{page}: {problem}" for page in pages for problem in problems_of((DOCS / page).read_text())]
    print("\n".join(wrong) if wrong else f"{len(pages)} pages have the order of docs/README.md")
    sys.exit(bool(wrong))


main()
