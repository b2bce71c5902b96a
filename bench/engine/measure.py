#!/usr/bin/env python3
"""LeNet-5 at batch 64 on one thread: ours against PyTorch in turn. Started by run.sh, which builds and installs."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import figures as fig  # noqa: E402

AREA = "engine"
TORCH = "PyTorch eager"
CHANNELS_LAST = "PyTorch eager, channels_last"


def commands(program, what, seconds):
    tail = [what, seconds, 64, 1]
    peer = ["/usr/bin/python3", fig.ROOT / "bench" / "peers" / "torch_lenet.py", *tail]
    return {"mangrove": [program, *tail], TORCH: peer, CHANNELS_LAST: [*peer, "--channels-last"]}


def measure(program, what, rounds, seconds):
    runs = fig.in_turn(commands(program, what, seconds), rounds)
    speed = {name: fig.column(results, "images_per_s") for name, results in runs.items()}
    memory = {name: fig.column(results, "peak_resident_mib") for name, results in runs.items()}
    is_training = what == "train"
    ours = speed["mangrove"]
    return [
        fig.figure(f"lenet_{what}_images_per_s", ours, "images/s", peer=TORCH, peer_values=speed[TORCH]),
        fig.figure(f"lenet_{what}_speed_over_torch", fig.ratios(ours, speed[TORCH]), "times",
                   goal=2 if is_training else None, peer=TORCH, peer_values=[1]),
        fig.figure(f"lenet_{what}_speed_over_torch_channels_last", fig.ratios(ours, speed[CHANNELS_LAST]), "times",
                   peer=CHANNELS_LAST, peer_values=[1]),
        fig.figure(f"lenet_{what}_peak_resident", memory["mangrove"], "MiB", goal=48 if is_training else None,
                   better="lower", peer=TORCH, peer_values=memory[TORCH]),
        fig.figure(f"lenet_{what}_planned_memory", fig.column(runs["mangrove"], "planned_mib"), "MiB", better="lower"),
    ]


def main():
    parser = fig.arguments(AREA, __doc__)
    parser.add_argument("program", help="bench_lenet")
    args = parser.parse_args()
    rounds, seconds = (3, 1) if args.quick else (9, 4)
    figures = [f for what in ("train", "infer") for f in measure(args.program, what, rounds, seconds)]
    fig.publish(AREA, args.quick, figures, args.out)


main()
