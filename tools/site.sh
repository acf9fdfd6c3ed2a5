#!/bin/sh
# Builds the documentation site into build/site/html: the pages by MkDocs (from PyPI), the reference of the headers by
# Doxygen (from Debian), under api/; the calculator of the browser, built by tools/web.sh unless it is there, as a page. Fails
# at a link that leads nowhere. It works from files, without a server.
# usage: sh tools/site.sh
set -eu
cd "$(dirname "$0")/.."

sh tools/install_packages.sh python3 python3-venv doxygen

site=build/site
[ -f build/web/tacit.html ] || sh tools/web.sh --build-only
[ -x "$site/tools/bin/mkdocs" ] || python3 -m venv "$site/tools"
"$site/tools/bin/pip" install --quiet 'mkdocs-material>=9.5'

# The pages as they lie in the repository, so that their links to each other hold.
rm -rf "$site/docs" "$site/html"
mkdir -p "$site/docs/python"
cp README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md "$site/docs/"
cp python/README.md "$site/docs/python/"
cp -r docs "$site/docs/docs"
cp tools/site/playground.md tools/site/site.css build/web/tacit.html "$site/docs/"
python3 tools/site/links.py "$site/docs"
NO_MKDOCS_2_WARNING=1 "$site/tools/bin/mkdocs" build --quiet --strict
# A page that is a file may load a script, but no JSON.
{ printf 'var __index = '; cat "$site/html/search/search_index.json"; } > "$site/html/search/search_index.js"

doxygen tools/site/Doxyfile
python3 tools/site/check_html.py "$site/html"
echo "$site/html/index.html"
