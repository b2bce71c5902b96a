#!/usr/bin/env python3
"""End devices, edge servers and a cloud device, each with its own network, on emulated boards and CIFAR-100. Started by run.sh."""
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import figures as fig  # noqa: E402
from world import BATCH, SHARE, SHARES, World, draw  # noqa: E402

AREA = "tiers"
TIERS = tuple(SHARES)
LABELS = {"end": "cifar100,labels=coarse", "edge": "cifar100", "cloud": "cifar100"}

# The study has MobileNet 0.5, ResNet-34 and WRN-28-10; the two large ones have smaller sisters here, which two cores can train.
NETWORKS = {"end": ("resnet-8", 15), "edge": ("resnet-20", 10), "cloud": ("wrn-16-2", 10)}
TRAINING = ["--batch", 128, "--augment", "cifar", "--schedule", "cosine", "--local", 2, "--strategy", "all_reduce"]

SECOND = ("end-cloud", "end-edge", "mapping")  # schedulers with a second answer to each image
# Behind which layers the networks of tiers that are not trusted are split: the first one, and a block of which the tier is spared more
# than it costs to take its values.
CUTS = {"edge": ("conv1", "stage1.block1.relu"), "cloud": ("conv1", "stage2.block1.add")}
LEVELS = 16  # that the values behind them are rounded to
STUDY_CLOUD_MS = 31.0  # milliseconds an image of the study's cloud tier, 1 s away
STUDY_PRIVACY = {"edge": 57, "cloud": 44}  # percent that its privacy module costs
STUDY_HEDGED = 6  # percent that its fault tolerance costs where nothing fails


def models(args):
    """{tier: ONNX file}, trained unless they are there."""
    found = {}
    for tier, (name, epochs) in NETWORKS.items():
        run = args.models / ("quick" if args.quick else "full") / tier
        found[tier] = run / "model.onnx"
        if not found[tier].exists():
            size = ["--epochs", 1, "--limit", 2560] if args.quick else ["--epochs", epochs]
            fig.run_json([args.program, "train", "--model", name, "--data", LABELS[tier], *TRAINING, *size, "--run-dir", run, "--json",
                          "--quiet"], timeout=4 * 3600)
    return found


def images(args, full):
    return 1000 if args.quick else full


def measure_networks(args):
    """The study's Table 1: each network on each tier."""
    figures, found = [], models(args)
    for network, file in found.items():
        whole = fig.run_json([args.program, "eval", "--model", file, "--data", LABELS[network], "--json", "--quiet"], 3600)
        shown = fig.run_json([args.program, "model", "show", file, "--json"])
        figures += [fig.figure(f"{network}_network_accuracy", [whole["accuracy"]], "share"),
                    fig.figure(f"{network}_network_parameters", [shown["totals"]["parameters"] / 1e6], "million"),
                    fig.figure(f"{network}_network_file", [file.stat().st_size / 1e6], "MB", better="lower")]
    # A tier file has end devices always: the network that is measured is on all three tiers, and the scheduler asks for both answers.
    for network, file in found.items():
        with World(args.program) as world:
            run = world.classify(dict.fromkeys(TIERS, file), images(args, 1000), "--scheduler", "mapping",
                                 coarse=TIERS if network == "end" else ())
        for device in {device["tier"]: device for device in run["devices"]}.values():
            figures.append(fig.figure(f"{network}_network_on_{device['tier']}", [1000 * device["task_s"] / BATCH], "ms an image", better="lower"))
    return figures


def seconds_per_image(run, tier):
    """Of the whole run, for each image that this tier answered."""
    return run["seconds"] / sum(each["images"] for each in run["tiers"] if each["tier"] == tier)


def cloud_figures(runs):
    """How much of the delay to the cloud is hidden."""
    unhidden = []
    for run in runs:
        cloud = next(device for device in run["devices"] if device["tier"] == "cloud")
        unhidden.append(1000 * (cloud["task_s"] + cloud["delay_s"]) / BATCH)
    return [fig.figure("cloud_image", [1000 * seconds_per_image(run, "cloud") for run in runs], "ms", target=STUDY_CLOUD_MS / 10, better="lower",
                       peer="the study", peer_values=[STUDY_CLOUD_MS],
                       setting="WRN-16-2 of 0.70 M parameters; the study: WRN-28-10 of 36.5 M"),
            fig.figure("cloud_one_task_at_a_time", unhidden, "ms", better="lower")]


def measure_completion(args):
    """The study's Figure 3, and how much of the delay is hidden."""
    found, total = models(args), images(args, 10000)
    counts = (1, 8) if args.quick else range(1, 9)
    figures, lines = [], {}
    for end in counts:
        runs = {}
        with World(args.program, end) as world:
            for _ in range(1 if args.quick else 2 if end < 4 else 3):  # few end devices take long
                for scheduler in ("end", *SECOND, "auto"):
                    runs.setdefault(scheduler, []).append(world.classify(found, total, "--scheduler", scheduler))
        took = {scheduler: fig.column(each, "seconds") for scheduler, each in runs.items()}
        for scheduler, each in took.items():
            lines.setdefault(scheduler, []).append((end, statistics.median(each)))
            figures.append(fig.figure(f"{scheduler}_with_{end}_end", each, "s", better="lower", peer="predicted",
                                      peer_values=fig.column(runs[scheduler], "predicted_seconds")))
        best = min((took[scheduler] for scheduler in SECOND), key=statistics.median)
        figures.append(fig.figure(f"auto_of_the_best_with_{end}_end", fig.ratios(took["auto"], best), "times", target=1, better="lower"))
        if end == max(counts):
            figures += cloud_figures(runs["end-cloud"])
    draw(lines, ("end devices", f"seconds for {total:,} images"), "completion time", args.out.with_name(args.out.stem + "-completion.svg"))
    return figures


def measure_privacy(args):
    """The study's Tables 3 and 4: time and accuracy with and without the split behind the first layers, by the delay to the tier."""
    found, total = models(args), images(args, 10000)
    figures = []
    with World(args.program) as world:
        for tier, scheduler in (("edge", "end-edge"), ("cloud", "end-cloud")):
            for delay in (0.5,) if args.quick else (0.5, 1.0, 1.5, 2.0):
                runs = {layer: [] for layer in (None, *CUTS[tier])}
                for _ in range(5 if delay == 0.5 and not args.quick else 1):
                    for layer in runs:
                        runs[layer].append(world.classify(found, total, "--scheduler", scheduler, delays={"edge": delay, "cloud": delay},
                                                          private={tier: f"split@{layer},levels={LEVELS}"} if layer else None))
                for layer in CUTS[tier]:
                    ratios = fig.ratios(fig.column(runs[layer], "seconds"), fig.column(runs[None], "seconds"))
                    figures.append(fig.figure(f"privacy_overhead_{tier}_{layer}_{delay:g}_s", [100 * (ratio - 1) for ratio in ratios], "%", better="lower",
                                              target=3 if delay == 0.5 else None, peer="the study, 0.5 s", peer_values=[STUDY_PRIVACY[tier]]))
            right = {layer: [100 * each["accuracy"] for each in runs[layer][-1]["tiers"] if each["tier"] == tier] for layer in runs}
            figures += [fig.figure(f"privacy_accuracy_{tier}_{layer}", right[layer], "%", peer="without the split", peer_values=right[None])
                        for layer in CUTS[tier]]
            figures += leakage(args, tier, found[tier])
    return figures


def leakage(args, tier, model):
    """How like the images are what a decoder makes of what these cuts send (SSIM), beside a mean image."""
    shown = fig.run_json([args.program, "privacy", "--model", model, "--cuts", ",".join(CUTS[tier]), "--levels", LEVELS, "--noise", "", "--json",
                          "--quiet", "--steps", 20 if args.quick else 400, "--images", images(args, 1000)], 3600)
    return [fig.figure(f"privacy_ssim_{tier}_{each['layer']}", [each["ssim"]], "", better="lower", peer="a mean image",
                       peer_values=[shown["guess"]["ssim"]]) for each in shown["settings"] if each["levels"] == LEVELS]


def lower_bound(calm, failing, after, tasks):
    """Seconds in which work-conserving devices do these tasks at least, if so many of them do no more than `after`: those that live
    are never idle and no task is done twice. The speed of each is that of undisturbed runs."""
    seconds = {}
    for device in (device for run in calm for device in run["devices"] if device["tier"] == "end"):
        seconds.setdefault(device["node"], []).append(device["task_s"])
    dead = {f"end-{i}" for i in range(1, failing + 1)}
    return (tasks - failing * after) / sum(1 / statistics.median(each) for name, each in seconds.items() if name not in dead)


POLICIES = ("none", "reassign", "monitor", "hedged")


def failures(args, found, failing, after, rounds):
    """{policy: runs}, the policies in turn."""
    runs = {policy: [] for policy in POLICIES}
    with World(args.program) as world:
        for _ in range(rounds):
            for policy in POLICIES:
                runs[policy].append(world.classify(found, images(args, 10000), "--scheduler", "end", "--policy", policy,
                                                   failing=failing, after=after))
                if failing:
                    world.restart()
    return runs


def measure_failures(args):
    """The study's Table 5 and Figure 4: end devices that are killed after twelve tasks each."""
    found, after = models(args), 2 if args.quick else 12
    total = images(args, 10000)
    figures, lines, calm = [], {}, {}
    for failing, rounds in ((0, 1), (6, 1)) if args.quick else ((0, 7), (2, 1), (4, 1), (6, 3)):
        runs = failures(args, found, failing, after, rounds)
        calm = calm or runs
        bound = lower_bound(calm["monitor"], failing, after, total // BATCH)
        targets = {"hedged": 1.10, "monitor": 1.25} if failing == 6 else {}
        for policy in POLICIES:
            name, took = f"{policy}_{failing}_failing", fig.column(runs[policy], "seconds")
            figures += [fig.figure(f"{name}_seconds", took, "s", better="lower"),
                        fig.figure(f"{name}_lost", fig.column(runs[policy], "lost"), "images", better="lower", target=None if policy == "none" else 0),
                        fig.figure(f"{name}_of_lower_bound", [each / bound for each in took], "times", better="lower", target=targets.get(policy))]
            lines.setdefault(policy, []).append((failing, statistics.median(took)))
    overheads = [100 * (ratio - 1) for ratio in fig.ratios(fig.column(calm["hedged"], "seconds"), fig.column(calm["none"], "seconds"))]
    figures.append(fig.figure("hedged_overhead_without_failures", overheads, "%", better="lower", target=1, peer="the study", peer_values=[STUDY_HEDGED]))
    draw(lines, ("end devices that fail, of 8", f"seconds for {total:,} images"), f"killed after {after} tasks each",
         args.out.with_name(args.out.stem + "-failures.svg"))
    return figures


PARTS = {"networks": measure_networks, "completion": measure_completion, "privacy": measure_privacy, "failures": measure_failures}


def main():
    parser = fig.part_arguments(AREA, __doc__, PARTS)
    parser.add_argument("--models", type=pathlib.Path, default=pathlib.Path.home() / ".cache" / "mangrove" / "tiers", help="where trained networks are kept")
    print(f"boards: an end device has {SHARE:g} of a core, an edge server {SHARES['edge']} times, the cloud {SHARES['cloud']} times as much")
    fig.publish_parts(AREA, parser.parse_args(), PARTS)


main()
