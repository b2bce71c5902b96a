"""A dashboard for tests, and a client of it that gives up quickly."""
from __future__ import annotations

import unittest
from dataclasses import replace
from typing import Any

import mangrove
from mangrove._http import Limits

from .fake_server import TOKEN, FakeServer

SESSION = {"version": "0.1.0", "coordinator": "127.0.0.1:7070", "role": "admin"}
QUICK = replace(Limits(), timeout_s=5.0, silence_s=5.0, retry_s=1.5, patience_s=0.3, first_pause_s=0.01)


def job_row(state: str = "running", **more: Any) -> Any:
    return {"id": "job-1", "title": "lenet on glyphs", "state": state, "priority": 0, "starts": 1, "epoch": 1,
            "step": 32, "message": "", "began": "2026-11-28T08:00:00Z", "ended": "", "nodes": ["node-1", "node-2"],
            **more}


class FakeClusterTest(unittest.TestCase):
    """A test with a fake dashboard and a cluster that is connected to it."""

    def setUp(self) -> None:
        self.server = FakeServer()
        self.addCleanup(self.server.close)
        self.server.on("GET /api/v1/session", SESSION)
        self.server.on("GET /api/v1/jobs/job-1", job_row())
        self.cluster = mangrove.connect(f"{self.server.url}/#token={TOKEN}")
        self.addCleanup(self.cluster.close)
        self.cluster._http.limits = QUICK
