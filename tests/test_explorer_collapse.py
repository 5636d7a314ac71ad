"""The runs of the explorer Collapse, against `vitedu` and PyTorch."""

from collections import Counter
from collections.abc import Iterator

import pytest
import torch
from javascript import numbers, run
from torch import nn

from vitedu.objectives.self_distillation import GroupHead, SelfDistillation

SCRIPTS = "collapse_network collapse_maths"
GROUPS, HIDDEN, RATE = 6, 16, 0.5
# Both sides compute in double precision.
TOLERANCE = 1e-9
BOTH = {"centring": True, "temperature": 0.05, "momentum": 0.98}
SETTINGS = {
    "both": BOTH,
    "not centred": BOTH | {"centring": False},
    "not sharpened": BOTH | {"temperature": 0.1},
    "neither": BOTH | {"centring": False, "temperature": 0.1},
    "teacher = student": BOTH | {"momentum": 0},
}


@pytest.fixture(autouse=True)
def double_precision() -> Iterator[None]:
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def make_pair(settings: dict, parameters: list[float]) -> SelfDistillation:
    """Make what the page trains, from the library, with given weights."""
    student = nn.Sequential(nn.Flatten(), GroupHead(2, GROUPS, HIDDEN))
    nn.utils.vector_to_parameters(
        torch.tensor(parameters), student.parameters()
    )
    return SelfDistillation(
        student,
        GROUPS,
        momentum=settings["momentum"],
        student_temperature=0.1,
        teacher_temperature=settings["temperature"],
        centre_momentum=0.9 if settings["centring"] else 1.0,
    )


def flat(module: nn.Module) -> torch.Tensor:
    return nn.utils.parameters_to_vector(module.parameters()).detach()


def images(points: list[float]) -> torch.Tensor:
    """Return points as images of one pixel, which the library expects."""
    return torch.tensor(points).view(-1, 2, 1, 1)


def same(found, expected, name: str = "") -> None:
    expected = torch.as_tensor(expected)
    torch.testing.assert_close(
        torch.tensor(numbers(found)).view(expected.shape),
        expected,
        rtol=TOLERANCE,
        atol=TOLERANCE,
        msg=lambda text: f"{name}: {text}",
    )


STEPS = """(() => {
  const pair = makePair(settings, 3);
  const before = [...pair.student];
  const done = Array.from({ length: steps }, () => {
    const { loss, views } = pair.step();
    return { loss, views, grads: [...pair.grads] };
  });
  return { before, done, ...pair,
    look: lookAt(pair.teacher, pair.centre, settings.temperature), points };
})()"""


@pytest.mark.parametrize("name", ["both", "neither", "teacher = student"])
def test_twenty_steps_are_those_of_the_library(name):
    found = run(SCRIPTS, STEPS, settings=SETTINGS[name], steps=20)
    pair = make_pair(SETTINGS[name], found["before"])
    optimizer = torch.optim.SGD(pair.student.parameters(), lr=RATE)
    for number, done in enumerate(found["done"]):
        loss = pair([images(view) for view in done["views"]])
        same(done["loss"], loss.detach(), f"loss {number}")
        optimizer.zero_grad()
        loss.backward()
        grads = [weight.grad.flatten() for weight in pair.student.parameters()]
        assert all(grad.any() for grad in grads)
        same(done["grads"], torch.cat(grads), f"gradients {number}")
        optimizer.step()
        pair.follow()
    same(found["student"], flat(pair.student), "student")
    same(found["teacher"], flat(pair.teacher), "teacher")
    same(found["centre"], pair.centre, "centre")
    assert pair.centre.any() == SETTINGS[name]["centring"]
    # What is shown is what the teacher outputs.
    with torch.no_grad():
        shares = pair.targets(pair.teacher(images(found["points"])))
    assert len(shares) == 120
    sure, chosen = shares.max(dim=1)
    for what, expected in {
        "ofEach": torch.special.entr(shares).sum(dim=1).mean(),
        "ofMean": torch.special.entr(shares.mean(dim=0)).sum(),
        "mean": shares.mean(dim=0),
        "sure": sure,
        "chosen": chosen.double(),
    }.items():
        same(found["look"][what], expected, what)


def test_training_in_turns_ends_where_training_at_once_does():
    found = run(
        "collapse_network collapse_maths collapse",
        """(() => {
          const given = () => ({ runsOf: makeLibrary(), most: 200 });
          const [inTurns, seen] = [given(), []];
          do {
            seen.push(compute(settings, inTurns, { whole: false }));
          } while (seen.at(-1).goOn?.() !== undefined);
          const atOnce = compute(settings, given());
          const told = ({ runs, published }) =>
            ({ published, curves: runs.map(({ curve }) => curve) });
          return { steps: seen.map(({ published }) => published.step),
            busy: seen.map(({ isBusy }) => isBusy), wasBusy: atOnce.isBusy,
            last: told(seen.at(-1)), whole: told(atOnce) };
        })()""",
        settings={
            "centring": True,
            "teacher_temperature": 0.05,
            "momentum": 0.98,
            "seed": 1,
            "step": 151,
        },
    )
    steps = found["steps"]
    assert steps[:3] == [0, 2, 4]
    assert steps == sorted({*steps, 151})
    assert found["busy"] == [True] * (len(steps) - 1) + [False]
    assert not found["wasBusy"]
    assert found["last"] == found["whole"]
    for curve in found["whole"]["curves"]:
        assert [at["step"] for at in curve] == [*range(0, 151, 2), 151]


def test_verdicts_go_by_tenths_of_the_highest_entropy():
    highest = torch.tensor(GROUPS).log().item()
    looks = {
        (0.91, 0.95): "uniform",
        (0.89, 0.95): "mixture",
        (0.05, 0.09): "corner",
        (0.05, 0.11): "mixture",
        (0.0, 0.11): "apart",
        (0.5, 0.61): "apart",
        (0.5, 0.59): "mixture",
    }
    found = run(
        SCRIPTS,
        "looks.map(([each, mean]) => verdictOf({"
        " ofEach: each * HIGHEST, ofMean: mean * HIGHEST }))",
        looks=[*looks],
    )
    assert found == [*looks.values()]
    assert run(SCRIPTS, "HIGHEST") == pytest.approx(highest)


# What `Collapse` says of seeds 1 to 20, after 200 steps; and of the first two,
# of which the sentences of the tour speak.
EXPECTED = {
    "both": ({"apart": 20}, ["apart", "apart"]),
    "not centred": ({"corner": 19, "apart": 1}, ["corner", "apart"]),
    "not sharpened": ({"uniform": 20}, ["uniform", "uniform"]),
    "neither": ({"mixture": 12, "corner": 8}, ["mixture", "mixture"]),
    "teacher = student": ({"corner": 11, "mixture": 9}, None),
}
VERDICTS = """Array.from({ length: 20 }, (_, at) => {
  const pair = makePair(settings, 1 + at);
  for (let step = 0; step < 200; step++) pair.step();
  return verdictOf(
    lookAt(pair.teacher, pair.centre, settings.temperature));
})"""


@pytest.mark.parametrize("name", SETTINGS)
def test_twenty_runs_end_as_the_book_says(name):
    found = run(SCRIPTS, VERDICTS, settings=SETTINGS[name])
    counts, first = EXPECTED[name]
    assert Counter(found) == counts
    assert first in (None, found[:2])
