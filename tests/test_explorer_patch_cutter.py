"""The numbers and words of the explorer PatchCutter."""

from itertools import product

import numpy as np
from explorers import make_image, sequence
from javascript import run

HEIGHT, WIDTH, SIZE = 21, 35, 7
TIMES = "\N{MULTIPLICATION SIGN}"
USUAL = {"patch_size": SIZE, "order": "c p1 p2", "cut": "patches"}
USUAL |= {"patch": 8, "place": 101}


def shown(*views: dict) -> list[dict]:
    """Return what is found and said of a photograph, one after another."""
    return run(
        "patch_cutter patch_cutter_maths patch_cutter_pictures",
        """(() => {
          const photo = readPhotograph({ data, shape });
          return views.map((view) => {
            const found = compute(view, photo);
            const { grid, row } = found;
            const all = [...row.numbers.keys()];
            return { ...found.published, isQuiet: found.isQuiet,
              all: [...grid.numbers], numbers: row.numbers,
              channels: row.channels, scattered: [...row.scattered],
              parts: all.map((at) => grid.partsOf(at)),
              places: all.map((at) => grid.placeOf(...grid.partsOf(at))),
              tiles: tilesDrawn(found).map(({ attributes, children }) =>
                [attributes.class, children.map((it) => it.attributes.text)]),
              said: say(found) };
          });
        })()""",
        data=make_image(),
        shape=(HEIGHT, WIDTH, 3),
        views=[USUAL | view for view in views],
    )


def test_numbers_are_those_of_the_library_and_know_where_they_are_from():
    cuts = product(("patches", "swapped", "reshape"), ("c p1 p2", "p1 p2 c"))
    views = [
        {"cut": cut, "order": order, "patch_size": size}
        for (cut, order), size in product(cuts, (SIZE, 10))
    ]
    pixels = np.arange(HEIGHT * WIDTH)
    places = np.arange(3 * HEIGHT * WIDTH).reshape(HEIGHT, WIDTH, 3)
    for view, found in zip(views, shown(*views), strict=True):
        how = view["patch_size"], view["order"], view["cut"]
        rows = sequence(make_image(), *how)
        origin = sequence(places, *how)
        at = found["patch"]
        assert at == min(8, len(rows) - 1)
        np.testing.assert_array_equal(found["all"], rows.ravel())
        np.testing.assert_array_equal(found["numbers"], rows[at])
        np.testing.assert_array_equal(found["channels"], origin[at] % 3)
        scattered = np.isin(pixels, origin[at] // 3) & (how[2] != "patches")
        np.testing.assert_array_equal(
            sorted(found["scattered"]), np.flatnonzero(scattered)
        )
        assert found["places"] == [*range(rows.shape[1])]
        # What the numbers are taken for: line, pixel, colour.
        sizes = (3, how[0], how[0]), (how[0], how[0], 3)
        if how[1] == "c p1 p2":
            c, p1, p2 = np.unravel_index(found["places"], sizes[0])
        else:
            p1, p2, c = np.unravel_index(found["places"], sizes[1])
        np.testing.assert_array_equal(
            found["parts"], np.stack([p1, p2, c], axis=1)
        )
        red_green_blue = ("red", "green", "blue").index(found["channel"])
        place = found["pixelRow"], found["pixelColumn"], red_green_blue
        assert places[place] == origin[at, 101]
        assert found["value"] == make_image()[place]
        assert found["tiles"] == [
            [
                f"of-{channel}{' looked' * (n == 101)}",
                [n, rows[at, n], "RGB"[channel]],
            ]
            for n, channel in enumerate((origin[at] % 3)[96:108], start=96)
        ]


def test_the_reading_tells_where_a_number_is_from_and_what_is_left_over():
    well, swapped, border, looked = shown(
        {}, {"cut": "swapped"}, {"patch_size": 10}, {"under": 5}
    )
    value = make_image()[7, 24, 2]
    assert well["said"]["reading"] == (
        f"3 {TIMES} 5 = 15 patches of 7 {TIMES} 7 {TIMES} 3 = 147 numbers. "
        "Patch 8 is row 1, column 3. Its number 101 is blue of its pixel in "
        f"row 0, column 3: {value}."
    )
    value = make_image()[0 * 3 + 1, 3 * 5 + 3, 2]
    assert swapped["said"]["reading"].endswith(
        f" It is blue of the photograph's pixel in row 1, column 18: {value}."
    )
    note = swapped["said"]["photograph"]["note"]
    assert note.startswith("Yellow: the 49 pixels that patch 8 is")
    assert border["said"]["reading"].endswith(
        f" 10 does not divide 21 {TIMES} 35: the last 1 of 21 pixel rows and "
        "the last 5 of 35 pixel columns are in no patch."
    )
    assert "number 5 is red" in looked["said"]["reading"]
    assert [looked["isQuiet"], well["isQuiet"]] == [True, False]
