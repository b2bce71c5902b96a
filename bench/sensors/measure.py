#!/usr/bin/env python3
"""Sensors: messages that a served network answers from a broker. Started by run.sh, which builds."""
import contextlib
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import figures as fig  # noqa: E402

AREA = "sensors"
EKUIPER = "eKuiper on a Raspberry Pi 3B+, as its makers publish it"
EKUIPER_PER_S, EKUIPER_MIB = 12_000, 20
# name: (arguments of model export, numbers of a sample)
NETWORKS = {"mlp": (["mlp", "--sample-shape", "1,4,4"], 16), "lenet": (["lenet"], 784)}
BUSY = "broker, sender and server on two hyper-threads of one core, while other builds ran on them"


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def wait_for(condition):
    until = time.monotonic() + 120
    while not condition():
        if time.monotonic() > until:
            sys.exit("measure.py: waited for too long")
        time.sleep(0.02)


@contextlib.contextmanager
def running(command, **more):
    process = subprocess.Popen([str(part) for part in command], **more)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def metric(address, name):
    with urllib.request.urlopen(f"http://{address}/metrics") as page:
        text = page.read().decode()
    return float(re.search(rf"^mangrove_sensors_{name}(?:\{{[^}}]*\}})? (\S+)$", text, re.MULTILINE).group(1))


def resident_mib(process):
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) / 1024


def measure(args, network, messages, runs, is_kept):
    """Of each run, (messages a second, MiB): QoS 0 in, and out too; is_kept: QoS 1 and an offline buffer."""
    export, numbers = NETWORKS[network]
    qos = 1 if is_kept else 0
    results = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([args.program, "model", "export", *export, "--output", folder / "net.onnx"], check=True, stdout=subprocess.DEVNULL)
        port = free_port()
        (folder / "broker.conf").write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\nmax_queued_messages 0\nmax_inflight_messages 200\n")
        buffer = f"offline_buffer: 1GB\nstate: {folder}/state\n" if is_kept else ""
        (folder / "sources.yaml").write_text(
            f"{buffer}bench:\n  kind: mqtt\n  url: mqtt://127.0.0.1:{port}\n  topic: sample\n  payload: f32\n  queue: 1000000\n"
            f"  queue_bytes: 1GB\n  qos: {qos}\n  answers_qos: {qos}\n  answers: answer\n")
        payload = folder / "lines"
        line = "A" * (4 * numbers)  # each four bytes are a float near 12; no end of line among them
        with running(["/usr/sbin/mosquitto", "-c", folder / "broker.conf"], stderr=subprocess.DEVNULL), \
                running([args.program, "serve", "net", "--model", folder / "net.onnx", "--sources", folder / "sources.yaml", "--listen",
                         "127.0.0.1:0", "--grpc", "", "--max-batch", 64, "--max-wait", "1ms"],
                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
            address = re.search(r"http://(\S+)", server.stdout.readline()).group(1)
            publish = ["mosquitto_pub", "-p", str(port), "-t", "sample", "-q", str(qos)]

            def is_subscribed():
                subprocess.run([*publish, "-m", "x"], check=True)
                return metric(address, "invalid_total") > 0
            wait_for(is_subscribed)
            payload.write_text((line + "\n") * messages)
            for _ in range(runs):
                before = metric(address, "answered_total")
                began = time.monotonic()
                with open(payload) as lines:
                    subprocess.run([*publish, "-l"], stdin=lines, check=True)
                wait_for(lambda: metric(address, "answered_total") >= before + messages)
                results.append((messages / (time.monotonic() - began), resident_mib(server)))
    return results


def main():
    parser = fig.arguments(AREA, __doc__)
    parser.add_argument("program", help="mangrove")
    args = parser.parse_args()
    figures = []
    for network, is_kept in (("mlp", False), ("lenet", False), ("mlp", True)):
        runs = measure(args, network, 4_000 if args.quick else 40_000, 2 if args.quick else 5, is_kept)
        name = network + ("_kept" if is_kept else "")
        setting = f"{network}, {NETWORKS[network][1]} numbers a message, one thread, " + \
                  ("QoS 1 both ways, each answer stored on disk first; " if is_kept else "QoS 0 both ways; ") + BUSY
        figures.append(fig.figure(f"{name}_answered", [per_s for per_s, _ in runs], "messages/s", setting=setting, peer=EKUIPER,
                                  peer_values=[EKUIPER_PER_S]))
        figures.append(fig.figure(f"{name}_memory", [mib for _, mib in runs], "MiB", better="lower", setting=setting, peer=EKUIPER,
                                  peer_values=[EKUIPER_MIB]))
    fig.publish(AREA, args.quick, figures, args.out)


if __name__ == "__main__":
    main()
