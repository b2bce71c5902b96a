"""The simulator beside the testbed: what a round takes on emulated boards, and in a world with the profile of one of them."""
import tempfile

import figures as fig

RATE = 100  # Mbit/s
SHARE = 0.15  # of a core for each board: eight leave most of a core to the coordinator and the links
MODEL, BATCH, ROUNDS, EPOCHS = "resnet-20", 32, 6, 3  # rounds of an epoch
LOCAL_STEPS, MANY = 4, 16
STRATEGIES = {  # flags and the samples of each board in a round
    "parameter_server": (["--strategy", "parameter_server"], BATCH),
    "federated": (["--strategy", "federated", "--local-steps", LOCAL_STEPS], LOCAL_STEPS * BATCH),
    "gossip": (["--strategy", "gossip", "--local-steps", LOCAL_STEPS], LOCAL_STEPS * BATCH),
    "all_reduce": (["--strategy", "all_reduce"], BATCH),
    "many_steps": (["--strategy", "federated", "--local-steps", MANY], MANY * BATCH),
}
CONFIGURATIONS = [("parameter_server", 2), ("parameter_server", 8), ("federated", 2), ("federated", 8), ("gossip", 4), ("gossip", 8),
                  ("all_reduce", 4)]
WITHIN = 10  # percent
OVERLAPPED = ("all_reduce",)  # the simulator does not overlap its messages with the backward pass


def recipe(strategy, boards, rounds):
    flags, samples = STRATEGIES[strategy]
    return [*flags, "--batch", BATCH, "--epochs", EPOCHS, "--limit", boards * samples * rounds, "--validation", 0]


def mbit(bytes_per_s):
    return f"{bytes_per_s * 8 / 1e6:.0f}mbit"


def round_seconds(run, rounds):
    """Of the epochs after the first, in which boards also read their data and lay out their buffers."""
    first, *_, last = (line["train_seconds"] for line in run["validations"])
    return (last - first) / ((EPOCHS - 1) * rounds)


def data_of(args):
    return ["--data-dir", args.data_dir] if args.data_dir else []


def measured(args, strategy, boards, rounds):
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(f"rate: {RATE}mbit\nboard:\n  count: {boards}\n  cpu: {SHARE}\n  memory: 1GB\n")
        file.flush()
        run = fig.train(args.program, MODEL, args.cifar10, "--testbed", file.name, *data_of(args), *recipe(strategy, boards, rounds))
        return round_seconds(run, rounds)


def predicted(args, simulate, strategy, boards, rounds, profile):
    world = (f"coordinator:\n  up: 10gbit\n  down: 10gbit\n  handling: {mbit(profile['handling'] / SHARE)}\n"
             f"board:\n  count: {boards}\n  up: {RATE}mbit\n  down: {RATE}mbit\n  memory: 1GB\n  flops: {profile['flops']:.4g}\n"
             f"  handling: {mbit(profile['handling'])}\n")
    job = f"train:\n  model: {MODEL}\n  data: {args.cifar10}\n"
    return round_seconds(simulate(world, job, *recipe(strategy, boards, rounds)), rounds)


def profiles(args, rounds):
    """Of a board, by how many boards there are. What an exchange takes beyond its wire comes from one board's rounds with one step and
    with many; what a step takes, from rounds with many steps of as many boards as there are: emulated ones slow each other down."""
    operators = fig.run_json([args.program, "model", "show", MODEL, "--json"])["operators"]
    flops = 3 * 2 * sum(operator["multiply_adds"] for operator in operators) * BATCH  # forward, and gradients of inputs and weights
    message = 4 * sum(operator["parameters"] for operator in operators)
    counts = sorted({boards for _, boards in CONFIGURATIONS})
    many = {boards: measured(args, "many_steps", boards, rounds // 3) for boards in [1, *counts]}
    once = measured(args, "parameter_server", 1, rounds)
    exchange = once - (many[1] - once) / (MANY - 1)
    # both ends pack one message and unpack the other, the coordinator with a whole core
    handling = 2 * message * (1 + SHARE) / max(1e-3, exchange - 2 * message * 8 / (RATE * 1e6))
    return {boards: {"flops": flops * MANY / (many[boards] - exchange), "handling": handling} for boards in counts}


def measure(args, simulate):
    """simulate: see measure.py."""
    rounds = 3 if args.quick else ROUNDS
    figures = []
    boards_profiles = profiles(args, rounds)
    for boards, profile in boards_profiles.items():
        figures += [fig.figure(f"board_of_{boards}_flops", [profile["flops"] / 1e9], "GFLOP/s"),
                    fig.figure(f"board_of_{boards}_handling", [profile["handling"] / 1e6], "MB/s")]
    for strategy, boards in CONFIGURATIONS[:2] if args.quick else CONFIGURATIONS:
        real, virtual = measured(args, strategy, boards, rounds), predicted(args, simulate, strategy, boards, rounds, boards_profiles[boards])
        name = f"round_{strategy}_on_{boards}"
        figures += [fig.figure(name, [virtual], "s", peer="measured", peer_values=[real]),
                    fig.figure(f"{name}_off", [100 * abs(virtual / real - 1)], "percent", better="lower",
                               target=None if strategy in OVERLAPPED else WITHIN)]
    return figures
