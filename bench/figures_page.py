#!/usr/bin/env python3
"""Writes docs/figures.md from bench/results/*.json:  bench/figures_page.py [--check]

--check writes nothing: exit status 1 where the page is out of date, or a result names a commit that is not in the history.
"""
import json
import subprocess
import sys

import figures as fig

PAGE = fig.ROOT / "docs" / "figures.md"
HEAD = """# Figures

Generated from `bench/results/` by `bench/figures_page.py`; do not edit. `bench/AREA/run.sh` measures an area again.
Values are medians over runs taken in turn, with the lowest and highest. Targets were set before the measurement.
Networks and machines are small: read the setting beside a figure before you compare it with another system.
"""


def number(value):
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def row(f):
    target = "" if f["target"] is None else f"{'≥' if f['better'] == 'higher' else '≤'} {f['target']:g} {'✓' if f['holds'] else '✗'}"
    peer = "" if f["peer"] is None else f"{f['peer']}: {number(f['peer_value'])}"
    name = f"`{f['name']}`" + (f": {f['setting']}" if f.get("setting") else "")
    return f"| {name} | {number(f['value'])} {f['unit']} | {number(f['low'])} – {number(f['high'])} | {target} | {peer} |"


def section(name, result):
    quick = ", quick" if result["quick"] else ""
    note = f" ({result['commit_note']})" if "commit_note" in result else ""
    head = f"\n## {name}\n\n{result['machine']}; {result['date']}; commit {result['commit']}{note}{quick}\n\n"
    table = ["| figure | median | range | target | peer |", "| --- | --- | --- | --- | --- |"]
    return head + "\n".join(table + [row(f) for f in result["figures"]]) + "\n"


def is_in_history(commit):
    """Of the commit that a result names; a "+" behind it stands for changes that were not committed."""
    found = subprocess.run(["git", "-C", str(fig.ROOT), "cat-file", "-e", f"{commit.rstrip('+')}^{{commit}}"], check=False,
                           stderr=subprocess.DEVNULL)
    return found.returncode == 0


def main():
    results = {path.stem: json.loads(path.read_text()) for path in sorted((fig.ROOT / "bench" / "results").glob("*.json"))}
    text = HEAD + "".join(section(name, result) for name, result in results.items())
    if sys.argv[1:] != ["--check"]:
        PAGE.write_text(text)
        return
    in_git = (fig.ROOT / ".git").exists()
    wrong = [f"bench/results/{name}.json: commit {result['commit']} is not in the history"
             for name, result in results.items() if in_git and not is_in_history(result["commit"])]
    if PAGE.read_text() != text:
        wrong.append("docs/figures.md is out of date: write it with bench/figures_page.py")
    print("\n".join(wrong), end="\n" if wrong else "")
    sys.exit(bool(wrong))


main()
