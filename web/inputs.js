// SPDX-License-Identifier: Apache-2.0
//
// The form. It is built anew from the state where what is entered changes its shape; texts go to the state as
// they are typed, and are computed with once they are finished.
'use strict';

/// A labelled field. `within` is the object that holds the text under `key`.
function field(id, label, within, key, {hint, disabled, whole, area, said} = {}) {
  const note = hint && h('p', {class: 'hint', id: `${id}-hint`}, hint);
  const attributes = {
    id, name: id, disabled, autocomplete: 'off', spellcheck: 'false', autocapitalize: 'off',
    'aria-describedby': note ? `${id}-hint ${id}-wrong` : `${id}-wrong`,
    oninput: event => { within[key] = event.target.value; },
  };
  const control = area ? h('textarea', attributes) : h('input', {...attributes, type: 'text', inputmode: 'text', placeholder: disabled ? 'is sought' : undefined});
  control.value = disabled ? '' : within[key] ?? '';
  return h('div', {class: whole || area ? 'field whole' : 'field'}, h('label', {for: id, 'aria-label': said}, label), control, note,
           h('p', {class: 'wrong', id: `${id}-wrong`, hidden: true}));
}

/// A choice from a list; `options` maps words to labels.
function chooser(id, label, options, value, choose, whole = true) {
  const select = h('select', {id, name: id, 'aria-describedby': `${id}-wrong`, onchange: event => choose(event.target.value)},
                   Object.entries(options).map(([word, text]) => h('option', {value: word}, text)));
  select.value = value;
  return h('div', {class: whole ? 'field whole' : 'field'}, h('label', {for: id}, label), select,
           h('p', {class: 'wrong', id: `${id}-wrong`, hidden: true}));
}

/// Radio buttons in a row.
function choices(name, legend, options, value, choose) {
  return h('fieldset', {}, h('legend', {}, legend), h('div', {class: 'choices'}, Object.entries(options).map(([word, text]) => {
    const radio = h('input', {type: 'radio', name, id: `${name}-${word}`, value: word, onchange: () => choose(word)});
    radio.checked = word === value;
    return h('label', {}, radio, h('span', {}, text));
  })));
}

const labels = of => Object.fromEntries(Object.entries(of).map(([key, {label}]) => [key, label]));

function button(text, act, attributes = {}) {
  return h('button', {type: 'button', onclick: act, ...attributes}, text);
}

/// `changed(shape)`: the state is another; with `shape` the form must be built anew.
function form_of(state, changed, read_schedule) {
  const parts = {run: run_parts, attack: attack_parts, pac: pac_parts}[state.view](state, () => changed(true), read_schedule);
  return [...parts, h('div', {class: 'actions'}, h('button', {type: 'submit', class: 'primary', id: 'compute'}, 'Compute'))];
}

// ---- differential privacy -----------------------------------------------------------------------

function run_parts(state, rebuild, read_schedule) {
  const asked = ASKS[state.ask];
  const needed = asked.needs.map(key => field(key, key === 'delta' ? 'δ' : 'ε', state, key, {said: key}));
  return [
    choices('ask', 'What is sought', labels(ASKS), state.ask, word => { state.ask = word; suit(state); rebuild(); }),
    h('div', {class: 'fields'}, needed, field('prior', 'Attacker’s prior', state, 'prior'),
      !asked.sought && repetition_fields(state)),
    ...state.runs.map((run, k) => run_fields(state, run, k, asked.sought, rebuild, read_schedule)),
    state.runs.length === 1 && h('div', {class: 'actions'}, button('Compare with a second run', () => {
      state.runs.push(structuredClone(state.runs[0]));
      rebuild();
    }, {id: 'second'})),
  ].filter(Boolean);
}

/// The law is of use where there is a number of runs.
function repetition_fields(state) {
  const law = chooser('best_of_law', 'Law of that number', labels(LAWS), state.best_of_law, word => { state.best_of_law = word; }, false);
  const several = () => { law.querySelector('select').disabled = state.best_of.trim() === ''; };
  const mean = field('best_of', 'Best of how many runs', state, 'best_of', {hint: 'on average; one run unless given'});
  mean.addEventListener('input', several);
  several();
  return [mean, law];
}

/// The number that is sought must be one of the last phase's.
function suit(state) {
  for (const run of state.runs) {
    const last = run.phases[run.phases.length - 1];
    if (state.ask === 'noise_multiplier' && !MECHANISMS[last.mechanism].fields.includes('noise_multiplier')) last.mechanism = 'gaussian';
    if (state.ask === 'rate') last.sampling = 'poisson';
    if (state.ask === 'batch') {
      last.sampling = 'fixed';
      if (run.adjacency === 'add-remove') run.adjacency = 'replace-one';
    }
    start_fields(last);
  }
}

function start_fields(phase) {
  for (const key of phase_keys(phase)) {
    if (key !== 'records_per_person') phase[key] ??= FIELDS[key].start;
  }
}

function run_fields(state, run, k, sought, rebuild, read_schedule) {
  const name = 'ab'[k];
  const phases = run.phases.map((phase, n) => {
    const id = key => `${name}-${n}-${key}`;
    const last = n === run.phases.length - 1;
    const of_phase = (key, label = FIELDS[key].label) => field(id(key), label, phase, key, {disabled: last && key === sought, area: FIELDS[key].area});
    const several = run.phases.length > 1;
    return h('div', {class: 'phase', role: several ? 'group' : undefined, 'aria-label': several ? `Phase ${n + 1}` : undefined},
      several && h('div', {class: 'phase-head'}, h('h3', {}, `Phase ${n + 1}`),
        button('Remove', () => { run.phases.splice(n, 1); suit(state); rebuild(); }, {class: 'plain', 'aria-label': `Remove phase ${n + 1}`, id: id('remove')})),
      h('div', {class: 'fields'},
        chooser(id('mechanism'), 'Mechanism', labels(MECHANISMS), phase.mechanism, word => { phase.mechanism = word; start_fields(phase); rebuild(); }),
        MECHANISMS[phase.mechanism].fields.map(key => of_phase(key)),
        of_phase('steps', SAMPLINGS[phase.sampling].steps),
        chooser(id('sampling'), 'Who takes part in a step', labels(SAMPLINGS), phase.sampling, word => { phase.sampling = word; start_fields(phase); rebuild(); }),
        SAMPLINGS[phase.sampling].fields.map(key => of_phase(key)),
        field(id('records_per_person'), FIELDS.records_per_person.label, phase, 'records_per_person', {hint: '1 unless given'})));
  });
  const area = {text: ''};
  return h('fieldset', {class: `run ${name}`},
    h('legend', {}, h('span', {class: 'phase-head'}, h('span', {}, state.runs.length > 1 ? `Run ${name.toUpperCase()}` : 'The run'),
      state.runs.length > 1 && button('Remove', () => { state.runs.splice(k, 1); rebuild(); }, {class: 'plain', 'aria-label': `Remove run ${name.toUpperCase()}`, id: `${name}-remove`}))),
    h('div', {class: 'fields'}, chooser(`${name}-adjacency`, 'Neighbouring data sets', labels(ADJACENCIES), run.adjacency, word => { run.adjacency = word; })),
    ...phases,
    h('div', {class: 'actions'}, button('Add a phase', () => {
      run.phases.push({...run.phases[run.phases.length - 1]});
      rebuild();
    }, {id: `${name}-add`})),
    h('details', {}, h('summary', {}, 'Paste a run, or copy this one'),
      h('div', {class: 'fields'},
        field(`${name}-schedule`, 'A schedule, or what another accountant prints', area, 'text', {area: true, hint: 'JSON of a schedule; the history or state of an Opacus accountant; repr(event) of dp_accounting, or its named tuples; PRVAccountant(…) of prv-accountant.'}),
        h('div', {class: 'actions field whole'},
          button('Read it', () => read_schedule(k, area.text), {id: `${name}-read`}),
          button('Show this run', () => {
            area.text = by_id(`${name}-schedule`).value = JSON.stringify(schedule_of(run), null, 1);
          }, {id: `${name}-show`})))));
}

// ---- attackers and nats -------------------------------------------------------------------------

const ATTACK_FIELDS = {
  mi: {label: 'Information', hint: 'nats'},
  epsilon: {label: 'ε'},
  delta: {label: 'δ'},
  success: {label: 'Success allowed', hint: 'probability'},
  prior: {label: 'Success before', hint: 'of the best guess'},
};

function attack_parts(state, rebuild) {
  const given = state.attack;
  return [
    choices('known', 'What is known', labels(ATTACKS), given.known, word => { given.known = word; rebuild(); }),
    h('div', {class: 'fields'}, ATTACKS[given.known].needs.map(key =>
      field(key, ATTACK_FIELDS[key].label, given, key, {hint: ATTACK_FIELDS[key].hint}))),
  ];
}

// ---- PAC noise ----------------------------------------------------------------------------------

function pac_parts(state, rebuild) {
  const given = state.pac;
  return [
    h('div', {class: 'fields'},
      field('rows', 'Outputs of the program, one a row', given, 'rows', {area: true, hint: 'Numbers apart by commas, tabs or spaces.'})),
    choices('rows_are', 'The rows are', {candidates: 'All candidates', samples: 'Samples'}, given.rows_are, word => {
      given.rows_are = word;
      if (!Object.hasOwn(METHODS[word], given.method)) given.method = Object.keys(METHODS[word])[0];
      rebuild();
    }),
    h('div', {class: 'fields'},
      chooser('method', 'Method', METHODS[given.rows_are], given.method, word => { given.method = word; rebuild(); }),
      field('budget', 'Budget', given, 'budget', {hint: 'nats'}),
      given.method !== 'efficient' && given.method !== 'auto' &&
        chooser('shape', 'Shape', {full: 'Any covariance', diagonal: 'By coordinate'}, given.shape, word => { given.shape = word; }, false),
      given.rows_are === 'samples' && given.method !== 'auto' && field('floor', 'Floor', given, 'floor', {hint: 'added to each variance'}),
      given.method === 'auto' && [
        field('output_norm', 'Output norm', given, 'output_norm', {hint: 'no output is longer'}),
        field('c', 'c', given, 'c', {hint: 'error of an eigenvalue'}),
        field('slack', 'Slack', given, 'slack', {hint: 'nats of the budget'}),
      ]),
  ];
}

// ---- what is wrong ------------------------------------------------------------------------------

/// Names that the headers give to what the form calls otherwise.
const ALIASES = {prior_success: 'prior', information: 'mi', count: 'steps', output: 'rows', columns: 'rows', v: 'budget'};

function clear_wrong() {
  for (const note of document.querySelectorAll('#form .wrong')) note.hidden = true;
  for (const control of document.querySelectorAll('#form [aria-invalid]')) control.removeAttribute('aria-invalid');
}

/// The message without the name of the function, and of the release; an empty field is sent as null.
const plainly = message => message.replace(/^\w+: /, '').replace(/^releases\[\d+\]\./, '').replace(/ is null, but/, ' is missing, but');

/// Shows a refusal beside its field. Returns the field, if there is one.
function show_wrong(refusal, run_name) {
  const named = refusal.argument && refusal.argument.split(' ').pop();  // `row 2 of rows`
  const key = named && (ALIASES[named] ?? named);
  const of_release = name => `${run_name}-${refusal.release}-${name}`;
  const ids = refusal.release !== undefined ? [of_release(key), key === 'points' && of_release('parts')].filter(Boolean) : [key, `${run_name}-${key}`];
  const control = key && ids.map(by_id).find(found => found && found.matches('input, select, textarea'));
  if (!control) return undefined;
  control.setAttribute('aria-invalid', 'true');
  const note = by_id(`${control.id}-wrong`);
  note.textContent = plainly(refusal.error);
  note.hidden = false;
  return control;
}
