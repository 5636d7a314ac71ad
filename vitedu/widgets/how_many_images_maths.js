// What is read off measured curves: `sizes` rise, and a curve has the
// accuracy at each of them, in percent.

// The runs of one network with other seeds.
function summaryOf(runs) {
  const total = runs.reduce((sum, run) => sum + run, 0);
  return {
    mean: total / runs.length, worst: Math.min(...runs),
    best: Math.max(...runs),
  };
}

// Where a curve first reaches `wanted`: {images}, between the measured sizes
// {low, high} on the straight line over the logarithm; or at its first size,
// where low and high are that; or {images: Infinity}.
export function imagesNeeded(sizes, curve, wanted) {
  const at = curve.findIndex((accuracy) => accuracy >= wanted);
  if (at < 0) return { images: Infinity, low: sizes.at(-1), high: Infinity };
  if (at === 0) return { images: sizes[0], low: sizes[0], high: sizes[0] };
  const [below, above] = [curve[at - 1], curve[at]];
  const [low, high] = [sizes[at - 1], sizes[at]];
  const share = (wanted - below) / (above - below);
  return { images: low * (high / low) ** share, low, high };
}

// By how many points the mean of `a` is ahead of that of `b`; and how far the
// runs of the one that leads keep clear of the other's, below 0 if they mix.
function leadOf(a, b) {
  const points = a.mean - b.mean;
  const clear = points < 0 ? b.worst - a.best : a.worst - b.best;
  return { points, clear };
}

// The size that is nearest on a logarithmic axis.
export function nearestSize(sizes, images) {
  const far = (size) => Math.abs(Math.log(size / images));
  return sizes.reduce((best, size) => (far(size) < far(best) ? size : best));
}

// All that is said of one number of images; `remedy` is the row of a remedy
// that was measured with as many, or -1. What `needs` says is what a ViT
// without help needs for the accuracy of that name.
export function readCurves({ sizes, vit, cnn, remedies }, numImages, remedy) {
  const at = sizes.indexOf(numImages);
  const curves = { vit: vit.map(summaryOf), cnn: cnn.map(summaryOf) };
  const plain = curves.vit[at];
  const rival = curves.cnn[at];
  const helped = remedy < 0 ? null : summaryOf(remedies[remedy]);
  const means = curves.vit.map(({ mean }) => mean);
  const needs = ({ mean }) => imagesNeeded(sizes, means, mean);
  return {
    at, curves, plain, cnn: rival, helped,
    lead: leadOf(rival, helped ?? plain),
    needs: { cnn: needs(rival), helped: helped && needs(helped) },
  };
}
