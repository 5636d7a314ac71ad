"""What the explorer Training counts, against numpy."""

from functools import cache

import numpy as np
import pytest
from explorers import training
from javascript import run

WIDGET = training()
WRONG = WIDGET.answers != WIDGET.labels  # (network, epoch, image)
NETWORKS, EPOCHS, COUNT = WRONG.shape
FOUND = """(() => {
  const it = makeHistory({ data: answers, shape }, labels);
  const numbers = (count) => Array.from({ length: count }, (_, i) => i);
  return numbers(it.networks).map((network) => ({
    worst: worstEpoch(it, network),
    epochs: numbers(it.epochs).map((at) => ({
      misread: it.misread(network, at + 1),
      changes: it.changes(network, at + 1),
      states: it.states(network, at + 1),
      next: numbers(it.count).map((image) =>
        it.nextMisread(network, at + 1, image)),
    })),
  }));
})()"""
each_epoch = pytest.mark.parametrize(
    ("network", "at"), [*np.ndindex(NETWORKS, EPOCHS)]
)


@cache
def found() -> list[dict]:
    return run(
        "training_maths",
        FOUND,
        answers=WIDGET.answers,
        shape=list(WIDGET.answers.shape),
        labels=WIDGET.labels,
    )


@each_epoch
def test_it_counts_what_is_misread_and_what_has_changed(network, at):
    it, now = found()[network]["epochs"][at], WRONG[network, at]
    before = WRONG[network, at - 1] if at else now
    assert it["misread"] == np.flatnonzero(now).tolist()
    assert it["changes"] == {
        "mended": (before & ~now).sum(),
        "lost": (now & ~before).sum(),
    }


def test_a_digit_that_comes_right_fades_over_three_epochs():
    seen = set()
    for network, at in np.ndindex(NETWORKS, EPOCHS):
        states = found()[network]["epochs"][at]["states"]
        for image, state in enumerate(states):
            past = WRONG[network, : at + 1, image][::-1]
            # Epochs since it was misread last.
            ago = past.argmax() if past.any() else EPOCHS
            expected = "wrong" if ago == 0 else f"mended-{ago}"
            assert state == (expected if ago <= 3 else "right")
            seen.add(state)
    assert seen == {"wrong", "mended-1", "mended-2", "mended-3", "right"}


@pytest.mark.parametrize("network", range(NETWORKS))
def test_the_worst_epoch_loses_most(network):
    lost = (WRONG[network, 1:] & ~WRONG[network, :-1]).sum(axis=1)
    assert np.ptp(lost) > 0
    assert found()[network]["worst"] == lost.argmax() + 2
