#!/usr/bin/env python3
"""Writes docs/figures.md from bench/results/*.json:  bench/figures_page.py [--check]

--check writes nothing: exit status 1 where the page is out of date, a figure has no title, or a result names a commit
that is not in the history.
"""
import json
import re
import subprocess
import sys

import figures as fig
from figure_titles import title

ACCURACY_LEFT = 0.01  # a training that is faster on several boards may lose this share of the test images
PAGE = fig.ROOT / "docs" / "figures.md"
HEAD = """# Figures

Generated from `bench/results/` by `bench/figures_page.py`; do not edit. `bench/AREA/run.sh` measures an area again.
Values are medians over runs taken in turn, with the lowest and highest. Targets were set before the measurement: ✓ was
reached, ✗ was missed. A speed-up in training counts only if the network's accuracy is at most one percentage point
below that on one board. Networks and machines are small: read the setting beside a figure before you compare it with
another system.
"""


def number(value):
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def why_not_counted(f, values):
    """Of a speed-up in training whose run is less accurate than that of one board, the reason; else "".

    values: of all figures, by name.
    """
    run = re.fullmatch(r"((.+)_on_\d+\w*)_speedup", f["name"])
    if not run:
        return ""
    name_of_one = re.compile(rf"{re.escape(run[2])}_on_1(_[a-z]+)?_accuracy")
    alone = next((value for name, value in values.items() if name_of_one.fullmatch(name)), None)
    accuracy = values.get(f"{run[1]}_accuracy")
    if alone is None or accuracy is None:
        return "the accuracy of the run or of one board was not measured"
    return "" if accuracy >= alone - ACCURACY_LEFT else f"accuracy {accuracy:.3f}, one board has {alone:.3f}"


def target_of(f, values):
    if f["target"] is None:
        return ""
    wanted = f"{'≥' if f['better'] == 'higher' else '≤'} {f['target']:g}"
    why_not = why_not_counted(f, values) if f["holds"] else ""
    return f"{wanted}, not counted: {why_not}" if why_not else f"{wanted} {'✓' if f['holds'] else '✗'}"


def row(f, values):
    peer = "" if f["peer"] is None else f"{f['peer']}: {number(f['peer_value'])}"
    name = title(f["name"]) + (f" ({f['setting']})" if f.get("setting") else "")
    return f"| {name} | {number(f['value'])} {f['unit']} | {number(f['low'])} – {number(f['high'])} | {target_of(f, values)} | {peer} |"


def section(name, result):
    quick = ", quick" if result["quick"] else ""
    note = f" ({result['commit_note']})" if "commit_note" in result else ""
    head = f"\n## {name}\n\n{result['machine']}; {result['date']}; commit {result['commit']}{note}{quick}\n\n"
    table = ["| figure | median | range | target | peer |", "| --- | --- | --- | --- | --- |"]
    values = {f["name"]: f["value"] for f in result["figures"]}
    return head + "\n".join(table + [row(f, values) for f in result["figures"]]) + "\n"


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
    wrong += [f"bench/results/{name}.json: {f['name']} has no title for people: add one to bench/figure_titles.py"
              for name, result in results.items() for f in result["figures"]
              if "_" in re.sub("`[^`]*`", "", title(f["name"]))]
    if PAGE.read_text() != text:
        wrong.append("docs/figures.md is out of date: write it with bench/figures_page.py")
    print("\n".join(wrong), end="\n" if wrong else "")
    sys.exit(bool(wrong))


main()
