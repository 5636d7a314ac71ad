"""A ring all-reduce, round by round, beside one process that collects."""

from typing import Any

import numpy as np
import traitlets

from vitedu.widgets.base import Array, Explorer, Integer

MOST = 8
# A row for each process; the first n numbers of the first n rows are used.
GRADIENTS = (
    (3, -1, 4, 2, -5, 1, 6, -2),
    (-2, 5, 1, -3, 4, 2, -1, 3),
    (6, 2, -4, 1, 3, -6, 5, 1),
    (1, -3, 2, 5, -1, 4, -2, 6),
    (-4, 6, 3, -2, 2, 5, 1, -1),
    (5, 1, -6, 4, 6, -3, 2, 2),
    (2, -5, 5, 3, 1, -1, 4, -4),
    (-1, 4, 2, -6, 5, 3, -3, 1),
)


class Ring(Explorer):
    """Processes sum their gradients, in a ring and through one of them.

    Each cuts its gradient into as many chunks as there are processes; here a
    chunk is one number.

    Args:
        gradients: Whole numbers from -99 to 99, (8, 8): a row for each
            process, of which the first `num_processes` numbers are used.
            They are fixed once the explorer is made.
        num_processes: How many there are.
        step: Completed rounds, out of 2 (num_processes - 1); the last, if
            there are fewer.

    Raises:
        TypeError: An argument of the wrong type, or one that is unknown.
        ValueError: A number outside its range, or a wrong shape.
    """

    files = "ring"
    remembers = ("num_processes", "step")

    gradients = Array("8 8", dtype="int32", default=GRADIENTS)
    num_processes = Integer(4, low=2, high=MOST)
    step = Integer(3, low=0, high=2 * (MOST - 1))

    @traitlets.validate("gradients")
    def _check_gradients(self, proposal: Any) -> np.ndarray:
        gradients = self._only_once(proposal)
        if abs(gradients).max() > 99:
            raise ValueError(
                "gradients must lie in [-99, 99], got "
                f"{gradients.min()} to {gradients.max()}"
            )
        return gradients
