#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws what `tacit calibrate --run` does: the outputs of a program on 128 subsets, the noise, and an attack.

The program is a line of shell: the median and the upper decile of the first column of the cancer data. The attack knows
all records, subsets and outputs, and guesses by Bayes' rule whether the record on which it is right most often is in the
secret subset; one half of its draws chooses the record, the other half counts.

usage: black_box.py TACIT CSV OUT.svg [DRAWS]    (4000 releases a budget unless given)
"""
import json
import math
import random
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = "tail -n +2 {} | cut -d, -f1 | sort -n | awk '{x[NR] = $1} END {print x[int(NR / 2)], x[int(NR * 9 / 10)]}'"
SUBSETS = 128
BUDGETS = [2.0**-k for k in range(1, 8)]
SHOWN = {0.5: "#d55e00", 0.125: "#0072b2", 0.03125: "#009e73"}


def ask(tacit, *words):
    done = subprocess.run([tacit, *map(str, words), "--json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def run_all(tacit, universe, folder):
    """The outputs, and by record the subsets that it is in. The program's own copy of a subset is looked at, too."""
    seen = folder / "seen"
    seen.mkdir()
    answer = ask(tacit, "calibrate", "--run", f"cp {{}} {seen}; {PROGRAM}", "--universe", universe, "--header", "yes",
                 "--subsets", SUBSETS, "--mi", BUDGETS[0], "--folder", folder / "runs")
    outputs = {}
    for file in (folder / "runs").glob("output-*"):
        fields = dict(line.split(" ", 1) for line in file.read_text().splitlines())
        outputs[int(fields["of"].split()[1])] = tuple(map(float, fields["numbers"].split()[1:]))
    lines = universe.read_text().splitlines()[1:]
    places = {line: i for i, line in enumerate(lines)}
    members = [[False] * SUBSETS for _ in lines]
    for m in range(SUBSETS):
        for line in (seen / f"subset-{m}.csv").read_text().splitlines()[1:]:
            members[places[line]][m] = True
    return answer, [outputs[m] for m in range(SUBSETS)], members


def attack(outputs, members, covariance, draws):
    (a, b), (_, c) = covariance
    left = math.sqrt(a)
    low, right = b / left, math.sqrt(max(0.0, c - b * b / a))
    draw = random.Random(1)

    def posterior(z):
        def whitened(y):
            u = (z[0] - y[0]) / left
            return u * u + ((z[1] - y[1] - low * u) / right)**2
        squares = [whitened(y) for y in outputs]
        least = min(squares)
        weights = [math.exp((least - s) / 2) for s in squares]
        return [w / sum(weights) for w in weights]

    def release():
        truth = draw.randrange(SUBSETS)
        g, h = draw.gauss(0, 1), draw.gauss(0, 1)
        return truth, posterior((outputs[truth][0] + left * g, outputs[truth][1] + low * g + right * h))

    def belief(p, record):
        return sum(q for q, member in zip(p, record) if member)

    confident = [0.0] * len(members)
    for _ in range(max(50, draws // 20)):
        _, p = release()
        for i, record in enumerate(members):
            confident[i] += abs(belief(p, record) - 0.5)
    exposed = members[max(range(len(members)), key=confident.__getitem__)]
    right_guesses = 0
    for _ in range(draws):
        truth, p = release()
        right_guesses += (belief(p, exposed) > 0.5) == exposed[truth]
    return right_guesses / draws


LEFT, RIGHT = 90, 730
TOP, BOTTOM = 85, 395
PANEL = 480  # the height of a panel, axes and titles included


def picture(outputs, noises, bounds, successes, half_width):
    xs, ys = zip(*outputs)
    spread = [4.2 * math.sqrt(max(noise[j][j] for noise in noises.values())) / 2 for j in (0, 1)]
    middle = [(min(xs) + max(xs)) / 2, (min(ys) + max(ys)) / 2]
    centre, reach = ((LEFT + RIGHT) / 2, (TOP + BOTTOM) / 2), ((RIGHT - LEFT) / 2, (BOTTOM - TOP) / 2)

    def place(x, y):
        return centre[0] + reach[0] * (x - middle[0]) / spread[0], centre[1] - reach[1] * (y - middle[1]) / spread[1]

    def titles(top, first, second, below):
        return [f"<text x='{LEFT}' y='{top + 32}' class='title'>{first}</text>", f"<text x='{LEFT}' y='{top + 60}'>{second}</text>",
                f"<line x1='{LEFT}' x2='{RIGHT}' y1='{top + BOTTOM}' y2='{top + BOTTOM}' class='axis'/>",
                f"<text x='{centre[0]:.0f}' y='{top + BOTTOM + 52}' text-anchor='middle'>{below}</text>"]

    out = [f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 840 {2 * PANEL}' width='840' height='{2 * PANEL}' "
           "font-family='Helvetica, Arial, sans-serif'>",
           "<style>text { font-size: 18px; fill: #555 } .title { font-size: 21px; font-weight: bold; fill: #222 } "
           ".axis { stroke: #888 } .grid { stroke: #e6e6e6 }</style>", f"<rect width='840' height='{2 * PANEL}' fill='white'/>"]
    out += titles(0, "What the program returned on 128 subsets", "and one deviation of the noise, by the budget in nats", "median radius")
    out += [f"<line x1='{LEFT}' x2='{LEFT}' y1='{TOP}' y2='{BOTTOM}' class='axis'/>",
            f"<text x='24' y='{centre[1]:.0f}' text-anchor='middle' transform='rotate(-90 24 {centre[1]:.0f})'>upper decile</text>"]
    for share in (-0.6, 0, 0.6):
        x, y = place(middle[0] + share * spread[0], middle[1] + share * spread[1])
        out += [f"<text x='{x:.0f}' y='{BOTTOM + 25}' text-anchor='middle'>{middle[0] + share * spread[0]:.1f}</text>",
                f"<text x='{LEFT - 8}' y='{y + 6:.0f}' text-anchor='end'>{middle[1] + share * spread[1]:.1f}</text>"]
    for budget, colour in SHOWN.items():
        (a, b), (_, c) = noises[budget]
        points = []
        for k in range(73):
            g, h = math.cos(k * math.pi / 36), math.sin(k * math.pi / 36)
            points.append(place(middle[0] + math.sqrt(a) * g, middle[1] + b / math.sqrt(a) * g
                                + math.sqrt(max(0.0, c - b * b / a)) * h))
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        out.append(f"<polyline points='{path}' fill='none' stroke='{colour}' stroke-width='2.5'/>")
        x, y = max(points)
        out.append(f"<text x='{x + 6:.0f}' y='{y + 6:.0f}' style='fill: {colour}'>1/{round(1 / budget)}</text>")
    for x, y in outputs:
        u, v = place(x, y)
        out.append(f"<circle cx='{u:.1f}' cy='{v:.1f}' r='2.5' fill='#222' fill-opacity='.6'/>")

    def at(k, s):
        return LEFT + 30 + 95 * k, PANEL + BOTTOM - 2 * (BOTTOM - TOP) * (s - 0.5)

    out += titles(PANEL, "Membership of a record: right guesses", "of an attacker who knows all records and outputs", "budget, nats")
    for s in (0.5, 0.6, 0.7, 0.8, 0.9, 1.0):
        _, y = at(0, s)
        out.append(f"<line x1='{LEFT}' x2='{RIGHT}' y1='{y:.0f}' y2='{y:.0f}' class='grid'/>"
                   f"<text x='{LEFT - 8}' y='{y + 6:.0f}' text-anchor='end'>{s:.1f}</text>")
    for k, budget in enumerate(BUDGETS):
        out.append(f"<text x='{at(k, 0)[0]}' y='{PANEL + BOTTOM + 25}' text-anchor='middle'>1/{round(1 / budget)}</text>")
    for name, values, colour in (("bound", bounds, "#777777"), ("attack", successes, "#d55e00")):
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(k, s) for k, s in enumerate(values)))
        out.append(f"<polyline points='{path}' fill='none' stroke='{colour}' stroke-width='2.5'/>")
        x, y = at(len(values) - 1, values[-1])
        out.append(f"<text x='{x + 10:.0f}' y='{y + 6:.0f}' style='fill: {colour}'>{name}</text>")
    for k, s in enumerate(successes):
        x, low = at(k, s - half_width)
        out.append(f"<line x1='{x}' x2='{x}' y1='{low:.1f}' y2='{at(k, s + half_width)[1]:.1f}' stroke='#d55e00' stroke-width='2'/>"
                   f"<circle cx='{x}' cy='{at(k, s)[1]:.1f}' r='4' fill='#d55e00'/>")
    return "\n".join(out + ["</svg>"]) + "\n"


def main():
    tacit, universe, to = sys.argv[1], Path(sys.argv[2]).resolve(), Path(sys.argv[3])
    draws = int(sys.argv[4]) if len(sys.argv) > 4 else 4000
    half_width = math.sqrt(math.log(2 / 0.01) / (2 * draws))  # Hoeffding, confidence .99
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _, outputs, members = run_all(tacit, universe, folder)
        assert all(sum(record) == SUBSETS // 2 for record in members), "a record is not in half of the subsets"
        table = folder / "outputs.csv"
        table.write_text("".join(f"{x!r},{y!r}\n" for x, y in outputs))
        noises, bounds, successes = {}, [], []
        for budget in BUDGETS:
            noise = ask(tacit, "calibrate", table, "--mi", budget, "--method", "candidates")
            noises[budget] = noise["covariance"]
            bounds.append(ask(tacit, "attack", "--mi", noise["mi_bound"])["success"])
            successes.append(attack(outputs, members, noise["covariance"], draws))
            print(f"{budget:9g} nats: deviations {math.sqrt(noise['covariance'][0][0]):.4f} {math.sqrt(noise['covariance'][1][1]):.4f}, "
                  f"right at most {bounds[-1]:.4f}, attack {successes[-1]:.4f} +- {half_width:.4f}")
            assert successes[-1] - half_width <= bounds[-1], "the attack passes its bound"
    to.write_text(picture(outputs, noises, bounds, successes, half_width))


if __name__ == "__main__":
    main()
