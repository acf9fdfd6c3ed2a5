# SPDX-License-Identifier: Apache-2.0
"""What names a version names that of include/tacit/config.hpp."""
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def only(pattern, file):
    found = re.findall(pattern, (ROOT / file).read_text(), re.MULTILINE)
    return found[0] if len(found) == 1 else f"{len(found)} versions"


def main():
    version = only(r'^#define TACIT_VERSION "([^"]+)"$', "include/tacit/config.hpp")
    named = {
        "CITATION.cff": only(r"^version: (.+)$", "CITATION.cff"),
        "packaging/vcpkg/tacit/vcpkg.json":
            json.loads((ROOT / "packaging/vcpkg/tacit/vcpkg.json").read_text())["version"],
    }
    for file, other in named.items():
        if other != version:
            print(f"{file} names {other}, include/tacit/config.hpp {version}")
    return 0 if all(other == version for other in named.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
