"""Which cause made which curve: verdicts on pairs."""

from vitedu.judging import Verdict


def judge_pairs(
    answer: object,
    right: dict[str, str],
    why: str,
    makes: dict[str, str],
    seen: dict[str, str],
) -> Verdict:
    """Judge which cause made which curve; say why a wrong one cannot have.

    One wrong pair is named at a time, so that the rest is not given away.

    Args:
        answer: What the reader says, letter of a curve -> name of a cause.
        right: The same, right.
        why: What to say about it.
        makes: Name of a cause -> the curve it makes.
        seen: Name of a cause -> what one sees in its curve.

    >>> right, makes = {"A": "up"}, {"down": "it falls.", "up": "it rises."}
    >>> judge_pairs({"A": "down"}, right, "yes.", makes, {"up": "Not here."})
    Not yet: A cannot be 'down': it falls. Not here.
    """
    if answer is None:
        return Verdict(False, "write your prediction into the cell first.")
    if not isinstance(answer, dict):
        return Verdict(False, f"a dictionary is asked for, not {answer!r}.")
    names = [answer.get(letter) for letter in right]
    for letter, name in zip(right, names, strict=True):
        if name is None:
            return Verdict(False, f"{letter} has no name yet.")
        if name not in list(makes):
            return Verdict(False, f"{letter}: {name!r} is not in the list.")
        if names.count(name) > 1:
            return Verdict(False, f"'{name}' is there twice.")
    for (letter, name), said in zip(right.items(), names, strict=True):
        if said != name:
            cannot = f"{letter} cannot be '{said}'"
            return Verdict(False, f"{cannot}: {makes[said]} {seen[name]}")
    return Verdict(True, why)
