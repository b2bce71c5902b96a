"""Cluster: calls, errors, addresses, the stream of its state."""
from __future__ import annotations

import os
import tempfile
import threading
import unittest
from pathlib import Path
from unittest import mock

import numpy as np

import mangrove
from mangrove._address import parse_address

from .fake_cluster import FakeClusterTest, job_row
from .fake_server import TOKEN, FakeServer, Reply, event, problem, reply_json, stream

NODE = {"name": "node-1", "state": "alive", "roles": [{"job": "job-1", "role": "worker 1"}], "cores": 4,
        "cpu_percent": 87.5, "memory_bytes": 8 << 30, "rss_bytes": 55 << 20, "sent_per_s": 1e6, "received_per_s": 2e6,
        "heartbeat_age_s": 0.2, "temperature_c": 51.5, "steps": {"count": 8, "compute_s": 0.1}, "new_key": [1]}
STATE = {"coordinator": "127.0.0.1:7070", "nodes": [NODE], "straggler": None, "refused": {"not_allowed": 2},
         "jobs": [{"id": "job-1", "kind": "train", "strategy": "federated", "state": "running", "priority": 0,
                   "share": 1, "progress": None}]}


class Addresses(unittest.TestCase):
    def test_token_behind_the_hash_is_not_part_of_what_is_shown(self) -> None:
        address = parse_address("http://127.0.0.1:7080/#token=s3cret")
        self.assertEqual((address.host, address.port, address.token), ("127.0.0.1", 7080, "s3cret"))
        self.assertNotIn("s3cret", str(address) + repr(address))

    def test_other_forms(self) -> None:
        self.assertEqual(str(parse_address("localhost:7080")), "http://localhost:7080")
        self.assertEqual(str(parse_address("https://[::1]:7080/behind/proxy/")), "https://[::1]:7080/behind/proxy")
        self.assertEqual(parse_address("https://mangrove").port, 443)
        self.assertEqual(parse_address("http://a/#token=one", "two").token, "two")

    def test_what_is_no_address_is_named(self) -> None:
        for url in ("ftp://a/", "http://", "http://a:99999/", "http://u:p@a/", "http://a/?token=x", "http://a\r\nX: y/"):
            with self.subTest(url=url), self.assertRaisesRegex(mangrove.InvalidArgument, "mangrove dashboard"):
                parse_address(url)

    def test_a_token_cannot_carry_another_header(self) -> None:
        for token in ("a\r\nX: y", "", "ä", "two words"):
            with self.subTest(token=token), self.assertRaisesRegex(mangrove.InvalidArgument, "token"):
                parse_address("http://a/", token)

    def test_a_token_does_not_leave_this_machine_in_plain_text(self) -> None:
        with self.assertRaisesRegex(mangrove.InvalidArgument, "insecure=True"):
            mangrove.connect("http://192.0.2.1:7080/#token=x")
        with self.assertRaisesRegex(mangrove.InvalidArgument, "insecure=True"):
            mangrove.Service("http://boards.example:8000", token="x")

    def test_without_an_address_it_says_where_one_is(self) -> None:
        with mock.patch.dict(os.environ):
            os.environ.pop("MANGROVE_URL", None)
            with self.assertRaisesRegex(mangrove.InvalidArgument, "mangrove dashboard.*MANGROVE_URL"):
                mangrove.connect()


class Connecting(unittest.TestCase):
    def setUp(self) -> None:
        self.server = FakeServer()
        self.addCleanup(self.server.close)

    def test_address_and_token_of_the_environment(self) -> None:
        self.server.on("GET /api/v1/session", {"version": "1", "coordinator": "c:1", "role": "viewer"})
        with mock.patch.dict(os.environ, {"MANGROVE_URL": self.server.url, "MANGROVE_TOKEN": TOKEN}):
            with mangrove.connect() as cluster:
                self.assertEqual(cluster.session(), mangrove.Session("1", "c:1", "viewer"))
        self.assertEqual({one.headers["authorization"] for one in self.server.requests}, {"Bearer " + TOKEN})

    def test_wrong_token(self) -> None:
        self.server.on("GET /api/v1/session", problem(401, "permission_denied", "no such token"))
        with self.assertRaisesRegex(mangrove.Refused, r"no such token \(copy the whole address") as caught:
            mangrove.connect(self.server.url)
        self.assertEqual((caught.exception.status, caught.exception.code), (401, "permission_denied"))

    def test_nobody_listens(self) -> None:
        url = self.server.url
        self.server.close()
        with self.assertRaisesRegex(mangrove.Unavailable, "nothing listens at .*; is the program running"):
            mangrove.connect(url)
        self.server = FakeServer()
        self.addCleanup(self.server.close)

    def test_plain_server_where_tls_is_expected(self) -> None:
        with self.assertRaisesRegex(mangrove.Unavailable, "does the address need http"):
            mangrove.connect(self.server.url.replace("http:", "https:"))

    def test_authority_that_is_no_file_of_certificates(self) -> None:
        with self.assertRaisesRegex(mangrove.InvalidArgument, "PEM"):
            mangrove.connect("https://127.0.0.1:1", ca="/dev/null")


class Calls(FakeClusterTest):
    def test_nodes(self) -> None:
        self.server.on("GET /api/v1/cluster", STATE)
        (node,) = self.cluster.nodes()
        self.assertEqual((node.name, node.state, node.cores, node.temperature_c), ("node-1", "alive", 4, 51.5))
        self.assertEqual(node.roles, (mangrove.Role("job-1", "worker 1"),))
        self.assertEqual(node.raw["new_key"], [1])

    def test_names_cannot_steer_the_terminal(self) -> None:
        name = "pi\x1b[2J\x9b1m\r\n\u202eevil"
        self.server.on("GET /api/v1/cluster", {**STATE, "nodes": [{**NODE, "name": name}]})
        (node,) = self.cluster.nodes()
        self.assertEqual(node.name, r"pi\x1b[2J\x9b1m\r\n\u202eevil")
        self.assertTrue(repr(node).isprintable())

    def test_errors_cannot_steer_the_terminal(self) -> None:
        self.server.on("GET /api/v1/cluster", problem(409, "co\x1bde", "bad\x1b[2J\nnews"))
        with self.assertRaises(mangrove.Error) as caught:
            self.cluster.nodes()
        self.assertEqual((str(caught.exception), caught.exception.code), ("bad\\x1b[2J\nnews", "co\\x1bde"))

    def test_types_that_are_wrong_are_named(self) -> None:
        self.server.on("GET /api/v1/cluster", {**STATE, "nodes": [{**NODE, "cores": "four"}]})
        with self.assertRaisesRegex(mangrove.Error, "'cores' is 'four', and a number is expected") as caught:
            self.cluster.nodes()
        self.assertEqual(caught.exception.code, "data_loss")

    def test_answers_that_are_no_json(self) -> None:
        deep = b"[" * 200_000
        for body in (b"", b'{"nodes": [', b"\xff\xfe", b"[]", deep, b'{"nodes": 1}', b'{"nodes": [1e999]}',
                     b'{"nodes": ' + b"9" * 2_000_000 + b"}"):
            self.server.on("GET /api/v1/cluster", Reply(body=body))
            with self.subTest(body=body[:20]), self.assertRaises(mangrove.Error) as caught:
                self.cluster.nodes()
            self.assertEqual(caught.exception.code, "data_loss")

    def test_answer_that_is_cut_off(self) -> None:
        self.server.on("GET /api/v1/cluster", Reply(body=b'{"nodes": []}', length=1000))
        with self.assertRaisesRegex(mangrove.Unavailable, "ends after 13 of 1000 bytes"):
            self.cluster.nodes()

    def test_announced_length_is_checked_before_reading(self) -> None:
        self.server.on("GET /api/v1/cluster", Reply(body=b"{}", length=1 << 50))
        with self.assertRaisesRegex(mangrove.Error, "has more than 67108864 bytes") as caught:
            self.cluster.nodes()
        self.assertEqual(caught.exception.code, "resource_exhausted")

    def test_endless_body_is_not_read_to_its_end(self) -> None:
        self.cluster._http.limits = mangrove._http.Limits(longest_json=1 << 20)
        sent = []

        def endless(request: object) -> Reply:
            sent.append(request)
            return Reply(pieces=tuple(b"x" * 65536 for _ in range(1000)))

        self.server.on("GET /api/v1/cluster", endless)
        with self.assertRaisesRegex(mangrove.Error, "more than 1048576 bytes"):
            self.cluster.nodes()
        self.assertEqual(len(sent), 1)

    def test_one_connection_is_kept(self) -> None:
        self.server.on("GET /api/v1/cluster", STATE)
        for _ in range(5):
            self.cluster.nodes()
        self.assertEqual(len({one.connection for one in self.server.requests}), 1)

    def test_kept_connection_that_the_server_has_closed(self) -> None:
        self.server.on("GET /api/v1/cluster", reply_json(STATE, Connection="close"))
        self.assertEqual([len(self.cluster.nodes()) for _ in range(3)], [1, 1, 1])

    def test_reading_is_repeated_after_retry_after(self) -> None:
        self.server.on("GET /api/v1/cluster", problem(503, "unavailable", "starting", Retry_After="0"), STATE)
        self.assertEqual(len(self.cluster.nodes()), 1)
        self.assertEqual(len(self.server.calls("/api/v1/cluster")), 2)

    def test_waiting_for_retry_after_has_a_bound(self) -> None:
        for after in ("3600", "soon", "-1", ""):
            self.server.requests.clear()
            self.server.on("GET /api/v1/cluster", problem(503, "unavailable", "starting", Retry_After=after))
            with self.subTest(after=after), self.assertRaisesRegex(mangrove.Unavailable, "starting"):
                self.cluster.nodes()
            self.assertEqual(len(self.server.requests), 1)

    def test_members_invitations_and_revocation(self) -> None:
        self.server.on("GET /api/v1/members", {"members": [{
            "name": "pi", "role": "node", "state": "member", "since": 1, "expires": 2.5, "invitation": "",
            "uses_left": 0}]})
        self.server.on("POST /api/v1/invitations", reply_json({"join_string": "mangrove:abc", "expires": 9}, 201))
        self.server.on("POST /api/v1/members/a%2Fb/revoke", {})
        self.assertEqual(self.cluster.members()[0], mangrove.Member("pi", "node", "member", 1, 2.5, "", 0))
        self.assertEqual(self.cluster.invite(role="viewer", name="eve", ttl=60, uses=2), "mangrove:abc")
        self.cluster.revoke("a/b")
        self.assertEqual(self.server.calls("/api/v1/invitations")[0].json(),
                         {"role": "viewer", "name": "eve", "ttl_s": 60, "uses": 2})

    def test_not_allowed(self) -> None:
        self.server.on("GET /api/v1/members", problem(403, "permission_denied", "viewers may not"))
        with self.assertRaisesRegex(mangrove.Refused, "admins also invite"):
            self.cluster.members()

    def test_keys(self) -> None:
        self.server.on("GET /api/v1/keys/train", {"command": "train", "keys": [
            {"name": "epochs", "group": "Learning", "type": "whole", "help": "passes", "default": "1",
             "range": "1 or more", "strategies": []},
            {"name": "strategy", "group": "Strategy", "type": "text", "help": "how", "default": "federated",
             "choices": ["federated", "gossip"]}]})
        epochs, strategy = self.cluster.keys()
        self.assertEqual((epochs.name, epochs.default, epochs.range, epochs.strategies), ("epochs", "1", "1 or more", ()))
        self.assertEqual(strategy.choices, ("federated", "gossip"))

    def test_jobs(self) -> None:
        self.server.on("GET /api/v1/jobs", {"jobs": [job_row("done", priority=None), job_row()]})
        self.assertEqual([(job.id, job.state) for job in self.cluster.jobs()], [("job-1", "done"), ("job-1", "running")])
        with self.assertRaises(mangrove.NotFound):
            self.cluster.job("job-2")


class Beginning(FakeClusterTest):
    def setUp(self) -> None:
        super().setUp()
        self.server.on("POST /api/v1/jobs", reply_json({"id": "job-1"}, 201))

    def sent(self) -> object:
        return self.server.calls("/api/v1/jobs")[-1].json()

    def test_train(self) -> None:
        job = self.cluster.train(model="mlp", data="glyphs", epochs=np.int64(2), milestones=[3, 5],
                                 learning_rate=None, baseline=True, init_from=Path("a.onnx"))
        self.assertEqual(job.id, "job-1")
        self.assertEqual(self.sent(), {"command": "train", "keys": {
            "model": "mlp", "init_from": "a.onnx", "data": "glyphs", "epochs": 2, "milestones": "3,5", "baseline": True}})

    def test_names_of_strategies_that_others_use(self) -> None:
        self.cluster.train(strategy="FedAvgM", outer_momentum=0.5)
        self.assertEqual(self.sent(), {"command": "train", "keys": {
            "model": "lenet", "data": "mnist", "strategy": "federated", "local_epochs": 1, "outer_momentum": 0.5}})

    def test_own_names_stay(self) -> None:
        self.cluster.train(strategy="gossip")
        self.assertEqual(self.sent(), {"command": "train",
                                       "keys": {"model": "lenet", "data": "mnist", "strategy": "gossip"}})

    def test_value_that_no_key_takes(self) -> None:
        with self.assertRaisesRegex(mangrove.InvalidArgument, "'epochs' is a dict"):
            self.cluster.train(epochs={})

    def test_wrong_key_is_named(self) -> None:
        self.server.on("POST /api/v1/jobs", problem(400, "invalid_argument", "unknown key 'epoch': did you mean epochs"))
        with self.assertRaisesRegex(mangrove.InvalidArgument, "did you mean epochs"):
            self.cluster.train(epoch=2)

    def test_a_job_is_never_begun_twice(self) -> None:
        self.server.on("POST /api/v1/jobs", problem(503, "unavailable", "busy", Retry_After="0"))
        with self.assertRaises(mangrove.Unavailable):
            self.cluster.train()
        self.assertEqual(len(self.server.calls("/api/v1/jobs")), 1)

    def test_lost_answer_leaves_open_whether_it_has_begun(self) -> None:
        self.cluster._http.limits = mangrove._http.Limits(timeout_s=0.2)
        over = threading.Event()
        self.addCleanup(over.set)
        self.server.on("POST /api/v1/jobs", lambda request: over.wait(10) and reply_json({"id": "job-1"}, 201))
        with self.assertRaisesRegex(mangrove.Unavailable, "not answered in time.*may have begun all the same") as caught:
            self.cluster.train()
        self.assertEqual(caught.exception.code, "deadline_exceeded")
        self.assertEqual(len(self.server.calls("/api/v1/jobs")), 1)

    def test_dictionaries(self) -> None:
        for wish in ({"command": "infer", "keys": {"data": "glyphs", "stages": 3}},
                     {"data": "glyphs", "infer": {"stages": 3}}):
            self.cluster.submit(wish)
            self.assertEqual(self.sent(), {"command": "infer", "keys": {"data": "glyphs", "stages": 3}})

    def test_dictionaries_that_are_no_job(self) -> None:
        for wish in ({}, {"eval": {}}, {"train": {}, "infer": {}}, {"train": 3}, {"command": "train", "epochs": 2}):
            with self.subTest(wish=wish), self.assertRaises(mangrove.InvalidArgument):
                self.cluster.submit(wish)

    def test_job_files(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "job.yaml")
            path.write_text("data: glyphs\ntrain:\n  model: mlp\n  epochs: 3\n")
            with mock.patch.dict("sys.modules", {"yaml": None}):
                with self.assertRaisesRegex(mangrove.Error, "need PyYAML"):
                    self.cluster.submit(path)
            try:
                import yaml  # noqa: F401
            except ImportError:
                return  # that it is missing is said: above
            self.cluster.submit(path)
            self.assertEqual(self.sent(), {"command": "train", "keys": {"data": "glyphs", "model": "mlp", "epochs": 3}})
            for text in ("[1, 2]", "a: b: c", "1: 2"):
                path.write_text(text)
                with self.subTest(text=text), self.assertRaisesRegex(mangrove.InvalidArgument, "job.yaml"):
                    self.cluster.submit(path)


class Watching(FakeClusterTest):
    def test_states_problems_and_signs_of_life(self) -> None:
        self.server.on("GET /api/v1/cluster/stream", stream(
            event("cluster", STATE), b": nothing new\n\n", event("unknown", 1), event("problem", {"message": "away"}),
            event("cluster", {**STATE, "straggler": "node-1"})))
        states = [state for _, state in zip(range(3), self.cluster.watch())]
        self.assertEqual([state.problem for state in states], ["", "away", ""])
        self.assertEqual([len(state.nodes) for state in states], [1, 1, 1])
        self.assertEqual(states[2].straggler, "node-1")

    def test_broken_stream_is_made_anew(self) -> None:
        whole = event("cluster", STATE)
        self.server.on("GET /api/v1/cluster/stream", stream(whole, whole[:40]), problem(503, "unavailable", "away"),
                       stream(whole))
        states = [state for _, state in zip(range(2), self.cluster.watch())]
        self.assertEqual(len(states), 2)
        self.assertEqual(len(self.server.calls("/api/v1/cluster/stream")), 3)

    def test_server_that_does_not_come_back(self) -> None:
        self.server.on("GET /api/v1/cluster/stream", stream(event("cluster", STATE)), problem(503, "unavailable", "away"))
        states = self.cluster.watch()
        next(states)
        with self.assertRaisesRegex(mangrove.Unavailable, "away.*Is the dashboard still running"):
            next(states)

    def test_refusal_is_not_tried_again(self) -> None:
        self.server.on("GET /api/v1/cluster/stream", problem(401, "permission_denied", "old token"))
        with self.assertRaises(mangrove.Refused):
            next(self.cluster.watch())
        self.assertEqual(len(self.server.calls("/api/v1/cluster/stream")), 1)

    def test_something_else_than_a_stream(self) -> None:
        self.server.on("GET /api/v1/cluster/stream", {"a": 1})
        with self.assertRaisesRegex(mangrove.Error, "is no stream of events"):
            next(self.cluster.watch())


if __name__ == "__main__":
    unittest.main()
