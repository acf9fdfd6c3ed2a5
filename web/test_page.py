#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page in a headless browser, from a file: clicked through, at phone and desk size, in both schemes, by keyboard;
its digits against the same questions compiled natively, and the calculator's where one is given.

usage: test_page.py PAGE ASK [CALCULATOR or - [TEST...]]
"""
import json
import math
import re
import subprocess
import sys
import time
import unittest
import xml.etree.ElementTree as xml
from pathlib import Path

from playwright.sync_api import sync_playwright

import cases

PAGE = Path(sys.argv[1]).resolve()
ASK = sys.argv[2]
CALCULATOR = sys.argv[3] if sys.argv[3:4] not in ([], ["-"]) else None
CHROMIUM = "/usr/bin/chromium"
DESK = {"width": 1280, "height": 900}
PHONE = {"width": 360, "height": 740}

TEXT_CONTRASTS = """() => {
  const channels = colour => colour.match(/[\\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => [r, g, b].map(c => c / 255).map(c => c <= .03928 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4)
    .reduce((sum, c, k) => sum + c * [.2126, .7152, .0722][k], 0);
  const behind = element => {
    for (let at = element; at; at = at.parentElement) {
      const colour = channels(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const low = [];
  for (const element of document.querySelectorAll('body *')) {
    const own = [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim()) || element.matches('input, select, textarea');
    if (!own || !element.getClientRects().length || element.matches('script, style, noscript, option')) continue;
    const style = getComputedStyle(element);
    const ink = channels(element.namespaceURI.endsWith('svg') ? style.fill : style.color);
    const [a, b] = [luminance(ink), luminance(behind(element))].sort((x, y) => y - x);
    const contrast = (a + .05) / (b + .05);
    if (contrast < 4.5) low.push([element.tagName, element.className.baseVal ?? element.className, element.textContent.slice(0, 30), contrast]);
  }
  return low;
}"""

NAMELESS = """() => [...document.querySelectorAll('input, select, textarea, button, progress')].filter(control =>
  !(control.labels && [...control.labels].some(label => label.textContent.trim())) && !control.textContent.trim() &&
  !control.getAttribute('aria-label')).map(control => control.outerHTML)"""


def native(questions):
    lines = "".join(json.dumps(q) + "\n" for q in questions)
    done = subprocess.run([ASK], input=lines, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def epsilon_with(question, noise_multiplier):
    """The native upper end at this noise, of what asks for a noise multiplier."""
    releases = [{**release, "noise_multiplier": noise_multiplier} for release in question["run"]["releases"]]
    [answer] = native([{"ask": "epsilon", "run": {**question["run"], "releases": releases}, "delta": question["delta"]}])
    return answer["upper"]["value"]


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.playwright = sync_playwright().start()
        cls.browser = cls.playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.playwright.stop()

    def open(self, fragment="", size=DESK, scheme="light"):
        context = self.browser.new_context(viewport=size, color_scheme=scheme, permissions=["clipboard-read", "clipboard-write"])
        self.addCleanup(context.close)
        self.page = context.new_page()
        self.wrong = []
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("console", lambda message: self.wrong.append(message.text) if message.type in ("error", "warning") else None)
        self.page.on("request", lambda asked: self.wrong.append(asked.url)
                     if not asked.url.startswith((PAGE.as_uri(), "blob:", "data:")) else None)
        self.page.goto(PAGE.as_uri() + fragment)
        self.settle()
        return self.page

    def tearDown(self):
        self.assertEqual(self.wrong, [])

    wrong = []

    def settle(self, seconds=300):
        end = time.monotonic() + seconds
        while self.page.get_attribute("#results", "aria-busy") != "false":
            self.assertLess(time.monotonic(), end, "the page does not answer")
            time.sleep(0.03)

    def enter(self, field, text):
        self.page.fill(f"#{field}", text)
        self.page.press(f"#{field}", "Enter")
        self.settle()

    def choose(self, radio):
        self.page.check(f"#{radio}", force=True)
        self.settle()

    def select(self, field, word):
        self.page.select_option(f"#{field}", word)
        self.settle()

    def big(self):
        return [element.inner_text() for element in self.page.query_selector_all("p.big")]

    def digits(self):
        return self.page.inner_text("#answer .digits")

    # ---- what is asked and answered -------------------------------------------------------------

    def test_one_file_of_at_most_a_megabyte(self):
        self.assertLessEqual(PAGE.stat().st_size, 1_000_000)
        self.assertIsNone(re.search(r"(?:src|href)\s*=\s*[\"'](?!data:|#)", PAGE.read_text(encoding="utf-8").split("</head>")[0]))

    def test_the_engine_has_the_digits_of_the_native_one(self):
        page = self.open()
        asked = cases.all_cases()
        questions = [q for q, _, _ in asked]
        same = shown = ends = 0
        for (question, words, kind), ours, theirs in zip(asked, page.evaluate("q => engine.ask(q)", questions), native(questions), strict=True):
            def numbers(answer):
                keys = ["lower", "upper"] if kind == "interval" else ["value"] if isinstance(kind, str) else list(kind)
                return [answer[key] for key in keys]
            if kind == "interval":  # both hold the truth
                lower, upper = ([math.inf if a[key]["value"] is None else a[key]["value"] for a in (ours, theirs)] for key in ("lower", "upper"))
                self.assertLessEqual(max(lower), min(upper), question)
            for one, other in zip(numbers(ours), numbers(theirs), strict=True):
                ends += 1
                same += one == other
                shown += one["text"] == other["text"]
                if one != other and question["ask"] == "noise_multiplier" and "allocate" in question["run"]["releases"][0]:
                    # The upper ends of allocations jump by 1e-5 between neighbouring numbers: another one may keep the target, too.
                    self.assertLess(abs(one["value"] / other["value"] - 1), 1e-5, question)
                    self.assertLessEqual(epsilon_with(question, one["value"]), question["epsilon"], question)
                elif one != other:
                    width = theirs["upper"]["value"] - theirs["lower"]["value"] if kind == "interval" else 0.0
                    self.assertLess(abs(one["value"] - other["value"]), 0.2 * width, (question, one, other))
                    self.assertEqual(one["text"], other["text"], question)
            if CALCULATOR:
                said = cases.of_calculator(CALCULATOR, words)
                width = said["upper"] - said["lower"] if kind == "interval" else 0.0
                for one, other in cases.pairs(kind, ours, said):
                    self.assertTrue(cases.agree(one, other, width), (question, one, other))
        print(f"\n{len(asked)} questions: {shown} of {ends} figures are shown in the same digits, {same} are the same to the last bit")

    def test_the_engine_refuses_as_the_native_one(self):
        page = self.open()
        questions = [q for q, _, _ in cases.REFUSED]
        ours = page.evaluate("q => engine.ask(q)", questions)
        self.assertEqual(ours, native(questions))
        for answer, (_, argument, must_be) in zip(ours, cases.REFUSED, strict=True):
            cases.check_refused(answer, argument, must_be)

    def test_epsilon_by_clicking(self):
        page = self.open()
        self.assertEqual(self.big(), ["≤ 6.18772"])
        self.enter("a-0-noise_multiplier", "2")
        self.enter("a-0-steps", "500")
        [answer] = page.evaluate("q => engine.ask(q)", [cases.cost("epsilon", cases.run(cases.with_(noise_multiplier=2, steps=500)), delta=1e-5)[0]])
        self.assertEqual(self.big(), [f"≤ {answer['upper']['text']}"])
        self.assertEqual(self.digits(), f"[{answer['lower']['full']}, {answer['upper']['full']}]")
        page.click("text=Copy all digits")
        self.assertEqual(page.evaluate("navigator.clipboard.readText()"), self.digits())

    def test_every_question_about_a_run(self):
        page = self.open()
        self.enter("a-0-steps", "20")
        for word in ("delta", "noise_multiplier", "steps", "rate", "batch"):
            with self.subTest(word=word):
                self.choose(f"ask-{word}")
                self.assertEqual(len(self.big()), 1)
                self.assertFalse(page.is_hidden("#statement"))
                if word != "delta":
                    self.assertTrue(page.is_disabled(f"#a-0-{word}"))
        self.choose("ask-noise_multiplier")
        self.select("a-adjacency", "add-remove")
        self.select("a-0-sampling", "poisson")
        self.enter("a-0-steps", "10000")
        self.assertEqual((self.big(), self.digits()), (["2.12738"], "2.12737575173378"))

    def test_phases_added_and_removed(self):
        page = self.open()
        self.enter("a-0-noise_multiplier", "1.1")
        self.enter("a-0-steps", "1000")
        page.click("#a-add")
        self.settle()
        self.enter("a-1-steps", "3")
        self.select("a-1-sampling", "all")
        self.enter("a-1-noise_multiplier", "20")
        self.select("a-1-mechanism", "laplace")
        self.assertEqual(self.big(), ["≤ 1.55091"])
        page.click("#a-1-remove")
        self.settle()
        self.assertEqual(page.query_selector_all("#a-1-steps"), [])

    def test_a_pasted_schedule(self):
        page = self.open()
        page.click("text=Paste a run")
        page.fill("#a-schedule", '{"adjacency": "zero-out", "releases": [{"mechanism": "gaussian", "noise_multiplier": 3, "steps": 5}]}')
        page.click("#a-read")
        time.sleep(0.3)
        self.settle()
        self.assertEqual(page.input_value("#a-0-noise_multiplier"), "3")
        self.assertEqual(page.input_value("#a-adjacency"), "zero-out")
        page.click("text=Paste a run")
        page.fill("#a-schedule", '{"releases": [{"mechanism": "gaussian"}]}')
        page.click("#a-read")
        self.settle()
        self.assertIn("noise_multiplier is missing", page.inner_text("#a-schedule-wrong"))

    def test_what_other_accountants_print_is_pasted(self):
        page = self.open()
        page.click("text=Paste a run")

        def paste(text):
            if not page.is_visible("#a-schedule"):
                page.click("text=Paste a run")
            page.fill("#a-schedule", text)
            page.click("#a-read")
            time.sleep(0.3)
            self.settle()
        for text in cases.SAME_RUN:
            paste('{"releases": [{"mechanism": "pure", "epsilon": 3}]}')
            self.assertEqual(page.input_value("#a-0-mechanism"), "pure")
            paste(text)
            with self.subTest(text=text):
                self.assertEqual(page.evaluate("schedule_of(state.runs[0])"), cases.run(cases.with_(steps=100)))
        questions = [{"ask": "epsilon", "delta": 1e-5, "run": {"adjacency": adjacency, "releases": [release]}}
                     for _, release, adjacency in cases.STATES]
        for (text, _, adjacency), answer in zip(cases.STATES, native(questions)):
            paste(text)
            with self.subTest(text=text):
                self.assertEqual((page.input_value("#a-adjacency"), self.big()), (adjacency, [f"≤ {answer['upper']['text']}"]))
                linked = page.evaluate("location.hash")
                self.open(linked)
                self.assertEqual(self.big(), [f"≤ {answer['upper']['text']}"])
                page = self.page
        for text in cases.NO_STATES:
            paste(text)
            with self.subTest(text=text):
                said = page.evaluate("text => engine.ask([{ask: 'schedule', text}])", text)[0]["error"]
                self.assertIn(re.sub(r"^\w+: ", "", said), page.inner_text("#a-schedule-wrong"))

    def test_mechanisms_that_are_known_by_their_guarantee(self):
        page = self.open()
        self.select("a-0-sampling", "all")
        self.select("a-0-mechanism", "gaussian-dp")
        self.enter("a-0-steps", "4")
        self.enter("a-0-mu", "0.5")
        [one] = page.evaluate("q => engine.ask(q)", [cases.cost("epsilon", cases.run({"mechanism": "gaussian", "noise_multiplier": 1, "steps": 1}), delta=1e-5)[0]])
        self.assertEqual(self.big(), [f"≤ {one['upper']['text']}"])
        self.select("a-0-mechanism", "profile")
        self.enter("a-0-steps", "1")
        page.fill("#a-0-points", "0.5, 1e-3\n1 1e-6")
        page.press("#a-0-points", "Tab")
        self.settle()
        # Between the points delta is below their chord, as a function of e^epsilon.
        truth = math.log(math.e - (math.e - math.exp(0.5)) * (1e-5 - 1e-6) / (1e-3 - 1e-6))
        self.assertAlmostEqual(float(self.big()[0].removeprefix("≤ ")), truth, 5)
        found = self.big()
        self.assertIn("any mechanism of delta 0.001 at epsilon 0.5, delta 0.000001 at epsilon 1", page.inner_text("#statement-text"))
        page = self.open("#" + page.evaluate("location.hash").partition("#")[2])
        self.assertEqual((page.input_value("#a-0-points"), self.big()), ("0.5, 1e-3\n1 1e-6", found))
        for points in ("0.5, 2", "0.5", "x, 1e-3", "1 0.1 3"):
            page.fill("#a-0-points", points)
            page.press("#a-0-points", "Tab")
            self.settle()
            self.assertEqual(self.big(), [], points)
        page.click("text=Paste a run")
        for release, said in (('{"mechanism": "profile", "points": [{"epsilon": 1, "delta": 1e-6}]}', ""),
                              ('{"mechanism": "zcdp", "rho": 0.1}', "mechanism is 'zcdp', but must be one of which a privacy profile is known")):
            page.fill("#a-schedule", f'{{"releases": [{release}]}}')
            page.click("#a-read")
            time.sleep(0.3)
            self.settle()
            if said:
                self.assertIn(said, page.inner_text("#a-schedule-wrong"))
            else:
                self.assertEqual(page.input_value("#a-0-points"), "1, 0.000001")
                page.click("text=Paste a run")

    def test_the_best_of_several_runs(self):
        page = self.open()
        self.assertTrue(page.is_disabled("#best_of_law"))
        self.enter("best_of", "20")
        self.assertFalse(page.is_disabled("#best_of_law"))
        # docs/accountants.md: tacit epsilon --rate 0.01 --noise-multiplier 1 --steps 10000 --delta 1e-5 --best-of 20
        self.assertEqual(self.big(), ["≤ 11.0332"])
        statement = page.inner_text("#statement-text")
        for words in ("Released is the best of a geometric number of such runs, of mean 20 (gamma 0.05000000000000004).",
                      "The number of runs was drawn from that law", '{"best_of":20,"best_of_law":"geometric"}'):
            self.assertIn(words, statement)
        self.assertNotIn("tuned settings", statement)
        self.select("best_of_law", "logarithmic")
        [found] = page.evaluate("q => engine.ask(q)", [cases.best_of(20.0, "logarithmic", "epsilon", cases.run(cases.GAUSSIAN), delta=1e-5)[0]])
        self.assertEqual(self.big(), [f"≤ {found['upper']['text']}"])
        page = self.open("#" + page.evaluate("location.hash").partition("#")[2])
        self.assertEqual((page.input_value("#best_of"), page.input_value("#best_of_law")), ("20", "logarithmic"))
        self.enter("best_of", "0.5")
        self.assertEqual(page.inner_text("#best_of-wrong"), "best_of is 0.5, but must be in [1, 1e12] unless best_of_law is poisson")
        self.assertEqual(self.big(), [])
        self.enter("best_of", "")
        self.assertEqual(self.big(), ["≤ 6.18772"])
        self.assertIn("tuned settings", page.inner_text("#statement-text"))
        self.choose("ask-noise_multiplier")
        self.assertIsNone(page.query_selector("#best_of"))

    def test_random_allocation(self):
        page = self.open()
        self.select("a-0-sampling", "allocation")
        self.assertEqual(page.inner_text("label[for=a-0-steps]"), "Epochs")
        self.enter("a-0-steps", "1")
        self.enter("delta", "1e-6")
        # 0.171728684..., by a Bromwich integral (tests/dp/allocation.cpp)
        self.assertEqual(self.big(), ["≤ 0.17173"])
        self.assertIn("epochs of 1000 steps of which every record takes part in 1, at random", page.inner_text("#statement-text"))
        page.click("#copy-link")
        page = self.open("#" + page.evaluate("navigator.clipboard.readText()").partition("#")[2])
        self.assertEqual((page.input_value("#a-0-of"), self.big()), ("1000", ["≤ 0.17173"]))
        self.enter("a-0-allocate", "1001")
        self.assertEqual(page.inner_text("#a-0-allocate-wrong"), "allocate is 1001, but must be a whole number in [1, 1000]")

    def test_two_runs_side_by_side_and_in_one_picture(self):
        page = self.open()
        page.click("#second")
        self.settle()
        self.enter("b-0-noise_multiplier", "2")
        self.assertEqual(self.big()[0], "≤ 6.18772")
        self.assertEqual(len(self.big()), 2)
        for picture in ("delta", "epsilon", "errors"):
            self.choose(f"picture-{picture}")
            self.assertEqual(len(page.query_selector_all("#plot path.a, #plot path.b")), 2)
            page.evaluate("document.getElementById('points').open = true")
            self.assertIn("Run B", page.inner_text("#table thead"))
            self.assertGreater(len(page.query_selector_all("#table tbody tr")), 12)
        statement = page.inner_text("#statement-text")
        for words in ("Run A", "Run B", "Neighbours: add-remove", "Not covered", "tacit 0.", '"noise_multiplier":2'):
            self.assertIn(words, statement)

    def test_the_picture_as_a_file(self):
        page = self.open()
        with page.expect_download() as download:
            page.click("#save-svg")
        picture = xml.parse(download.value.path()).getroot()
        self.assertTrue(picture.tag.endswith("svg"))
        self.assertIn("style", [child.tag.split("}")[1] for child in picture])

    def test_attackers(self):
        self.open("#view=attack")
        self.assertEqual(self.big(), ["≤ 0.881888", "≤ 0.881888", "2.01042"])
        self.choose("known-dp")
        self.assertEqual(len(self.big()), 2)
        self.choose("known-success")
        self.assertEqual(self.big(), ["0.0201355 nats", "0.405465"])
        self.enter("success", "0.4")
        self.assertEqual(self.page.inner_text("#success-wrong"), "success is 0.4, but must be at least the prior success 0.5")

    def test_pac_noise(self):
        page = self.open("#view=pac")
        self.assertEqual(self.big(), ["0.0149822"])
        self.assertIn("4 candidates, equally likely, 2 coordinates", page.inner_text("#statement-text"))
        self.assertIn("of shape full: any covariance; budget 0.5 nats", page.inner_text("#statement-text"))
        self.assertIn("0.009673502275039", self.digits())
        page.click("text=Copy the covariance")
        self.assertEqual(len(page.evaluate("navigator.clipboard.readText()").splitlines()), 2)
        self.choose("rows_are-samples")
        self.select("method", "auto")
        self.assertIn("slack is missing", page.inner_text("#slack-wrong"))
        page.fill("#rows", "1 2\n3")
        page.press("#rows", "Tab")
        self.settle()
        self.assertEqual(self.big(), [])
        self.assertIn("row 2 of rows is of another length", page.inner_text("#rows-wrong"))

    # ---- what is refused ------------------------------------------------------------------------

    def test_bad_input_is_named_beside_its_field_and_gets_no_number(self):
        page = self.open()
        for field, text, message in (("delta", "2", "delta is 2, but must be in (0, 1)"), ("delta", "", "delta is missing, but must be in (0, 1)"),
                                     ("delta", "1e-5x", "delta is '1e-5x', but must be in (0, 1)"), ("delta", "Infinity", "delta is 'Infinity', but must be in (0, 1)"),
                                     ("prior", "-1", "prior is -1, but must be in [0, 1]"), ("a-0-rate", "1.5", "rate is 1.5, but must be in [0, 1]"),
                                     ("a-0-noise_multiplier", "0", "noise_multiplier is 0, but must be in [0.001, 1e9]"),
                                     ("a-0-steps", "0.5", "steps is 0.5, but must be a whole number in [1, 2^53]"),
                                     ("a-0-records_per_person", "0", "records_per_person is 0, but must be a whole number in [1, 1000000]"),
                                     ("a-0-rate", "", "rate is missing, but must be in [0, 1]")):
            with self.subTest(field=field, text=text):
                before = page.input_value(f"#{field}")
                self.enter(field, text)
                self.assertEqual(page.inner_text(f"#{field}-wrong"), message)
                self.assertEqual(page.get_attribute(f"#{field}", "aria-invalid"), "true")
                self.assertIn(f"{field}-wrong", page.get_attribute(f"#{field}", "aria-describedby"))
                self.assertIn(message, page.inner_text("#answer"))
                self.assertEqual(self.big(), [])
                self.assertTrue(page.is_hidden("#picture") and page.is_hidden("#statement"))
                self.enter(field, before)
                self.assertEqual(page.query_selector_all("#form [aria-invalid]"), [])
                self.assertEqual(self.big(), ["≤ 6.18772"])

    def test_what_has_no_bound_is_refused_with_the_reason(self):
        self.open()
        self.select("a-0-sampling", "shuffled")
        self.assertIn("use zero_out or replace_one", self.page.inner_text("#answer"))
        self.assertEqual(self.big(), [])

    # ---- links ----------------------------------------------------------------------------------

    def test_a_link_restores_everything(self):
        page = self.open()
        page.click("#second")
        self.settle()
        self.enter("b-0-rate", "2e-2")
        self.enter("delta", "1e-7")
        self.choose("picture-errors")
        page.click("#copy-link")
        link = page.evaluate("navigator.clipboard.readText()")
        answer = page.inner_text("#answer")
        again = self.open(link[link.index("#"):])
        self.assertEqual(again.inner_text("#answer"), answer)
        self.assertEqual(again.input_value("#b-0-rate"), "2e-2")
        self.assertTrue(again.is_checked("#picture-errors"))
        self.assertIn(link[link.index("#"):], again.inner_text("#statement-text"))

    def test_a_link_of_another_view(self):
        page = self.open("#view=pac&rows=1%2C2%0A3%2C5&rows_are=candidates&method=log-det&shape=diagonal&budget=2")
        self.assertEqual(page.input_value("#rows"), "1,2\n3,5")
        self.assertEqual(page.input_value("#shape"), "diagonal")
        self.assertEqual(len(self.big()), 1)

    def test_hostile_links_are_text(self):
        for fragment in ("#view=run&delta=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E", "#view=__proto__&ask=constructor", "#a=add-remove;gaussian",
                         "#%", "#view=run&delta=%E0%A4%A", "#a=add-remove;gaussian,poisson,__proto__:1,steps:1;x", "#view=pac&rows=%3Cscript%3E&method=toString"):
            with self.subTest(fragment=fragment):
                page = self.open(fragment)
                self.assertEqual(page.query_selector_all("img, #results script"), [])
                self.assertTrue(page.inner_text("#answer"))

    # ---- long work ------------------------------------------------------------------------------

    SLOW = ("#view=run&ask=epsilon&picture=delta&delta=1e-5&a=replace-one;" +
            ";".join(f"laplace,fixed,noise_multiplier:{k},batch:{k},records:1000,steps:100" for k in range(2, 30)))

    def test_the_page_does_not_freeze_and_can_cancel(self):
        page = self.open()
        page.evaluate("""fragment => { window.longest = 0; let last = performance.now();
          setInterval(() => { longest = Math.max(longest, performance.now() - last); last = performance.now(); }, 10);
          location.hash = fragment; }""", self.SLOW)
        page.wait_for_selector("#cancel", state="visible")
        time.sleep(0.5)
        self.assertEqual(page.get_attribute("#results", "aria-busy"), "true")
        page.click("#cancel")
        self.settle(2)
        self.assertIn("ancelled", page.inner_text("#results"))
        self.assertEqual(self.big(), [])
        self.assertTrue(page.is_hidden("#statement"))
        self.assertLess(page.evaluate("longest"), 2000)  # on a busy machine
        page.click("#views [data-view=attack]")
        self.settle()
        self.assertEqual(self.big()[0], "≤ 0.881888")

    def test_a_newer_question_ends_an_older_one(self):
        page = self.open()
        page.evaluate("fragment => { location.hash = fragment; }", self.SLOW)
        time.sleep(0.3)
        page.evaluate("location.hash = '#view=attack'")
        time.sleep(0.1)
        self.settle(20)
        self.assertEqual(self.big()[0], "≤ 0.881888")

    # ---- for everybody --------------------------------------------------------------------------

    VIEWS = ("", "#view=attack", "#view=pac", "#view=run&delta=2", "#view=run&ask=noise_multiplier&picture=errors")

    def test_both_sizes_and_schemes(self):
        for fragment in self.VIEWS:
            for size in (DESK, PHONE):
                for scheme in ("light", "dark"):
                    with self.subTest(fragment=fragment, size=size, scheme=scheme):
                        page = self.open(fragment, size, scheme)
                        self.assertEqual(page.evaluate("document.documentElement.scrollWidth"), size["width"])
                        self.assertEqual(page.evaluate(TEXT_CONTRASTS), [])
                        self.assertEqual(page.evaluate(NAMELESS), [])

    def test_by_keyboard_alone(self):
        page = self.open()
        seen = []
        page.focus("#skip")
        for _ in range(60):
            at = page.evaluate("""() => { const at = document.activeElement; const shown = at.matches('.choices input') ? at.nextElementSibling : at;
 if (at === document.body) return ['', true, true];
              return [at.id || at.textContent.trim().slice(0, 20), getComputedStyle(shown).outlineStyle !== 'none', at.matches(':focus-visible')]; }""")
            if not at[0] or at[0] in seen[:1]:
                break  # past the last one
            seen.append(at[0])
            self.assertTrue(at[1] and at[2], at)
            page.keyboard.press("Tab")
        for needed in ("skip", "ask-epsilon", "delta", "prior", "a-adjacency", "a-0-noise_multiplier", "a-add", "second", "compute",
                       "picture-delta", "save-svg", "copy-statement", "copy-link"):
            self.assertIn(needed, seen)
        page.focus("#ask-epsilon")
        page.keyboard.press("ArrowRight")
        self.settle()
        self.assertEqual(page.evaluate("document.activeElement.id"), "ask-delta")
        page.focus("#epsilon")
        page.keyboard.press("Control+A")
        page.keyboard.type("6")
        page.keyboard.press("Enter")
        self.settle()
        self.assertTrue(self.big()[0].startswith("≤ 1.7597"), self.big())

    def test_for_a_screen_reader(self):
        page = self.open()
        self.assertEqual(page.get_attribute("#answer", "aria-live"), "polite")
        self.assertEqual(page.get_attribute("html", "lang"), "en")
        self.assertIn("δ by ε", page.get_attribute("#plot svg", "aria-label"))
        self.assertEqual(page.get_attribute("#plot svg", "role"), "img")
        self.assertEqual(len(page.query_selector_all("h1")), 1)
        self.assertEqual(page.get_attribute("#views [data-view=run]", "aria-current"), "page")
        self.assertEqual(page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id).filter((id, k, all) => all.indexOf(id) !== k)"), [])


unittest.main(argv=sys.argv[:1] + sys.argv[4:])
