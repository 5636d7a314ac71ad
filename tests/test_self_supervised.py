"""Without labels: what cannot be seen, what follows what, and the data."""

import pytest
import torch
import torch.nn.functional as F
from helpers import assert_all_close, draw, gradients, refuses
from torch import nn

from vitedu.config import ViTConfig
from vitedu.data.augmentation import random_crops
from vitedu.data.captions import (
    WORDS,
    captions,
    encode_captions,
    mirrored_scenes,
    paint_scenes,
    scenes,
)
from vitedu.data.digits import digits
from vitedu.objectives.contrastive import (
    ImagesAndCaptions,
)
from vitedu.objectives.masked_autoencoder import (
    MaskedAutoencoder,
    random_hidden,
)
from vitedu.objectives.self_distillation import GroupHead, SelfDistillation
from vitedu.patches import patchify
from vitedu.training.descent import minimise

SIZES = {
    "image_size": (6, 9),
    "patch_size": 3,
    "num_channels": 2,
    "num_classes": 0,
    "d_model": 12,
    "num_layers": 2,
    "num_heads": 3,
    "d_ff": 7,
}


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def make_mae(normalise=False, **changes):
    torch.manual_seed(0)
    config = ViTConfig(**(SIZES | changes))
    model = MaskedAutoencoder(
        config, decoder_width=8, normalise_patches=normalise
    )
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.5)
    return model.double().eval()


IMAGES = draw(4, 2, 6, 9)
HIDDEN = random_hidden(4, 6, 0.5, generator=seeded())
IN_PIXELS = F.interpolate(
    HIDDEN.view(4, 1, 2, 3).double(), scale_factor=3
).expand(4, 2, 6, 9)

each_kind = pytest.mark.parametrize(
    "changes",
    [
        {},
        {"pool": "mean", "positions": "sinusoidal"},
        {"num_registers": 2, "distilled": True},
        {"norm": "rms", "activation": "swiglu", "num_kv_heads": 1},
        {"pool_norm": "after", "layer_scale": 0.5, "qk_norm": True},
    ],
    ids=str,
)


@each_kind
def test_what_is_hidden_cannot_influence_a_guess(changes):
    model = make_mae(**changes)
    changed = IMAGES + IN_PIXELS * draw(4, 2, 6, 9, seed=1)
    guesses, by_pixel = gradients(lambda x: model(x, HIDDEN), IMAGES)
    assert_all_close((model(changed, HIDDEN),), (guesses,), 0)
    assert not (by_pixel * IN_PIXELS).any()
    # Of what is seen, every pixel tells.
    assert ((by_pixel != 0) == (IN_PIXELS == 0)).all()


def test_the_order_of_the_seen_does_not_matter():
    model = make_mae()
    seen = (~HIDDEN).nonzero()[:, 1].view(4, 3, 1)
    turned = seen[:, [2, 0, 1]]
    found = model.decode(model.encode(IMAGES, turned), turned)
    assert_all_close((found,), (model(IMAGES, HIDDEN),))
    first = model.encode(IMAGES, seen)
    assert first.shape == (4, 4, 12)
    assert_all_close(
        (model.encode(IMAGES, turned)[:, 1:],), (first[:, [3, 1, 2]],)
    )


def test_filling_in_keeps_what_is_seen():
    model = make_mae()
    filled = model.fill_in(IMAGES, HIDDEN)
    assert_all_close(
        (filled * (1 - IN_PIXELS),), (IMAGES * (1 - IN_PIXELS),), 0
    )
    assert_all_close(
        (patchify(filled, 3)[HIDDEN],), (model(IMAGES, HIDDEN)[HIDDEN],), 0
    )
    with refuses(ValueError, "normalise_patches must be False"):
        make_mae(normalise=True).fill_in(IMAGES, HIDDEN)


def make_pair(**options):
    torch.manual_seed(0)
    student = nn.Sequential(nn.Flatten(), nn.Linear(4, 3))
    return SelfDistillation(student, 3, **options).double()


VIEWS = [draw(5, 1, 2, 2, seed=seed) for seed in range(3)]


@pytest.mark.parametrize("momentum", [0.0, 0.3, 0.9, 1.0])
def test_the_teacher_moves_exactly_as_said(momentum):
    model = make_pair(momentum=momentum, centre_momentum=momentum)
    with torch.no_grad():
        for parameter in model.student.parameters():
            parameter += draw(*parameter.shape)
    old = [x.clone() for x in model.teacher.parameters()]
    new = [x.clone() for x in model.student.parameters()]
    answers = torch.cat([model.teacher(view) for view in VIEWS]).mean(dim=0)
    model(VIEWS).backward()
    model.follow()
    expected = [
        momentum * a + (1 - momentum) * b
        for a, b in zip(old, new, strict=True)
    ]
    assert_all_close(tuple(model.teacher.parameters()), tuple(expected))
    assert_all_close(tuple(model.student.parameters()), tuple(new), 0)
    assert_all_close((model.centre,), ((1 - momentum) * answers.detach(),))
    if momentum in (0, 1):
        expected = old if momentum else new
        assert_all_close(tuple(model.teacher.parameters()), tuple(expected), 0)


def test_the_student_alone_gets_gradients():
    model = make_pair()
    model(VIEWS).backward()
    assert all(x.grad is None for x in model.teacher.parameters())
    assert all(x.grad.abs().sum() > 0 for x in model.student.parameters())
    assert not any(x.requires_grad for x in model.teacher.parameters())
    assert model.teacher is not model.student


def test_pairs_of_two_different_views_count():
    model = make_pair(student_temperature=0.5, teacher_temperature=0.25)
    model.centre.copy_(draw(3))
    losses = []
    for i, taught in enumerate(VIEWS):
        for j, said in enumerate(VIEWS):
            if i != j:
                shares = model.targets(model.teacher(taught))
                logs = F.log_softmax(model.student(said) / 0.5, dim=1)
                losses.append(-(shares * logs).sum(dim=1).mean())
    assert len(losses) == 6
    assert_all_close((model(VIEWS),), (sum(losses) / 6,))


def test_the_centre_is_saved_with_the_weights():
    model = make_pair()
    model(VIEWS)
    model.follow()
    other = make_pair()
    other.load_state_dict(model.state_dict())
    assert_all_close((other.centre,), (model.centre,), 0)
    assert model.centre.any()


def test_the_head_returns_cosines():
    torch.manual_seed(0)
    head = GroupHead(6, 5, d_hidden=8).double()
    features = draw(7, 6)
    directions = head[-1].weight
    hidden = head[2](head[1](head[0](features)))
    for row, scores in zip(hidden, head(features), strict=True):
        for direction, score in zip(directions, scores, strict=True):
            cosine = row @ direction / row.norm() / direction.norm()
            assert score.item() == pytest.approx(cosine.item())
    with torch.no_grad():
        before = head(features)
        directions *= 3
        assert_all_close((head(features),), (before,))


def make_two(**options):
    torch.manual_seed(0)
    changes = options.pop("config", {})
    return (
        ImagesAndCaptions(
            ViTConfig(**(SIZES | changes)),
            vocab_size=len(WORDS),
            max_len=9,
            width=8,
            **options,
        )
        .double()
        .eval()
    )


IDS = encode_captions(captions(torch.tensor([[3, 7, 1], [1, 2, 0]])))


@pytest.mark.parametrize(
    "changes", [{}, {"norm": "rms", "qk_norm": True}, {"norm_first": False}]
)
def test_padding_changes_nothing(changes):
    model = make_two(config=changes)
    with torch.no_grad():
        model.words.weight[0] = 7  # whatever stands in the row of padding
    alone = torch.cat(
        [model.encode_captions(row[row != 0][None]) for row in IDS]
    )
    assert_all_close((model.encode_captions(IDS),), (alone,))
    longer = F.pad(IDS, (0, 3))
    assert_all_close((model.encode_captions(longer),), (alone,))
    with refuses(ValueError, "ids must have its padding, 0, behind the"):
        model.encode_captions(F.pad(IDS, (1, 2)))


@pytest.mark.parametrize("bias", [None, -3.0])
@pytest.mark.parametrize("config", [{}, {"representation_size": 5}])
def test_similarities_are_cosines_scaled(bias, config):
    model = make_two(start_scale=4.0, start_bias=bias, config=config)
    images = IMAGES[:3]
    one, other = model.encode_images(images), model.encode_captions(IDS)
    assert_all_close((one.norm(dim=1),), (torch.ones(3).double(),))
    assert_all_close((other.norm(dim=1),), (torch.ones(2).double(),))
    found = model(images, IDS)
    assert found.shape == (3, 2)
    for i in range(3):
        for j in range(2):
            expected = 4 * (one[i] @ other[j]).item() + (bias or 0)
            assert found[i, j].item() == pytest.approx(expected, abs=1e-5)
    assert ("bias" in dict(model.named_parameters())) == (bias is not None)


def test_unseen_pairs_are_never_seen():
    seen, unseen = scenes(), scenes(unseen=True)
    assert (len(seen), len(unseen)) == (144, 36)

    def pairs(rows):
        return {frozenset(row[:2]) for row in rows.tolist()}

    assert len(pairs(unseen)) == 9
    assert not pairs(seen) & pairs(unseen)
    everything = torch.cat([seen, unseen])
    assert len(everything.unique(dim=0)) == 180
    assert (everything[:, 0] != everything[:, 1]).all()
    # Each digit is seen in each place, with each relation, as often.
    for column in (0, 1):
        for relation in (0, 1):
            digit = seen[seen[:, 2] == relation, column]
            counts = digit.bincount(minlength=10)
            assert counts.min() >= 7
            assert counts.sum() == 72


def test_both_wordings_say_the_same():
    everything = torch.cat([scenes(), scenes(unseen=True)])
    first = captions(everything)
    second = captions(everything, from_second=True)
    assert len({*first, *second}) == 360
    other = {"left": "right", "right": "left", "above": "below"}
    for one, two in zip(first, second, strict=True):
        a, digit, *relation, b, rest = one.split()
        turned = [other.get(word, word) for word in relation]
        assert two == " ".join([a, rest, *turned, b, digit])
    # Mirrored, it is another scene, and said in the words of the first.
    swapped = captions(mirrored_scenes(everything))
    assert not {*swapped[::2]} & {*second}
    assert torch.equal(
        mirrored_scenes(mirrored_scenes(everything)), everything
    )
    for one, two in zip(first, swapped, strict=True):
        assert one.split()[1] == two.split()[-1]
        assert one.split()[2:-2] == two.split()[2:-2]


DATA = digits()


def stamps(part):
    """Return the images of a part and their labels."""
    images = getattr(DATA, f"{part}_images")
    return DATA.pixels(images)[:, 0].clamp(0, 1), getattr(
        DATA, f"{part}_labels"
    )


def found_at(image, part):
    """Find the digits of a part in an image: (row, column, label) each."""
    images, labels = stamps(part)
    squares = image.unfold(0, 8, 1).unfold(1, 8, 1).flatten(2)
    apart = torch.cdist(
        squares.flatten(0, 1),
        images.flatten(1),
        compute_mode="donot_use_mm_for_euclid_dist",
    )
    return [
        (*divmod(square, 13), labels[stamp].item())
        for square, stamp in (apart < 1e-4).nonzero().tolist()
    ]


@pytest.mark.parametrize("part", ["train", "test"])
def test_digits_stand_where_the_caption_says(part):
    drawn = scenes()[::7]
    other = "test" if part == "train" else "train"
    images = paint_scenes(drawn, part=part, generator=seeded())
    assert images.shape == (len(drawn), 1, 20, 20)
    assert images.min() >= 0
    assert images.max() <= 1
    for (first, second, relation), image in zip(
        drawn.tolist(), images[:, 0], strict=True
    ):
        places = {label: (y, x) for y, x, label in found_at(image, part)}
        assert places.keys() == {first, second}
        (y, x), (v, u) = places[first], places[second]
        along, across = (v - y, u - x) if relation else (u - x, v - y)
        assert 8 <= along <= 12
        assert abs(across) <= 4
        assert found_at(image, other) == []
        # Nothing else is there.
        total = image.sum()
        inked = image[y : y + 8, x : x + 8].sum()
        inked = inked + image[v : v + 8, u : u + 8].sum()
        assert inked.item() == pytest.approx(total.item(), abs=1e-3)


PICTURES = draw(6, 3, 11, 17, seed=4)


def slopes(height, width, count=4000, **options):
    """Cut parts out of slopes; return their sides, as shares, too."""
    across = ((torch.arange(width) + 0.5) / width).expand(height, width)
    down = ((torch.arange(height) + 0.5) / height)[:, None]
    image = torch.stack([across, down.expand(height, width)])
    found = random_crops(
        image.expand(count, 2, height, width), generator=seeded(), **options
    ).double()
    # In the middle no border is near.
    y, x = height // 2, width // 2
    wide = (found[:, 0, y, x + 1] - found[:, 0, y, x - 1]) / 2 * width
    high = (found[:, 1, y + 1, x] - found[:, 1, y - 1, x]) / 2 * height
    return wide, high, found


@pytest.mark.parametrize("mirror", [False, True])
def test_a_part_is_what_the_formula_cuts_out(mirror):
    """Read where the part is off a slope; interpolate pixel by pixel."""
    height, width = 8, 8
    wide, high, found = slopes(height, width, count=12, mirror=mirror)
    image = draw(1, height, width, seed=7).float()
    cut = random_crops(
        image.expand(12, 1, height, width), mirror=mirror, generator=seeded()
    )
    for n in range(12):
        middle = found[n, :, 4, 4]
        for y in range(height):
            for x in range(width):
                # Where the centre of this pixel lies, in pixels.
                v = (middle[1] + high[n] * (y - 4) / height) * height - 0.5
                u = (middle[0] + wide[n] * (x - 4) / width) * width - 0.5
                v, u = v.clamp(0, height - 1), u.clamp(0, width - 1)
                top, left = int(v), int(u)
                down = min(top + 1, height - 1)
                right = min(left + 1, width - 1)
                a, b = (v - top).item(), (u - left).item()
                pixels = image[0]
                expected = (
                    (1 - a) * (1 - b) * pixels[top, left]
                    + (1 - a) * b * pixels[top, right]
                    + a * (1 - b) * pixels[down, left]
                    + a * b * pixels[down, right]
                )
                assert cut[n, 0, y, x].item() == pytest.approx(
                    expected.item(), abs=1e-4
                )


def make_line():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.1), nn.Linear(4, 1))


def run(steps=30, **options):
    model = make_line()
    inputs = draw(16, 3).float()
    targets = inputs.sum(dim=1, keepdim=True)
    torch.manual_seed(1)
    losses = minimise(
        model,
        lambda step: F.mse_loss(model(inputs), targets),
        steps,
        learning_rate=0.05,
        **options,
    )
    return model, losses


def test_descending_lowers_the_loss():
    model, losses = run(60)
    assert len(losses) == 60
    assert losses[-1] < 0.3 * losses[0]
    assert not model.training
    again, same = run(60)
    assert same == losses
    assert_all_close(tuple(again.parameters()), tuple(model.parameters()), 0)


def test_a_step_is_that_of_the_recipe():
    """The first one: Adam's is as long as the rate, which begins at 1/25."""
    model = nn.Linear(1, 1, bias=False)
    with torch.no_grad():
        model.weight.fill_(2.0)
    weights = []
    minimise(
        model,
        lambda step: 100 * model.weight.sum(),
        10,
        learning_rate=0.1,
        weight_decay=0.5,
        after=lambda step: weights.append(model.weight.item()),
    )
    rate = 0.1 / 25
    assert weights[0] == pytest.approx(2 - rate * 0.5 * 2 - rate, abs=1e-5)
    assert weights[1] - weights[2] > 5 * (2 - weights[0])
