"""Pictures of explorers, made small."""

import io

from PIL import Image

from tools import stills

RED = (179, 38, 30)


def test_a_thin_red_line_stays_red_in_a_picture_of_few_colours():
    image = Image.new("RGB", (400, 400))
    image.putdata(
        [
            (x // 2, y // 2, (x + y) // 4) if x < 399 else RED
            for y in range(400)
            for x in range(400)
        ]
    )
    png = io.BytesIO()
    image.save(png, "PNG")
    small = Image.open(io.BytesIO(stills.reduced(png.getvalue())))
    assert len(small.getcolors()) <= stills.COLOURS
    line = small.convert("RGB").getpixel((399, 200))
    assert max(abs(a - b) for a, b in zip(line, RED, strict=True)) < 8
