// SPDX-License-Identifier: Apache-2.0
//
// What can be entered, as texts, and the questions that it makes. A text that is no number is sent as it is, for the
// engine to refuse.
'use strict';

const FIELDS = {
  noise_multiplier: {label: 'Noise multiplier', start: '1'},
  sigma: {label: 'Sigma', start: '1'},
  scale: {label: 'Scale', start: '1'},
  variance: {label: 'Variance', start: '1'},
  sensitivity: {label: 'Sensitivity', start: '1'},
  epsilon: {label: 'ε', start: '1'},
  delta: {label: 'δ', start: '1e-5'},
  categories: {label: 'Categories', start: '2'},
  mu: {label: 'μ', start: '1'},
  points: {label: 'Points of the profile: ε, δ in each row', start: '0, 0.1\n1, 1e-5', area: true},
  parts: {label: 'What a record adds: probability, size in each row', start: '0.9, 0\n0.1, 1', area: true},
  rate: {label: 'Sampling rate', start: '0.01'},
  batch: {label: 'Batch', start: '600'},
  records: {label: 'Records', start: '60000'},
  allocate: {label: 'Steps with a record', start: '1'},
  of: {label: 'Steps of an epoch', start: '1000'},
  steps: {label: 'Steps', start: '1000'},
  records_per_person: {label: 'Records a person', start: '1'},
};

const MECHANISMS = {
  'gaussian': {label: 'Gaussian noise', fields: ['noise_multiplier']},
  'laplace': {label: 'Laplace noise', fields: ['noise_multiplier']},
  'discrete-gaussian': {label: 'Discrete Gaussian noise', fields: ['sigma', 'sensitivity']},
  'discrete-laplace': {label: 'Discrete Laplace noise', fields: ['scale', 'sensitivity']},
  'skellam': {label: 'Skellam noise', fields: ['variance', 'sensitivity']},
  'binomial': {label: 'Binomial noise', fields: ['variance', 'sensitivity']},
  'gaussian-mixture': {label: 'Gaussian noise on a drawn sensitivity', fields: ['sigma', 'parts']},
  'randomised-response': {label: 'Randomised response', fields: ['epsilon', 'categories']},
  'exponential': {label: 'Exponential mechanism', fields: ['epsilon']},
  'pure': {label: 'Anything ε-private', fields: ['epsilon']},
  'approximate': {label: 'Anything (ε, δ)-private', fields: ['epsilon', 'delta']},
  'gaussian-dp': {label: 'Anything μ-Gaussian DP', fields: ['mu']},
  'profile': {label: 'Anything of a known privacy profile', fields: ['points']},
  'matrix-gaussian': {label: 'Matrix mechanism', fields: ['noise_multiplier', 'sensitivity']},
};

const SAMPLINGS = {
  poisson: {label: 'Poisson samples', fields: ['rate']},
  fixed: {label: 'Fixed-size batches', fields: ['batch', 'records']},
  replacement: {label: 'Batches drawn with replacement', fields: ['batch', 'records']},
  shuffled: {label: 'Epochs of shuffled batches', fields: [], steps: 'Epochs'},
  allocation: {label: 'Epochs with random steps for each record', fields: ['allocate', 'of'], steps: 'Epochs'},
  all: {label: 'All records, every step', fields: []},
};

const ADJACENCIES = {
  'add-remove': {label: 'One record more or less', means: 'one data set has a record more than the other'},
  'replace-one': {label: 'One record replaced', means: 'data sets of the same size, of which one record differs'},
  'zero-out': {label: 'One record blanked', means: 'in one data set a record is replaced by one that contributes nothing'},
};

/// Fields that are tables, and what the engine calls the columns of `points`.
const TABLES = {points: ['epsilon', 'delta'], parts: ['weight', 'sensitivity']};

/// Questions about a run, and what each needs beside it. `sought` is the field that is found.
const ASKS = {
  epsilon: {label: 'ε', needs: ['delta']},
  delta: {label: 'δ', needs: ['epsilon']},
  noise_multiplier: {label: 'Noise', needs: ['epsilon', 'delta'], sought: 'noise_multiplier'},
  steps: {label: 'Steps', needs: ['epsilon', 'delta'], sought: 'steps'},
  rate: {label: 'Rate', needs: ['epsilon', 'delta'], sought: 'rate'},
  batch: {label: 'Batch', needs: ['epsilon', 'delta'], sought: 'batch'},
};

/// Laws of the number of runs of which the best is released.
const LAWS = {geometric: {label: 'Geometric'}, logarithmic: {label: 'Logarithmic'}, poisson: {label: 'Poisson'}};

const PICTURES = {
  delta: 'δ by ε',
  epsilon: 'ε by δ',
  errors: 'An attacker’s errors',
};

/// What is known about an attacker, and what that asks for.
const ATTACKS = {
  mi: {label: 'From nats', needs: ['mi', 'prior']},
  dp: {label: 'From (ε, δ)', needs: ['epsilon', 'delta', 'prior']},
  success: {label: 'To a budget', needs: ['success', 'prior']},
};

const METHODS = {
  candidates: {'candidates': 'Least trace found by all bounds', 'log-det': 'Log-det bound', 'efficient': 'Efficient-PAC, by coordinate'},
  samples: {'log-det': 'Log-det', 'efficient': 'Efficient-PAC, by coordinate', 'auto': 'Auto-PAC (Algorithm 1)'},
};

const new_phase = () => ({mechanism: 'gaussian', noise_multiplier: '1', sampling: 'poisson', rate: '0.01', steps: '10000'});
const new_run = () => ({adjacency: 'add-remove', phases: [new_phase()]});

const first_state = () => ({
  view: 'run',
  ask: 'epsilon',
  picture: 'delta',
  delta: '1e-5',
  epsilon: '2',
  prior: '0.5',
  best_of: '',
  best_of_law: 'geometric',
  runs: [new_run()],
  attack: {known: 'mi', mi: '0.33', epsilon: '1', delta: '1e-5', success: '0.6', prior: '0.5'},
  pac: {rows: '1.0, 0.2\n1.1, 0.1\n0.8, 0.3\n0.9, 0.2', rows_are: 'candidates', method: 'candidates', shape: 'full',
        budget: '0.5', floor: '0', output_norm: '', c: '', slack: ''},
});

/// A number where the text is a decimal number that a double holds; else the text.
function entered(text) {
  const trimmed = text.trim();
  const value = Number(trimmed);
  return /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(trimmed) && Number.isFinite(value) ? value : trimmed;
}

/// The rows of a table of numbers.
const rows_of = text => text.split(/\r?\n/).map(line => line.trim()).filter(Boolean).map(line => line.split(/[\s,;]+/).filter(Boolean).map(entered));

/// What was entered under these keys; what is empty is left out.
function numbers(from, keys) {
  const out = {};
  for (const key of keys) {
    if (from[key] !== undefined && from[key].trim() !== '') out[key] = entered(from[key]);
  }
  return out;
}

/// How often each run is repeated, for questions that can be asked of the best; nothing where it is made once.
function repetitions(state) {
  if (ASKS[state.ask].sought || state.best_of.trim() === '') return {};
  return {...numbers(state, ['best_of']), best_of_law: state.best_of_law};
}

function phase_keys(phase) {
  return [...MECHANISMS[phase.mechanism].fields, ...SAMPLINGS[phase.sampling].fields, 'steps', 'records_per_person'];
}

/// A run as a schedule of docs/accountants.md. What is needed and missing is left out, and refused by the engine.
function schedule_of(run, without) {
  return {
    adjacency: run.adjacency,
    releases: run.phases.map((phase, k) => {
      const release = {mechanism: phase.mechanism, ...numbers(phase, phase_keys(phase))};
      const table = Object.keys(TABLES).find(key => release[key] !== undefined);
      if (table) {
        const [first, second] = TABLES[table];
        delete release[table];
        release.points = rows_of(phase[table]).map(([x, y, ...more]) => ({[first]: x, [second]: y, ...(more.length > 0 && {more})}));
      }
      if (phase.sampling === 'shuffled') release.shuffled = true;
      if (phase.sampling === 'replacement') release.with_replacement = true;
      for (const key of ['steps', ...SAMPLINGS[phase.sampling].fields]) {
        const sought_here = key === without && k === run.phases.length - 1;
        if (release[key] === undefined && !sought_here) release[key] = null;  // an empty field
      }
      if (without && k === run.phases.length - 1) delete release[without];
      return release;
    }),
  };
}

/// The phases of a schedule that the engine has read.
function run_of(schedule) {
  return {
    adjacency: schedule.adjacency ?? 'add-remove',
    phases: schedule.releases.map(release => {
      const sampling = release.rate !== undefined ? 'poisson' : release.with_replacement ? 'replacement' : release.batch !== undefined ? 'fixed'
        : release.shuffled ? 'shuffled' : release.of !== undefined ? 'allocation' : 'all';
      const phase = {mechanism: release.mechanism, sampling, steps: String(release.steps ?? 1)};
      for (const key of Object.keys(FIELDS)) {
        if (release[key] !== undefined) phase[key] = String(release[key]);
      }
      for (const [key, [first, second]] of Object.entries(TABLES)) {
        delete phase[key];
        if (release.points && MECHANISMS[release.mechanism].fields.includes(key)) {
          phase[key] = release.points.map(point => `${point[first]}, ${point[second]}`).join('\n');
        }
      }
      return phase;
    }),
  };
}

/// The number of the first release of a schedule that the form would make another of; -1 where it holds them all.
function first_not_held(schedule) {
  const text = release => JSON.stringify(release, (_, x) => (x && typeof x === 'object' && !Array.isArray(x) ? Object.fromEntries(Object.entries(x).sort()) : x));
  return schedule.releases.findIndex(release => !Object.hasOwn(MECHANISMS, release.mechanism) ||
    text(schedule_of(run_of({releases: [release]})).releases[0]) !== text(release));
}

// ---- links: #view=run&ask=epsilon&delta=1e-5&a=add-remove;gaussian,poisson,noise_multiplier:1,… ---

function fragment_of(state) {
  const encoded = encodeURIComponent;
  const parts = [['view', state.view]];
  if (state.view === 'run') {
    parts.push(['ask', state.ask], ['picture', state.picture]);
    for (const key of ['epsilon', 'delta', 'prior']) parts.push([key, encoded(state[key])]);
    if (state.best_of.trim() !== '') parts.push(['best_of', encoded(state.best_of)], ['best_of_law', state.best_of_law]);
    state.runs.forEach((run, k) => parts.push(['ab'[k], [run.adjacency, ...run.phases.map(phase =>
      [phase.mechanism, phase.sampling, ...phase_keys(phase).filter(key => phase[key]).map(key => `${key}:${encoded(phase[key])}`)].join(','))].join(';')]));
  } else {
    const given = state[state.view];
    for (const key of Object.keys(given)) parts.push([key, encoded(given[key])]);
  }
  return '#' + parts.map(part => part.join('=')).join('&');
}

/// The state that a link holds; what it lacks, or what is unknown, is as on a new page.
function state_of(fragment) {
  const state = first_state();
  const given = new Map();
  const decoded = text => { try { return decodeURIComponent(text); } catch { return ''; } };
  for (const part of fragment.replace(/^#/, '').split('&')) {
    const at = part.indexOf('=');
    if (at > 0) given.set(part.slice(0, at), part.slice(at + 1));
  }
  const take = (into, key, known) => {
    const text = decoded(given.get(key) ?? '');
    if (given.has(key) && (!known || Object.hasOwn(known, text))) into[key] = text;
  };
  take(state, 'view', {run: 0, attack: 0, pac: 0});
  if (state.view === 'attack') {
    for (const key of Object.keys(state.attack)) take(state.attack, key, key === 'known' ? ATTACKS : undefined);
  } else if (state.view === 'pac') {
    take(state.pac, 'rows_are', METHODS);
    take(state.pac, 'method', METHODS[state.pac.rows_are]);
    if (!Object.hasOwn(METHODS[state.pac.rows_are], state.pac.method)) state.pac.method = 'log-det';
    take(state.pac, 'shape', {full: 0, diagonal: 0});
    for (const key of ['rows', 'budget', 'floor', 'output_norm', 'c', 'slack']) take(state.pac, key);
  } else {
    take(state, 'ask', ASKS);
    take(state, 'picture', PICTURES);
    for (const key of ['epsilon', 'delta', 'prior', 'best_of']) take(state, key);
    take(state, 'best_of_law', LAWS);
    const runs = [...'ab'].filter(name => given.has(name)).map(name => read_run(given.get(name), decoded));
    if (runs.length > 0 && !runs.includes(undefined)) state.runs = runs;
  }
  return state;
}

function read_run(text, decoded) {
  const [adjacency, ...phases] = text.split(';');
  if (!Object.hasOwn(ADJACENCIES, adjacency) || phases.length === 0) return undefined;
  const run = {adjacency, phases: []};
  for (const part of phases) {
    const [mechanism, sampling, ...rest] = part.split(',');
    if (!Object.hasOwn(MECHANISMS, mechanism) || !Object.hasOwn(SAMPLINGS, sampling)) return undefined;
    const phase = {mechanism, sampling, steps: ''};
    for (const field of rest) {
      const at = field.indexOf(':');
      const key = field.slice(0, at);
      if (Object.hasOwn(FIELDS, key)) phase[key] = decoded(field.slice(at + 1));
    }
    run.phases.push(phase);
  }
  return run;
}
