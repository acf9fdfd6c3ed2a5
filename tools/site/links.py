# SPDX-License-Identifier: Apache-2.0
"""Links of pages to files of the repository that are no pages (headers, programs, data) become their names as code: the site
holds the pages alone.

usage: python3 tools/site/links.py FOLDER
"""
import re
import sys
from pathlib import Path

LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]*)\]\((?P<target>[^)#\s]+)(?P<anchor>#[^)\s]*)?\)")


def main():
    root = Path(sys.argv[1])
    for page in root.rglob("*.md"):
        def kept_or_named(link):
            target = link["target"]
            if ":" in target or (page.parent / target).exists():
                return link[0]
            return link["text"]
        text = page.read_text(encoding="utf-8")
        page.write_text(LINK.sub(kept_or_named, text), encoding="utf-8")


if __name__ == "__main__":
    main()
