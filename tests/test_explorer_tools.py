"""Settings in an address: what is written, what is read, what is ignored."""

from itertools import product

import pytest
from explorers import MAKERS
from javascript import run
from vitedu_book.explorer_links import is_offered

from vitedu.widgets import SoftmaxScaling


@pytest.fixture(scope="module")
def widgets():
    return [make() for make in MAKERS.values()]


def test_a_page_is_told_of_every_setting_and_reads_what_it_writes(widgets):
    for widget in widgets:
        assert [*widget._schema] == [*widget.remembers] != []
    facts = [it for one in widgets for it in one._schema.values()]
    found = run(
        "",
        """all.map((facts) => {
          const text = settingText(facts, startOf(facts));
          const value = settingValue(facts, text);
          return value !== undefined && settingText(facts, value) === text;
        })""",
        all=facts,
    )
    assert found == [True] * len(facts)


HOSTILE = ("<script>window.hurt = 1</script>", "9" * 10_000, "[1]", "null")
TEXTS = (
    *("cat", "at", "a", "catt", "cab"),
    *("", "0", "-0", "1", "2", "3", "4", "6", "0_1", "1_0", "0_0", "_"),
    *("true", "True", "none", "patch", "greedy", "0.6", "1e-3", "1e3"),
    *("07", "+1", " 1", "1 ", "0x1", "NaN", "1.", ".5", "65", "99999999"),
    *("01" * 18, "1" * 36, "2" * 36, "1" * 35, "_".join(["-5"] * 36)),
    *("_".join(["5.1"] * 36), "e0" * 18, "1/sqrt(head_dim)"),
    *HOSTILE,
)


def test_the_build_accepts_what_a_page_accepts(widgets):
    schemas = [it for one in widgets for it in one._schema.values()]
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
    assert not any(
        it
        for it, (_, text) in zip(found, pairs, strict=True)
        if text in HOSTILE
    )
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


READINGS = {
    "#id": [[], []],
    "#id:": [[], []],
    "#id:head_dim=9&scale=none": [["9", "none"], []],
    "#id:scale=1%2Fsqrt(d_model)": [["1/sqrt(d_model)"], []],
    "#id:head_dim=9&head_dim=x": [["9"], ["head_dim"]],
    "#id:head_dim=0": [[], ["head_dim"]],
    "#id:head_dim=1025&seed=-1": [[], ["head_dim", "seed"]],
    "#id:head_dim=0x9&num_keys=1e2": [[], ["head_dim", "num_keys"]],
    "#id:temperature=Infinity": [[], ["temperature"]],
    "#id:temperature=": [[], ["temperature"]],
    "#id:temperature=5e-1": [["0.5"], []],
    "#id:__proto__=9&constructor=9&toString=9": [[], [UNKNOWN]],
    "#id:_schema=9&_esm=9": [[], [UNKNOWN]],
    "#id:%zz=%": [[], [UNKNOWN]],
    f"#id:head_dim={'9' * 10**6}": [[], ["head_dim"]],
    f"#id:{'a&' * 10**5}": [[], [UNKNOWN]],
    "#other:head_dim=9": None,
    "#id-2:head_dim=9": None,
    "": None,
}


def test_what_is_out_of_range_or_unknown_is_ignored():
    schema = SoftmaxScaling()._schema
    found = run("", READ, fragments=[*READINGS], schema=schema)
    assert dict(zip(READINGS, found, strict=True)) == READINGS
