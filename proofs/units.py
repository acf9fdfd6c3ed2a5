# SPDX-License-Identifier: Apache-2.0
"""Units of rounding, u = 2^-53 of a number each, to first order: sums of named sizes with rational coefficients. What the library's
functions err by is in docs/certificates/elementary.md.
"""
from fractions import Fraction
from math import isqrt

EXP, EXPM1, LOG, SIN, ATAN2, ERFC = (Fraction(n, 100) for n in (151, 276, 192, 180, 650, 1720))
ROUNDS = 1
ROOT_TWO = Fraction(isqrt(2 * 10**40) + 1, 10**20)
ROOT_FIVE = Fraction(isqrt(5 * 10**40) + 1, 10**20)
ROOM = Fraction(1001, 1000)  # what is of second order


class Units(dict):
    """Units(3, t=2): three of the number itself, and two of t times it. A plain number is so many units."""

    def __init__(self, fixed=0, **sizes):
        super().__init__({name: Fraction(n) for name, n in {"fixed": fixed, **sizes}.items() if n})

    def __add__(self, other):
        return self.joined(other, lambda a, b: a + b)

    __radd__ = __add__

    def __mul__(self, n):
        out = Units()
        out.update({name: value * n for name, value in self.items()})
        return out

    __rmul__ = __mul__

    def joined(self, other, by):
        other = other if isinstance(other, Units) else Units(other)
        out = Units()
        out.update({name: by(self.get(name, 0), other.get(name, 0)) for name in {**self, **other}})
        return out

    def within(self, counted):
        """Whether so many units are counted, with room for what is of second order. Named sizes are errors d of an exponent, for
        which e^d - 1 is counted in the end, or small ones.
        """
        counted = counted if isinstance(counted, Units) else Units(counted)
        return all(value * (ROOM if name == "fixed" else 1) <= counted.get(name, 0) for name, value in self.items() if value > 0)

    def __str__(self):
        return " + ".join(f"{float(n):.4g}{'' if name == 'fixed' else ' ' + name}" for name, n in self.items()) or "0"


def largest(*units):
    """What a sum of positive terms errs by at most, beside its own roundings."""
    out = Units()
    for each in units:
        out = out.joined(each, max)
    return out
