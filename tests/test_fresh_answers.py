"""What a reader is told about answers that no list of mistakes was made for.

They were written from the tasks alone, as somebody would who learns: one for
each thing that can be said of a wrong result.
"""

import math

import pytest
import torch
import torch.nn.functional as F

from vitedu.book.exercises import (
    chapter_01,
    chapter_02,
    chapter_03,
    chapter_04,
    chapter_05,
    chapter_06,
    chapter_07,
    chapter_08,
    chapter_09,
    chapter_10,
    chapter_11,
    chapter_12,
    chapter_13,
    chapter_14,
    chapter_15,
    chapter_16,
    chapter_17,
    chapter_19,
)

torch.set_num_threads(1)
FRESH = []


def answer_to(exercise, said):
    """Enter a wrong answer into the table, and what is said about it."""

    def enter(answer):
        FRESH.append(pytest.param(exercise, answer, said, id=answer.__name__))
        return answer

    return enter


@answer_to(chapter_01.read_both_ways, "there, axis 1 and axis 2 run backwards")
def turns_the_widths_back(x, forwards, backwards):
    return torch.cat([forwards(x), backwards(x.flip(1)).flip(2)], dim=-1)


def turned(rows, angles):
    sin, cos = rows[:, ::2], rows[:, 1::2]
    new = torch.empty_like(rows)
    new[:, ::2] = sin * angles.cos() + cos * angles.sin()
    new[:, 1::2] = cos * angles.cos() - sin * angles.sin()
    return new


@answer_to(chapter_02.move, "for `steps` converted from radians to degrees")
def turns_by_degrees(rows, steps):
    d_model = rows.shape[-1]
    i = torch.arange(0, d_model, 2, dtype=rows.dtype)
    return turned(rows, torch.rad2deg(steps / 10_000 ** (i / d_model)))


@answer_to(chapter_02.move, "on axis 1, only positions 0 and 1 are right")
def turns_only_the_first_pair(rows, steps):
    angles = torch.zeros(rows.shape[-1] // 2, dtype=rows.dtype)
    angles[0] = steps
    return turned(rows, angles)


@answer_to(chapter_03.attention, "for a `q` 1.483 times as large")
def scales_by_the_length(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.shape[-2])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return scores.softmax(dim=-1) @ v


@answer_to(
    chapter_03.attention, "3.317 is the root of the size of axis 3 of `q`"
)
def scales_after_the_softmax(q, k, v, mask=None):
    scores = q @ k.mT
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = scores.softmax(dim=-1).nan_to_num()
    return weights / math.sqrt(q.shape[-1]) @ v


@answer_to(chapter_03.attention, "66 of 330 numbers are not finite")
def hides_the_values(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = scores.softmax(dim=-1)
    return weights @ v


@answer_to(
    chapter_04.decoder_mask, "all positions on axis 0 hold the same numbers"
)
def hides_the_first_pad_id_only(tokens, pad_id):
    length = tokens.shape[1]
    past = torch.ones(length, length).tril().bool()
    real = (tokens != pad_id).all(dim=0)
    return (past & real).expand(len(tokens), 1, length, length)


@answer_to(chapter_04.decoder_mask, "for `pad_id` = 0, not 9")
def looks_for_padding_by_zero(tokens, pad_id):
    length = tokens.shape[1]
    past = torch.ones(length, length).tril().bool()
    return past & (tokens > 0)[:, None, None, :]


@answer_to(
    chapter_05.multi_head, "for `w_qkv` with its thirds on axis 1 in the order"
)
def reads_keys_as_values(x, w_qkv, w_o, num_heads):
    batch, num_tokens, d_model = x.shape
    q, v, k = (
        part.reshape(batch, num_tokens, num_heads, -1).transpose(1, 2)
        for part in (x @ w_qkv).chunk(3, dim=-1)
    )
    scale = (d_model // num_heads) ** 0.5
    heads = (q @ k.mT / scale).softmax(dim=-1) @ v
    return heads.transpose(1, 2).flatten(2) @ w_o


@answer_to(
    chapter_06.each_token_alone,
    "each position on axis 2 is shifted by its own number",
)
def shifts_before_the_gain(x, gain, shift):
    centred = x - x.mean(dim=2, keepdim=True)
    variance = centred.square().mean(dim=2, keepdim=True)
    return (centred / (variance + 1e-6).sqrt() + shift) * gain


@answer_to(chapter_06.each_token_alone, "for `shift` = 0")
def forgets_the_shift(x, gain, shift):
    centred = x - x.mean(dim=2, keepdim=True)
    variance = centred.square().mean(dim=2, keepdim=True)
    return centred / (variance + 1e-6).sqrt() * gain


@answer_to(chapter_07.sentence_vector, "7 is the size of axis 2 of `out`")
def forgets_an_axis_of_the_count(out, real):
    return (out * real[..., None]).sum(dim=1) / real.sum(dim=1)


@answer_to(chapter_08.two_memories, "with `memory` in place of `context`")
def looks_twice_into_memory(
    x, memory, context, look_back, look_across, look_aside, network, norms
):
    y = x + look_back(norms[0](x))
    y = y + look_across(norms[1](y), memory)
    y = y + look_aside(norms[2](y), memory)
    return y + network(norms[3](y))


@answer_to(chapter_08.two_memories, "with `norms[3]` returning its input")
def feeds_the_memory_to_the_network(
    x, memory, context, look_back, look_across, look_aside, network, norms
):
    y = x + look_back(norms[0](x))
    y = y + look_across(norms[1](y), memory)
    y = y + look_aside(norms[2](y), context)
    return y + network(y)


@answer_to(chapter_09.loss_per_word, "the number has the wrong sign")
def forgets_the_minus(logits, labels, pad_id):
    log_p = logits.log_softmax(dim=-1)
    chosen = log_p.gather(-1, labels[..., None])[..., 0]
    real = labels != pad_id
    return (chosen * real).sum() / real.sum()


@answer_to(chapter_10.chances_to_draw, "for `top_k` = 2, not 3")
def loses_the_last_of_the_best(log_probs, temperature, top_k):
    scores = log_probs / temperature
    least = scores.topk(top_k).values[:, -1:]
    return scores.masked_fill(scores <= least, -math.inf).softmax(dim=-1)


@answer_to(
    chapter_10.chances_to_draw, "right, but on axis 1 they are out of order"
)
def sorts_the_chances(log_probs, temperature, top_k):
    best = (log_probs / temperature).topk(top_k).values.softmax(dim=-1)
    return F.pad(best, (0, log_probs.shape[1] - top_k))


def searched(table, begin, end, max_len, beam_size, rank, *, keep_wide):
    going, finished = [((begin,), 0.0)], []
    for length in range(1, max_len + 1):
        longer = [
            ((*prefix, token), total + table[prefix[-1], token].item())
            for prefix, total in going
            for token in range(len(table))
        ]
        longer = sorted(longer, key=lambda one: one[1], reverse=True)
        best = longer[:beam_size]
        finished += [
            one for one in best if one[0][-1] == end or length == max_len
        ]
        going = [
            one
            for one in (longer if keep_wide else best)
            if one[0][-1] != end and length < max_len
        ][:beam_size]
    return max(finished, key=rank)[0]


@answer_to(
    chapter_10.best_sentence,
    "of the 7 positions on axis 0, only positions 5 and 6 are right",
)
def takes_the_worst(table, begin, end, max_len, beam_size):
    best = searched(
        table,
        begin,
        end,
        max_len,
        beam_size,
        lambda one: -one[1] / (len(one[0]) - 1),
        keep_wide=True,
    )
    return torch.tensor(best[1:])


@answer_to(chapter_10.chances_to_draw, "7 numbers in each row are not 0")
def divides_after_the_softmax(log_probs, temperature, top_k):
    chances = log_probs.exp() / temperature
    least = chances.topk(top_k).values[:, -1:]
    chances = chances.masked_fill(chances < least, 0)
    return chances.softmax(dim=-1)


@answer_to(chapter_11.colour_patches, "On axis 1: 4 to 7 are missing")
def keeps_every_other_patch(images, p1, p2):
    windows = images.unfold(2, p1, 2 * p1).unfold(3, p2, p2)
    windows = windows.permute(0, 2, 3, 1, 4, 5)
    return windows.reshape(len(images), -1, images.shape[1] * p1 * p2)


@answer_to(chapter_11.to_kernel, "right, but they are in other positions")
def puts_the_colours_before_the_pixels(matrix, num_channels, patch_size):
    p1, p2 = patch_size
    return matrix.reshape(num_channels, p2, p1, -1).permute(3, 0, 2, 1)


@answer_to(
    chapter_12.entering_tokens,
    "of the 6 positions on axis 1, only position 0 is right",
)
def adds_the_class_token_to_all(patches, class_token, positions):
    tokens = F.pad(patches, (0, 0, 1, 0)) + class_token
    return tokens + positions[: tokens.shape[1]]


@answer_to(chapter_13.forward_pass, "with `blocks` in reverse order")
def runs_the_blocks_backwards(
    patches, cls_token, positions, blocks, norm, head
):
    x = torch.cat([cls_token.expand(len(patches), -1, -1), patches], dim=1)
    x = x + positions
    for block in reversed(blocks):
        x = block(x)
    return head(norm(x)[:, 0])


@answer_to(
    chapter_14.training_and_measuring,
    "your function returned float, not a list",
)
def returns_the_last_only(model, batches, optimizer, evaluate, epochs):
    for _ in range(epochs):
        model.train()
        for images, labels in batches:
            loss = F.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return evaluate(model)


def pair_of(patch_size):
    return patch_size if isinstance(patch_size, tuple) else (patch_size,) * 2


@answer_to(chapter_14.cut_patches, "for `images` with axes 2 and 3 swapped")
def reads_height_as_width(images, patch_size):
    p1, p2 = pair_of(patch_size)
    windows = images.mT.unfold(2, p1, p1).unfold(3, p2, p2)
    return windows.permute(0, 2, 3, 4, 5, 1).flatten(3).flatten(1, 2)


@answer_to(chapter_14.cut_patches, "The numbers are right; reshape them")
def keeps_the_grid(images, patch_size):
    p1, p2 = pair_of(patch_size)
    windows = images.unfold(2, p1, p1).unfold(3, p2, p2)
    return windows.permute(0, 2, 3, 4, 5, 1).flatten(3)


@answer_to(
    chapter_14.skip_branches, "every number is 0.84 times what it should be"
)
def keeps_the_sum_of_the_batch(branch, draws, rate):
    kept = (draws >= rate)[:, None, None]
    return branch * kept * len(draws) / kept.sum()


@answer_to(
    chapter_15.windowed_flops, "`2 * batch * tokens * d_model**2` is missing"
)
def forgets_one_of_the_four_maps(batch, tokens, d_model, window):
    maps = 22 * tokens * d_model**2
    return batch * (maps + 4 * tokens * window * d_model)


def far(grid_size, patch_size, dtype):
    rows, columns = grid_size
    grid = torch.cartesian_prod(torch.arange(rows), torch.arange(columns))
    steps = grid[:, None] - grid
    return (steps * torch.tensor(pair_of(patch_size))).to(dtype)


@answer_to(chapter_16.head_distance, "2 is the size of axis 0 of `weights`")
def averages_the_heads(weights, grid_size, patch_size):
    distance = far(grid_size, patch_size, weights.dtype).norm(dim=-1)
    weights = weights[..., 1:, 1:]
    weights = weights / weights.sum(dim=-1, keepdim=True)
    return (weights * distance).sum(dim=-1).mean(dim=1)


def rolled(maps, kept, read):
    identity = torch.eye(maps.shape[-1], dtype=maps.dtype)
    rollout = identity
    for layer, share in zip(maps.mean(dim=2), kept, strict=True):
        rollout = (share * identity + (1 - share) * layer) @ rollout
    return read(rollout)


@answer_to(chapter_16.class_token_rollout, "On axis 1: 0 is extra")
def keeps_the_class_token(maps, kept):
    return rolled(maps, kept, lambda r: r[:, 0])


@answer_to(chapter_17.images_needed, "the logarithm of what it should be")
def stays_in_the_logarithm(sizes, accuracies, wanted):
    logs = sizes.to(accuracies).log()
    for i in range(len(sizes)):
        if accuracies[i] >= wanted:
            if i == 0:
                return sizes[0]
            rise = accuracies[i] - accuracies[i - 1]
            share = (wanted - accuracies[i - 1]) / rise
            return logs[i - 1] + share * (logs[i] - logs[i - 1])
    return torch.tensor(math.inf)


@answer_to(chapter_17.some_of_each, "for `order` reversed")
def takes_the_last_in_order(labels, shots, order):
    return (
        torch.cat(
            [order[labels[order] == c][-shots:] for c in labels.unique()]
        )
        .sort()
        .values
    )


@answer_to(chapter_17.some_of_each, "On axis 0: 0, 2 and 3 are missing")
def takes_one_too_few(labels, shots, order):
    chosen = [order[labels[order] == c][: shots - 1] for c in labels.unique()]
    return torch.cat(chosen).sort().values


@answer_to(chapter_19.join, "no number is finite")
def overflows(out_a, log_a, out_b, log_b):
    a, b = log_a.exp(), log_b.exp()
    return (a * out_a + b * out_b) / (a + b)


@answer_to(
    chapter_19.join, "Row 1 of the result changes when row 0 of `log_a`"
)
def shares_out_over_the_queries(out_a, log_a, out_b, log_b):
    a, b = torch.stack([log_a, log_b]).softmax(dim=1)
    return a * out_a + b * out_b


@pytest.mark.parametrize(("exercise", "answer", "said"), FRESH)
def test_a_wrong_answer_is_told_why(exercise, answer, said):
    verdict = exercise._safely(answer)
    assert not verdict
    assert said in verdict.message
