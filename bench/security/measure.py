#!/usr/bin/env python3
"""What certificates and encryption cost. Started by run.sh, which builds."""
import concurrent.futures
import contextlib
import os
import pathlib
import re
import socket
import ssl
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import figures as fig  # noqa: E402

AREA = "security"
MOST_SLOWER = 3  # %
BOARDS = 4
SHARE = {"training": 0.4, "pipeline": 0.2}  # of a core, of each board: the coordinator has the rest of two cores
RATE = "100mbit"
CUTS = "conv12,conv21,conv42"  # as most plans for such boards are; a plan of each run's own would measure the plans, too
WAYS = {"tls": [], "plain": ["--insecure"]}
JOINS, AT_ONCE = 1000, 64


def boards(folder, share):
    path = pathlib.Path(folder) / "boards.yaml"
    path.write_text("".join(f"b{i}: {{cpu: {share}, memory: 1GB, rate: {RATE}}}\n" for i in range(BOARDS)))
    return path


def compared(name, speeds, setting):
    """speeds: {way: images per second of each round}, in neighbouring runs."""
    slower = [100 * (1 - ratio) for ratio in fig.ratios(speeds["tls"], speeds["plain"])]
    return [fig.figure(f"{name}_speed", speeds["tls"], "images/s", peer="plain text", peer_values=speeds["plain"], setting=setting),
            fig.figure(f"{name}_slower", slower, "%", target=MOST_SLOWER, better="lower", setting="than plain text, in neighbouring runs")]


def measure_training(args):
    """ResNet-32 on CIFAR-10, data parallel. The second epoch counts: the first has the start in it."""
    speeds = {way: [] for way in WAYS}
    images = 512 if args.quick else 2048
    with tempfile.TemporaryDirectory() as folder:
        testbed = boards(folder, SHARE["training"])
        for _ in range(1 if args.quick else 5):
            for way, flags in WAYS.items():
                run = fig.train(args.program, "resnet-32", args.cifar10, "--testbed", testbed, "--limit", images, "--validation", 0.05, "--batch", 32,
                                "--epochs", 2, *flags)
                first, second = fig.column(run["validations"], "train_seconds")
                speeds[way].append(run["samples"] / 2 / (second - first))
    return compared("training", speeds, f"ResNet-32 on CIFAR-10, parameter server, {BOARDS} boards of {SHARE['training']} cores and {RATE}, batch 32 on each")


def measure_pipeline(args):
    """MobileNetV2 with a new head for tomato leaves: how well it answers does not matter here."""
    speeds = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory() as folder:
        testbed, trained, run = boards(folder, SHARE["pipeline"]), pathlib.Path(folder) / "trained", pathlib.Path(folder) / "run"
        fig.run_json([args.program, "train", "--data", args.data, "--init-from", args.backbone, "--freeze", "backbone", "--head-epochs", 1, "--epochs", 1,
                      "--limit", 64, "--batch", 16, "--local", 2, "--run-dir", trained, "--json", "--quiet"], timeout=3600)
        for i in range(1 if args.quick else 5):
            for way, flags in WAYS.items():
                speeds[way].append(fig.run_json([args.program, "infer", "--data", args.images, "--model", trained / "model.onnx", "--testbed", testbed,
                                                 "--cuts", CUTS, "--micro-batch", 4, "--limit", 200 if args.quick else 3200, "--run-dir",
                                                 run / f"{way}-{i}", "--json", "--quiet", *flags], timeout=3600)["images_per_s"])
    return compared("pipeline", speeds, f"MobileNetV2 on images of 96x96, {BOARDS} stages cut at {CUTS}, one on each board of {SHARE['pipeline']} cores and {RATE}")


class Cluster:
    """A coordinator with an authority of its own, in a folder, and people with homes of their own."""

    def __init__(self, program, folder):
        self.program, self.folder = program, pathlib.Path(folder)

    def home(self, person):
        return {**os.environ, "XDG_CONFIG_HOME": str(self.folder / person)}

    @contextlib.contextmanager
    def coordinator(self):
        command = [self.program, "coordinator", "--listen", "127.0.0.1:0", "--state", str(self.folder / "state")]
        with subprocess.Popen(command, env=self.home("admin"), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as running:
            try:
                found = None
                for line in running.stdout:
                    if found := re.search(r"coordinator ready on (\S+)", line):
                        break
                if found is None:
                    sys.exit("the coordinator ended before it was ready")
                self.address = found.group(1)
                yield running
            finally:
                running.terminate()

    def run(self, person, *command):
        done = subprocess.run([self.program, *map(str, command)], env=self.home(person), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=600, check=False)
        if done.returncode != 0:
            sys.exit(f"{' '.join(map(str, command))}: {done.stderr}")
        return done.stdout.strip()

    def invite(self, role, uses):
        return self.run("admin", "invite", "--coordinator", self.address, "--role", role, "--uses", uses)


def resident_mib(running):
    return int(pathlib.Path(f"/proc/{running.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def shake_hands(address, context):
    """A new connection with a certificate on both sides, until the server speaks: in TLS 1.3 only then it has checked ours."""
    host, port = address.rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=30) as plain, context.wrap_socket(plain) as link:
        if link.version() != "TLSv1.3" or not link.recv(1):
            sys.exit("the coordinator did not accept the certificate")


def measure_handshakes(args):
    """Connections one after the other, each with a full handshake (no session is resumed), by OpenSSL through Python."""
    with tempfile.TemporaryDirectory() as folder:
        cluster = Cluster(args.program, folder)
        with cluster.coordinator():
            pem = next((cluster.folder / "admin" / "mangrove" / "identities").glob("*.admin.*.pem"))
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.minimum_version = ssl.TLSVersion.TLSv1_3
            context.check_hostname = False
            context.load_verify_locations(cafile=pem)
            context.load_cert_chain(pem)
            context.set_alpn_protocols(["h2"])
            rates, times = [], []
            for _ in range(1 if args.quick else 5):
                count, begin = 100 if args.quick else 500, time.monotonic()
                for _ in range(count):
                    shake_hands(cluster.address, context)
                times.append(1000 * (time.monotonic() - begin) / count)
                rates.append(1000 / times[-1])
    return [fig.figure("handshakes", rates, "1/s", setting="TLS 1.3 with certificates on both sides, one after the other, the client on the same machine"),
            fig.figure("handshake_time", times, "ms", better="lower", setting="until the first byte of the server's HTTP/2")]


def measure_joins(args):
    """Members that join with one string, each a process that makes its key and keeps its certificate."""
    joins = 100 if args.quick else JOINS
    with tempfile.TemporaryDirectory() as folder:
        cluster = Cluster(args.program, folder)
        with cluster.coordinator() as running:
            string = cluster.invite("client", joins)
            before, begin = resident_mib(running), time.monotonic()
            with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as people:
                list(people.map(lambda i: cluster.run(f"person-{i}", "join", string, "--name", f"person-{i}", "--quiet"), range(joins)))
            seconds, grown = time.monotonic() - begin, resident_mib(running) - before
            members = fig.json.loads(cluster.run("admin", "members", "--coordinator", cluster.address, "--json"))["members"]
    joined = sum(member["name"].startswith("person-") for member in members)
    return [fig.figure("joins", [joins / seconds], "1/s", setting=f"{joins:,} members with one join string, {AT_ONCE} processes at a time, all on this machine"),
            fig.figure("joins_refused", [joins - joined], "members", target=0, better="lower"),
            fig.figure("joins_memory", [grown], "MiB", better="lower", setting="by which the coordinator has grown")]


PARTS = {"training": measure_training, "pipeline": measure_pipeline, "handshakes": measure_handshakes, "joins": measure_joins}


def main():
    parser = fig.part_arguments(AREA, __doc__, PARTS)
    parser.add_argument("--backbone", type=pathlib.Path, help="ONNX file of a MobileNetV2 trained on ImageNet; for the pipeline")
    parser.add_argument("--data", default="plantvillage-tomato/", help="data set for the head of the pipeline's network")
    parser.add_argument("--images", default="plantvillage-tomato/train/,test=0.9", help="data set that the pipeline classifies")
    args = parser.parse_args()
    if args.only in (None, "pipeline") and args.backbone is None:
        parser.error("--backbone is needed for the pipeline")
    fig.publish_parts(AREA, args, PARTS)


main()
