"""The notebooks: they run from their beginning to their end, and the repository has no outputs of theirs."""
from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any, List

FOLDER = Path(__file__).parent.parent
NOTEBOOKS = sorted((FOLDER / "notebooks").glob("*.ipynb"))
PROGRAM = os.environ.get("MANGROVE_PROGRAM", "")


def code_cells(path: Path) -> List[Any]:
    return [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]


class Notebooks(unittest.TestCase):
    def test_there_are_some_and_they_hold_no_outputs(self) -> None:
        self.assertEqual([path.name for path in NOTEBOOKS], ["serve_and_ask.ipynb", "train_lenet.ipynb"])
        for path in NOTEBOOKS:
            for cell in code_cells(path):
                self.assertEqual((cell["outputs"], cell["execution_count"]), ([], None), path.name)
                compile("".join(cell["source"]), path.name, "exec")

    @unittest.skipUnless(PROGRAM, "MANGROVE_PROGRAM does not name the program")
    @unittest.skipUnless(shutil.which("jupyter-nbconvert"), "jupyter-nbconvert is not installed")
    def test_they_run(self) -> None:
        environment = {**os.environ, "PYTHONPATH": str(FOLDER)}
        with tempfile.TemporaryDirectory() as folder:
            for path in NOTEBOOKS:
                with self.subTest(notebook=path.name):
                    done = subprocess.run(["jupyter-nbconvert", "--to", "notebook", "--execute", "--output-dir", folder,
                                           "--ExecutePreprocessor.timeout=240", str(path)], env=environment,
                                          capture_output=True, text=True, timeout=600)
                    self.assertEqual(done.returncode, 0, done.stderr[-4000:])
                    for cell in code_cells(Path(folder, path.name)):
                        self.assertIsNotNone(cell["execution_count"], cell["source"])


if __name__ == "__main__":
    unittest.main()
