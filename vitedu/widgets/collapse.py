"""A student and its teacher, trained in the page until they agree."""

from typing import Any

import traitlets

from vitedu.widgets.base import Explorer, Flag, Integer, Number

MAX_STEPS = 200
TEMPERATURES = (0.02, 0.05, 0.07, 0.1, 0.2, 1.0)
MOMENTA = (0.0, 0.5, 0.9, 0.98, 0.99, 0.999)


class Collapse(Explorer):
    """Three students learn from their teachers, on points of the plane.

    The page computes all of it: initial weights, views, forward and backward
    pass, and the steps of `SelfDistillation`. The student is a `GroupHead` of
    width 16 with six output dimensions. It sees 16 points per step, out of 120
    in four clusters; a view is a point with noise. The optimiser is gradient
    descent with a learning rate of 0.5. The three runs differ in their seed;
    the same settings always give the same runs.

    After 200 steps, of the 20 runs with seeds 1 to 20, with the other settings
    as given below:

    - centred and sharpened, all 20 tell points apart;
    - not centred, 19 give one dimension to all points, and 1 tells them apart;
    - not sharpened (0.1), all 20 have uniform outputs;
    - with neither, 12 have the same mixture for all points, and 8 one
      dimension;
    - with a momentum of 0, 11 give one dimension to all points, and 9 have the
      same mixture.

    Args:
        centring: Whether the teacher's scores are centred.
        teacher_temperature: Divides the teacher's scores, one of
            `TEMPERATURES`; the student's temperature is 0.1.
        momentum: Fraction of itself that the teacher keeps in each step, one
            of `MOMENTA`.
        seed: Seed of the first run, in [0, 9999]; the others have the next
            two.
        step: Steps that are shown, in [0, 200].

    Raises:
        TypeError: An argument of the wrong type, or one that is unknown.
        ValueError: A number outside its range, or one that is not offered.
    """

    files = "collapse"
    remembers = (
        "centring",
        "teacher_temperature",
        "momentum",
        "seed",
        "step",
    )

    centring = Flag(True)
    teacher_temperature = Number(0.05, low=0.02, high=1.0)
    momentum = Number(0.98, low=0.0, high=0.999)
    seed = Integer(1, low=0, high=9999)
    step = Integer(100, low=0, high=MAX_STEPS)

    def _offered(self) -> dict[str, dict[str, Any]]:
        return {
            "teacher_temperature": {"options": list(TEMPERATURES)},
            "momentum": {"options": list(MOMENTA)},
        }

    @traitlets.validate("teacher_temperature", "momentum")
    def _check_offered(self, proposal: Any) -> float:
        name, value = proposal["trait"].name, proposal["value"]
        offered = MOMENTA if name == "momentum" else TEMPERATURES
        if value not in offered:
            raise ValueError(f"{name} must be one of {offered}, got {value}")
        return value
