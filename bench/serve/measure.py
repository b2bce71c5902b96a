#!/usr/bin/env python3
"""Serving: what a request costs beside the engine itself. Started by run.sh, which builds."""
import contextlib
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import figures as fig  # noqa: E402

AREA = "serve"
NETWORKS = {"lenet": ["lenet"], "mobilenetv2": ["mobilenetv2-1.0", "--sample-shape", "3,96,96", "--classes", "10"]}
WAYS = ["engine", "grpc", "rest_binary", "rest_json"]
MOST_MORE_US = 150     # gRPC, at the median
LEAST_THROUGHPUT = 0.95  # of the engine's
CLIENTS, BATCH = 64, 16


@contextlib.contextmanager
def served(args, folder, network, *more):
    """A model that is served by a process of its own: its file and where it listens."""
    file = pathlib.Path(folder) / f"{network}.onnx"
    subprocess.run([args.program, "model", "export", *NETWORKS[network], "--output", file], check=True, stdout=subprocess.DEVNULL)
    server = subprocess.Popen([args.program, "serve", "net", "--model", file, "--listen", "127.0.0.1:0", "--grpc", "127.0.0.1:0", *map(str, more)],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        line = server.stdout.readline()
        found = re.search(r"http://(\S+) and gRPC on (\S+)", line)
        if not found:
            sys.exit(f"mangrove serve: '{line}'")
        yield [file.parent / file.name, *found.groups()]
    finally:
        server.terminate()
        server.wait()


def load(args, place, way, clients, requests):
    file, http, grpc = place
    program = pathlib.Path(args.program).parent.parent / "bench" / "bench_serve_load"
    return fig.run_json([program, "--model", file, "--name", "net", "--http", http, "--grpc", grpc, "--way", way, "--clients", clients, "--requests",
                         requests, "--batch", BATCH])


def measure_overhead(args):
    figures = []
    with tempfile.TemporaryDirectory() as folder:
        for network in NETWORKS:
            requests = 200 if args.quick else 2000
            with served(args, folder, network, "--max-wait", "0s") as place:
                runs = {way: [] for way in WAYS}
                for _ in range(2 if args.quick else 7):
                    for way in WAYS:
                        runs[way].append(load(args, place, way, 1, requests))
            setting = f"{network}, one client, one sample, one thread; client and server on one machine"
            for way in WAYS:
                for part in ("p50", "p99"):
                    figures.append(fig.figure(f"{network}_{way}_{part}", fig.column(runs[way], f"{part}_us"), "us", better="lower", setting=setting))
                if way != "engine":
                    more = [a - b for a, b in zip(fig.column(runs[way], "p50_us"), fig.column(runs["engine"], "p50_us"))]
                    figures.append(fig.figure(f"{network}_{way}_more", more, "us", target=MOST_MORE_US if way == "grpc" else None, better="lower",
                                              setting="than a call of the engine, medians of neighbouring runs"))
    return figures


def measure_batching(args):
    figures = []
    with tempfile.TemporaryDirectory() as folder:
        for network in NETWORKS:
            requests = (1 if args.quick else 8) * (6400 if network == "lenet" else 640)
            with served(args, folder, network, "--max-batch", BATCH) as place:
                runs = {way: [] for way in ("engine", "grpc")}
                for _ in range(2 if args.quick else 5):
                    for way in runs:
                        runs[way].append(load(args, place, way, CLIENTS, requests))
            ours, engine = (fig.column(runs[way], "per_s") for way in ("grpc", "engine"))
            figures += [fig.figure(f"{network}_batched", ours, "samples/s", peer=f"the engine, batches of {BATCH}", peer_values=engine,
                                   setting=f"{network}, {CLIENTS} clients over gRPC, one sample each; batches of at most {BATCH}, one thread; client and "
                                           "server on one machine"),
                        fig.figure(f"{network}_batched_share", fig.ratios(ours, engine), "share", target=LEAST_THROUGHPUT,
                                   setting="of the engine's, in neighbouring runs")]
    return figures


PARTS = {"overhead": measure_overhead, "batching": measure_batching}


def main():
    args = fig.part_arguments(AREA, __doc__, PARTS).parse_args()
    fig.publish_parts(AREA, args, PARTS)


if __name__ == "__main__":
    main()
