// The numbers of the explorer HeadViewer.

function readData(model) {
  const { data, shape } = decodeArray(model.get("weights"));
  const [layers, heads, queries, keys] = shape;
  function row(layer, head, query) {
    const start = ((layer * heads + head) * queries + query) * keys;
    return data.subarray(start, start + keys);
  }
  const words = model.get("tokens");
  const targets = model.get("targets");
  return {
    layers, heads, queries, keys, row, words,
    all: [...Array(heads).keys()],
    targets: targets.length ? targets : words,
    // Places in two sequences have no distance.
    hasOffset: !targets.length,
  };
}

function readRow(row, query) {
  const largest = Math.max(...row);
  const offset = row.reduce((sum, weight, key) =>
    sum + weight * (key - query), 0);
  return { most: row.indexOf(largest), largest, entropy: entropy(row), offset };
}
