# SPDX-License-Identifier: Apache-2.0
"""NumPy, imported when something is first asked of it: that takes longer than importing all of this package."""


class _Numpy:
    def __getattr__(self, name: str) -> object:
        import numpy

        found = getattr(numpy, name)
        setattr(self, name, found)
        return found


np = _Numpy()
