# SPDX-License-Identifier: Apache-2.0
"""Every link, picture and frame of the built pages leads to a file of the site, and to an anchor in it.

usage: python3 tools/site/check_html.py FOLDER [PAGE...]     all pages unless named
"""
import sys
from functools import lru_cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.targets, self.anchors = [], set()

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("href", "src") and value:
                self.targets.append(value)
            if name in ("id", "name") and value:
                self.anchors.add(value)


@lru_cache(maxsize=None)
def parsed(file):
    page = Page()
    page.feed(file.read_text(encoding="utf-8"))
    return page


def main():
    root = Path(sys.argv[1]).resolve()
    pages = [root / name for name in sys.argv[2:]] or sorted(
        page for page in root.rglob("*.html") if "api" not in page.relative_to(root).parts and page.name != "404.html")
    broken, links = [], 0
    for page in pages:
        for target in parsed(page).targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            links += 1
            file = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            file = file / "index.html" if file.is_dir() else file
            if not file.is_file() or root not in file.parents:
                broken.append(f"{page.relative_to(root)}: {target}")
            elif (parts.fragment and file.suffix == ".html" and file.name != "tacit.html"
                  and unquote(parts.fragment) not in parsed(file).anchors):
                broken.append(f"{page.relative_to(root)}: {target}: no such anchor")
    print("\n".join(broken))
    print(f"{links} links on {len(pages)} pages, {len(broken)} broken")
    return 1 if broken or links == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
