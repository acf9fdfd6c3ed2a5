# SPDX-License-Identifier: Apache-2.0
"""A measurement that was cut in the middle of a line goes on, and loses that line alone."""
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import figures


class Results(unittest.TestCase):
    def test_a_line_that_was_cut(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "results.jsonl"
            self.assertEqual(figures.results_in(file), {})
            figures.add_result(file, "a", {"loss": 0.5})
            figures.add_result(file, "b", {"loss": 0.25})
            whole = file.read_text()
            for size in range(whole.index("\n") + 1, len(whole)):
                file.write_text(whole[:size])
                figures.add_result(file, "c", {"loss": 1})
                known = figures.results_in(file)
                self.assertEqual((known["a"], known["c"]), ({"loss": 0.5}, {"loss": 1}), size)
                self.assertEqual(file.read_text()[:size], whole[:size])


if __name__ == "__main__":
    unittest.main()
