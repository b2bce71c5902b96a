"""docs/python.md: its Python runs and prints what the page shows, but for the digits; its tables are those of the code."""
from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import List

import mangrove

FOLDER = Path(__file__).parent.parent
PAGE = (FOLDER.parent / "docs" / "python.md").read_text()
PROGRAM = os.environ.get("MANGROVE_PROGRAM", "")


def blocks(language: str) -> List[str]:
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return [text for of, text in fenced if of == language]


def without_digits(text: str) -> List[str]:
    """Its lines; runs of digits and spaces are alike."""
    return [re.sub(r"[\d\s]+", " ", line) for line in text.strip().splitlines()]


class Page(unittest.TestCase):
    @unittest.skipUnless(PROGRAM, "MANGROVE_PROGRAM does not name the program")
    def test_what_it_shows_is_printed(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([PROGRAM, "data", "make", "images", "--data", "glyphs", "--to", "digits", "--limit", "30",
                            "--quiet"], cwd=folder, check=True, capture_output=True, timeout=60)
            next(Path(folder, "digits", "test", "7").glob("*.png")).rename(Path(folder, "seven.png"))
            done = subprocess.run([sys.executable, "-u", "-c", "\n".join(blocks("python"))], cwd=folder, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120,
                                  env={**os.environ, "PYTHONPATH": str(FOLDER)})
        self.assertEqual(done.returncode, 0, done.stdout)
        printed = "\n".join(line for line in done.stdout.splitlines() if not line.startswith("warning: advice"))
        self.assertEqual(without_digits(printed), without_digits("".join(blocks(""))))

    def test_names_of_strategies(self) -> None:
        table = PAGE[PAGE.index("### Names that you may know"):PAGE.index("### Served networks")]
        rows = re.findall(r"^\| (`.*?`) \| (?!keys)", table, re.MULTILINE)
        self.assertEqual([name for row in rows for name in re.findall(r"`(\w+)`", row)], list(mangrove.strategies))

    def test_calls_exist(self) -> None:
        classes = {"cluster": mangrove.Cluster, "job": mangrove.Job, "service": mangrove.Service, "mangrove": mangrove}
        calls = re.findall(r"`(cluster|job|service|mangrove)\.(\w+)", PAGE)
        self.assertGreater(len(calls), 25)
        for owner, name in calls:
            self.assertTrue(hasattr(classes[owner], name), f"{owner}.{name}")
        for name in re.findall(r"^\| `(\w+)` \| (?:a key|no such|the token|nobody|a job|all others)", PAGE, re.MULTILINE):
            self.assertTrue(issubclass(getattr(mangrove, name), mangrove.Error), name)


if __name__ == "__main__":
    unittest.main()
