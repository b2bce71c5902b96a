#!/usr/bin/env python3
"""Virtual worlds: their scale, and what they predict. Started by run.sh."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import curves  # noqa: E402
import figures as fig  # noqa: E402
import rounds  # noqa: E402

AREA = "worlds"
EXAMPLES = fig.ROOT / "examples" / "worlds"


def simulate(args, world, job, *more):
    """One run of `mangrove sim` on a world and a job, each a file or its text: what it prints, with its wall seconds,
    its peak of memory (MB), and under "validations" the lines of its epochs."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        files = []
        for name, given in (("world.yaml", world), ("job.yaml", job)):
            files.append(given if isinstance(given, pathlib.Path) else folder / name)
            if not isinstance(given, pathlib.Path):
                files[-1].write_text(given)
        data = ["--data-dir", args.data_dir] if args.data_dir else []
        command = [args.program, "sim", *files, "--run-dir", folder / "run", "--json", "--quiet", *data, *more]
        start = time.monotonic()
        process = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, text=True)
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - start
        if status != 0:
            sys.exit(f"{' '.join(map(str, command))}: failed")
        lines = map(json.loads, (folder / "run" / "metrics.jsonl").read_text().splitlines())
        validations = [line for line in lines if line.get("kind") == "epoch"]
        return {**json.loads(output.strip().splitlines()[-1]), "validations": validations, "wall_seconds": seconds,
                "peak_mb": usage.ru_maxrss / 1000}


def costs(name, run, most_seconds):
    return [fig.figure(f"{name}_devices", [run["devices"]], "devices"),
            fig.figure(f"{name}_wall_seconds", [run["wall_seconds"]], "s", target=most_seconds, better="lower"),
            fig.figure(f"{name}_peak_memory", [run["peak_mb"]], "MB", target=8000, better="lower"),
            fig.figure(f"{name}_virtual_seconds", [run["train_seconds"]], "s")]


def measure_global(args):
    """LeNet on MNIST, with real gradients, on 1,000 devices of eight regions."""
    target = 0.98
    run = simulate(args, EXAMPLES / "global.yaml", EXAMPLES / "global-job.yaml", *(["--epochs", 5] if args.quick else []))
    figures = costs("global", run, 600) + [fig.figure("global_accuracy", [run["accuracy"]], "share", target=target)]
    reached = curves.seconds_to(target, run["validations"])
    return figures if reached is None else figures + [fig.figure("global_virtual_seconds_to_98", [reached], "s", better="lower")]


def measure_modelled(args):
    """The same on ten times as many, where only the time is simulated."""
    world = (EXAMPLES / "global.yaml").read_text()
    many = "".join(f"  count: {10 * int(line.split()[1])}\n" if line.startswith("  count:") else line
                   for line in world.splitlines(keepends=True))
    return costs("modelled", simulate(args, many, EXAMPLES / "global-job.yaml", "--compute", "modelled"), 300)


def measure_curves(args):
    return curves.measure(lambda *run: simulate(args, *run), args.quick, args.out.with_suffix(".svg"))


def measure_rounds(args):
    return rounds.measure(args, lambda *run: simulate(args, *run))


PARTS = {"global": measure_global, "modelled": measure_modelled, "curves": measure_curves, "rounds": measure_rounds}


def main():
    parser = fig.part_arguments(AREA, __doc__, PARTS)
    parser.add_argument("--data-dir", help="where the data sets are")
    args = parser.parse_args()
    if args.only in (None, "rounds") and os.geteuid() != 0:
        sys.exit("emulated boards need root; --only with another part does without")
    fig.publish_parts(AREA, args, PARTS)


main()
