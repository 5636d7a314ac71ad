// What vitedu/analysis/complexity.py counts, and which tokens a stack of
// layers lets through. Tokens and layers count from 0.

export const REACH_KINDS =
  ["recurrent", "convolution", "dilated convolution", "attention"];

function layerOperations(kind, tokens, width, window) {
  if (kind === "recurrent") return 4 * tokens * width ** 2;
  if (kind === "attention") return 4 * tokens ** 2 * width;
  return 2 * window * tokens * width ** 2;
}

function stepsInSequence(kind, tokens) {
  return kind === "recurrent" ? tokens : 1;
}

// Tokens that an output sees if enough stand in front of it.
function fieldOf(kind, layers, window) {
  if (kind === "dilated convolution") return window ** layers;
  if (kind === "convolution") return 1 + layers * (window - 1);
  return Infinity;
}

// From the first of so many tokens to the last.
function pathLength(kind, tokens, window) {
  if (tokens === 1) return 0;
  if (kind === "attention") return 1;
  if (kind === "recurrent") return tokens - 1;
  let layers = 1;
  while (fieldOf(kind, layers, window) < tokens) layers += 1;
  return layers;
}

// What token `to` of layer `layer` + 1 reads directly, as [layer, token].
function sourcesOf({ kind, tokens, window }, layer, to) {
  if (kind === "attention") {
    return Array.from({ length: tokens }, (_, token) => [layer, token]);
  }
  if (kind === "recurrent") {
    return [[layer, to], ...(to > 0 ? [[layer + 1, to - 1]] : [])];
  }
  const gap = kind === "convolution" ? 1 : window ** layer;
  return Array.from({ length: window }, (_, i) => [layer, to - gap * i])
    .filter(([, token]) => token >= 0);
}

// Of each layer, 0 for the inputs, which of its tokens the output at `place`
// depends on; the links between them, as [from, to]; and a way with the fewest
// steps to the side from the first of the inputs that reach it.
export function reachOf(stack) {
  const { tokens, layers, place } = stack;
  const steps = Array.from({ length: layers + 1 }, () =>
    Array.from({ length: tokens }, () => Infinity));
  const next = new Map();
  const links = [];
  const name = ([layer, token]) => layer * tokens + token;
  steps[layers][place] = 0;
  for (let layer = layers - 1; layer >= 0; layer -= 1) {
    for (let to = tokens - 1; to >= 0; to -= 1) {
      const target = [layer + 1, to];
      const far = steps[layer + 1][to];
      if (far === Infinity) continue;
      for (const source of sourcesOf(stack, layer, to)) {
        links.push([source, target]);
        const [on, token] = source;
        const now = far + (token !== to);
        if (now >= steps[on][token]) continue;
        steps[on][token] = now;
        next.set(name(source), target);
      }
    }
  }
  const first = steps[0].findIndex((count) => count < Infinity);
  const way = [[0, first]];
  while (next.has(name(way.at(-1)))) way.push(next.get(name(way.at(-1))));
  const sees = steps.map((row) => row.map((count) => count < Infinity));
  return { sees, links, way, moves: steps[0][first] };
}

export function reachNumbers({ kind, tokens, window, layers, place, width }) {
  return {
    sees: kind === "attention" ? tokens
      : Math.min(place + 1, fieldOf(kind, layers, window)),
    path: pathLength(kind, place + 1, window),
    steps: stepsInSequence(kind, tokens),
    operations: layerOperations(kind, tokens, width, window),
  };
}
