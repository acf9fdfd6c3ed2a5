#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Puts the page together: one HTML file of the markup, the style, the scripts and the compressed engine.

usage: page.py OUTPUT   (tacit.js and tacit.wasm lie beside OUTPUT)
"""
import base64
import gzip
import hashlib
import re
import sys
from pathlib import Path

WEB = Path(__file__).parent
MODULES = ["dom.js", "engine.js", "model.js", "inputs.js", "chart.js", "statement.js", "page.js"]
LARGEST = 1_000_000


def read(path):
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".js":
        text = re.sub(r"\A(//[^\n]*\n)+", "", text)  # what the file is about
        assert "</script" not in text, path
    return text.strip()


def main():
    output = Path(sys.argv[1])
    style = read(WEB / "style.css")
    script = "\n".join(read(WEB / name).replace("'use strict';\n", "", 1) for name in MODULES)
    script = "'use strict';\n" + script
    digest = base64.b64encode(hashlib.sha256(f"\n{script}\n".encode()).digest()).decode()
    config = (WEB.parent / "include/tacit/config.hpp").read_text(encoding="utf-8")
    parts = {
        # Nothing is fetched from anywhere, and no other script runs.
        "policy": f"default-src 'none'; script-src 'sha256-{digest}' 'wasm-unsafe-eval'; worker-src blob:; "
                  "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'",
        "style": style,
        "version": re.search(r'#define TACIT_VERSION "([^"]+)"', config)[1],
        "wasm": base64.b64encode(gzip.compress((output.parent / "tacit.wasm").read_bytes(), 9, mtime=0)).decode(),
        "engine": read(output.parent / "tacit.js") + "\n" + read(WEB / "worker.js"),
        "script": script,
    }
    page = re.sub(r"{{(\w+)}}", lambda hole: parts[hole[1]], (WEB / "index.html").read_text(encoding="utf-8"))
    output.write_text(page, encoding="utf-8")
    size = len(page.encode())
    print(f"{output}: {size} bytes")
    if size > LARGEST:
        sys.exit(f"{output} is larger than {LARGEST} bytes")


main()
