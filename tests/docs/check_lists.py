#!/usr/bin/env python3
"""Compares what pages repeat with what the program says:  check_lists.py MANGROVE

Every command of `mangrove --help` is shown on some page. Every key of the JSON that some short runs print, and that they write
to metrics.jsonl, stands in backquotes in docs/json.md.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WORLDS = ROOT / "examples" / "worlds"
TRAIN = ["--model", "lenet", "--data", "glyphs", "--limit", "512", "--local", "2"]
NETWORK = ["--model", "run/model.onnx", "--data", "glyphs", "--limit", "200"]
# In their order, in one folder.
RUNS = [
    ["train", *TRAIN, "--run-dir", "run"],
    ["train", *TRAIN, "--strategy", "federated", "--codec", "int8", "--run-dir", "federated"],
    ["train", *TRAIN, "--privacy", "epsilon=8,delta=0.001", "--run-dir", "private"],
    ["train", *TRAIN, "--strategy", "one_f_one_b", "--batch", "32", "--run-dir", "pipeline"],
    ["eval", "--model", "run/model.onnx", "--data", "glyphs"],
    ["infer", *NETWORK, "--local", "2", "--stages", "2", "--run-dir", "infer"],
    ["infer", *NETWORK, "--local", "2", "--strategy", "single", "--run-dir", "single"],
    ["infer", "--tiers", str(ROOT / "tests" / "data" / "tiers.yaml"), "--data", "glyphs", "--limit", "200", "--run-dir", "tiers"],
    ["quantize", "run/model.onnx", "--calibrate", "glyphs", "--samples", "32", "-o", "int8.onnx"],
    ["compress", "run/model.onnx", "--data", "glyphs", "--limit", "256", "--recipe", "deep_compression"],
    ["bench", "--seconds", "4", "--output", "bench.json"],
    ["profile", "lenet", "--output", "lenet.yaml"],
    ["plan", "--model", "lenet", "--profile", "lenet.yaml", "--devices", str(ROOT / "examples" / "plan" / "boards.yaml")],
    ["plan", "--model", "lenet", "--profile", "lenet.yaml", "--devices", str(ROOT / "examples" / "plan" / "boards.yaml"), "--tiles"],
    ["place", str(ROOT / "examples" / "placement" / "tomato-farm.yaml"), "--compare"],
    ["sim", str(WORLDS / "boards.yaml"), str(WORLDS / "job.yaml"), "--limit", "256", "--run-dir", "sim"],
    ["model", "list"],
    ["model", "show", "lenet", "--train"],
    ["data", "list"],
    ["data", "info", "glyphs"],
]


def run(program, arguments, folder):
    done = subprocess.run([program, *arguments], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300, check=False)
    if done.returncode != 0:
        sys.exit(f"mangrove {' '.join(arguments)}: exit status {done.returncode}\n{done.stderr[-1000:]}")
    return done.stdout


def keys_of(value):
    """All keys in it; those of objects that map names (of nodes, classes, peers) to something are left out."""
    if isinstance(value, list):
        return set().union(*map(keys_of, value)) if value else set()
    if not isinstance(value, dict):
        return set()
    return {key for key in value if re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", key)} | keys_of(list(value.values()))


def undocumented_keys(program):
    page = (ROOT / "docs" / "json.md").read_text()
    known = set(re.findall(r"[a-z][a-z0-9_]*", " ".join(re.findall(r"`([^`]+)`", page))))
    missing = {}
    with tempfile.TemporaryDirectory() as folder:
        for arguments in RUNS:
            output = run(program, [*arguments, "--json", "--quiet"], folder)
            for key in keys_of(json.loads(output)) - known:
                missing.setdefault(key, f"mangrove {' '.join(arguments[:2])}")
        for metrics in sorted(pathlib.Path(folder).glob("*/metrics.jsonl")):
            for key in keys_of([json.loads(line) for line in metrics.read_text().splitlines()]) - known:
                missing.setdefault(key, f"metrics.jsonl of {metrics.parent.name}")
    return [f"docs/json.md: no key `{key}`, which {where} has" for key, where in sorted(missing.items())]


def commands(program):
    text = run(program, ["--help"], ".")
    return re.findall(r"^  ([a-z][a-z-]*) ", text[text.index("ubcommands:") if "ubcommands:" in text else 0:], re.MULTILINE)


def commands_without_page(program):
    pages = " ".join(page.read_text() for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))])
    return [f"docs: no page shows `mangrove {command}`" for command in commands(program)
            if command != "mangrove" and not re.search(rf"mangrove {command}\b", pages)]


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    wrong = commands_without_page(program) + undocumented_keys(program)
    print("\n".join(wrong), end="\n" if wrong else "")
    sys.exit(bool(wrong))


main()
