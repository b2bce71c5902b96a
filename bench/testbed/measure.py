#!/usr/bin/env python3
"""What processes on emulated boards really get, measured by programs in them. Started by run.sh, which builds and installs."""
import contextlib
import pathlib
import signal
import socket
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import figures as fig  # noqa: E402

AREA = "testbed"
BOARDS = HERE / "boards.yaml"
TRANSFER = 20_000_000  # bytes

# Each is run inside a board, and prints a number or serves one connection.
BUSY = """
import os, sys, time
os.sched_setaffinity(0, {int(sys.argv[2])})
begin, cpu = time.monotonic(), time.process_time()
while time.monotonic() - begin < float(sys.argv[1]): pass
print((time.process_time() - cpu) / (time.monotonic() - begin))
"""
SEND = """
import socket, sys
line = socket.create_connection((sys.argv[1], int(sys.argv[2])))
line.recv(1)
line.sendall(bytes(int(sys.argv[3])))
line.shutdown(socket.SHUT_WR)
line.recv(1)
"""
RECEIVE = """
import socket, sys, time
line = socket.create_connection((sys.argv[1], int(sys.argv[2])))
line.recv(1)
begin, got = time.monotonic(), 0
while part := line.recv(1 << 20): got += len(part)
print(got / (time.monotonic() - begin))
"""
ECHO = """
import socket, sys
line = socket.create_connection((sys.argv[1], int(sys.argv[2])))
line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
while part := line.recv(1): line.sendall(part)
"""


@contextlib.contextmanager
def testbed(program):
    """The status of the testbed, as `mangrove testbed status --json` gives it."""
    process = subprocess.Popen([program, "testbed", "up", BOARDS], stdout=subprocess.PIPE, text=True)
    try:
        if not any("testbed ready on" in line for line in process.stdout):
            sys.exit("the testbed does not come up")
        yield fig.run_json([program, "testbed", "status", BOARDS, "--json"])["testbeds"][0]
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


class Board:
    """A place to run programs, and the address of this machine as it sees it."""

    def __init__(self, status, name):
        self.entry = next(board for board in status["boards"] if board["name"] == name)
        self.host = status["coordinator"].rsplit(":", 1)[0]

    def run(self, script, *arguments):
        groups = [group for group in (self.entry["cpu_group"], self.entry["memory_group"]) if group]
        enter = "".join(f"echo $$ > {group}/cgroup.procs && " for group in groups) + 'exec "$@"'
        command = ["sh", "-c", enter, "board", "nsenter", f"--net=/run/netns/{self.entry['netns']}",
                   "/usr/bin/python3", "-c", script, *map(str, arguments)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    @contextlib.contextmanager
    def line(self, script, *arguments):
        """A connection to a program in the board."""
        with socket.create_server((self.host, 0)) as server:
            process = self.run(script, self.host, server.getsockname()[1], *arguments)
            connection, _ = server.accept()
            with connection:
                yield connection, process


def number_of(process):
    out, _ = process.communicate(timeout=300)
    if process.returncode != 0:
        sys.exit("a program in a board failed")
    return float(out)


def error_percent(measured, wanted):
    return 100 * abs(measured / wanted - 1)


def cpu_share(board, seconds):
    return number_of(board.run(BUSY, seconds, 0))


def upload(board):
    """Bytes of payload a second, from the board to this machine."""
    with board.line(SEND, TRANSFER) as (connection, _):
        connection.sendall(b"g")
        begin, got = time.monotonic(), 0
        while part := connection.recv(1 << 20):
            got += len(part)
        return got / (time.monotonic() - begin)


def download(board):
    with board.line(RECEIVE) as (connection, process):
        connection.sendall(b"g")
        connection.sendall(bytes(TRANSFER))
        connection.shutdown(socket.SHUT_WR)
        return number_of(process)


def one_way_ms(board, times):
    """Half a round trip of one byte: median of so many."""
    with board.line(ECHO) as (connection, _):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        trips = []
        for _ in range(times):
            begin = time.monotonic()
            connection.sendall(b"x")
            connection.recv(1)
            trips.append((time.monotonic() - begin) * 1000 / 2)
        return statistics.median(trips)


def measure(status, rounds, seconds):
    board = {entry["name"]: Board(status, entry["name"]) for entry in status["boards"]}

    def within(name, wanted, runs, unit="%", target=5, error=error_percent):
        return fig.figure(name, [error(run, wanted) for run in runs], unit, target=target, better="lower")

    def figures_of_rate(name, wanted):
        ups = [upload(board[name]) for _ in range(rounds)]
        downs = [download(board[name]) for _ in range(rounds)]
        return [within(f"{name}_upload_rate_error", wanted, ups), within(f"{name}_download_rate_error", wanted, downs)]

    delays = [one_way_ms(board["far"], 20) for _ in range(rounds)]
    return [
        within("cpu_share_18_percent_error", 0.18, [cpu_share(board["fifth"], seconds) for _ in range(rounds)]),
        within("cpu_share_50_percent_error", 0.5, [cpu_share(board["half"], seconds) for _ in range(rounds)]),
        *figures_of_rate("fast", 12.5e6),
        *figures_of_rate("slow", 5e6),
        *figures_of_rate("near", 12.5e6),
        within("delay_50_ms_error", 50, delays, unit="ms", error=lambda run, wanted: abs(run - wanted)),
    ]


def main():
    parser = fig.arguments(AREA, __doc__)
    parser.add_argument("program", help="mangrove")
    args = parser.parse_args()
    with testbed(args.program) as status:
        figures = measure(status, *((1, 3) if args.quick else (5, 5)))
    fig.publish(AREA, args.quick, figures, args.out)


main()
