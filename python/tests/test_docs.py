# SPDX-License-Identifier: Apache-2.0
"""The README's programs print what it says they print, and the examples run."""
import contextlib
import io
import re
import runpy
import sys
from pathlib import Path

import pytest
import their_exceptions

README = Path(__file__).parents[1] / "README.md"
BLOCKS = re.findall(r"```python\n(.*?)```(?:\n\n<!--[^\n]*-->\n```\n(.*?)```)?", README.read_text(encoding="utf-8"),
                    re.DOTALL)


@pytest.mark.parametrize("program, printed", BLOCKS)
def test_readme(program, printed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(program, {"tacit": __import__("tacit"), "np": __import__("numpy")})
    if printed:
        assert out.getvalue() == printed


def test_there_are_programs():
    assert len(BLOCKS) >= 3 and any(printed for _, printed in BLOCKS)


def test_the_list_of_other_libraries_tests():
    page = Path(__file__).parents[2] / "docs" / "howto" / "their_tests.md"
    assert their_exceptions.table() in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_private_training(library, monkeypatch, capsys):
    if library == "numpy":
        monkeypatch.setitem(sys.modules, "torch", None)
    else:
        pytest.importorskip("torch")
    runpy.run_path(str(README.parent / "examples" / "private_training.py"))
    said = capsys.readouterr().out
    assert "done after 1200 steps" in said and "0.882 at most" in said


def test_private_sql(capsys):
    pytest.importorskip("duckdb")
    runpy.run_path(str(README.parent / "examples" / "private_sql.py"))["main"]()
    said = capsys.readouterr().out
    together, apart = (
        [float(x) for x in re.findall(r"([0-9.]+) %", re.search(f"error {name}: (.*)", said).group(1))]
        for name in ("noised together", "cell by cell"))
    assert together[0] < apart[0]  # of the sum: 7 of their deviations
    right, most = re.search(r"probability ([0-9.]+) on average, .* at most ([0-9.]+)", said).groups()
    assert 0.5 < float(right) < float(most) < 0.9
