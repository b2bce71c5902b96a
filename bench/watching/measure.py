#!/usr/bin/env python3
"""What watching a cluster costs where nothing else is done, and how large metrics.jsonl becomes. Started by run.sh, which builds."""
import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import figures as fig  # noqa: E402

AREA = "watching"
NODES = 3
ADDRESS = r"coordinator ready on (\S+)"
JOINED = r"node (\S+) ready on"


@contextlib.contextmanager
def process(*command):
    """A program that runs until the end of the block."""
    with subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as running:
        try:
            yield running
        finally:
            running.terminate()


def line_with(running, pattern):
    """The group in the first line that matches. A program that ends before it has printed such a line is an error."""
    for line in running.stdout:
        if found := re.search(pattern, line):
            return found.group(1)
    sys.exit(f"{running.args[1]} ended without a line like '{pattern}'")


def cpu_seconds(running):
    fields = pathlib.Path(f"/proc/{running.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_bytes(running):
    return int(pathlib.Path(f"/proc/{running.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def idle(args, rounds, seconds):
    """A coordinator and a node that only sends heartbeats."""
    shares = {"coordinator": [], "node": []}
    with process(args.program, "coordinator", "--listen", "127.0.0.1:0", "--state", "none") as coordinator:
        address = line_with(coordinator, ADDRESS)
        with process(args.program, "node", "--coordinator", address, "--threads", 1) as node:
            line_with(node, JOINED)
            running = {"coordinator": coordinator, "node": node}
            for _ in range(rounds):
                before, begin = {name: cpu_seconds(one) for name, one in running.items()}, time.monotonic()
                time.sleep(seconds)
                passed = time.monotonic() - begin
                for name, one in running.items():
                    shares[name].append(100 * (cpu_seconds(one) - before[name]) / passed)
            memory = {name: resident_bytes(one) / 2**20 for name, one in running.items()}
    return [figure for name in shares for figure in (
        fig.figure(f"idle_{name}_cpu", shares[name], "% of a core", better="lower"),
        fig.figure(f"idle_{name}_memory", [memory[name]], "MiB", better="lower"))]


def written(args, rounds, epochs):
    """What a second of training adds to metrics.jsonl: samples of each process that is watched, and lines of the job itself."""
    samples, job = [], []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            run = pathlib.Path(folder) / "run"
            result = fig.run_json([args.program, "train", "--model", "lenet", "--data", "mnist", "--local", NODES, "--epochs", epochs,
                                   "--run-dir", run, "--json", "--quiet"], timeout=7200)
            lines = (run / "metrics.jsonl").read_bytes().splitlines(keepends=True)
        watched = {}
        for line in lines:
            fields = json.loads(line)
            name = fields["node"] if fields.get("kind") == "sample" else ""
            watched[name] = watched.get(name, 0) + len(line)
        job.append(watched.pop("") / result["train_seconds"])
        samples.append(sum(watched.values()) / len(watched) / result["train_seconds"])
    return [fig.figure("metrics_of_a_process", samples, "B/s", better="lower", setting=f"a node, or the coordinator; LeNet on {NODES} nodes"),
            fig.figure("metrics_of_the_job", job, "B/s", better="lower", setting="lines of progress, epochs and events")]


def main():
    parser = fig.arguments(AREA, __doc__)
    parser.add_argument("program", help="mangrove")
    args = parser.parse_args()
    figures = idle(args, *((1, 5) if args.quick else (5, 30))) + written(args, *((1, 1) if args.quick else (3, 3)))
    fig.publish(AREA, args.quick, figures, args.out)


main()
