// The numbers of the explorer NormAxes. A cell (sample, token, feature) has
// the flat index `at`.

const EPS = 1e-5;
export const CHANGED_ABOVE = 1e-6;

export function readBatch({ data, shape: [samples, tokens, features] }) {
  const values = Float64Array.from(data);
  const span = values.reduce((most, v) => Math.max(most, v), -Infinity)
    - values.reduce((least, v) => Math.min(least, v), Infinity);
  return {
    values, samples, tokens, features, largestChange: span || 1,
    index: (sample, token, feature) =>
      (sample * tokens + token) * features + feature,
    place: (at) => ({
      sample: Math.floor(at / (tokens * features)),
      token: Math.floor(at / features) % tokens, feature: at % features,
    }),
  };
}

// The number of the group with which a cell shares its mean and variance.
const GROUPS = {
  LayerNorm: ({ tokens }, { sample, token }) => sample * tokens + token,
  BatchNorm: (batch, { feature }) => feature,
  "whole sample": (batch, { sample }) => sample,
};

function groupsOf(batch, norm) {
  return Array.from(batch.values, (_, at) =>
    GROUPS[norm](batch, batch.place(at)));
}

function normalise(values, groups) {
  const count = 1 + Math.max(...groups);
  const sizes = new Float64Array(count);
  const means = new Float64Array(count);
  const variances = new Float64Array(count);
  groups.forEach((group) => (sizes[group] += 1));
  groups.forEach((group, at) => (means[group] += values[at] / sizes[group]));
  groups.forEach((group, at) => {
    variances[group] += (values[at] - means[group]) ** 2 / sizes[group];
  });
  const outputs = values.map((value, at) => (value - means[groups[at]])
    / Math.sqrt(variances[groups[at]] + EPS));
  return { outputs, means, variances, sizes };
}

// What a norm makes of the batch, with one cell changed and without. `under`
// is the cell that is looked at, if it is not the changed one.
export function readings(batch, {
  norm, sample, token, feature, change, under,
}) {
  const chosen = batch.index(sample, token, feature);
  const looked = under ?? chosen;
  const groups = groupsOf(batch, norm);
  const edited = batch.values.slice();
  edited[chosen] += change;
  const before = normalise(batch.values, groups);
  const after = normalise(edited, groups);
  const moved = after.outputs.map((value, at) => value - before.outputs[at]);
  const most = { ownToken: 0, otherTokens: 0, otherSamples: 0 };
  moved.forEach((by, at) => {
    const place = batch.place(at);
    let where = "otherSamples";
    if (place.sample === sample) {
      where = place.token === token ? "ownToken" : "otherTokens";
    }
    most[where] = Math.max(most[where], Math.abs(by));
  });
  const at = groups[looked];
  return {
    batch, norm, chosen, looked, change, groups, edited, moved, most,
    outputs: after.outputs,
    changed: moved.filter((by) => Math.abs(by) > CHANGED_ABOVE).length,
    // Of the cells that share a mean with the one looked at.
    group: {
      shared: after.sizes[at],
      mean: after.means[at], meanBefore: before.means[at],
      variance: after.variances[at], varianceBefore: before.variances[at],
    },
  };
}
