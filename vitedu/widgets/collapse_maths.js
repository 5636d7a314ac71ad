// The training of the explorer Collapse: a student learns what its teacher
// outputs for another view of the same points, as `SelfDistillation`.

import { inRows } from "./core/arrays.js";
import {
  entropy, normalNumbers, softmax, uniformNumbers,
} from "./core/numbers.js";
import {
  GROUPS, backward, forward, initialParameters,
} from "./collapse_network.js";

const [CLUSTERS, BATCH] = [4, 16];
export const POINTS = 120;
export const HIGHEST = Math.log(GROUPS);
const STUDENT_TEMPERATURE = 0.1;
const CENTRE_MOMENTUM = 0.9;
const LEARNING_RATE = 0.5;
// Of the ring of clusters: its radius, and the standard deviations within a
// cluster and of the noise of a view.
const [RADIUS, SPREAD, NOISE] = [0.6, 0.1, 0.09];
// What is nearly all, or nearly nothing, of the highest entropy.
const NEARLY = 0.1;

// The same for all runs: they differ in weights and in views.
export const points = makePoints();

function makePoints() {
  const normal = normalNumbers(0);
  return Float64Array.from({ length: 2 * POINTS }, (_, at) => {
    const cluster = Math.floor(at / 2) % CLUSTERS;
    const angle = 2 * Math.PI * (cluster + 0.5) / CLUSTERS;
    return RADIUS * (at % 2 ? Math.sin(angle) : Math.cos(angle))
      + SPREAD * normal();
  });
}

// Softmax of each row of scores over a temperature, without the centre.
function probabilities(scores, temperature, centre) {
  const shares = new Float64Array(scores.length);
  for (let from = 0; from < scores.length; from += GROUPS) {
    const row = scores.slice(from, from + GROUPS);
    for (let k = 0; k < GROUPS; k++) {
      row[k] = (row[k] - (centre ? centre[k] : 0)) / temperature;
    }
    shares.set(softmax(row), from);
  }
  return shares;
}

function meanRow(...parts) {
  const mean = new Float64Array(GROUPS);
  const rows = parts.reduce((sum, { length }) => sum + length, 0) / GROUPS;
  for (const part of parts) {
    part.forEach((value, at) => (mean[at % GROUPS] += value / rows));
  }
  return mean;
}

// A student, its teacher and the centre, from a seed.
export function makePair({ centring, temperature, momentum }, seed) {
  const uniform = uniformNumbers(seed);
  const normal = normalNumbers(seed, uniform);
  const student = initialParameters(uniform, normal);
  const teacher = student.slice();
  const centre = new Float64Array(GROUPS);
  const grads = new Float64Array(student.length);

  // Two noisy versions of a batch of points.
  function makeViews() {
    const views = [0, 1].map(() => new Float64Array(2 * BATCH));
    for (let i = 0; i < BATCH; i++) {
      const from = Math.floor(POINTS * uniform());
      for (const view of views) {
        view[2 * i] = points[2 * from] + NOISE * normal();
        view[2 * i + 1] = points[2 * from + 1] + NOISE * normal();
      }
    }
    return views;
  }
  // The loss, and the teacher's scores; the gradients are in `grads`.
  function compare(views) {
    const made = views.map((view) => forward(student, view));
    const taught = views.map((view) => forward(teacher, view).scores);
    const targets = taught.map((scores) =>
      probabilities(scores, temperature, centre));
    grads.fill(0);
    let loss = 0;
    made.forEach((one, at) => {
      const wanted = targets[1 - at];
      const said = probabilities(one.scores, STUDENT_TEMPERATURE);
      said.forEach((share, i) =>
        (loss -= wanted[i] * Math.log(share) / (2 * BATCH)));
      backward(student, one, said.map((share, i) =>
        (share - wanted[i]) / (2 * BATCH * STUDENT_TEMPERATURE)), grads);
    });
    return { loss, taught };
  }
  function follow(taught) {
    for (let i = 0; i < teacher.length; i++) {
      teacher[i] += (1 - momentum) * (student[i] - teacher[i]);
    }
    if (!centring) return;
    meanRow(...taught).forEach((mean, k) =>
      (centre[k] += (1 - CENTRE_MOMENTUM) * (mean - centre[k])));
  }
  function step() {
    const views = makeViews();
    const { loss, taught } = compare(views);
    for (let i = 0; i < student.length; i++) {
      student[i] -= LEARNING_RATE * grads[i];
    }
    follow(taught);
    return { loss, views };
  }
  return { student, teacher, centre, grads, compare, step };
}

// What a teacher outputs for all points: its largest output for each, the
// mean output, and the entropy of one output, on average, and of the mean.
export function lookAt(teacher, centre, temperature) {
  const shares = probabilities(
    forward(teacher, points).scores, temperature, centre);
  const rows = inRows(shares, GROUPS);
  const sure = rows.map((row) => Math.max(...row));
  const mean = meanRow(shares);
  return {
    mean, sure, chosen: rows.map((row, at) => row.indexOf(sure[at])),
    ofMean: entropy(mean),
    ofEach: rows.reduce((sum, row) => sum + entropy(row), 0) / POINTS,
  };
}

// How the outputs differ: not at all, at one of the two ends or between them,
// or from point to point.
export function verdictOf({ ofMean, ofEach }) {
  if (ofEach > (1 - NEARLY) * HIGHEST) return "uniform";
  if (ofMean < NEARLY * HIGHEST) return "corner";
  return ofMean - ofEach < NEARLY * HIGHEST ? "mixture" : "apart";
}

// A run that goes as far as it is asked for, and remembers all its steps.
export function makeRun(settings, seed) {
  const pair = makePair(settings, seed);
  const kept = [];
  function keep() {
    kept.push({ teacher: pair.teacher.slice(), centre: pair.centre.slice() });
  }
  function at(step) {
    while (kept.length <= step) {
      pair.step();
      keep();
    }
    const { teacher, centre } = kept[step];
    kept[step].look ??= lookAt(teacher, centre, settings.temperature);
    return kept[step].look;
  }
  keep();
  return { seed, at };
}
