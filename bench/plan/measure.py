#!/usr/bin/env python3
"""Bottlenecks of our plans beside those of PipeDream's planner, and how long planning takes. Started by run.sh, which builds and installs."""
import pathlib
import random
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import figures as fig  # noqa: E402
import pipedream  # noqa: E402

AREA = "plan"
GBIT = 1e9 / 8
CONFIGS = [("10gbit_4", 10, 4), ("10gbit_16", 10, 16), ("1gbit_4", 1, 4)]  # name, Gbit/s, machines
NETWORKS = 6       # made-up ones
OPERATORS = 200    # of the network that is timed
FREE_TIE = 1e-5    # sums in another order, and rounding


def ours(program, profile, devices, *more):
    return fig.run_json([program, "plan", "--profile", profile, "--train", "--devices", devices, "--json", *more])


def made_up(path, operators, seed):
    """A network in PipeDream's format: blocks of three operators, each block's input added to its result now and then."""
    draw = random.Random(seed)
    lines, edges, last = ["node1 -- Input -- forward_compute_time=0.000, backward_compute_time=0.000, "
                          "activation_size=600000.000, parameter_size=0.000"], [], 1
    skip = 1
    for node in range(2, operators + 2):
        lines.append(f"node{node} -- Op -- forward_compute_time={draw.uniform(0.1, 5):.3f}, "
                     f"backward_compute_time={draw.uniform(0.1, 9):.3f}, activation_size={draw.randrange(10**5, 10**7)}.000, "
                     f"parameter_size={draw.randrange(10**4, 10**7)}.000")
        edges.append(f"\tnode{last} -- node{node}")
        if node % 3 == 1:
            if skip > 1 and draw.random() < 0.7:
                edges.append(f"\tnode{skip} -- node{node}")
            skip = node
        last = node
    path.write_text("\n".join(lines + edges) + "\n")
    return path


def beside_pipedream(program, profile, name, folder):
    figures = []
    for config, gbit, machines in CONFIGS:
        devices = folder / f"{config}.yaml"
        devices.write_text(f"gpu:\n  count: {machines}\n  rate: {gbit}gbit\n")
        mine = ours(program, profile, devices)["period_s"]
        same_costs, stages, _ = pipedream.plan(profile, machines, gbit * GBIT, True)
        predicted, _, takes = pipedream.plan(profile, machines, gbit * GBIT, False)
        print(f"{name} {config}: ours {mine * 1e3:.4g} ms, PipeDream's algorithm {same_costs * 1e3:.4g} ms {stages}", file=sys.stderr)
        figures.append(fig.figure(f"{name}_{config}_bottleneck", [mine * 1e3], "ms", target=round(same_costs * 1e3 * (1 + FREE_TIE), 3),
                                  better="lower", peer="PipeDream's algorithm, the same costs", peer_values=[same_costs * 1e3]))
        if takes > predicted:
            figures.append(fig.figure(f"{name}_{config}_pipedream_plan", [takes * 1e3], "ms", better="lower",
                                      peer="its authors' prediction, without what the first stage sends", peer_values=[predicted * 1e3]))
    return figures


def planning_time(program, folder, rounds):
    """Of a plan alone, without reading files and advice; 16 devices of four kinds, and of sixteen."""
    profile = made_up(folder / "large.graph.txt", OPERATORS, 1)
    cases = {"of_4_kinds": "".join(f"k{k}:\n  count: 4\n  speed: {1 + k}\n  rate: 10gbit\n" for k in range(4)),
             "of_4_kinds_with_memory": "".join(f"k{k}:\n  count: 4\n  speed: {1 + k}\n  memory: {300 + 100 * k}MB\n" for k in range(4)),
             "of_16_kinds": "".join(f"k{k}:\n  speed: {1 + 0.1 * k}\n  rate: 10gbit\n" for k in range(16))}
    figures = []
    for name, text in cases.items():
        devices = folder / f"{name}.yaml"
        devices.write_text(text)
        for replicas in ("1", "0"):
            runs = [fig.run_json([program, "plan", "--profile", profile, "--devices", devices, "--replicas", replicas, "--json"])
                    for _ in range(rounds)]
            how = "" if replicas == "0" else "_no_replicas"
            figures.append(fig.figure(f"plan_{OPERATORS}_operators_16_devices_{name}{how}", fig.column(runs, "planning_s"), "s",
                                      target=None if name == "of_16_kinds" else 1, better="lower"))
    return figures


def main():
    parser = fig.arguments(AREA, __doc__)
    parser.add_argument("program", help="mangrove")
    parser.add_argument("--profiles", type=pathlib.Path, help="folder with the PipeDream project's *.graph.txt")
    options = parser.parse_args()
    figures = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for profile in sorted(options.profiles.glob("*.graph.txt")) if options.profiles else []:
            figures += beside_pipedream(options.program, profile, profile.name.split(".")[0], folder)
        for seed in range(1 if options.quick else NETWORKS):
            figures += beside_pipedream(options.program, made_up(folder / f"{seed}.graph.txt", 60, seed), f"made_up_{seed + 1}", folder)
        figures += planning_time(options.program, folder, 1 if options.quick else 3)
    fig.publish(AREA, options.quick, figures, options.out)


main()
