"""The numbers of the explorer CLASS, against Python."""

import pytest
from javascript import run


@pytest.mark.parametrize("number", range(11))
def test_the_square_is_that_of_python(number):
    # TODO: against the library, in numbers.
    found = run("NAME_maths", "readings(number)", number=number)
    assert found == {"number": number, "square": number**2}
