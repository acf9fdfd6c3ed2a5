# SPDX-License-Identifier: Apache-2.0
"""Every snippet and every printed output of README and docs is true: programs are compiled and run, commands of
the calculator are run, and what they print is compared with what the page says; links lead somewhere, and files that a page names exist.

A fenced block is one of
  cpp                 a program with a main; a block without a language right after it is what it prints
  console, or none    lines `$ tacit …` and what each prints
  json                parses; named by the comment below, it is a file that later commands of the page read
  csv                 is such a file
  cmake, python       occurs, but for white space, in a file that another test runs (named by a comment)

and a comment on the line before a block says what a reader need not see:
  <!-- output varies -->     the numbers of the output differ from run to run: only the words are compared
  <!-- from: FILE -->        its lines stand in FILE, in this order; FILE is compiled or run elsewhere
  <!-- file: NAME -->        a file of that name, for later commands of the page
  <!-- not run: REASON -->   why it cannot be run here
A block that is none of these is an error.

Commands in indented blocks and in backticks are not run: their scripts, programs, presets and targets must exist, and
their options must occur in the script or in the sources of the programs. Of README's first table the calculator's commands
are run, and the Python calls are checked against the package's functions.
"""
import argparse
import ast
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMMENT = re.compile(r"^<!--\s*(output varies|from|file|not run)\s*(?::\s*(.*?))?\s*-->$")
NUMBER = re.compile(r"[-+−]?\d+(\.\d+)?(e[-+]?\d+)?")


@dataclass
class Block:
    page: str
    line: int
    language: str
    text: str
    notes: dict = field(default_factory=dict)
    after: int = -1  # index of the block that ends right above, or -1

    def __str__(self):
        return f"{self.page}:{self.line}"


def blocks_of(page, text):
    blocks, notes, lines, number = [], {}, text.split("\n"), 0
    last_end = -2
    while number < len(lines):
        line = lines[number].strip()
        if line.startswith("```"):
            start = number
            number += 1
            while number < len(lines) and not lines[number].strip().startswith("```"):
                number += 1
            body = "\n".join(lines[start + 1:number])
            above = start - len(notes) - 1  # comments may stand between a program and what it prints
            blocks.append(Block(page, start + 1, line[3:].strip(), body, notes,
                                len(blocks) - 1 if above == last_end else -1))
            notes, last_end = {}, number
        elif match := COMMENT.match(line):
            notes[match[1]] = match[2] or ""
        elif line:
            notes = {}
        number += 1
    return blocks


LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"`([^`\n]+)`")
FILE = re.compile(r"[\w./{},-]+\.(?:hpp|cpp|cu|py|sh|md|csv|svg|cmake|in)")
PLACES = ("", "include", "include/tacit", "docs", "apps/tacit")


def anchors_of(path):
    """The anchors of a page's headings, as a repository page makes them."""
    headings = re.findall(r"^#+\s+(.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def check_links(page, text):
    for target in LINK.findall(text):
        if re.match(r"\w+:", target):
            continue
        name, _, anchor = target.partition("#")
        path = (ROOT / page).parent / name if name else ROOT / page
        if not path.exists():
            yield f"{page}: the link to {target} leads nowhere"
        elif anchor and path.suffix == ".md" and anchor not in anchors_of(path):
            yield f"{page}: the link to {target}: no such heading"


def spelled_out(name):
    """a/{b,c}.hpp -> a/b.hpp, a/c.hpp"""
    match = re.search(r"\{([^{}]*)\}", name)
    if not match:
        return [name]
    return [one for part in match[1].split(",")
            for one in spelled_out(name[:match.start()] + part + name[match.end():])]


def check_files(page, text):
    """A file of the project that a page names in backticks exists."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    for code in CODE.findall(text):
        if not FILE.fullmatch(code) or "/" not in code or code.startswith(("build/", "/")):
            continue
        for name in spelled_out(code):
            if not any((ROOT / place / name).exists() for place in PLACES):
                yield f"{page}: there is no {name}"


COMMAND = re.compile(r"(?:sh tools/|cmake |ctest |python3 |nvcc |mpirun |build/)\S")


def commands_in(text):
    """Commands in blocks indented by four spaces, and in backticks."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    lines = re.findall(r"^    (?:\$ )?(\S.*)$", text, flags=re.MULTILINE)
    for line in [*lines, *CODE.findall(text)]:
        if COMMAND.match(line):
            yield from line.split(" && ")


def in_sources(name, *places):
    """Whether the word stands in a file of the project's under these places."""
    word = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])")
    roots = [ROOT / place for place in places]
    files = (file for root in roots for file in ([root] if root.is_file() else root.rglob("*")))
    return any(word.search(file.read_text(encoding="utf-8", errors="ignore")) for file in files
               if file.name == "CMakeLists.txt" or file.suffix in (".cpp", ".hpp", ".py", ".sh", ".cmake"))


def is_program(name):
    return in_sources(name, "CMakeLists.txt", "apps", "examples") or any(
        "tacit_test_" + "_".join(test.relative_to(ROOT / "tests").with_suffix("").parts[:depth]) == name
        for test in (ROOT / "tests").glob("*/*.cpp") for depth in (1, 2))


def options_in(words):
    return [word.partition("=")[0] for word in words if word.startswith("--")]


def check_command(command):
    """What is wrong with a command, without running it."""
    words = shlex.split(command, comments=True)
    if words[0] == "mpirun":
        words = words[3:]  # mpirun -np N
    if words[0] in ("cmake", "ctest"):
        presets = {one["name"] for one in json.loads((ROOT / "CMakePresets.json").read_text())["configurePresets"]}
        for option, value in zip(words, words[1:]):
            if option == "--preset" and value not in presets:
                yield f"there is no preset {value}"
            if option == "--target" and not is_program(value):
                yield f"there is no target {value}"
        for word in words:
            if word.startswith("-DTACIT_") and not in_sources(word[2:].partition("=")[0], "CMakeLists.txt"):
                yield f"there is no option {word}"
    elif re.match(r"build/\w+/(bin|tests)/", words[0]):
        name = words[0].rpartition("/")[2]
        if not is_program(name):
            yield f"there is no program {name}"
        for option in options_in(words):
            if not in_sources(option, "apps", "examples"):
                yield f"{name} has no option {option}"
    else:
        for word in words[1:]:
            named = FILE.fullmatch(word) and "/" in word and not word.startswith(("build/", "/"))
            if named and not (ROOT / word).exists():
                yield f"there is no {word}"
        script = ROOT / words[1] if len(words) > 1 and words[0] in ("sh", "python3") else None
        if script and script.is_file():
            passed_on = ["apps"] if "ARGUMENTS OF" in script.read_text(encoding="utf-8") else []
            for option in options_in(words[2:]):
                if not in_sources(option, words[1], *passed_on):
                    yield f"{words[1]} has no option {option}"


def check_commands(page, text):
    for command in commands_in(text):
        for error in check_command(command):
            yield f"{page}: {error}: {command}"


def one_liners(text, start):
    """Commands of the first table of a page that start like this."""
    table = re.search(r"(?:^\|.*\n)+", text, flags=re.MULTILINE)
    return [code for code in CODE.findall(table[0] if table else "") if code.startswith(start)]


def check_python(page, call):
    """A call tacit.NAME(KEYWORD=…): the package has the function, with these keywords."""
    expression = ast.parse(call, mode="eval").body
    questions = ast.parse((ROOT / "python/src/tacit/_questions.py").read_text(encoding="utf-8"))
    known = {one.name: {argument.arg for argument in one.args.kwonlyargs + one.args.args}
             for one in questions.body if isinstance(one, ast.FunctionDef)}
    name = expression.func.attr
    if name not in known:
        yield f"{page}: there is no tacit.{name}"
    else:
        yield from (f"{page}: tacit.{name} takes no {keyword.arg}" for keyword in expression.keywords
                    if keyword.arg not in known[name])


def squeezed(text):
    return " ".join(text.split())


def stands_in(block, path):
    """Whether the lines of the block follow each other in the file, which may break and indent them its own way."""
    if not path.is_file():
        return False
    text, position = squeezed(path.read_text(encoding="utf-8")), 0
    for line in filter(None, map(squeezed, block.text.split("\n"))):
        position = text.find(line, position)
        if position < 0:
            return False
        position += len(line)
    return True


def words_of(text):
    """The text with its numbers masked, for outputs that vary."""
    return squeezed(NUMBER.sub("#", text))


def same_output(block, expected, found):
    if "output varies" in block.notes:
        return words_of(expected) == words_of(found)
    return unless_the_last(expected.rstrip()) == unless_the_last(found.rstrip())


def unless_the_last(text):
    """The text with 13 digits of numbers of more: the others differ between processors with and without FMA."""
    def thirteen(number):
        digits = re.sub(r"e.*|\D", "", number[0]).lstrip("0")
        return number[0] if len(digits) <= 13 or "." not in number[0] else f"{float(number[0].replace('−', '-')):.12e}"
    return NUMBER.sub(thirteen, text)


def difference(block, expected, found):
    return f"{block}: the page says\n{expected}\nbut it prints\n{found}"


def compile_and_run(block, compiler, libraries, folder):
    """(error or None, what it prints)."""
    name = re.sub(r"\W", "_", str(block))
    source, program = folder / f"{name}.cpp", folder / name
    source.write_text(block.text + "\n", encoding="utf-8")
    made = subprocess.run([*compiler, str(source), *libraries, "-o", str(program)], capture_output=True, text=True,
                          check=False)
    if made.returncode:
        return f"{block}: does not compile\n{made.stderr}", ""
    run = subprocess.run([program], capture_output=True, text=True, check=False, timeout=300, cwd=folder)
    if run.returncode:
        return f"{block}: exits with {run.returncode}\n{run.stderr}", ""
    return None, run.stdout


def commands_of(text):
    """[(command, what the page says it prints)]"""
    commands, lines = [], text.split("\n")
    number = 0
    while number < len(lines):
        if not lines[number].startswith("$ "):
            return None
        command = lines[number][2:]
        while command.endswith("\\"):
            number += 1
            command = command[:-1] + " " + lines[number].strip()
        number += 1
        said = []
        while number < len(lines) and not lines[number].startswith("$ "):
            said.append(lines[number])
            number += 1
        commands.append((command, "\n".join(said)))
    return commands


def run_console(block, calculator, folder):
    commands = commands_of(block.text)
    if commands is None:
        return [f"{block}: neither a program's output nor commands"]
    errors = []
    for command, expected in commands:
        if not command.startswith("tacit "):
            errors.append(f"{block}: only commands of the calculator are run: {command}")
            continue
        environment = {**os.environ, "PATH": f"{calculator.parent}:{os.environ['PATH']}"}
        run = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False, timeout=600,
                             cwd=folder, env=environment)
        if run.returncode:
            errors.append(f"{block}: {command}\nexits with {run.returncode}: {run.stderr}{run.stdout}")
        elif expected and not same_output(block, expected, run.stdout):
            errors.append(difference(block, f"{command}\n{expected}", run.stdout))
    return errors


def check_page(blocks, programs, calculator, folder):
    errors = []
    for index, block in enumerate(blocks):
        if "not run" in block.notes:
            if not block.notes["not run"]:
                errors.append(f"{block}: not run, but why?")
        elif "from" in block.notes:
            if not stands_in(block, ROOT / block.notes["from"]):
                errors.append(f"{block}: is not in {block.notes['from']}")
        elif block.language == "cpp":
            error, _ = programs[index]
            if error:
                errors.append(error)
        elif block.language == "json":
            try:
                json.loads(block.text)
            except ValueError as error:
                errors.append(f"{block}: {error}")
            if "file" in block.notes:
                (folder / block.notes["file"]).write_text(block.text, encoding="utf-8")
        elif block.language == "csv" and "file" in block.notes:
            (folder / block.notes["file"]).write_text(block.text + "\n", encoding="utf-8")
        elif block.language in ("", "text") and block.after >= 0 and blocks[block.after].language == "cpp":
            error, printed = programs.get(block.after, ("", ""))
            if not error and not same_output(block, block.text, printed):
                errors.append(difference(block, block.text, printed))
        elif block.language in ("", "console"):
            errors += run_console(block, calculator, folder)
        else:
            errors.append(f"{block}: a block of {block.language} that nothing checks")
    return errors


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--calculator", required=True, type=Path)
    parser.add_argument("--compiled", help="tacit::compiled, for the programs: they compile sooner")
    parser.add_argument("--page", action="append", help="only these pages, relative to the repository")
    arguments, flags = parser.parse_known_args()
    compiler = [arguments.compiler, *flags, *(["-DTACIT_COMPILED"] if arguments.compiled else [])]
    libraries = [arguments.compiled] if arguments.compiled else []

    pages = arguments.page or ["README.md", "CONTRIBUTING.md", "python/README.md",
                               *(path.relative_to(ROOT).as_posix()
                                 for folder in ("docs", "examples", "apps")
                                 for path in sorted((ROOT / folder).rglob("*.md")))]
    pages = [page for page in pages if (ROOT / page).is_file()]
    errors, total, not_run = [], 0, 0
    for page in pages:
        text = (ROOT / page).read_text(encoding="utf-8")
        errors += [*check_links(page, text), *check_files(page, text), *check_commands(page, text)]
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(os.cpu_count()) as pool:
        everything = {}
        for page in pages:
            folder = Path(scratch, re.sub(r"\W", "_", page))
            (folder / "examples").mkdir(parents=True)
            os.symlink(ROOT / "examples" / "data", folder / "examples" / "data")
            text = (ROOT / page).read_text(encoding="utf-8")
            blocks = blocks_of(page, text)
            if page == "README.md":
                blocks += [Block(page, 0, "console", "$ " + command) for command in one_liners(text, "tacit ")]
                errors += [error for call in one_liners(text, "tacit.") for error in check_python(page, call)]
            programs = {index: pool.submit(compile_and_run, block, compiler, libraries, folder)
                        for index, block in enumerate(blocks)
                        if block.language == "cpp" and not {"from", "not run"} & block.notes.keys()}
            everything[page] = (blocks, programs, folder)
        for page, (blocks, programs, folder) in everything.items():
            programs = {index: program.result() for index, program in programs.items()}
            errors += check_page(blocks, programs, arguments.calculator.resolve(), folder)
            total += len(blocks)
            not_run += sum("not run" in block.notes for block in blocks)
    print("\n\n".join(errors))
    print(f"{total} blocks on {len(pages)} pages, {not_run} not run, {len(errors)} errors")
    return 1 if errors or total == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
