#!/usr/bin/env python3
"""Asks servers without a pause, as clients behind a load balancer do, and counts the requests that get no answer.

    load.py MODEL    # reads lines from standard input: add HOST:PORT, remove HOST:PORT, end

Half of the clients open a connection for each request. The others keep theirs, and open another one where a server has
closed it between two requests, as clients of HTTP do: once for each server that was removed, as only these may close
connections. A new connection goes to one of the servers that were added and not removed. At the end one line says what
was answered. The exit status is 1 if a request was lost.
"""

import asyncio
import http.client
import itertools
import json
import sys
import threading
import time

PAUSE_S = 0.01  # of a client between two requests


class Balancer:
    """Connects clients with servers, in turn; it looks at nothing that they say."""

    def __init__(self):
        self.servers, self.turn = [], itertools.count()
        self.loop = asyncio.new_event_loop()
        self.port = None
        is_there = threading.Event()
        threading.Thread(target=self.run, args=(is_there,), daemon=True).start()
        is_there.wait()

    def run(self, is_there):
        server = self.loop.run_until_complete(asyncio.start_server(self.connect, "127.0.0.1", 0))
        self.port = server.sockets[0].getsockname()[1]
        is_there.set()
        self.loop.run_forever()

    async def connect(self, reader, writer):
        host, port = self.servers[next(self.turn) % len(self.servers)].split(":")
        try:
            other_reader, other_writer = await asyncio.open_connection(host, int(port))
        except OSError:
            writer.transport.abort()
            return
        await asyncio.gather(copy(reader, other_writer), copy(other_reader, writer))


async def copy(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    writer.close()


class Clients:
    def __init__(self, port, model, body):
        self.port, self.path, self.body = port, f"/v2/models/{model}/infer", body
        self.ends, self.answered, self.reopened, self.lost = False, 0, 0, []
        self.removed = 0  # servers, each of which may close every connection once
        self.threads = [threading.Thread(target=self.ask_on, args=(keeps,)) for keeps in (False, False, True, True)]
        for thread in self.threads:
            thread.start()

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)

    def ask_on(self, keeps):
        connection, reopened = self.connect(), 0
        while not self.ends:
            is_new = connection.sock is None  # also where the last answer said that the server closes the connection
            try:
                connection.request("POST", self.path, self.body)
                answer = connection.getresponse()
                text = answer.read()
                if answer.status != 200:
                    raise http.client.HTTPException(f"{answer.status}: {text[:200]!r}")
                self.answered += 1
                time.sleep(PAUSE_S)
                if keeps:
                    continue
            except (OSError, http.client.HTTPException) as error:
                if is_new or reopened == self.removed or not isinstance(error, (ConnectionError, http.client.RemoteDisconnected)):
                    self.lost.append(repr(error))
                else:
                    reopened += 1
                    self.reopened += 1
            connection.close()
            connection = self.connect()

    def end(self):
        self.ends = True
        for thread in self.threads:
            thread.join()


def example(server, model):
    """A request with one sample of zeros."""
    host, port = server.split(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=30)
    connection.request("GET", f"/v2/models/{model}")
    (own,) = json.loads(connection.getresponse().read())["inputs"]
    shape = [max(1, size) for size in own["shape"]]
    count = 1
    for size in shape:
        count *= size
    return json.dumps({"inputs": [{**own, "shape": shape, "data": [0] * count}]})


def main():
    model = sys.argv[1]
    balancer, clients = Balancer(), None
    for line in sys.stdin:
        word, _, server = line.strip().partition(" ")
        if word == "add":
            balancer.servers = [*balancer.servers, server]
            clients = clients or Clients(balancer.port, model, example(server, model))
        elif word == "remove":
            clients.removed += 1
            balancer.servers = [other for other in balancer.servers if other != server]
        elif word == "end":
            break
        else:
            sys.exit(f"load.py: unknown line '{line.strip()}'")
        print("ok", flush=True)
    clients.end()
    print(f"{clients.answered} requests answered, {clients.reopened} connections opened again, {len(clients.lost)} requests lost")
    for reason in clients.lost[:5]:
        print(reason, file=sys.stderr)
    sys.exit(bool(clients.lost) or clients.answered == 0)


main()
