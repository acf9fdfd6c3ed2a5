# SPDX-License-Identifier: Apache-2.0
"""tools/check_floors.py finds each violation that is planted, and none in a tidy house."""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TOOL = Path(__file__).resolve().parents[2] / "tools" / "check_floors.py"
HEADER = "// SPDX-License-Identifier: Apache-2.0\n#pragma once\n\n"

TIDY = {
    "config.hpp": HEADER,
    "core/units.hpp": HEADER + "#include <tacit/config.hpp>\n\n#include <vector>\n",
    "random/philox.hpp": HEADER + "#include <tacit/config.hpp>\n\n#include <cmath>\n// no throw\n",
    "secret/stream.hpp": HEADER + "#include <tacit/core/units.hpp>\n\n#include <unistd.h>\n",
    "pac/posterior.hpp": HEADER + "#include <tacit/random/philox.hpp>\n\n#include <Eigen/Dense>\n",
    "core.hpp": HEADER + "#include <tacit/core/units.hpp>\n",
    "random.hpp": HEADER + "#include <tacit/random/philox.hpp>\n",
    "secret.hpp": HEADER + "#include <tacit/secret/stream.hpp>\n",
    "pac.hpp": HEADER + "#include <tacit/pac/posterior.hpp>\n",
    "tacit.hpp": HEADER + "".join(
        f"#include <tacit/{name}.hpp>\n" for name in ("config", "core", "pac", "random", "secret")),
}


class CheckFloors(unittest.TestCase):
    def run_on(self, changes):
        with tempfile.TemporaryDirectory() as folder:
            base = Path(folder) / "include" / "tacit"
            for name, text in {**TIDY, **changes}.items():
                path = (base / name).resolve()
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            return subprocess.run([sys.executable, TOOL, folder], capture_output=True, text=True,
                                  check=False)

    def finds(self, changes, what):
        run = self.run_on(changes)
        self.assertEqual(run.returncode, 1, run.stdout)
        self.assertEqual(len(run.stdout.splitlines()), 1, run.stdout)
        self.assertIn(what, run.stdout)

    def includes(self, name, include, what):
        self.finds({name: f"{HEADER}#include <{include}>\n"}, what)

    def test_tidy(self):
        run = self.run_on({})
        self.assertEqual((run.returncode, run.stdout), (0, ""))

    def test_upwards(self):
        self.includes("core/units.hpp", "tacit/pac/posterior.hpp",
                      "floor core may not include floor pac")

    def test_upwards_by_listing(self):
        self.includes("core/units.hpp", "tacit/pac.hpp", "floor core may not include floor pac")

    def test_everything(self):
        self.includes("core/units.hpp", "tacit/tacit.hpp",
                      "floor core may not include floor tacit")

    def test_secret_never_meets_random(self):
        self.includes("secret/stream.hpp", "tacit/random/philox.hpp",
                      "floor secret may not include floor random")
        self.includes("random/philox.hpp", "tacit/secret/stream.hpp",
                      "floor random may not include floor secret")

    def test_libraries(self):
        self.includes("core/units.hpp", "Eigen/Dense", "<Eigen/Dense> on floor core")
        self.includes("core/units.hpp", "hip/hip_runtime.h", "hip enters at")
        self.includes("core/units.hpp", "boost/math/tools/roots.hpp", "belongs to no library")
        self.includes("pac/posterior.hpp", "unistd.h", "<unistd.h> on floor pac")
        self.includes("pac/posterior.hpp", "immintrin.h", "intrinsics enters at ['zo']")
        self.includes("pac/posterior.hpp", "fmt/core", "belongs to no library")

    def test_what_a_standard_library_lacks(self):
        self.finds({"core/units.hpp": HEADER + "inline auto f(double x) { return std::bit_cast<long>(x); }\n"},
                   "std::bit_cast: use <tacit/core/bit_cast.hpp>")
        self.assertEqual(self.run_on({"core/units.hpp": HEADER + "// std::bit_cast\n"}).returncode, 0)

    def test_names_that_windows_defines(self):
        self.finds({"core/units.hpp": HEADER + "inline double f(double far) { return far; }\n"},
                   "far: a macro of <windows.h>")
        self.assertEqual(self.run_on({"core/units.hpp": HEADER + '// far\ninline auto f() { return "far"; }\n'}).returncode, 0)

    def test_device_clean(self):
        self.includes("random/philox.hpp", "vector", "<vector> in a device-clean header")
        self.includes("random/philox.hpp", "boost/math/constants.hpp", "belongs to no library")
        self.finds({"random/philox.hpp": HEADER + "inline void f() { throw 1; }\n"},
                   "throw in a device-clean header")

    def test_form(self):
        self.finds({"core/units.hpp": "#pragma once\n"}, "must start with the SPDX line")
        self.finds({"core/units.hpp": HEADER + '#include "units.hpp"\n'}, "write <tacit/")

    def test_unsound_is_not_listed(self):
        unsound = {"pac/unsound_rule.hpp": HEADER}
        self.assertEqual(self.run_on(unsound).returncode, 0)
        listed = TIDY["pac.hpp"] + "#include <tacit/pac/unsound_rule.hpp>\n"
        self.finds({**unsound, "pac.hpp": listed}, "too much: ['tacit/pac/unsound_rule.hpp']")

    def test_listing(self):
        self.finds({"core.hpp": HEADER}, "missing: ['tacit/core/units.hpp']")
        self.finds({"core/log.hpp": HEADER}, "missing: ['tacit/core/log.hpp']")
        self.finds({"core/log.hpp": HEADER,
                    "core.hpp": HEADER + "#include <tacit/core/units.hpp>\n"
                                         "#include <tacit/core/log.hpp>\n"}, "must list, sorted")

    def test_unknown_floor(self):
        run = self.run_on({"cellar/wine.hpp": HEADER})
        self.assertIn("there is no floor cellar", run.stdout)

    def test_machine_path(self):
        for folder in ("work", "tmp", "home"):
            self.finds({"../../notes.md": f"see /{folder}/somewhere\n"}, "is a path of one machine")
        run = self.run_on({"../../notes.md": "build/work/x ../tmp/y https://example.org/home/z\n"})
        self.assertEqual(run.stdout, "")


if __name__ == "__main__":
    unittest.main()
