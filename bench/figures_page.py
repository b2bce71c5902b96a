#!/usr/bin/env python3
"""Writes docs/figures.md from bench/results/*.json:  bench/figures_page.py"""
import json

import figures as fig

HEAD = """# Figures

Generated from `bench/results/` by `bench/figures_page.py`; do not edit. Each area's numbers come from `bench/AREA/run.sh`, which anyone can run.
Values are medians over runs taken in turn, with the lowest and highest.
"""


def number(value):
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def row(f):
    goal = "" if f["goal"] is None else f"{'≥' if f['better'] == 'higher' else '≤'} {f['goal']:g} {'✓' if f['holds'] else '✗'}"
    peer = "" if f["peer"] is None else f"{f['peer']}: {number(f['peer_value'])}"
    return f"| `{f['name']}` | {number(f['value'])} {f['unit']} | {number(f['low'])} – {number(f['high'])} | {goal} | {peer} |"


def section(name, result):
    quick = ", quick" if result["quick"] else ""
    head = f"\n## {name}\n\n{result['machine']}; {result['date']}; commit {result['commit']}{quick}\n\n"
    return head + "\n".join(["| figure | median | range | goal | peer |", "| --- | --- | --- | --- | --- |"] + [row(f) for f in result["figures"]]) + "\n"


def main():
    results = sorted((fig.ROOT / "bench" / "results").glob("*.json"))
    (fig.ROOT / "docs" / "figures.md").write_text(
        HEAD + "".join(section(path.stem, json.loads(path.read_text())) for path in results))


main()
