#!/usr/bin/env python3
"""How busy the inner loops of engine/simd keep the multiply-add unit of Arm processors, without a board: llvm-mca predicts
their cycles from its model of the processor, with all data in the first-level cache.

    bench/engine/arm_cycles.py            # a table
    bench/engine/arm_cycles.py --json

Needs scripts/arm64-sysroot.sh to have run. LLVM 14 has models of Cortex-A53 and Cortex-A72 (with that of A57), none of A76.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SYSROOT = ROOT / "build" / "arm64-sysroot"
PROCESSORS = ("cortex-a53", "cortex-a72")  # each adds four products of floats to four sums in a cycle
ITERATIONS = 200
LOOPS = {  # what the function's name must match
    "product, 6 x 12 sums": r"8multiplyILi6E",
    "dense convolution, forward and backward by data, 6 x 12 sums": r"17multiply_indirectILi6E",
    "dot products, 4 x 4 sums": r"3dotILi4ELi4E",
    "dense convolution 3x3, backward by weights, 4 x 3 sums": r"12dot_indirectILi4ELi3E",
    "depthwise 3x3, forward and backward by data": r"11filter_rowsILl9E",
    "depthwise 3x3, backward by weights": r"14correlate_tapsILl9E|9correlateE",
}


def assembly():
    command = ["aarch64-linux-gnu-g++", f"--sysroot={SYSROOT}", "-std=c++20", "-O3", f"-I{ROOT}", "-S", "-o", "-",
               str(ROOT / "mangrove/engine/simd/micro_kernels.cc")]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def functions(text):
    """(name, lines) of each function."""
    name, lines = None, []
    for line in text.splitlines():
        label = re.match(r"(_Z\w+):", line)
        if label:
            name, lines = label[1], []
        elif name and line.startswith("\t.size"):
            yield name, lines
            name = None
        elif name:
            lines.append(line)


def inner_loops(lines):
    """Pieces from a label to a branch back to it, without a label between."""
    label, piece = None, []
    for line in lines:
        start = re.match(r"(\.L\w+):", line)
        if start:
            label, piece = start[1], []
            continue
        if line.startswith("\t."):
            continue
        piece.append(line)
        if label and re.match(rf"\t(b\.?\w+|cbn?z|tbn?z)\b.*{re.escape(label)}$", line):
            yield list(piece)


def largest_loop(text, pattern):
    """Of the functions that match, the loop with most multiply-adds."""
    def sums(loop):
        return sum("\tfmla" in line for line in loop)
    loops = [loop for name, lines in functions(text) if re.search(pattern, name) for loop in inner_loops(lines)]
    best = max(loops, key=sums, default=[])
    if not sums(best):
        sys.exit(f"arm_cycles.py: no loop with multiply-adds in a function like {pattern}")
    return "\n".join(best), sums(best)


def cycles(loop, processor):
    command = ["llvm-mca", "-mtriple=aarch64", f"-mcpu={processor}", f"-iterations={ITERATIONS}"]
    done = subprocess.run(command, input=loop, check=True, stdout=subprocess.PIPE, text=True).stdout
    return int(re.search(r"Total Cycles:\s+(\d+)", done)[1]) / ITERATIONS


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    if not SYSROOT.exists():
        sys.exit("arm_cycles.py: the libraries for arm64 are missing: run scripts/arm64-sysroot.sh first")
    text = assembly()
    rows = []
    for name, pattern in LOOPS.items():
        loop, multiply_adds = largest_loop(text, pattern)
        row = {"loop": name, "multiply_adds": multiply_adds}
        for processor in PROCESSORS:
            row[processor] = {"cycles": cycles(loop, processor)}
            row[processor]["share_of_peak"] = multiply_adds / row[processor]["cycles"]
        rows.append(row)
    if arguments.json:
        print(json.dumps({"loops": rows}))
        return
    print("| inner loop | multiply-adds of 4 floats |" + "".join(f" {p}: cycles, share of peak |" for p in PROCESSORS))
    print("| --- | --- |" + " --- |" * len(PROCESSORS))
    for row in rows:
        cells = "".join(f" {row[p]['cycles']:.1f}, {row[p]['share_of_peak']:.0%} |" for p in PROCESSORS)
        print(f"| {row['loop']} | {row['multiply_adds']} |{cells}")


if __name__ == "__main__":
    main()
