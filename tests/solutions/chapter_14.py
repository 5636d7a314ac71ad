"""Other solutions of the exercises of chapter 14."""

from unittest import mock

import torch

from vitedu.layers import DropPath


def unfolded(images, p):
    """Cut with the function that convolutions are made of."""
    columns = torch.nn.functional.unfold(images, p, stride=p)
    by_channel = columns.unflatten(1, (images.shape[1], p * p))
    return by_channel.permute(0, 3, 2, 1).flatten(2)


def library(branch, draws, rate):
    """Solve it with the library, which makes its draws by `torch.rand`."""
    with mock.patch("torch.rand", lambda shape, device: draws.view(shape)):
        return DropPath(rate).train()(branch)


def every_batch(model, batches, optimizer, evaluate, epochs):
    """Switch dropout on for each batch, and forget gradients by hand."""

    def one_epoch():
        for images, labels in batches:
            logits = model.train()(images)
            chosen = logits.log_softmax(dim=-1)[range(len(labels)), labels]
            (-chosen.mean()).backward()
            optimizer.step()
            for parameter in model.parameters():
                parameter.grad = None
        return evaluate(model)

    return [one_epoch() for _ in range(epochs)]


SOLUTIONS = {
    "14.2": unfolded,
    "14.4": library,
    "14.6": every_batch,
}
