// SPDX-License-Identifier: Apache-2.0
//
// The page: what was entered is asked, answered, drawn, and put into words.
'use strict';

const VERSION = by_id('version').textContent;

let state = state_of(location.hash);
let result;   // what the last questions found, for the pictures and the statement
let picture;  // what is drawn

// ---- asking -------------------------------------------------------------------------------------

class Refused extends Error {
  constructor(refusal, run_name) {
    super(refusal.error);
    this.refusal = refusal;
    this.run_name = run_name;
  }
}

/// The answers; the first refusal is thrown. `names`: of the runs that the questions are about.
async function asked(questions, names = []) {
  const answers = await engine.ask(questions, (answer, k) => progress((k + 1) / questions.length));
  answers.forEach((answer, k) => { if (answer.error) throw new Refused(answer, names[k]); });
  return answers;
}

function progress(part) {
  if (part === undefined) by_id('progress').removeAttribute('value');
  else by_id('progress').value = part;
}

let turn = 0;

/// Runs one piece of work at a time; a newer one ends an older one.
async function working(label, work) {
  engine.cancel();
  const mine = ++turn;
  by_id('progress-label').textContent = label;
  progress(undefined);
  by_id('results').setAttribute('aria-busy', 'true');
  const patience = setTimeout(() => {
    by_id('busy').hidden = false;
    if (!result) instead('waiting', 'Computing …');  // no older answer stays beside newer inputs
  }, 150);
  try {
    await work();
  } catch (error) {
    if (mine === turn) failed(error);
  } finally {
    clearTimeout(patience);
    if (mine === turn) {
      by_id('busy').hidden = true;
      by_id('results').setAttribute('aria-busy', 'false');
    }
  }
}

function failed(error) {
  if (error instanceof engine.Cancelled) {
    if (!result) instead('waiting', 'Cancelled.');
    else by_id('caption').textContent = 'Cancelled: the picture has what was computed until then.';
    return;
  }
  result = undefined;
  if (error instanceof Refused) {
    const control = show_wrong(error.refusal, error.run_name);
    const label = control && document.querySelector(`label[for="${control.id}"]`).textContent;
    instead('refused', label ? `${label}: ${plainly(error.message)}` : plainly(error.message));
    if (control && document.activeElement === by_id('compute')) control.focus();
  } else {
    instead('refused', `The engine stopped: ${error.message}`);
  }
}

const say = (...children) => by_id('answer').replaceChildren(...children);

/// Words in place of an answer, its picture and its statement.
function instead(kind, words) {
  say(h('p', {class: kind}, words));
  by_id('picture').hidden = by_id('statement').hidden = true;
}

let computing;  // {what: the inputs, done: a promise}

function compute() {
  const what = fragment_of(state);
  if (computing && computing.what === what) return computing.done;  // Enter changes a field and asks at once
  result = undefined;
  clear_wrong();
  by_id('copied').textContent = '';
  keep_link();
  const mine = {what};
  computing = mine;
  mine.done = working('Computing', {run: compute_run, attack: compute_attack, pac: compute_pac}[state.view])
    .finally(() => { if (computing === mine) computing = undefined; });
  return mine.done;
}

// ---- differential privacy -----------------------------------------------------------------------

const up_to = end => (end.value === null ? 'no finite number' : `≤ ${end.text}`);

async function compute_run() {
  const {sought, needs} = ASKS[state.ask];
  const names = state.runs.map((_, k) => 'ab'[k]);
  const target = {...numbers(state, needs), ...repetitions(state)};
  let schedules = state.runs.map(run => schedule_of(run, sought));
  let found;
  if (sought) {
    found = await asked(schedules.map(run => ({ask: state.ask, run, ...target})), names);
    schedules = found.map(answer => answer.run);
  }
  const intervals = await asked(schedules.map(run => ({ask: sought ? 'epsilon' : state.ask, run, ...target})), names);
  const attacks = await asked(schedules.map(run => ({ask: 'attack_on_run', run, ...numbers(state, ['prior']), ...repetitions(state)})), names);
  result = schedules.map((schedule, k) => ({schedule, value: found && found[k].value, interval: intervals[k], attack: attacks[k]}));
  result.version = VERSION;
  result.repetitions = repetitions(state);
  result.curves = {};
  say(h('div', {class: 'answers'}, result.map(run_answer)));
  state_in_words(run_statement(state, result, link()));
  await draw_run();
}

function run_answer(run, k) {
  const {interval, attack, value} = run;
  const at = {epsilon: `at δ = ${state.delta.trim()}`, delta: `at ε = ${state.epsilon.trim()}`};
  const which = result.length > 1 ? `Run ${'AB'[k]}: ` : '';
  const letter = state.ask === 'delta' ? 'δ' : 'ε';
  const ends = `[${in_full(interval.lower)}, ${in_full(interval.upper)}]`;
  const digits = value ? in_full(value) : ends;
  const headline = value
    ? [h('h2', {}, `${which}${FIELDS[state.ask].label} for ε = ${state.epsilon.trim()} at δ = ${state.delta.trim()}`),
       h('p', {class: 'big'}, value.text),
       h('p', {}, 'With it, ε is ', h('b', {}, up_to(interval.upper)), ` at δ = ${state.delta.trim()}.`)]
    : [h('h2', {}, `${which}${letter} ${at[state.ask]}`),
       h('p', {class: 'big'}, up_to(interval.upper)),
       interval.attained && interval.lower.value > 0
         ? h('p', {}, 'and at least ', h('b', {}, interval.lower.text))
         : interval.attained ? undefined : h('p', {}, 'The lower end is of the bound: this sampling may reveal less.'),
       interval.best_of && h('p', {}, `For ${repetitions_in_words(interval.best_of)}.`)];
  return h('div', {class: `one ${'ab'[k]}`},
    headline,
    h('span', {class: 'digits', id: `digits-${'ab'[k]}`}, digits),
    button('Copy all digits', () => copied(digits, 'Digits'), {class: 'plain', 'aria-label': `Copy all digits${which && ` of run ${'AB'[k]}`}`}),
    h('p', {}, 'An attacker who tests for one record has an advantage of ', h('b', {}, up_to(attack.advantage)),
      ', and at prior ', state.prior.trim(), ' guesses right with probability ', h('b', {}, up_to(attack.success)), '.'));
}

const names_of_curves = () => (result.length > 1 ? [NAMES.a, NAMES.b] : ['']);

/// The places of a grid, level by level: a picture grows everywhere at once.
function levels(count) {
  const all = [];
  const seen = new Set();
  for (let step = 2 ** Math.ceil(Math.log2(count)); step >= 1; step /= 2) {
    all.push([]);
    for (let k = 0; k < count; k += step) {
      if (!seen.has(k)) all[all.length - 1].push(k);
      seen.add(k);
    }
  }
  return all;
}

const PATIENCE = 4000;  // ms: beyond, a curve gets no more points than it needs
const ENOUGH = 12;      // points

/// Points of a curve of every run, at the same places for all; `drawn` is called on the way.
async function points_of(ask, grid, drawn) {
  const curves = result.map(() => grid.map(() => undefined));
  const known = () => curves.map(curve => curve.filter(Boolean));
  const began = performance.now();
  let done = 0;
  for (const level of levels(grid.length)) {
    if (performance.now() - began > PATIENCE && done >= ENOUGH) break;
    const places = level.flatMap(k => result.map((_, r) => ({r, k})));
    await engine.ask(places.map(({r, k}) => ({ask, run: result[r].schedule, at: [grid[k]], ...result.repetitions})), (answer, n) => {
      if (answer.error) throw new Refused(answer);
      const {r, k} = places[n];
      curves[r][k] = {x: grid[k], lower: answer.lower[0], upper: answer.upper[0], attained: answer.attained};
      progress((done + (n + 1) / result.length) / grid.length);
    });
    done += level.length;
    if (drawn && done > 4) drawn(known());
  }
  return known();
}

const series = (curves, y) => curves.map((curve, k) => ({tone: 'ab'[k], name: names_of_curves()[k], points: curve.map(p => [p.x, y(p)])}));

const finite = end => (end.value === null ? Infinity : end.value);

/// Where δ by ε ends: at the ε of a tiny δ, if that is finite.
async function farthest() {
  if (result.farthest) return result.farthest;
  let most = 0;
  for (const {schedule} of result) {
    for (const delta of [1e-12, 1e-9, 1e-6, 1e-3]) {
      const [{upper}] = await asked([{ask: 'epsilon', run: schedule, delta, ...result.repetitions}]);
      if (finite(upper) < Infinity) { most = Math.max(most, finite(upper)); break; }
    }
  }
  const step = most > 0 ? nice_step(most, 8) : 1;
  result.farthest = most > 0 ? Math.min(1000, Math.ceil(most / step) * step) : 1;
  return result.farthest;
}

async function draw_run() {
  by_id('picture').hidden = false;
  by_id('pictures').replaceChildren(...Object.entries(PICTURES).map(([word, text]) => {
    const radio = h('input', {type: 'radio', name: 'picture', id: `picture-${word}`, value: word, onchange: () => {
      state.picture = word;
      keep_link();
      if (result) {
        state_in_words(run_statement(state, result, link()));
        working('Drawing', draw_curves);
      }
    }});
    radio.checked = word === state.picture;
    return h('label', {}, radio, h('span', {}, text));
  }));
  by_id('progress-label').textContent = 'Drawing';
  await draw_curves();
}

async function draw_curves() {
  const kind = state.picture;
  const of = result;
  by_id('plot').replaceChildren();
  by_id('points').hidden = true;
  const made = of.curves[kind] ?? await {delta: delta_picture, epsilon: epsilon_picture, errors: errors_picture}[kind]();
  of.curves[kind] = made;
  draw(made);
}

function compared(curves, head, y) {
  const ends = curve => (curve[0].attained ? ['at least', 'at most'] : ['at most']);
  const names = names_of_curves();
  return {
    columns: [head, ...curves.flatMap((curve, k) => ends(curve).map(end => `${names[k]} ${y} ${end}`.trim()))],
    rows: curves[0].map((point, n) => [String(Number(point.x.toPrecision(6))), ...curves.flatMap(curve =>
      curve[n].attained ? [shown(curve[n].lower), shown(curve[n].upper)] : [shown(curve[n].upper)])]),
  };
}

async function delta_picture() {
  const high = await farthest();
  const grid = Array.from({length: 65}, (_, k) => high * k / 64);
  const picture_of = curves => ({
    title: 'δ by ε, an upper bound', x: {label: 'ε', low: 0, high}, y: {label: 'δ', low: 1e-12, high: 1, log: true},
    lines: series(curves, p => finite(p.upper)),
  });
  const curves = await points_of('deltas', grid, some => draw_plot(picture_of(some)));
  return {...picture_of(curves), table: compared(curves, 'ε', 'δ'), caption: 'The run is (ε, δ)-private on and above the line.'};
}

async function epsilon_picture() {
  const grid = Array.from({length: 45}, (_, k) => 10 ** (-12 + k / 4));
  const picture_of = curves => {
    const most = Math.max(...curves.flat().map(p => finite(p.upper)).filter(Number.isFinite), 0);
    const step = most > 0 ? nice_step(most, 6) : 1;
    return {
      title: 'ε by δ, an upper bound', x: {label: 'δ', low: 1e-12, high: .1, log: true},
      y: {label: 'ε', low: 0, high: most > 0 ? Math.ceil(most / step) * step : 1}, lines: series(curves, p => finite(p.upper)),
    };
  };
  const curves = await points_of('epsilons', grid, some => draw_plot(picture_of(some)));
  return {...picture_of(curves), table: compared(curves, 'δ', 'ε'), caption: 'The run is (ε, δ)-private on and above the line.'};
}

async function errors_picture() {
  const high = await farthest();
  const grid = Array.from({length: 97}, (_, k) => high * (k / 96) ** 2);
  const profiles = await points_of('deltas', grid);
  const at = Array.from({length: 51}, (_, k) => k * k / 2500);
  const found = await asked(profiles.map(profile => ({
    ask: 'misses', at, epsilons: profile.map(p => p.x), deltas: profile.map(p => Math.min(1, p.upper.value)),
  })));
  return {
    title: 'An attacker’s errors: no test for one record is below the line', square: true, diagonal: true,
    x: {label: 'false alarms', low: 0, high: 1}, y: {label: 'misses', low: 0, high: 1},
    lines: found.map(({misses}, k) => ({tone: 'ab'[k], name: names_of_curves()[k], points: misses.map((end, n) => [at[n], end.value])})),
    table: {
      columns: ['false alarms', ...found.map((_, k) => `${names_of_curves()[k]} misses at least`.trim())],
      rows: at.map((alarms, n) => [String(alarms), ...found.map(({misses}) => misses[n].text)]),
    },
    caption: 'No test for one record has fewer misses at this share of false alarms. Dotted: guessing, when nothing is revealed.',
  };
}

function draw_plot(spec) {
  picture = spec;
  by_id('plot').replaceChildren(chart(spec, by_id('plot').clientWidth || 640));
}

function draw(spec) {
  by_id('picture').hidden = false;
  by_id('pictures').hidden = state.view !== 'run';
  draw_plot(spec);
  by_id('caption').textContent = spec.caption;
  by_id('points').hidden = false;
  by_id('table').replaceChildren(table_of({caption: spec.title, ...spec.table}));
}

/// Where the inputs are, for a statement: a path on this machine says nothing elsewhere.
const link = () => (location.protocol === 'file:' ? `tacit.html${location.hash}` : location.href);

function state_in_words(text) {
  by_id('statement').hidden = false;
  by_id('statement-text').textContent = text;
}

// ---- attackers and nats -------------------------------------------------------------------------

async function compute_attack() {
  const given = state.attack;
  const prior = given.prior.trim();
  const inputs = numbers(given, ATTACKS[given.known].needs);
  const [found] = await asked([{ask: given.known === 'success' ? 'budget' : 'attack', ...inputs}]);
  result = found;
  const figures = {
    mi: () => [['Success of an attacker', `≤ ${found.success.text}`, in_full(found.success),
                `From ${given.mi.trim()} nats, where the best guess was right with probability ${prior} before.`],
               found.membership_success && ['One membership bit, fixed beforehand', `≤ ${found.membership_success.text}`, in_full(found.membership_success), 'The sharp bound for a bit.'],
               ['The ε that allows as much', shown(found.epsilon), in_full(found.epsilon), 'Rounded down.']],
    dp: () => [['Success of an attacker', `≤ ${found.success.text}`, in_full(found.success),
                `From ε = ${given.epsilon.trim()} and δ = ${given.delta.trim()}, where the best guess was right with probability ${prior} before.`],
               ['The nats that allow as much', shown(found.mi), in_full(found.mi), 'Rounded down.']],
    success: () => [['Budget', `${shown(found.mi)} nats`, in_full(found.mi), `The most that keeps an attacker at ${given.success.trim()} or less, where the best guess was right with probability ${prior} before.`],
                    ['Or ε', shown(found.epsilon), in_full(found.epsilon), 'With the same bound on an attacker, at δ = 0.']],
  }[given.known]().filter(Boolean);
  say(h('div', {class: 'answers'}, figures.map(([title, big, digits, about]) => h('div', {class: 'one'},
    h('h2', {}, title), h('p', {class: 'big'}, big), h('p', {}, about), h('span', {class: 'digits'}, digits)))));
  state_in_words(attack_statement([
    ...ATTACKS[given.known].needs.map(key => `${ATTACK_FIELDS[key].label.toLowerCase()}: ${given[key].trim()}`),
    ...figures.map(([title, big, digits]) => `${title}: ${big.startsWith('≤') ? 'at most ' : ''}${digits}`),
  ], VERSION, link()));

  const before = inputs.prior;
  const nats = given.known !== 'dp';
  const high = nats ? -Math.log(before) || 1 : Math.max(6, Math.min(50, 2 * inputs.epsilon));
  const grid = Array.from({length: 65}, (_, k) => high * (k / 64) ** 2);
  const curve = await asked(grid.map(x => ({ask: 'attack', prior: before, ...(nats ? {mi: x} : {epsilon: x, delta: inputs.delta})})));
  const matched = nats ? ['epsilon', 'ε that allows as much'] : ['mi', 'nats that allow as much'];
  draw({
    title: `An attacker’s success by ${nats ? 'nats' : `ε, at δ ${given.delta.trim()}`}, at prior success ${prior}`,
    x: {label: nats ? 'nats' : 'ε', low: 0, high}, y: {label: 'success, at most', low: 0, high: 1},
    lines: [{tone: 'a', name: '', points: curve.map((answer, k) => [grid[k], answer.success.value])}],
    table: {columns: [nats ? 'nats' : 'ε', 'success at most', matched[1]],
            rows: curve.map((answer, k) => [String(Number(grid[k].toPrecision(6))), answer.success.text, shown(answer[matched[0]])])},
    caption: nats ? 'An average over releases: one unlucky release may reveal more.' : 'By this one (ε, δ) alone. What is known of a run says more: see Differential privacy.',
  });
}

// ---- PAC noise ----------------------------------------------------------------------------------

async function compute_pac() {
  const given = state.pac;
  const rows = rows_of(given.rows);
  const keys = ['budget', ...(given.rows_are === 'candidates' ? [] : given.method === 'auto' ? ['output_norm', 'c', 'slack'] : ['floor'])];
  const question = {ask: 'pac', rows, rows_are: given.rows_are, method: given.method,
                    shape: given.method === 'efficient' ? 'diagonal' : given.method === 'auto' ? 'full' : given.shape, ...numbers(given, keys)};
  const [found] = await asked([question]);
  result = {...found, rows: rows.length, columns: rows[0].length};
  const certified = found.bound !== undefined;
  const covariance = found.covariance.map(row => row.join(', ')).join('\n');
  say(h('div', {class: 'answers'},
    h('div', {class: 'one'},
      h('h2', {}, 'Trace of the noise’s covariance'), h('p', {class: 'big'}, found.trace.text),
      h('p', {}, certified ? ['Which of the candidates was used is revealed by at most ', h('b', {}, found.bound.text), ' nats, certified if these are all candidates there are, all equally likely.']
                           : ['It is estimated to reveal ', h('b', {}, found.estimate.text), ' nats about the data set. Nothing is certified.'])),
    h('div', {class: 'one'},
      h('h2', {}, 'Covariance'),
      h('span', {class: 'digits scroll', tabindex: '0', role: 'region', 'aria-label': 'Covariance'}, covariance.split('\n').map(row => h('div', {}, row))),
      button('Copy the covariance', () => copied(covariance, 'Covariance'), {class: 'plain'}))));
  state_in_words(pac_statement(question, result, VERSION, link()));
  draw(pac_picture(rows, found.covariance));
}

/// The outputs, and one standard deviation of the noise around their mean, in the first two coordinates.
function pac_picture(rows, covariance) {
  const flat = rows[0].length === 1;
  const dots = rows.map(row => [row[0], flat ? 0 : row[1]]);
  const mean = [0, 1].map(k => dots.reduce((sum, dot) => sum + dot[k] / dots.length, 0));
  const [a, b, c] = flat ? [covariance[0][0], 0, 0] : [covariance[0][0], covariance[0][1], covariance[1][1]];
  const [l1, l2, l3] = [Math.sqrt(a), a > 0 ? b / Math.sqrt(a) : 0, Math.sqrt(Math.max(0, c - (a > 0 ? b * b / a : 0)))];
  const ring = Array.from({length: 97}, (_, k) => {
    const [u, v] = [Math.cos(2 * Math.PI * k / 96), Math.sin(2 * Math.PI * k / 96)];
    return [mean[0] + l1 * u, mean[1] + l2 * u + l3 * v];
  });
  const axis = (k, label) => {
    const all = [...dots, ...ring].map(point => point[k]);
    const [low, high] = [Math.min(...all), Math.max(...all)];
    const margin = (high - low || 1) * .08;
    return {label, low: low - margin, high: high + margin};
  };
  return {
    title: 'Outputs, and one standard deviation of the noise', dots, lines: [{tone: 'a', name: '', points: ring}], square: true,
    x: axis(0, 'first coordinate'), y: axis(1, flat ? '' : 'second coordinate'),
    table: {columns: ['', ...rows[0].map((_, k) => `coordinate ${k + 1}`)],
            rows: covariance.map((row, k) => [`covariance with ${k + 1}`, ...row.map(v => v.toPrecision(6))])},
    caption: `Dots: the outputs${rows[0].length > 2 ? ', first two coordinates' : ''}. Line: one standard deviation of the noise around their mean. The table rounds to nearest; the copy has all digits.`,
  };
}

// ---- the page -----------------------------------------------------------------------------------

function keep_link() {
  const fragment = fragment_of(state);
  if (location.hash === fragment) return;
  history.replaceState(null, '', fragment);
}

async function read_schedule(k, text) {
  clear_wrong();
  await working('Reading', async () => {
    const [answer] = await engine.ask([{ask: 'schedule', text}]);
    if (answer.error) throw new Refused({...answer, argument: 'schedule', release: undefined}, 'ab'[k]);
    const other = first_not_held(answer.run);
    if (other >= 0) {
      const {mechanism} = answer.run.releases[other];
      const error = Object.hasOwn(MECHANISMS, mechanism) ? `releases[${other}] is ${JSON.stringify(answer.run.releases[other])}, but must be one that this form can hold: ask the calculator`
        : `mechanism is '${mechanism}', but must be one of which a privacy profile is known: the page's accountant, pld, has no bound for it`;
      throw new Refused({error, argument: 'schedule'}, 'ab'[k]);
    }
    state.runs[k] = run_of(answer.run);
    build();
  });
  if (!document.querySelector('#form [aria-invalid]')) compute();
}

function build() {
  const focused = document.activeElement && document.activeElement.id;
  for (const tab of document.querySelectorAll('#views button')) {
    if (tab.dataset.view === state.view) tab.setAttribute('aria-current', 'page');
    else tab.removeAttribute('aria-current');
  }
  by_id('form').replaceChildren(...form_of(state, () => { build(); compute(); }, read_schedule));
  if (focused && by_id(focused)) by_id(focused).focus();
}

function show_view(view) {
  state.view = view;
  by_id('picture').hidden = by_id('statement').hidden = true;
  say();
  build();
  compute();
}

by_id('views').addEventListener('click', event => {
  if (event.target.dataset.view) show_view(event.target.dataset.view);
});
by_id('form').addEventListener('submit', async event => {
  event.preventDefault();
  await compute();
  if (by_id('answer').getBoundingClientRect().top > innerHeight) by_id('answer').scrollIntoView({block: 'start'});
});
by_id('form').addEventListener('change', event => {
  if (!event.target.matches('input[type=radio]') && !event.target.id.endsWith('-schedule') && event.target.isConnected) compute();
});
by_id('skip').addEventListener('click', event => { event.preventDefault(); by_id('main').focus(); });
by_id('cancel').addEventListener('click', () => engine.cancel());
by_id('save-svg').addEventListener('click', () => {
  const url = URL.createObjectURL(new Blob([svg_text(picture)], {type: 'image/svg+xml'}));
  h('a', {href: url, download: 'tacit.svg'}).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
});
by_id('copy-statement').addEventListener('click', () => copied(by_id('statement-text').textContent, 'Statement'));
by_id('copy-link').addEventListener('click', () => copied(location.href, 'Link'));
window.addEventListener('hashchange', () => {
  if (location.hash === fragment_of(state)) return;
  state = state_of(location.hash);
  show_view(state.view);
});
let width = innerWidth;
window.addEventListener('resize', () => {
  if (innerWidth !== width && picture && !by_id('picture').hidden) draw_plot(picture);
  width = innerWidth;
});

show_view(state.view);
