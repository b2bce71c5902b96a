#!/usr/bin/env python3
"""One network of torch_networks.py, trained by several processes of this machine: PyTorch's DistributedDataParallel over
Gloo. Random data in memory; forward, cross entropy, backward with the sums of gradients overlapped, SGD with momentum.

  torch_ddp.py NETWORK [--processes 2] [--batch 64] [--threads 1] [--seconds 5]

--batch is of each process. One process trains without DistributedDataParallel. Prints one line of JSON.
"""
import argparse
import json
import os
import socket
import time

parser = argparse.ArgumentParser()
parser.add_argument("network")
parser.add_argument("--processes", type=int, default=2)
parser.add_argument("--batch", type=int, default=64)
parser.add_argument("--threads", type=int, default=1)
parser.add_argument("--seconds", type=float, default=5)
args = parser.parse_args()
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = str(args.threads)
os.environ["GLOO_SOCKET_IFNAME"] = "lo"

import torch  # noqa: E402: after the thread counts
import torch.distributed as dist  # noqa: E402

from torch_networks import NETWORKS  # noqa: E402

BATCHES = 4
WARM_UP_STEPS = 5
STEPS_AT_ONCE = 8  # between two agreements on whether to go on


def train(rank, port, results):
    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    make, shape, classes = NETWORKS[args.network]
    model = make().train()
    if args.processes > 1:
        dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=args.processes)
        model = torch.nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    images = [torch.randn(args.batch, *shape) for _ in range(BATCHES)]
    labels = [torch.randint(0, classes, (args.batch,)) for _ in range(BATCHES)]

    def steps(count):
        for i in range(count):
            optimizer.zero_grad(set_to_none=True)
            torch.nn.functional.cross_entropy(model(images[i % BATCHES]), labels[i % BATCHES]).backward()
            optimizer.step()

    def goes_on(start):
        """Whether the first process has time left: all must make as many steps."""
        flag = torch.tensor([1.0 if time.perf_counter() - start < args.seconds else 0.0])
        if args.processes > 1:
            dist.broadcast(flag, 0)
        return bool(flag.item())

    steps(WARM_UP_STEPS)
    start, done = time.perf_counter(), 0
    while goes_on(start):
        steps(STEPS_AT_ONCE)
        done += STEPS_AT_ONCE
    seconds = time.perf_counter() - start
    if rank == 0:
        results.put({"steps": done, "images_per_s": round(done * args.batch * args.processes / seconds, 1)})
    if args.processes > 1:
        os._exit(0)  # without Gloo's destructor, which sometimes waits for a thread that waits for Python's lock


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


if __name__ == "__main__":
    results = torch.multiprocessing.get_context("spawn").SimpleQueue()
    if args.processes == 1:
        train(0, 0, results)
    else:
        torch.multiprocessing.spawn(train, (free_port(), results), nprocs=args.processes)
    print(json.dumps({"network": args.network, "backend": "torch " + torch.__version__, "processes": args.processes,
                      "batch": args.batch, "threads": args.threads, **results.get()}))
