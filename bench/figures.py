"""What every bench/<area>/measure.py needs: running programs that print JSON, medians and ratios, and the result file.

The result file is {"area", "machine", "commit", "date", "quick", "figures": [...]}; a figure has the keys of figure(). Where the commit
is not the one that was measured, "commit_note" says so.
"""
import argparse
import datetime
import json
import pathlib
import statistics
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def arguments(area, description):
    """--quick and --out, the same for every area."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="coarser, in under a minute")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "bench" / "results" / f"{area}.json")
    return parser


def part_arguments(area, description, parts):
    """The same for every area whose measurements are in parts, name -> function of the arguments that gives figures."""
    parser = arguments(area, description)
    parser.add_argument("program", help="mangrove")
    parser.add_argument("--only", choices=parts, help="one part")
    parser.add_argument("--cifar10", default="cifar10", help="the data set's name, e.g. cifar10-lossless")
    return parser


def publish_parts(area, args, parts):
    """Measures all of them, or the one that is asked for."""
    figures = [figure for name, measure in parts.items() if args.only in (None, name) for figure in measure(args)]
    publish(area, args.quick, figures, args.out)


def run_json(command, timeout=600):
    """The last line that the command prints, parsed. Its failure is ours."""
    done = subprocess.run([str(part) for part in command], check=True, stdout=subprocess.PIPE, text=True, timeout=timeout)
    return json.loads(done.stdout.strip().splitlines()[-1])


def train(program, model, data, *more):
    """One run of `mangrove train`, as the object that it prints; under "validations" the lines of its epochs."""
    with tempfile.TemporaryDirectory() as folder:
        run = pathlib.Path(folder) / "run"
        command = [program, "train", "--model", model, "--data", data, "--run-dir", run, "--json", "--quiet", *more]
        result = run_json(command, timeout=7200)
        lines = map(json.loads, (run / "metrics.jsonl").read_text().splitlines())
        return {**result, "validations": [line for line in lines if line.get("kind") == "epoch"]}


def in_turn(commands, rounds):
    """{name: [result of each round]}: A B C A B C ..., so that a change of the machine's speed meets all of them."""
    results = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            results[name].append(run_json(command))
    return results


def things(count, one):
    """1 epoch, 20 epochs."""
    return f"{count:,} {one}" + ("" if count == 1 else "s")


def column(results, key):
    return [result[key] for result in results]


def ratios(ours, theirs):
    """Of neighbouring runs."""
    return [a / b for a, b in zip(ours, theirs)]


def figure(name, values, unit, target=None, better="higher", peer=None, peer_values=None, setting=None):
    """Median of `values` with its spread; `holds` is null where there is no target. `setting`: what a reader must know beside it."""
    value = statistics.median(values)
    holds = None if target is None else (value >= target if better == "higher" else value <= target)
    return {"name": name, "value": round(value, 3), "low": round(min(values), 3), "high": round(max(values), 3),
            "unit": unit, "target": target, "better": better, "peer": peer,
            "peer_value": None if peer_values is None else round(statistics.median(peer_values), 3), "holds": holds, **({"setting": setting} if setting else {})}


def machine():
    with open("/proc/cpuinfo") as info:
        lines = info.read().splitlines()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith(("model name", "Model"))]
    cores = sum(line.startswith("processor") for line in lines)
    return f"{names[0] if names else 'unknown processor'}, {cores} cores"


def commit():
    """Of the working tree; "+" behind it where tracked files differ from it."""
    def git(*args):
        return subprocess.run(["git", "-C", str(ROOT), *args], stdout=subprocess.PIPE, text=True, check=False).stdout.strip()
    return git("rev-parse", "--short", "HEAD") + ("+" if git("status", "--porcelain", "--untracked-files=no") else "")


def publish(area, quick, figures, out):
    """Prints the table and writes the file."""
    width = max(len(figure["name"]) for figure in figures)
    print(f"{'figure':<{width}}  {'median':>10}  {'low':>10}  {'high':>10}  unit      target      peer")
    for f in figures:
        target = "" if f["target"] is None else f"{'>=' if f['better'] == 'higher' else '<='} {f['target']:g}"
        peer = "" if f["peer"] is None else f"{f['peer']}: {f['peer_value']:g}"
        verdict = {None: "", True: "  holds", False: "  MISSED"}[f["holds"]]
        print(f"{f['name']:<{width}}  {f['value']:>10g}  {f['low']:>10g}  {f['high']:>10g}  {f['unit']:<8}  {target:<8}  {peer}{verdict}")
    result = {"area": area, "machine": machine(), "commit": commit(),
              "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"), "quick": quick, "figures": figures}
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(result, indent=1) + "\n")
    print(f"written: {out}")
