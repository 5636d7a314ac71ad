"""What the explorer DecodingSteps says and shows.

For its searches see test_explorer_transformer.
"""

from functools import cache

import pytest
from explorers import decoding_steps
from javascript import run
from translators import SEARCH, source, trained_model

from vitedu.decoding.search import beam_search, greedy_search

VIEW = {
    "number": 26,
    "method": "beam",
    "beam_size": 3,
    "length_penalty": 0.6,
    "temperature": 1.0,
    "seed": 0,
    "step": 1,
}
VIEWS = {
    "beam": {},
    "beam of 1": {"beam_size": 1},
    "draw": {"method": "sample"},
    "end": {"step": 64},
    "right": {"method": "greedy", "number": 87, "step": 64},
    "end of a draw": {"method": "sample", "step": 64},
    "walk": {"number": 96, "beam_size": 5, "step": 2},
    "cold": {"method": "sample", "number": 12_005, "temperature": 0.1},
}
for seed in range(6):
    hot = {"method": "sample", "temperature": 3.0, "seed": seed}
    VIEWS[f"hot {seed}"] = hot
FOUND = """(() => {
  const given = read(modelOf(sent));
  return views.map((view) => {
    const found = compute(view, given);
    const said = say(found, given);
    return { ...found.published, said, stage: stageOf(found, said) };
  });
})()"""
FATES = {"goes": "goes on", "ends": "ends", "dropped": "dropped"}


@cache
def found() -> dict[str, dict]:
    views = [VIEW | changes for changes in VIEWS.values()]
    sent = decoding_steps().get_state()
    scripts = "decoding_steps decoding_steps_panels"
    shown = run(scripts, FOUND, sent=sent, views=views)
    return dict(zip(VIEWS, shown, strict=True))


def all_in(drafts: list[dict], tag: str) -> list[dict]:
    """Return all drafts of a tag, also those within others."""
    found = []
    for draft in drafts:
        found += [draft] * (draft["tag"] == tag)
        found += all_in(draft["children"], tag)
    return found


def text_of(draft: dict) -> str:
    own = draft["attributes"].get("text", "")
    return f"{own}{''.join(map(text_of, draft['children']))}"


def texts(name: str, tag: str) -> list[str]:
    return [text_of(one) for one in all_in(found()[name]["stage"], tag)]


def test_a_cold_draw_is_greedy_and_a_hot_one_is_not():
    best = greedy_search(trained_model(), source(12_005), **SEARCH).best[0]
    assert found()["cold"]["found"][0][2:] == best.tolist()
    hot = [found()[f"hot {seed}"]["found"][0][2:] for seed in range(6)]
    assert len({*map(tuple, hot)}) > 3


def test_a_step_is_that_of_the_library():
    steps = []
    how = {"beam_size": 5, "length_penalty": 0.6, "record": steps.append}
    beam_search(trained_model(), source(96), **how, **SEARCH)
    prefixes = [row[1:] for row in found()["walk"]["prefixes"]]
    assert prefixes == steps[2].prefixes.tolist()


@pytest.mark.parametrize("name", ["beam", "draw"])
def test_the_table_shows_the_candidates(name):
    it = found()[name]
    table = all_in(it["stage"], "table")[1]
    rows = all_in(all_in([table], "tbody"), "tr")
    assert len(rows) == len(it["candidates"]) > 2
    for row, one, fate in zip(
        rows, it["candidates"], it["fates"], strict=True
    ):
        prefix, _, chance, total = one
        cells = all_in([row], "td")
        assert row["attributes"]["class"] == fate
        assert text_of(cells[0]) == str(prefix + 1)
        expected = f"{total:.2f}".replace("-", "\N{MINUS SIGN}")
        assert text_of(cells[3]) == expected
        assert text_of(cells[4]) == FATES[fate]
        *_, fill, _ = all_in([cells[2]], "span")
        width = fill["attributes"]["style"].split()[1]
        assert float(width[:-1]) == pytest.approx(100 * chance)


def test_each_search_says_what_it_keeps_or_drew():
    assert "probability" in texts("beam", "th")
    assert "sampling probability" in texts("draw", "th")
    for name in VIEWS:
        only = "Only the best 3 are kept." in texts(name, "p")
        assert only == (name in ("beam", "end"))
    assert "The best sentence is “" in found()["end"]["said"]["reading"]
    drawn = found()["end of a draw"]["said"]["reading"]
    assert "The sampled sentence is “" in drawn


def test_the_end_says_whether_it_is_right():
    it = found()["right"]
    assert it["step"] == it["steps"]
    assert "The sentence is “eighty seven” with" in it["said"]["reading"]
    assert texts("right", "p")[-1] == "✓ It is right."
    wrong = texts("end", "p")[-1]
    assert wrong == "✗ The first one is wrong. It should be “twenty six”."
