// What networks took digits for, epoch by epoch; epochs count from 1.

// For how many epochs a digit that is read right again stays a little red.
const FADES = 3;

export function makeHistory({ data, shape }, labels) {
  const [networks, epochs, count] = shape;
  const places = Array.from({ length: count }, (_, image) => image);
  const said = (network, epoch, image) =>
    data[(network * epochs + epoch - 1) * count + image];
  const isWrong = (network, epoch, image) =>
    said(network, epoch, image) !== labels[image];
  const misread = (network, epoch) =>
    places.filter((image) => isWrong(network, epoch, image));
  // Wrong now, or for how long it has been right again.
  function stateOf(network, epoch, image) {
    if (isWrong(network, epoch, image)) return "wrong";
    for (let ago = 1; ago <= FADES && ago < epoch; ago += 1) {
      if (isWrong(network, epoch - ago, image)) return `mended-${ago}`;
    }
    return "right";
  }
  // How many have come right and gone wrong since the epoch before.
  function changes(network, epoch) {
    const moved = epoch === 1 ? [] : places.filter((image) =>
      isWrong(network, epoch, image) !== isWrong(network, epoch - 1, image));
    const lost = moved.filter((image) =>
      isWrong(network, epoch, image)).length;
    return { mended: moved.length - lost, lost };
  }
  // The next misread digit behind this one, from the start again at the end.
  function nextMisread(network, epoch, image) {
    const wrong = misread(network, epoch);
    return wrong.find((place) => place > image) ?? wrong[0];
  }
  const every = Array.from({ length: epochs }, (_, at) => at + 1);
  return {
    networks, epochs, count, labels, misread, changes, nextMisread,
    // How many are misread, (network, epoch).
    counts: Array.from({ length: networks }, (_, network) =>
      every.map((epoch) => misread(network, epoch).length)),
    answers: (network, image) =>
      every.map((epoch) => said(network, epoch, image)),
    states: (network, epoch) =>
      places.map((image) => stateOf(network, epoch, image)),
  };
}

// The epoch in which most are lost that were read right before.
export function worstEpoch(history, network) {
  const lost = Array.from({ length: history.epochs }, (_, at) =>
    history.changes(network, at + 1).lost);
  return lost.indexOf(Math.max(...lost)) + 1;
}
