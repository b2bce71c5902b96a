#!/usr/bin/env python3
"""The changelog of the Debian packages, which deploy/debian/changelog.sh makes of CHANGELOG.md. Needs dpkg-dev."""
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

CHANGELOG = """# Changelog

## Unreleased

### Added
- A first thing, which is
  explained over two lines.
- A second thing.

## 0.1.0 - 2026-11-24

The first version.
"""


class Changelogs(unittest.TestCase):
    def changelog(self, text, status=0):
        with tempfile.NamedTemporaryFile("w", suffix=".md") as file:
            file.write(text)
            file.flush()
            done = subprocess.run([ROOT / "deploy/debian/changelog.sh", file.name, "A <a@example.org>"], check=False, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, env={**os.environ, "SOURCE_DATE_EPOCH": "1800000000"})
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout

    def test_versions_in_debians_form(self):
        text = self.changelog(CHANGELOG)
        self.assertEqual(text, """\
mangrove (0.1.0+unreleased) UNRELEASED; urgency=medium

  [ Added ]
  * A first thing, which is explained over two lines.
  * A second thing.

 -- A <a@example.org>  Fri, 15 Jan 2027 08:00:00 +0000

mangrove (0.1.0) bookworm; urgency=medium

  * The first version.

 -- A <a@example.org>  Tue, 24 Nov 2026 00:00:00 +0000

""")
        done = subprocess.run(["dpkg-parsechangelog", "-l-", "--all", "-S", "Version"], input=text, check=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
        self.assertEqual((done.stdout.split(), done.stderr), (["0.1.0+unreleased"], ""))

    def test_a_date_that_is_none(self):
        for heading in ("## 0.1.0 - 2026-13-24", "## 0.1.0"):
            self.changelog(CHANGELOG.replace("## 0.1.0 - 2026-11-24", heading), status=1)

    def test_of_ours_no_line_is_long(self):
        text = self.changelog((ROOT / "CHANGELOG.md").read_text())
        self.assertEqual([line for line in text.splitlines() if len(line) > 80], [])
        done = subprocess.run(["dpkg-parsechangelog", "-l-", "--all"], input=text, check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.stderr, "")

    def test_without_changes_only_versions_are_there(self):
        text = self.changelog(re.sub(r"(?s)(## Unreleased\n\n).*?(?=## 0)", r"\1", CHANGELOG))
        self.assertTrue(text.startswith("mangrove (0.1.0) bookworm;"), text)


if __name__ == "__main__":
    unittest.main()
