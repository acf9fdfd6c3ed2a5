// SPDX-License-Identifier: Apache-2.0
//
// Statements that can be cited: what went in, what is certain, what is assumed, what is not covered.
'use strict';

const shown = end => (end.value === null ? '∞' : end.text);
const in_full = end => (end.value === null ? '∞' : end.full);

function phase_in_words(release) {
  const noise = kind => `${kind} noise of multiplier ${release.noise_multiplier}`;
  const what = {
    'gaussian': () => noise('Gaussian'),
    'laplace': () => noise('Laplace'),
    'discrete-gaussian': () => `discrete Gaussian noise of sigma ${release.sigma} on a sensitivity of ${release.sensitivity ?? 1}`,
    'discrete-laplace': () => `discrete Laplace noise of scale ${release.scale} on a sensitivity of ${release.sensitivity ?? 1}`,
    'skellam': () => `Skellam noise of variance ${release.variance} on a sensitivity of ${release.sensitivity ?? 1}`,
    'binomial': () => `binomial noise of variance ${release.variance} on a sensitivity of ${release.sensitivity ?? 1}`,
    'gaussian-mixture': () => `Gaussian noise of sigma ${release.sigma} on a sensitivity of ${release.points.map(({weight, sensitivity}) => `${sensitivity} with probability ${weight}`).join(', ')}`,
    'randomised-response': () => `randomised response among ${release.categories ?? 2} of epsilon ${release.epsilon}`,
    'exponential': () => `an exponential mechanism of epsilon ${release.epsilon}`,
    'pure': () => `any mechanism of epsilon ${release.epsilon}`,
    'approximate': () => `any mechanism of epsilon ${release.epsilon} and delta ${release.delta}`,
    'gaussian-dp': () => `any mechanism of Gaussian differential privacy of mu ${release.mu}`,
    'profile': () => `any mechanism of ${release.points.map(({epsilon, delta}) => `delta ${delta} at epsilon ${epsilon}`).join(', ')}`,
    'matrix-gaussian': () => `${noise('correlated Gaussian')} on a sensitivity of ${release.sensitivity}`,
  }[release.mechanism]();
  const how = release.rate !== undefined ? `Poisson samples of rate ${release.rate}`
    : release.batch !== undefined ? `batches of ${release.batch} ${release.with_replacement ? 'draws with replacement ' : ''}out of ${release.records} records`
    : release.of !== undefined ? `epochs of ${release.of} steps of which every record takes part in ${release.allocate}, at random`
    : release.shuffled ? 'epochs of shuffled batches' : 'all records';
  const persons = (release.records_per_person ?? 1) === 1 ? '' : `, persons of up to ${release.records_per_person} records`;
  return `${release.steps} ${release.steps === 1 ? 'step' : 'steps'}, ${what}, ${how}${persons}`;
}

function repetitions_in_words({law, mean, gamma}) {
  const number = law === 'poisson' ? 'a Poisson number' : `a ${law} number`;
  return `the best of ${number} of such runs, of mean ${mean.text}${gamma === undefined ? '' : ` (gamma ${gamma})`}`;
}

const ONE_OF_MANY = 'The number of runs was drawn from that law before the first and is kept secret. Settings were fixed or drawn at random, ' +
  'not chosen by what earlier runs showed. The output of the best score is released, and nothing of the others; a score of private data is part of each run.';

function assumptions(schedules) {
  const releases = schedules.flatMap(run => run.releases);
  const any = holds => releases.some(holds);
  const stated = release => ['randomised-response', 'exponential', 'pure', 'approximate', 'gaussian-dp', 'profile'].includes(release.mechanism);
  return [
    any(r => (r.records_per_person ?? 1) === 1) && 'What is protected is one record: a person with several is protected less.',
    any(r => r.records_per_person > 1) && 'Where records per person are stated, no person has more of them.',
    any(r => !stated(r)) && 'A record’s contribution is clipped to the norm that the noise is relative to, before the sum.',
    any(stated) && 'A mechanism given by its guarantee keeps it under these neighbours.',
    any(r => r.rate !== undefined) && 'Poisson samples: each record takes part independently, with the stated rate, drawn afresh each step; who took part stays secret, and no sum is divided by the size that came out.',
    any(r => r.batch !== undefined && r.with_replacement) && 'Batches drawn with replacement: each draw takes any of the records with the same probability, and a record may be drawn several times; who took part stays secret.',
    any(r => r.batch !== undefined && !r.with_replacement) && 'Fixed-size batches: each is a uniform draw without replacement, made afresh each step; who took part stays secret.',
    any(r => r.of !== undefined) && 'Random allocation: for each epoch every record draws afresh and by itself in which of its steps it takes part; who took part stays secret; a step is an epoch.',
    any(r => r.shuffled) && 'Shuffled batches: each record is in one batch of an epoch; a step is an epoch.',
    'Noise and samples come from a source that nobody can predict. Noise, rates and steps were fixed before the run.',
    'Every release is listed. The attacker sees all of them and knows all other records.',
  ].filter(Boolean);
}

const NOT_LISTED = 'Releases that are not listed: test scores, chosen checkpoints, tuned settings, repeated runs.';
const NOT_LISTED_OF_THE_BEST = 'Releases that are not listed: test scores, chosen checkpoints, how many runs there were, anything of a run that was not the best.';
const NOT_COVERED = [
  'An implementation that does not do what is stated: its clipping, sampling, floating-point noise, time and memory.',
  'What the data reveal about a person without that person’s records.',
];

const listed = lines => lines.map(line => `- ${line}`).join('\n');

/// `found`: for each run its schedule, the interval or the number that was found, and the attacker.
function run_statement(state, found, link) {
  const words = {epsilon: `epsilon at delta ${state.delta}`, delta: `delta at epsilon ${state.epsilon}`};
  const target = `epsilon ${state.epsilon} at delta ${state.delta}`;
  const figures = (run, asked) => [
    asked === state.ask ? undefined
      : `${FIELDS[state.ask].label} ${in_full(run.value)} keeps ${target}`,
    `${words[asked]}: at most ${in_full(run.interval.upper)}${run.interval.attained ? `, at least ${in_full(run.interval.lower)}` : ''}`,
    `advantage of any attacker (true minus false positive rate): at most ${in_full(run.attack.advantage)}`,
    `an attacker’s guess, at prior ${state.prior}, is right with probability at most ${in_full(run.attack.success)}`,
  ].filter(Boolean);
  const asked = ASKS[state.ask].sought ? 'epsilon' : state.ask;
  const parts = found.map((run, k) => [
    found.length > 1 ? `Run ${'AB'[k]}\n` : '',
    `Released\n${listed(run.schedule.releases.map(phase_in_words))}\n`,
    run.interval.best_of && `Released is ${repetitions_in_words(run.interval.best_of)}.\n`,
    `Neighbours: ${run.schedule.adjacency}: ${ADJACENCIES[run.schedule.adjacency].means}.\n`,
    `Certified\n${listed(figures(run, asked))}\n`,
  ].filter(Boolean).join('\n').trim());
  const repeated = found.some(run => run.interval.best_of);
  return [
    'Privacy statement',
    ...parts,
    `Assumed\n${listed([...assumptions(found.map(run => run.schedule)), ...(repeated ? [ONE_OF_MANY] : [])])}`,
    `Not covered\n${listed([repeated ? NOT_LISTED_OF_THE_BEST : NOT_LISTED, ...NOT_COVERED])}`,
    `Upper ends are rounded up, lower ends down; the C library’s functions are trusted to a few units in the last place. tacit ${found.version}, accountant pld (privacy loss, certified), by ${[...new Set(found.map(run => run.interval.route))].join(' and ')}.`,
    `Inputs: ${[...found.map(run => JSON.stringify(run.schedule)), ...(repeated ? [JSON.stringify(repetitions(state))] : [])].join('\n')}\n${link}`,
  ].join('\n\n');
}

function attack_statement(lines, version, link) {
  return [
    'Attackers and nats',
    listed(lines),
    'Not covered\n- Bounds from nats are averages over releases: one unlucky release may reveal more.\n- Information that is not counted in the nats, or releases that are not covered by epsilon and delta.',
    `Upper ends are rounded up, lower ends down. tacit ${version}.`,
    link,
  ].join('\n\n');
}

/// What the method was told beside the rows: `asked` is what went to the engine.
function pac_settings(asked) {
  const shape = asked.shape === 'diagonal' ? 'a variance for each coordinate' : 'any covariance';
  return [
    `method ${asked.method} (${METHODS[asked.rows_are][asked.method]}), of shape ${asked.shape}: ${shape}`,
    `budget ${asked.budget} nats`,
    asked.method === 'auto' && `no output is longer than ${asked.output_norm}; an eigenvalue of the sample is off by at most c = ${asked.c}; slack ${asked.slack} nats of the budget`,
    asked.rows_are === 'samples' && asked.method !== 'auto' && `floor ${asked.floor ?? 0}, added to the variance of each direction`,
  ].filter(Boolean).join('; ');
}

function pac_statement(asked, found, version, link) {
  const certified = found.bound !== undefined;
  return [
    'Noise for the outputs of a program',
    listed([
      `${found.rows} ${asked.rows_are === 'candidates' ? 'candidates, equally likely' : 'sampled outputs'}, ${found.columns} ${found.columns === 1 ? 'coordinate' : 'coordinates'}`,
      pac_settings(asked),
      `Gaussian noise of trace ${in_full(found.trace)}, covariance\n${found.covariance.map(row => `    ${row.join(', ')}`).join('\n')}`,
      certified ? `which candidate was used is revealed by at most ${in_full(found.bound)} nats`
                : `the output is estimated to reveal ${in_full(found.estimate)} nats about the data set; nothing is certified`,
    ]),
    certified ? 'Assumed\n- These are all candidates there are, and their weights are equal.\n- The noise is drawn afresh for one release, from a source that nobody can predict.'
              : 'Assumed\n- The rows are outputs on data sets drawn independently from the population.',
    'Not covered\n- Later releases about the same secret: their nats add up.\n- One unlucky release may reveal more than the average that is bounded here.',
    `tacit ${version}.`,
    link,
  ].join('\n\n');
}
