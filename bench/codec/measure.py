#!/usr/bin/env python3
"""Every codec on one thread: bytes, error, and time for an element. Started by run.sh, which builds and installs."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import figures as fig  # noqa: E402

AREA = "codec"


def figures_of(case, runs):
    """Of one codec on one network; runs: what bench_codec printed for it in each round."""
    network, codec = case.split()
    name = f"{codec}_{network}"
    figures = [fig.figure(f"{name}_bytes", [1000 * size for size in fig.column(runs, "bytes_per_element")], "bytes/1000",
                          better="lower", peer="float32", peer_values=[4000]),
               fig.figure(f"{name}_encode", fig.column(runs, "encode_ns"), "ns", better="lower"),
               fig.figure(f"{name}_decode", fig.column(runs, "decode_ns"), "ns", better="lower")]
    if runs[0]["relative_error"] is not None:
        figures.append(fig.figure(f"{name}_relative_error", [1000 * error for error in fig.column(runs, "relative_error")],
                                  "/1000", better="lower"))
    return figures


def main():
    parser = fig.arguments(AREA, __doc__)
    parser.add_argument("program", help="bench_codec")
    parser.add_argument("--only", default="", metavar="CODEC", help="this codec alone")
    args = parser.parse_args()
    command = [args.program, "--seconds", 0.02 if args.quick else 0.3, "--only", args.only]
    rounds = [fig.run_json(command) for _ in range(1 if args.quick else 3)]
    figures = [figure for case in rounds[0] for figure in figures_of(case, fig.column(rounds, case))]
    fig.publish(AREA, args.quick, figures, args.out)


main()
