"""The exercises of chapter NUMBER."""

import torch

from vitedu.book.grading import FunctionExercise, NumberExercise

X = torch.linspace(-1, 2, 15, dtype=torch.float64).reshape(3, 5)

# TODO: how many numbers a tensor of the shape (2, 3, 7) holds.
counted = NumberExercise(
    "NUMBER.1",
    "TODO: numbers in a tensor",
    hints=(
        "TODO: the thought that leads there.",
        "TODO: the step that is most often missed.",
    ),
    right=42,
    why="TODO: 2 * 3 * 7.",
    wrong={
        12: "TODO: that adds the sides; multiply them.",
        6: "TODO: that leaves out the last side.",
        14: "TODO: that leaves out the side in the middle.",
        21: "TODO: that leaves out the first side.",
    },
    tolerance=0,
)

# TODO: ``candidate(x)`` adds a tensor to itself.
doubled = FunctionExercise(
    "NUMBER.2",
    "TODO: twice a tensor",
    hints=(
        "TODO: the thought that leads there.",
        "TODO: the step that is most often missed.",
    ),
    right=lambda x: 2 * x,
    wrong={
        "TODO: you return x as it came.": lambda x: x,
        "TODO: you add 2; add x.": lambda x: x + 2,
        "TODO: you square; double.": lambda x: x * x,
        "TODO: you halve; double.": lambda x: x / 2,
    },
    cases={"three rows": (X,), "one row": (X[:1],)},
)
