#!/usr/bin/env python3
"""Solvers of placement problems, on the scenarios of examples/placement. Started by run.sh."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import figures as fig  # noqa: E402

AREA = "place"
SCENARIOS = fig.ROOT / "examples" / "placement"
OPTIMA = SCENARIOS / "results" / "optima.yaml"
HEAD = """# The least that is possible, by objective, as `mangrove place --solver exact` has proven it.
# Written by bench/place/run.sh; tests/place/instances_test.cc solves each of them again.

"""
SMALL = ("surveillance", "vr-game", "health", "tomato-farm", "resnet-exits", "smart-city", "design")
DOMAINS = ("two-towns", "three-owners", "four-harbours")  # of several owners
QUICK = ("vr-game", "tomato-farm", "smart-city")
LARGE = ("city-200", "city-2048")  # without a proof: the gap is to a bound that no placement reaches
OBJECTIVES = ("cost", "latency", "energy")
HEURISTICS = ("even", "greedy", "heft", "local_search", "decomposition")
NOTHING = 1e-12  # an optimum of no cost has no gap
GAP_GOAL = 5  # per cent above the optimum, ours
TIME_GOAL = 60  # seconds, 2,048 devices


def place(args, scenario, objective):
    """One run with all solvers: {solver: result}."""
    command = [args.program, "place", SCENARIOS / f"{scenario}.yaml", "--objective", objective, "--solver", "local_search", "--compare", "--json", "--quiet"]
    return {result["solver"]: result for result in fig.run_json(command, timeout=1200)["comparison"]}


def above(result, bound):
    """Per cent above the bound."""
    return 100 * max(0, result["value"] - bound) / bound


def small(args, optima):
    """Gaps to the optimum: means over scenarios and objectives."""
    gaps, seconds = {solver: [] for solver in HEURISTICS}, {solver: [] for solver in (*HEURISTICS, "exact")}
    failed = dict.fromkeys(HEURISTICS, 0)
    for scenario in QUICK if args.quick else SMALL:
        for objective in OBJECTIVES:
            results = place(args, scenario, objective)
            best = results["exact"]
            assert best["outcome"] == "optimal", (scenario, objective, best)
            optima.append((scenario, objective, best["value"]))
            for solver, result in results.items():
                seconds[solver].append(result["solving_s"])
                if solver in failed and result["value"] is None:
                    failed[solver] += 1
                elif solver in gaps and best["value"] > NOTHING:
                    gaps[solver].append(above(result, best["value"]))
    setting = f"{len(optima)} optima of {len(optima) // len(OBJECTIVES)} scenarios; mean above the optimum, lowest and highest"
    figures = []
    for solver in HEURISTICS:
        ours = solver in ("local_search", "decomposition")
        mean = fig.figure(f"{solver}_gap", [sum(gaps[solver]) / len(gaps[solver])], "%", target=GAP_GOAL if ours else None, better="lower",
                          setting=f"{setting}; found nothing {failed[solver]} times")
        figures.append({**mean, "low": round(min(gaps[solver]), 3), "high": round(max(gaps[solver]), 3)})
    return figures + [fig.figure(f"{solver}_time", seconds[solver], "s", better="lower") for solver in seconds]


def federation(args, optima):
    """The federation's gap to the joint optimum, and what domains say to each other: means over scenarios and objectives."""
    gaps, seconds, rounds, messages, joint = [], [], [], [], []
    for scenario in DOMAINS[1:2] if args.quick else DOMAINS:
        for objective in OBJECTIVES:
            results = place(args, scenario, objective)
            best, found = results["exact"], results["federated"]
            assert best["outcome"] == "optimal", (scenario, objective, best)
            optima.append((scenario, objective, best["value"]))
            joint.append(best["solving_s"])
            seconds.append(found["solving_s"])
            rounds.append(found["rounds"])
            messages.append(found["messages"])
            if found["value"] is not None:
                gaps.append(above(found, best["value"]))
    setting = f"{len(rounds)} optima of scenarios with domains; mean above the joint optimum, lowest and highest; found nothing {len(rounds) - len(gaps)} times"
    mean = fig.figure("federated_gap", [sum(gaps) / len(gaps)], "%", target=GAP_GOAL, better="lower", setting=setting)
    return [
        {**mean, "low": round(min(gaps), 3), "high": round(max(gaps), 3)},
        fig.figure("federated_rounds", rounds, "rounds", better="lower"),
        fig.figure("federated_messages", messages, "messages", better="lower"),
        fig.figure("federated_time", seconds, "s", better="lower", setting="all domains one after the other"),
        fig.figure("federated_joint_time", joint, "s", better="lower", setting="the solver exact, which sees all domains"),
    ]


def large(args):
    """Gaps to the best bound, and times."""
    figures = []
    for scenario in LARGE[:1] if args.quick else LARGE:
        for objective in OBJECTIVES:
            results = place(args, scenario, objective)
            for solver in HEURISTICS:
                result = results[solver]
                name = f"{scenario}_{objective}_{solver}"
                if result["value"] is not None:
                    figures.append(fig.figure(f"{name}_gap", [above(result, result["bound"])], "%", better="lower", setting="above the best bound"))
                ours = solver == "decomposition" and scenario == LARGE[-1]
                figures.append(fig.figure(f"{name}_time", [result["solving_s"]], "s", better="lower", target=TIME_GOAL if ours else None))
    return figures


def write_optima(optima):
    OPTIMA.parent.mkdir(exist_ok=True)
    OPTIMA.write_text(HEAD + "".join(f"{scenario} {objective}:\n  least: {value!r}\n" for scenario, objective, value in optima))
    print(f"written: {OPTIMA}")


def main():
    parser = fig.arguments(AREA, __doc__)
    parser.add_argument("program", help="mangrove")
    args = parser.parse_args()
    optima = []
    figures = small(args, optima) + federation(args, optima) + large(args)
    fig.publish(AREA, args.quick, figures, args.out)
    if not args.quick:
        write_optima(optima)


main()
