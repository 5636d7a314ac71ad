"""Which inputs can reach an output, through which layers, at what price."""

from vitedu.widgets.base import Choice, Explorer, Integer

MOST_TOKENS = 64


class Reach(Explorer):
    """Four kinds of layers, and the tokens on which their outputs depend.

    Windows end at the token itself, and a recurrent layer reads from the
    first token to the last.

    Args:
        kind: "convolution", with windows of neighbours; "dilated
            convolution", whose layer i, counted from 0, reads every
            ``window**i``-th token; "recurrent"; "attention".
        num_tokens: Length of the sequence.
        window: Tokens that one token sees in a layer of either convolution.
        num_layers: Layers on top of one another.
        place: Which output is looked at, counted from 1; the last one, if
            there are fewer.
        d_model: Width of a token, for the count of operations.

    Raises:
        TypeError: An argument of the wrong type, or one that is unknown.
        ValueError: A number outside its range, or an unknown kind.
    """

    files = "reach"
    remembers = (
        "kind",
        "num_tokens",
        "window",
        "num_layers",
        "place",
        "d_model",
    )

    kind = Choice(
        "convolution", "dilated convolution", "recurrent", "attention"
    )
    num_tokens = Integer(25, low=2, high=MOST_TOKENS)
    window = Integer(3, low=2, high=9)
    num_layers = Integer(4, low=1, high=6)
    place = Integer(MOST_TOKENS, low=1, high=MOST_TOKENS)
    d_model = Integer(64, low=16, high=1024)
