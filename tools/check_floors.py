#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the shape of the house: which header may include what.

usage: check_floors.py [--device-clean] [ROOT]

Prints one line a violation and exits 1 if there is any. --device-clean lists the headers that a
device compiler must accept, and checks nothing.
"""
import re
import sys
from pathlib import Path

# A floor may include itself and the floors named here. config.hpp stands below all of them.
# `secret` and `random` do not name each other: no function can take the one and give the other.
FLOORS = {
    "config": set(),
    "core": set(),
    "random": set(),
    "secret": {"core"},
    "info": {"core"},
    "dp": {"core", "info"},
    "zo": {"core", "random"},
    "pac": {"core", "info", "random"},
    "audit": {"core", "info", "dp", "pac"},
    "mechanism": {"core", "info", "dp", "pac", "secret"},
    "train": {"core", "random", "zo", "pac", "mechanism"},
}

# Where another library may enter. "posix" is any header whose name ends in .h.
LIBRARIES = {
    "Eigen": {"pac"},
    "hwy": {"pac"},  # where a program links tacit::highway
    "posix": {"core", "secret"},
    "intrinsics": {"zo"},
    "hip": {"zo"},
}

DEVICE_CLEAN = re.compile(r"config\.hpp|random\.hpp|random/.*|zo/(direction|direction_block|direction_vectors|moves|optimise|step|storage|vectors)\.hpp")
# What neither throws nor allocates. nvcc, where there is one, has the last word.
DEVICE_STANDARD = {"algorithm", "cmath", "concepts", "cstddef", "cstdint", "cstring", "limits", "numbers",
                   "type_traits", "utility"}

# What a standard library in use lacks, and where its replacement is: libc++ before 14, which Debian's Emscripten
# brings, has no bit_cast.
LACKING = {"std::bit_cast": "core/bit_cast.hpp"}

# What Windows' headers define as macros, so that no variable may have the name.
WINDOWS_MACROS = re.compile(r"\b(?:far|near|small|hyper|interface|pascal|cdecl)\b")

# A path that exists on one machine only.
MACHINE_PATH = re.compile(r"(?<![\w.~$}>)-])/(?:work|tmp|home|root|Users|mnt|scratch)\b")
NOT_THE_PROJECT = {".git", ".venv", ".cache", "build", "__pycache__"}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>" ]+)[>"]', re.MULTILINE)
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
TEXT = re.compile(r'"(?:[^"\\\n]|\\.)*"')


def headers(root):
    base = root / "include" / "tacit"
    return {path.relative_to(base).as_posix(): path for path in sorted(base.rglob("*.hpp"))}


def device_clean(root):
    return [name for name in headers(root) if DEVICE_CLEAN.fullmatch(name)]


def floor_of(name):
    """core/units.hpp -> core, core.hpp -> core, config.hpp -> config."""
    return name.split("/")[0].removesuffix(".hpp")


def check_third_party(name, floor, include):
    library = include.split("/")[0]
    if include in ("immintrin.h", "arm_neon.h"):
        library = "intrinsics"
    elif include.endswith(".h") and library not in ("hip", "hwy"):
        library = "posix"
    if "/" not in include and "." not in include:  # the standard library
        if DEVICE_CLEAN.fullmatch(name) and include not in DEVICE_STANDARD:
            yield f"<{include}> in a device-clean header"
    elif library not in LIBRARIES:
        yield f"<{include}> belongs to no library that tacit uses"
    elif floor not in LIBRARIES[library]:
        yield f"<{include}> on floor {floor}: {library} enters at {sorted(LIBRARIES[library])}"


def check_header(name, text):
    floor = floor_of(name)
    if floor not in FLOORS:
        yield f"there is no floor {floor}"
        return
    if not text.startswith("// SPDX-License-Identifier: Apache-2.0\n#pragma once\n"):
        yield "must start with the SPDX line and #pragma once"
    if DEVICE_CLEAN.fullmatch(name) and re.search(r"\bthrow\b", COMMENT.sub("", text)):
        yield "throw in a device-clean header"
    for lacking, replacement in LACKING.items():
        if name != replacement and lacking in COMMENT.sub("", text):
            yield f"{lacking}: use <tacit/{replacement}>"
    for macro in sorted(set(WINDOWS_MACROS.findall(TEXT.sub('""', COMMENT.sub("", text))))):
        yield f"{macro}: a macro of <windows.h>"
    for quote, include in INCLUDE.findall(text):
        if quote == '"':
            yield f'"{include}": write <tacit/…>'
        elif not include.startswith("tacit/"):
            yield from check_third_party(name, floor, include)
        else:
            target = include.removeprefix("tacit/")
            below = floor_of(target)
            if below not in FLOORS[floor] | {floor, "config"}:
                yield f"<{include}>: floor {floor} may not include floor {below}"
            elif DEVICE_CLEAN.fullmatch(name) and not DEVICE_CLEAN.fullmatch(target):
                yield f"<{include}> in a device-clean header is not device-clean"


def check_listing(name, text, expected):  # what has no guarantee, `unsound_…`, is listed nowhere
    found = [include for _, include in INCLUDE.findall(text)]
    if found != expected:
        missing = sorted(set(expected) - set(found))
        surplus = sorted(set(found) - set(expected))
        yield f"must list, sorted, exactly its floor (missing: {missing}, too much: {surplus})"


def check_headers(root):
    names = headers(root)
    folders = {name.split("/")[0] for name in names if "/" in name}
    listings = {f"{folder}.hpp" for folder in folders}
    for name, path in names.items():
        text = path.read_text(encoding="utf-8")
        if name == "tacit.hpp":
            expected = [f"tacit/{other}" for other in sorted(listings | {"config.hpp"})]
            violations = check_listing(name, text, expected)
        else:
            violations = list(check_header(name, text))
            if name in listings:
                folder = name.removesuffix(".hpp") + "/"
                expected = [f"tacit/{other}" for other in sorted(names)
                            if other.startswith(folder) and not other.startswith(f"{folder}unsound_")]
                violations += check_listing(name, text, expected)
        for violation in violations:
            yield f"include/tacit/{name}: {violation}"
    for listing in sorted(listings | {"tacit.hpp"}):
        if listing not in names:
            yield f"include/tacit/{listing}: missing, it lists its folder"


def project_files(folder):
    for path in sorted(folder.iterdir()):
        if path.name in NOT_THE_PROJECT or path.is_symlink():
            continue
        if path.is_dir():
            yield from project_files(path)
        else:
            yield path


def check_machine_paths(root):
    for path in project_files(root):
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # a picture
        for number, line in enumerate(text.splitlines(), 1):
            found = MACHINE_PATH.search(line)
            if found:
                where = path.relative_to(root).as_posix()
                yield f"{where}:{number}: {found.group()} is a path of one machine"


def main(arguments):
    if arguments and arguments[0] in ("-h", "--help"):
        print(__doc__.strip())
        return 0
    list_only = "--device-clean" in arguments
    roots = [argument for argument in arguments if argument != "--device-clean"]
    root = Path(roots[0]) if roots else Path(__file__).resolve().parent.parent
    if list_only:
        print("\n".join(device_clean(root)))
        return 0
    violations = [*check_headers(root), *check_machine_paths(root)]
    for violation in violations:
        print(violation)
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
