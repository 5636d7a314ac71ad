"""Settings in an address: what is written, what is read, what is ignored."""

from itertools import product

import pytest
from explorers import MAKERS
from javascript import run
from vitedu_book.explorer_links import is_offered

from vitedu.widgets import MaskEditor, SoftmaxScaling


def schema(name: str) -> dict:
    return MAKERS[name]().get_state()["_schema"]


# Every setting that it has started with, written and read again.
THERE_AND_BACK = """Object.entries(schema).map(([name, facts]) => {
  const text = settingText(facts, startOf(facts));
  const value = settingValue(facts, text);
  return [name, value !== undefined && settingText(facts, value) === text];
})"""


@pytest.mark.parametrize("name", MAKERS)
def test_a_page_is_told_of_every_setting_and_reads_what_it_writes(name):
    widget = MAKERS[name]()
    assert widget.remembers
    assert [*schema(name)] == [*widget.remembers]
    found = run("", THERE_AND_BACK, schema=schema(name))
    assert found == [[setting, True] for setting in widget.remembers]


@pytest.mark.parametrize("name", MAKERS)
def test_python_refuses_what_a_page_is_told_to_refuse(name):
    widget = MAKERS[name]()
    for setting, facts in widget._schema.items():
        wrong = ["of course"]
        if facts["kind"] in ("integer", "number"):
            wrong = [facts["low"] - 1, facts["high"] + 1]
        if "step" in facts:
            wrong.append(facts["low"] + 1)
        if facts["kind"] == "list":
            wrong = [[facts["low"] - 1], [facts["high"] + 1]]
        if facts["kind"] == "words":
            wrong = [["of course"]]
        if facts["kind"] == "array":
            wrong = [facts["start"]]
        if facts["kind"] == "integer" and "options" in facts:
            between = range(min(facts["options"]), max(facts["options"]))
            wrong += sorted({*between} - {*facts["options"]})
        if facts["kind"] == "text":
            wrong = [facts["letters"][0] * (facts["high"] + 1)]
        for value in wrong:
            with pytest.raises((TypeError, ValueError)):
                setattr(widget, setting, value)


TEXTS = (
    *("cat", "at", "a", "catt", "cab"),
    *("", "0", "-0", "1", "2", "3", "4", "6", "0_1", "1_0", "0_0", "_"),
    *("true", "True", "none", "patch", "greedy", "0.6", "1e-3", "1e3"),
    *("07", "+1", " 1", "1 ", "0x1", "NaN", "1.", ".5", "65", "99999999"),
    *("01" * 18, "1" * 36, "2" * 36, "1" * 35, "_".join(["-5"] * 36)),
    *("_".join(["5.1"] * 36), "e0" * 18, "1/sqrt(head_dim)"),
)


def test_the_build_accepts_what_a_page_accepts():
    schemas = [facts for name in MAKERS for facts in schema(name).values()]
    # What a word typed into a head viewer may be.
    schemas.append({"kind": "text", "letters": "act", "low": 2, "high": 3})
    pairs = [*product(schemas, TEXTS)]
    accepted = run(
        "",
        "pairs.map(([it, text]) => settingValue(it, text) !== undefined)",
        pairs=pairs,
    )
    found = [is_offered(facts, text) for facts, text in pairs]
    assert found == accepted
    assert 150 < sum(found) < len(found) / 2


def test_an_address_holds_what_differs_and_nothing_else():
    now = {"head_dim": 512, "num_keys": 16, "scale": "1/sqrt(d_model)"}
    now |= {"temperature": 0.1 + 0.2, "seed": 0}
    given = SoftmaxScaling(temperature=0.3)._schema
    found = run(
        "",
        """[writeFragment("id", schema, (name) => now[name]),
            writeFragment("id", schema, (name) => schema[name].start)]""",
        schema=given,
        now=now,
    )
    assert found == [
        "#id:head_dim=512&scale=1%2Fsqrt%28d_model%29"
        "&temperature=0.30000000000000004",
        "#id",
    ]


READ = """fragments.map((fragment) => {
  const found = readFragment(fragment, "id", schema);
  if (!found) return null;
  const { values, ignored } = found;
  const changed = Object.entries(schema).filter(([name, facts]) =>
    settingText(facts, values[name]) !== settingText(facts, startOf(facts)));
  return [changed.map(([name, facts]) =>
    settingText(facts, values[name])), ignored];
})"""
UNKNOWN = "an unknown setting"


@pytest.mark.parametrize(
    ("fragment", "changed", "ignored"),
    [
        ("#id", [], []),
        ("#id:", [], []),
        ("#id:head_dim=9&scale=none", ["9", "none"], []),
        ("#id:scale=1%2Fsqrt(d_model)", ["1/sqrt(d_model)"], []),
        ("#id:head_dim=9&head_dim=x", ["9"], ["head_dim"]),
        ("#id:head_dim=0", [], ["head_dim"]),
        ("#id:head_dim=1025&seed=-1", [], ["head_dim", "seed"]),
        ("#id:head_dim=9.5", [], ["head_dim"]),
        ("#id:head_dim=0x9&num_keys=1e2", [], ["head_dim", "num_keys"]),
        ("#id:temperature=Infinity", [], ["temperature"]),
        ("#id:temperature=1e999", [], ["temperature"]),
        ("#id:temperature=", [], ["temperature"]),
        ("#id:temperature=5e-1", ["0.5"], []),
        ("#id:scale=None", [], ["scale"]),
        ("#id:__proto__=9&constructor=9&toString=9", [], [UNKNOWN]),
        ("#id:_schema=9&_esm=9", [], [UNKNOWN]),
        ("#id:%zz=%", [], [UNKNOWN]),
        (f"#id:head_dim={'9' * 10**6}", [], ["head_dim"]),
        (f"#id:{'a&' * 10**5}", [], [UNKNOWN]),
        ("#other:head_dim=9", None, None),
        ("#id-2:head_dim=9", None, None),
        ("", None, None),
    ],
)
def test_what_is_out_of_range_or_unknown_is_ignored(
    fragment, changed, ignored
):
    [found] = run(
        "", READ, fragments=[fragment], schema=SoftmaxScaling()._schema
    )
    assert found == (changed if changed is None else [changed, ignored])


def test_a_mask_and_scores_travel_whole_or_not_at_all():
    bits, scores = "01" * 18, "_".join(["0.1", "-5"] * 18)
    fragments = [
        f"#id:mask={bits}&scores={scores}",
        f"#id:mask={bits[1:]}&scores={scores[4:]}",
        f"#id:mask={bits[1:]}2&scores={scores[:-1]}6",
    ]
    found = run("", READ, fragments=fragments, schema=MaskEditor()._schema)
    neither = [[], ["mask", "scores"]]
    assert found == [[[scores, bits], []], neither, neither]
