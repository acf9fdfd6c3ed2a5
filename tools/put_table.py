# SPDX-License-Identifier: Apache-2.0
"""Puts a table into a page, in place of what stands between its marks.

usage: put_table.py PAGE NAME FILE    <!-- table: NAME, written by … --> and <!-- end of table --> are the marks
"""
import re
import sys
from pathlib import Path


def main():
    page, name, table = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]).read_text(encoding="utf-8")
    between = re.compile(rf"(<!-- table: {re.escape(name)},[^\n]*-->\n).*?(<!-- end)", re.DOTALL)
    text, found = between.subn(lambda marks: f"{marks[1]}\n{table.strip()}\n\n{marks[2]}",
                               page.read_text(encoding="utf-8"))
    if found != 1:
        sys.exit(f"{page} has {found} tables called {name}, but must have 1")
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
