"""What the explorer Training counts, says and draws, against numpy."""

import re
from functools import cache

import numpy as np
import pytest
from explorers import training
from javascript import run

WIDGET = training()
WRONG = WIDGET.answers != WIDGET.labels  # (network, epoch, image)
NETWORKS, EPOCHS, COUNT = WRONG.shape
VIEWS = [
    {"network": network, "epoch": at + 1, "image": (7 * at + network) % COUNT}
    for network, at in np.ndindex(NETWORKS, EPOCHS)
]
FOUND = """(() => {
  const given = read(modelOf(state));
  const { history } = given;
  return {
    tour: tour(steps, given).map(([, settings]) => settings),
    views: views.map((view) => {
      const { network, epoch } = view;
      const found = compute(view, given);
      return {
        ...found.published, ...say(found, given),
        changes: history.changes(network, epoch),
        states: history.states(network, epoch),
        strip: answerStrip(found.answers, found.label, epoch).map(
          ({ attributes }) => attributes),
        lines: epochLines(found, 340),
      };
    }),
  };
})()"""
TOUR = [
    ["", {"network": 0, "epoch": "worst"}],
    ["", {"network": 1, "epoch": "last", "misread": True}],
    ["", {"network": 2, "epoch": "third"}],
]


@cache
def found() -> dict:
    state = WIDGET.get_state()
    scripts = "training training_pictures"
    return run(scripts, FOUND, state=state, steps=TOUR, views=VIEWS)


@pytest.mark.parametrize("view", range(len(VIEWS)))
def test_it_says_and_shows_what_is_misread_and_what_has_changed(view):
    it, (network, epoch, image) = found()["views"][view], VIEWS[view].values()
    now = WRONG[network, epoch - 1]
    before = WRONG[network, epoch - 2] if epoch > 1 else now
    assert it["misread"] == np.flatnonzero(now).tolist()
    mended, lost = (before & ~now).sum(), (now & ~before).sum()
    assert it["changes"] == {"mended": mended, "lost": lost}
    label, answers = WIDGET.labels[image], WIDGET.answers[network, :, image]
    said = answers[epoch - 1]
    accuracy = f"{100 * (1 - now.mean()):.1f}"
    assert re.findall(r"\d+(?:\.\d+)?", it["reading"]) == [
        str(one)
        for one in (
            *(epoch, now.sum(), COUNT, accuracy),
            *((mended, lost) if epoch > 1 else ()),
            *((label,) if said == label else (label, said)),
        )
    ]
    assert it["reading"].startswith(WIDGET.names[network])
    assert [one["text"] for one in it["strip"]] == answers.tolist()
    kinds = [one["class"].split() for one in it["strip"]]
    assert ["wrong" in kind for kind in kinds] == (answers != label).tolist()
    assert [at for at in range(EPOCHS) if "now" in kinds[at]] == [epoch - 1]
    # The point of the epoch lies on the line of its network, with its count.
    *_, line, point, _, count = it["lines"]
    at = line["attributes"]["d"][1:].split("L")[epoch - 1].split()
    ends = [point["attributes"][name] for name in ("cx", "cy")]
    assert ends == [float(number) for number in at]
    assert count["attributes"]["text"] == now.sum()


def test_a_digit_that_comes_right_fades_over_three_epochs():
    seen = set()
    for it in found()["views"]:
        for image, state in enumerate(it["states"]):
            past = WRONG[it["network"], : it["epoch"], image][::-1]
            # Epochs since it was misread last.
            ago = past.argmax() if past.any() else EPOCHS
            expected = "wrong" if ago == 0 else f"mended-{ago}"
            assert state == (expected if ago <= 3 else "right")
            seen.add(state)
    assert seen == {"wrong", "mended-1", "mended-2", "mended-3", "right"}


def test_a_tour_looks_its_epochs_up_and_leaves_out_what_is_not_there():
    lost = (WRONG[0, 1:] & ~WRONG[0, :-1]).sum(axis=1)
    assert np.ptp(lost) > 0
    assert found()["tour"] == [
        {"network": 0, "epoch": lost.argmax() + 2, "image": 0},
        {"network": 1, "epoch": EPOCHS, "image": WRONG[1, -1].argmax()},
    ]
