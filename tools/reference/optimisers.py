#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/optimisers.csv: one parameter under each optimiser, in float32.

Every operation is rounded to float32, as a program in float32 does it, straight from algorithm 1 of Kingma and
Ba (2015) and algorithms 1 and 2 of Loshchilov and Hutter (2019); the decay beside the gradient is the learning
rate times it. Needs nothing but Python.
"""
import math
import struct
from pathlib import Path

DATA = Path(__file__).resolve().parents[2] / "tests" / "data" / "optimisers.csv"
STEPS = 120
RATE, DECAY, MOMENTUM, BETA1, BETA2, EPSILON = 0.05, 0.125, 0.75, 0.9, 0.98, 1e-6


class F32(float):
    """A float32: each result is rounded to one."""

    def __new__(cls, x):
        return float.__new__(cls, struct.unpack("f", struct.pack("f", x))[0])

    def __add__(self, other):
        return F32(float(self) + float(F32(other)))

    def __sub__(self, other):
        return F32(float(self) - float(F32(other)))

    def __mul__(self, other):
        return F32(float(self) * float(F32(other)))

    def __truediv__(self, other):
        return F32(float(self) / float(F32(other)))

    def sqrt(self):
        return F32(math.sqrt(float(self)))


def gradients():
    """Of both signs and six orders of magnitude; some are 0."""
    word = 12345
    for t in range(STEPS):
        word = (word * 1103515245 + 12345) % 2**31
        unit = word / 2**30 - 1.0
        yield F32(0.0 if t % 11 == 7 else unit * 10.0 ** (word // 64 % 7 - 3))


def run(rule, decay):
    theta, m, v = F32(0.5), F32(0.0), F32(0.0)
    for t, g in enumerate(gradients(), 1):
        shown = g
        if rule == "adam":
            g = g + theta * decay
        if rule == "momentum":
            m = m * MOMENTUM + g
            move = m
        else:
            m = m * BETA1 + g * (1 - BETA1)
            v = v * BETA2 + g * g * (1 - BETA2)
            m_hat = m / (1 - BETA1**t)
            v_hat = v / (1 - BETA2**t)
            move = m_hat / (v_hat.sqrt() + EPSILON)
        if rule != "adam":
            theta = theta - theta * (RATE * decay)
        theta = theta - move * RATE
        yield rule, decay, shown, theta


def main():
    lines = ["# theta after each step from 0.5, learning rate 0.05; momentum 0.75; beta1 0.9, beta2 0.98, epsilon 1e-6.",
             "# Rounded to float32 after every operation; written by tools/reference/optimisers.py.",
             "rule,decay,gradient,theta"]
    for rule in ("momentum", "adam", "adamw"):
        for decay in (0.0, DECAY):
            lines += [f"{name},{d},{float(g)!r},{float(x)!r}" for name, d, g, x in run(rule, decay)]
    DATA.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
