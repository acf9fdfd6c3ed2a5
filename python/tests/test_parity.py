# SPDX-License-Identifier: Apache-2.0
"""What C++ can state of a release, Python can: every public mechanism, sampling and function that makes one has a name here."""
import re
from pathlib import Path

import pytest

import tacit
from tacit import matrix

HEADERS = Path(__file__).resolve().parents[2] / "include" / "tacit" / "dp"
pytestmark = pytest.mark.skipif(not HEADERS.is_dir(), reason="the package is tested without its repository")

FILES = ("event.hpp", "sensitivity.hpp", "choices.hpp", "integer_noise.hpp", "shuffled_batches.hpp", "capped_run.hpp", "sampled_run.hpp",
         "matrix/nested.hpp", "matrix/run.hpp", "matrix/separated.hpp", "matrix/strategy.hpp", "matrix/sensitivity.hpp", "matrix/error.hpp")

# Initials that Python keeps.
SPELT = {"approx_dp": "ApproxDP", "dp_profile": "DPProfile", "gaussian_dp": "GaussianDP", "renyi_dp": "RenyiDP", "zcdp": "ZCDP"}

# What has no name of its own in Python, and why.
ELSEWHERE = {
    "adjacency": "a word: 'add_remove', 'replace_one' or 'zero_out'",
    "integer_law": "a word of IntegerNoise",
    "score_noise": "a word of report_noisy_max",
    "contribution": "a word of report_noisy_max and sparse_vector",
    "renyi_bound": "a pair in RenyiDP",
    "clipped_group": "a pair in joint_gaussian",
    "noise_buffer": "a pair in buffered_strategy",
    "composed": "a tuple (event, count)",
    "shuffled_epoch": "a tuple (event, failure)",
    "sampled": "Event(mechanism, sampling)",
    "by_person": "Event(…, records_per_person=…)",
    "batch_cap": "the arguments of CappedRun",
    "overflow": "CappedRun.overflow",
    "told_cuts": "CappedRun takes account of them",
    "tell_cuts": "CappedRun takes account of them",
}


def without_details(text):
    return re.sub(r"^namespace detail \{.*?^\}  // namespace detail$", "", text, flags=re.S | re.M)


def declared(text):
    """Types and functions of the namespace tacit, which begin where a line does."""
    text = without_details(text)
    yield from re.findall(r"^(?:struct|class|enum class) (\w+)", text, re.M)
    yield from re.findall(r"^\[\[nodiscard\]\] [^(;{]*?(\w+)\(", text, re.M)


def alternatives(name):
    [listed] = re.findall(rf"^using {name} =\s*std::variant<([^>]*)>;", (HEADERS / "event.hpp").read_text(encoding="utf-8"), re.M)
    return [word.strip() for word in listed.split(",")]


def in_python(name):
    camel = SPELT.get(name) or "".join(part.capitalize() for part in name.split("_"))
    return any(hasattr(module, candidate) for module in (tacit, matrix) for candidate in (name, camel))


def test_the_names_are_found():
    found = {name for file in FILES for name in declared((HEADERS / file).read_text(encoding="utf-8"))}
    assert {"gaussian", "poisson", "joint_gaussian", "hidden_in_shuffle", "separated_poisson", "balls_in_bins", "matrix_run",
            "from_profile", "capped_run", "shuffled_noise_multiplier_for", "vector_skellam"} <= found
    assert not {"dominator", "toeplitz_columns", "binomial_tail"} & found
    assert len(alternatives("mechanism_event")) > 10 and len(alternatives("sampling")) > 4


@pytest.mark.parametrize("file", FILES)
def test_every_public_name_has_one_in_python(file):
    missing = [name for name in declared((HEADERS / file).read_text(encoding="utf-8")) if name not in ELSEWHERE and not in_python(name)]
    assert missing == []


@pytest.mark.parametrize("name", ["mechanism_event", "sampling"])
def test_every_alternative_of_an_event_has_one(name):
    assert [word for word in alternatives(name) if not in_python(word)] == []


def test_no_exception_is_stale():
    found = {name for file in FILES for name in declared((HEADERS / file).read_text(encoding="utf-8"))}
    assert set(ELSEWHERE) <= found
