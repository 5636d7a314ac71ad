"""Without labels: what cannot be seen, what follows what, and the data."""

import math

import pytest
import torch
import torch.nn.functional as F
from helpers import assert_all_close, draw, gradients, refuses
from torch import nn

from vitedu.config import ViTConfig
from vitedu.data.augmentation import random_crops
from vitedu.data.captions import (
    MAX_WORDS,
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
    clip_loss,
    siglip_loss,
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


def test_only_as_a_target_does_a_hidden_pixel_enter_the_loss():
    model = make_mae()
    _, by_pixel = gradients(lambda x: model.loss(x, HIDDEN), IMAGES)
    errors = model.targets(IMAGES) - model(IMAGES, HIDDEN)
    upstream = draw(seed=99)
    expected = 2 * errors[HIDDEN] / errors[HIDDEN].numel() * upstream
    assert_all_close((patchify(by_pixel, 3)[HIDDEN],), (expected,))


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


def test_nothing_hidden_is_what_the_encoder_says_of_whole_images():
    model = make_mae()
    everything = torch.arange(6).view(1, 6, 1).expand(4, 6, 1)
    assert_all_close(
        (model.encode(IMAGES, everything),),
        (model.encoder.forward_features(IMAGES),),
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


def test_targets_are_pixels_or_what_is_left_of_them():
    assert_all_close((make_mae().targets(IMAGES),), (patchify(IMAGES, 3),), 0)
    targets = make_mae(normalise=True).targets(IMAGES)
    assert_all_close((targets.mean(-1),), (torch.zeros(4, 6).double(),))
    assert_all_close((targets.std(-1),), (torch.ones(4, 6).double(),), 1e-5)
    flat = torch.full((1, 2, 6, 9), 0.7).double()
    assert make_mae(normalise=True).targets(flat).abs().max() < 1e-9


@pytest.mark.parametrize(
    ("hidden", "message"),
    [
        (
            HIDDEN[:, :5],
            "must have (batch, patch) = (4, 6), got (4, 5)",
        ),
        (HIDDEN[:2], "must have (batch, patch) = (4, 6), got (2, 6)"),
        (HIDDEN & False, "1 to 5, got [0]"),
        (HIDDEN | True, "1 to 5, got [6]"),
        (torch.ones(4, 6).tril(1).bool(), "1 to 5, got [2, 3, 4, 5]"),
    ],
)
def test_equally_many_are_hidden(hidden, message):
    with refuses(ValueError, message):
        make_mae()(IMAGES, hidden)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_classes": 3}, "config must have num_classes=0"),
        ({"positions": "none"}, "config must have positions='learned' or"),
        ({"positions": "rotary", "d_model": 24}, "got 'rotary'"),
        ({"any_image_size": True}, "config must have any_image_size=False"),
    ],
)
def test_an_encoder_that_does_not_fit_is_refused(changes, message):
    with refuses(ValueError, message):
        MaskedAutoencoder(ViTConfig(**(SIZES | changes)))


@pytest.mark.parametrize(
    ("patches", "share", "count"),
    [(16, 0.75, 12), (8, 0.3, 2), (9, 0.0, 1), (2, 0.99, 1), (10, 0.99, 9)],
)
def test_equally_many_are_drawn_in_each_image(patches, share, count):
    hidden = random_hidden(50, patches, share, generator=seeded(3))
    assert hidden.dtype == torch.bool
    assert hidden.sum(dim=1).tolist() == [count] * 50
    again = random_hidden(50, patches, share, generator=seeded(3))
    assert torch.equal(hidden, again)
    other = random_hidden(50, patches, share, generator=seeded(4))
    assert not torch.equal(hidden, other)


def test_every_patch_is_hidden_as_often():
    hidden = random_hidden(4000, 8, 0.75, generator=seeded())
    assert (hidden.double().mean(dim=0) - 0.75).abs().max() < 0.03
    # Images are drawn one by one: few of the 28 choices are alike.
    assert len(hidden.unique(dim=0)) == 28


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


def test_a_second_step_follows_from_the_first():
    model = make_pair(momentum=0.9, centre_momentum=0.6)
    centre = torch.zeros(3).double()
    for _ in range(2):
        model(VIEWS)
        said = torch.cat([model.teacher(view) for view in VIEWS]).detach()
        centre = 0.6 * centre + 0.4 * said.mean(dim=0)
        model.follow()
    assert_all_close((model.centre,), (centre,))


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


def test_targets_are_centred_and_sharpened():
    model = make_pair(teacher_temperature=0.1)
    scores = torch.tensor([[0.5, 0.2, 0.0], [0.6, 0.1, 0.1]]).double()
    expected = (scores / 0.1).softmax(dim=1)
    assert_all_close((model.targets(scores),), (expected,))
    # What all images share goes, so that the first group no longer wins.
    model.centre.copy_(scores.mean(dim=0))
    centred = model.targets(scores)
    assert expected.argmax(dim=1).tolist() == [0, 0]
    assert centred.argmax(dim=1).tolist() == [1, 0]
    # The colder, the surer; a common shift of the scores changes nothing.
    warm = make_pair(teacher_temperature=1.0).targets(scores)
    assert (expected.amax(dim=1) > warm.amax(dim=1)).all()
    assert_all_close((model.targets(scores + 3),), (centred,), 1e-9)


def test_without_a_centre_it_stays_at_zero():
    model = make_pair(centre_momentum=1)
    model(VIEWS)
    model.follow()
    assert_all_close((model.centre,), (torch.zeros(3).double(),), 0)


def test_following_needs_something_to_follow():
    with pytest.raises(RuntimeError, match="must come after a call"):
        make_pair().follow()


def test_the_centre_is_saved_with_the_weights():
    model = make_pair()
    model(VIEWS)
    model.follow()
    other = make_pair()
    other.load_state_dict(model.state_dict())
    assert_all_close((other.centre,), (model.centre,), 0)
    assert model.centre.any()


@pytest.mark.parametrize(
    ("views", "message"),
    [
        (VIEWS[:1], "views must be at least 2, got 1"),
        ([VIEWS[0], VIEWS[1][:2]], "views must show the same images, got 5"),
        ([VIEWS[0], VIEWS[1][0]], "views[1] must have the axes"),
        ([VIEWS[0][:0]] * 2, "views must show an image, got none"),
    ],
)
def test_views_that_do_not_fit_are_refused(views, message):
    with refuses(ValueError, message):
        make_pair()(views)


def test_a_student_with_other_groups_is_refused():
    model = SelfDistillation(nn.Sequential(nn.Flatten(), nn.Linear(4, 3)), 5)
    views = [view.float() for view in VIEWS]
    with refuses(ValueError, "scores of the student must be of num_groups"):
        model(views)


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


def test_clip_counts_rows_and_columns():
    similarities = draw(4, 4)
    rows = -similarities.log_softmax(dim=1).diagonal().mean()
    columns = -similarities.log_softmax(dim=0).diagonal().mean()
    assert abs(rows - columns) > 0.01
    assert_all_close((clip_loss(similarities),), ((rows + columns) / 2,))
    assert_all_close((clip_loss(similarities.mT),), ((rows + columns) / 2,))


def test_each_entry_of_siglip_is_by_itself():
    similarities = draw(4, 4)
    entries = torch.zeros(())
    for i in range(4):
        for j in range(4):
            sign = 1 if i == j else -1
            entries = entries + math.log1p(
                math.exp(-sign * similarities[i, j].item())
            )
    assert siglip_loss(similarities).item() == pytest.approx(
        entries.item() / 4, abs=1e-6
    )
    _, before = gradients(siglip_loss, similarities)
    other = similarities.clone()
    other[1, 2] += 5
    _, after = gradients(siglip_loss, other)
    changed = before != after
    assert changed.nonzero().tolist() == [[1, 2]]
    # CLIP's questions share sums: a row and a column change.
    _, before = gradients(clip_loss, similarities)
    _, after = gradients(clip_loss, other)
    assert (before != after).sum() == 7


@pytest.mark.parametrize("loss", [clip_loss, siglip_loss])
def test_pairs_are_in_a_square(loss):
    assert loss(torch.full((1, 1), 20.0)) < 1e-6
    for shape in [(2, 3), (0, 0)]:
        with refuses(ValueError, "similarities must be square"):
            loss(torch.ones(shape))


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


def test_the_order_of_words_counts():
    model = make_two()
    said = ["a one left of a two", "a two left of a one"]
    one, other = model.encode_captions(encode_captions(said))
    assert (one - other).abs().max() > 0.01


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


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (IDS * 0, "ids must hold a word in each row, got none"),
        (F.pad(IDS, (0, 4)), "ids must be at most 9 words, got 10"),
        (IDS + 9, "ids must lie in 0 to 16, got"),
    ],
)
def test_captions_that_do_not_fit_are_refused(ids, message):
    with refuses(ValueError, message):
        make_two().encode_captions(ids)


def test_two_encoders_take_no_head():
    for changes in ({"num_classes": 2}, {"distilled": True}):
        with refuses(ValueError, "image_config must have"):
            make_two(config=changes)


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


def test_words_are_numbers_and_back():
    everything = torch.cat([scenes(), scenes(unseen=True)])
    said = captions(everything) + captions(everything, from_second=True)
    ids = encode_captions(said)
    assert ids.shape == (360, MAX_WORDS)
    back = [" ".join(WORDS[i] for i in row if i) for row in ids.tolist()]
    assert back == said
    assert {*ids.flatten().tolist()} == {*range(len(WORDS))}
    for wrong, message in (
        (
            ["a one beside a two"],
            "must hold words of WORDS, got 'beside'",
        ),
        (["a a a a a a a"], "said must hold sentences of 1 to 6 words"),
        ([" "], "said must hold sentences of 1 to 6 words"),
        ([], "said must hold a sentence, got none"),
    ):
        with refuses(ValueError, message):
            encode_captions(wrong)


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


def test_the_second_digit_is_in_the_second_half():
    drawn = torch.tensor([[3, 8, 0]]).repeat(300, 1)
    images = paint_scenes(drawn, generator=seeded())[:, 0]
    down = paint_scenes(drawn + torch.tensor([0, 0, 1]), generator=seeded())[
        :, 0
    ]
    alone = [stamps("train")[0][stamps("train")[1] == x] for x in (3, 8)]
    ink = alone[1].sum((1, 2)).mean()
    for halves in (images[:, :, 10:], down[:, 10:]):
        # Of the first digit only a border may reach over.
        assert (halves.sum((1, 2)).mean() / ink - 1).abs() < 0.1
        assert (halves.sum((1, 2)) > 0.5 * ink).all()
    # Both stand everywhere that is allowed: 12 columns before the last.
    first = (images.sum(1) > 0).int().argmax(dim=1)
    assert len(first.unique()) >= 5


def test_the_generator_decides_what_is_painted():
    drawn = scenes()[:20]
    images = paint_scenes(drawn, generator=seeded(1))
    assert torch.equal(images, paint_scenes(drawn, generator=seeded(1)))
    assert not torch.equal(images, paint_scenes(drawn, generator=seeded(2)))
    torch.manual_seed(5)
    images = paint_scenes(drawn)
    assert not torch.equal(images, paint_scenes(drawn))
    torch.manual_seed(5)
    assert torch.equal(images, paint_scenes(drawn))


def test_every_image_of_a_digit_is_used():
    drawn = torch.tensor([[4, 1, 0]]).repeat(400, 1)
    images = paint_scenes(drawn, part="test", generator=seeded())[:, 0]
    squares = images.unfold(1, 8, 1).unfold(2, 8, 1).flatten(3).flatten(0, 2)
    pixels, labels = stamps("test")
    for digit in (4, 1):
        apart = (squares @ pixels[labels == digit].flatten(1).T * -2).add(
            squares.square().sum(1, keepdim=True)
        ) + pixels[labels == digit].square().sum((1, 2))
        assert (apart < 1e-3).any(dim=0).all()


@pytest.mark.parametrize(
    ("drawn", "message"),
    [
        ([[3, 3, 0]], "drawn must hold two different digits, got one twice"),
        ([[3, 10, 0]], "a relation, 0 or 1, got [3, 10, 0] to [3, 10, 0]"),
        ([[3, 4, 2]], "drawn must hold two digits, 0 to 9"),
        ([[-1, 4, 1]], "drawn must hold two digits, 0 to 9"),
        ([[3, 4]], "drawn must have (scene, 3) axes"),
    ],
)
@pytest.mark.parametrize("function", [paint_scenes, captions, mirrored_scenes])
def test_scenes_that_are_none_are_refused(function, drawn, message):
    with refuses(ValueError, message):
        function(torch.tensor(drawn))


PICTURES = draw(6, 3, 11, 17, seed=4)


def test_the_whole_image_is_a_part_of_it():
    found = random_crops(PICTURES, least=1, mirror=False)
    assert_all_close((found,), (PICTURES,), 1e-5)
    turned = random_crops(PICTURES, least=1, generator=seeded())
    flipped = [
        (image - picture.flip(-1)).abs().max() < 1e-5
        for image, picture in zip(turned, PICTURES, strict=True)
    ]
    same = [
        (image - picture).abs().max() < 1e-5
        for image, picture in zip(turned, PICTURES, strict=True)
    ]
    assert 0 < sum(flipped) < 6
    assert [not x for x in same] == flipped


@pytest.mark.parametrize("shape", [(2, 1, 20, 20), (1, 3, 5, 9), (3, 2, 9, 1)])
def test_parts_have_the_size_of_the_image(shape):
    images = draw(*shape).float()
    found = random_crops(images, generator=seeded(2))
    assert found.shape == shape
    assert found.dtype == torch.float32
    assert found.min() >= images.min() - 1e-5
    assert found.max() <= images.max() + 1e-5
    again = random_crops(images, generator=seeded(2))
    assert torch.equal(found, again)
    images = torch.full(shape, 0.3)
    assert_all_close((random_crops(images),), (images,), 1e-6)


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


@pytest.mark.parametrize(("height", "width"), [(20, 20), (18, 20), (10, 40)])
def test_parts_have_their_shares(height, width):
    wide, high, _ = slopes(height, width, least=0.4)
    areas, shapes = wide.abs() * high, wide.abs() * width / (high * height)
    assert wide.abs().max() < 1 + 1e-4
    assert high.max() < 1 + 1e-4
    assert 0.4 - 1e-3 < areas.min() < 0.42
    assert 0.98 < areas.max() < 1 + 1e-3
    assert abs(areas.mean() - 0.7) < 0.02
    assert abs(((areas - 0.4) / 0.6).var() - 1 / 12) < 0.01
    assert 0.45 < (wide < 0).double().mean() < 0.55
    if height == width:
        assert 0.75 - 1e-3 < shapes.min() < 0.77
        assert 4 / 3 - 0.04 < shapes.max() < 4 / 3 + 1e-3
        assert abs(shapes.log().mean()) < 0.02
        # A part of the whole area can have no other shape.
        assert (shapes[areas > 0.98].log().abs() < 0.03).all()
    if width == 40:  # 4:1, of which at most a third fits: it is cut narrower
        assert shapes.min() >= 4 * 0.4 - 1e-3


def test_parts_lie_everywhere():
    wide, high, found = slopes(20, 20, least=0.5, mirror=False)
    left = (found[:, 0, 10, 10] - wide * 10.5 / 20) / (1 - wide)
    top = (found[:, 1, 10, 10] - high * 10.5 / 20) / (1 - high)
    for place, side in ((left, wide), (top, high)):
        free = place[side < 0.9]
        assert -1e-3 < free.min() < 0.02
        assert 0.98 < free.max() < 1 + 1e-3
        assert abs(free.mean() - 0.5) < 0.02
        assert abs(free.var() - 1 / 12) < 0.01


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


def test_each_step_is_announced_before_and_told_after():
    # In single precision the last step is too small to be seen.
    model, events = make_line().double(), []
    weight = model[0].weight

    def loss_at(step):
        events.append(("before", step, weight.sum().item(), model.training))
        return model(draw(2, 3)).square().mean() + weight.sum()

    def after(step):
        events.append(("after", step, weight.sum().item(), model.training))

    minimise(model, loss_at, 7, after=after)
    assert [event[:2] for event in events] == [
        (word, step) for step in range(7) for word in ("before", "after")
    ]
    assert all(event[3] for event in events)
    for before, then in zip(events[::2], events[1::2], strict=True):
        assert before[2] != then[2]
    for then, before in zip(events[1::2], events[2::2], strict=False):
        assert then[2] == before[2]


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


@pytest.mark.parametrize("wrong", [math.nan, math.inf])
def test_a_loss_that_is_not_finite_ends_it(wrong):
    model = make_line()

    def loss_at(step):
        return model(torch.ones(2, 3)).sum() * (wrong if step == 3 else 1)

    with pytest.raises(
        FloatingPointError, match=r"in step 3; try a lower learning_rate"
    ):
        minimise(model, loss_at, 6)
    assert all(x.isfinite().all() for x in model.parameters())


@pytest.mark.parametrize(
    ("loss", "error", "message"),
    [
        (lambda x: x.item(), TypeError, "loss_at must return a tensor, got f"),
        (lambda x: x.detach(), ValueError, "requires_grad=False"),
        (lambda x: x[None], ValueError, "got shape (1,)"),
    ],
)
def test_a_loss_that_is_none_is_refused(loss, error, message):
    model = make_line()
    with refuses(error, message):
        minimise(model, lambda step: loss(model(torch.ones(3)).sum()), 6)


def test_there_must_be_something_to_learn():
    for model in (nn.Flatten(), make_line().requires_grad_(False)):
        with refuses(ValueError, "model must have a parameter that requires"):
            minimise(model, lambda step: torch.zeros(()), 6)
