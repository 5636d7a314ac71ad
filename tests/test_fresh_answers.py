"""What a reader is told about answers that no list of mistakes was made for.

They were written from the tasks alone, as somebody would who learns.
"""

import math
import re

import pytest
import torch
import torch.nn.functional as F
from torch import nn

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
    chapter_18,
    chapter_19,
)
from vitedu.book.properties import UNTOLD

FRESH = []


def answer_to(exercise):
    """Enter a wrong answer into the table, under its exercise."""

    def enter(answer):
        FRESH.append((exercise, answer))
        return answer

    return enter


@answer_to(chapter_01.read_both_ways)
def turns_nothing(x, forwards, backwards):
    return torch.cat([forwards(x), backwards(x)], dim=-1)


@answer_to(chapter_01.read_both_ways)
def turns_the_batch(x, forwards, backwards):
    return torch.cat([forwards(x), backwards(x.flip(0)).flip(0)], dim=-1)


@answer_to(chapter_01.read_both_ways)
def turns_the_widths_back(x, forwards, backwards):
    return torch.cat([forwards(x), backwards(x.flip(1)).flip(2)], dim=-1)


def turned(rows, angles):
    sin, cos = rows[:, ::2], rows[:, 1::2]
    new = torch.empty_like(rows)
    new[:, ::2] = sin * angles.cos() + cos * angles.sin()
    new[:, 1::2] = cos * angles.cos() - sin * angles.sin()
    return new


@answer_to(chapter_02.move)
def forgets_the_two_in_the_exponent(rows, steps):
    d_model = rows.shape[-1]
    i = torch.arange(d_model // 2, dtype=rows.dtype)
    return turned(rows, steps / 10_000 ** (i / d_model))


@answer_to(chapter_02.move)
def takes_halves_for_pairs(rows, steps):
    d_model = rows.shape[-1]
    i = torch.arange(0, d_model, 2, dtype=rows.dtype)
    angles = steps / 10_000 ** (i / d_model)
    sin, cos = rows.chunk(2, dim=-1)
    return torch.cat(
        [
            sin * angles.cos() + cos * angles.sin(),
            cos * angles.cos() - sin * angles.sin(),
        ],
        dim=-1,
    )


@answer_to(chapter_02.move)
def shifts_the_rows(rows, steps):
    return rows.roll(-steps, dims=0)


def table_with(sin_exponent, cos_exponent, length, d_model):
    table = torch.zeros(length, d_model, dtype=torch.float64)
    p = torch.arange(length, dtype=torch.float64)
    for i in range(0, d_model, 2):
        table[:, i] = torch.sin(p / 10_000 ** sin_exponent(i))
        table[:, i + 1] = torch.cos(p / 10_000 ** cos_exponent(i))
    return table


@answer_to(chapter_02.turning_hands)
def mends_the_cosine_only(length, d_model):
    def exponent(i):
        return 2 * i / d_model

    return table_with(exponent, exponent, length, d_model)


@answer_to(chapter_02.turning_hands)
def divides_whole_numbers(length, d_model):
    def exponent(i):
        return i // d_model

    return table_with(exponent, exponent, length, d_model)


@answer_to(chapter_02.turning_hands)
def multiplies_by_the_power(length, d_model):
    def exponent(i):
        return -i / d_model

    return table_with(exponent, exponent, length, d_model)


@answer_to(chapter_03.attention)
def hides_with_a_tiny_number(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(mask == 0, 1e-9)
    return scores.softmax(dim=-1) @ v


@answer_to(chapter_03.attention)
def scales_by_the_length(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.shape[-2])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return scores.softmax(dim=-1) @ v


@answer_to(chapter_03.attention)
def multiplies_weights_by_the_mask(q, k, v, mask=None):
    weights = (q @ k.mT / math.sqrt(q.shape[-1])).softmax(dim=-1)
    if mask is not None:
        weights = weights * mask
    return weights @ v


@answer_to(chapter_04.decoder_mask)
def sees_one_step_ahead(tokens, pad_id):
    length = tokens.shape[1]
    past = torch.ones(length, length).tril(diagonal=1).bool()
    return past & (tokens != pad_id)[:, None, None, :]


@answer_to(chapter_04.decoder_mask)
def joins_by_or(tokens, pad_id):
    length = tokens.shape[1]
    past = torch.ones(length, length).tril().bool()
    return past | (tokens != pad_id)[:, None, None, :]


@answer_to(chapter_04.decoder_mask)
def says_what_is_hidden(tokens, pad_id):
    length = tokens.shape[1]
    future = torch.ones(length, length).triu(diagonal=1).bool()
    return future | (tokens == pad_id)[:, None, None, :]


@answer_to(chapter_04.words_alone)
def fills_with_zero(q, k, v, real):
    scores = q @ k.mT / q.shape[-1] ** 0.5
    scores = scores.masked_fill(~real[:, None, None, :], 0)
    return scores.softmax(dim=-1) @ v


@answer_to(chapter_04.words_alone)
def hides_the_words(q, k, v, real):
    scores = q @ k.mT / q.shape[-1] ** 0.5
    scores = scores.masked_fill(real[:, None, None, :], -1e9)
    return scores.softmax(dim=-1) @ v


@answer_to(chapter_04.words_alone)
def also_hides_the_future(q, k, v, real):
    scores = q @ k.mT / q.shape[-1] ** 0.5
    past = torch.ones(q.shape[2], q.shape[2]).tril().bool()
    scores = scores.masked_fill(~(real[:, None, None, :] & past), -1e9)
    return scores.softmax(dim=-1) @ v


def heads_with(split, merge, scale, x, w_qkv, w_o):
    q, k, v = map(split, (x @ w_qkv).chunk(3, dim=-1))
    weights = (q @ k.transpose(-2, -1) / scale).softmax(dim=-1)
    return merge(weights @ v) @ w_o


@answer_to(chapter_05.multi_head)
def splits_into_interleaved_heads(x, w_qkv, w_o, num_heads):
    batch, num_tokens, d_model = x.shape
    width = d_model // num_heads
    return heads_with(
        lambda part: part.reshape(batch, num_tokens, width, num_heads).permute(
            0, 3, 1, 2
        ),
        lambda heads: heads.transpose(1, 2).flatten(2),
        width**0.5,
        x,
        w_qkv,
        w_o,
    )


@answer_to(chapter_05.multi_head)
def divides_by_the_number_of_heads(x, w_qkv, w_o, num_heads):
    batch, num_tokens, _ = x.shape
    return heads_with(
        lambda part: part.reshape(batch, num_tokens, num_heads, -1).transpose(
            1, 2
        ),
        lambda heads: heads.transpose(1, 2).flatten(2),
        num_heads**0.5,
        x,
        w_qkv,
        w_o,
    )


@answer_to(chapter_05.multi_head)
def merges_without_turning_back(x, w_qkv, w_o, num_heads):
    batch, num_tokens, d_model = x.shape
    return heads_with(
        lambda part: part.reshape(batch, num_tokens, num_heads, -1).transpose(
            1, 2
        ),
        lambda heads: heads.reshape(batch, num_tokens, d_model),
        (d_model // num_heads) ** 0.5,
        x,
        w_qkv,
        w_o,
    )


@answer_to(chapter_06.pre_norm_stack)
def returns_inside_the_loop(x, branches, norms, last_norm):
    for branch, norm in zip(branches, norms, strict=True):
        x = x + branch(norm(x))
        return last_norm(x)


@answer_to(chapter_06.pre_norm_stack)
def takes_the_first_norm_for_all(x, branches, norms, last_norm):
    for branch in branches:
        x = x + branch(norms[0](x))
    return last_norm(x)


@answer_to(chapter_06.pre_norm_stack)
def norms_what_leaves_a_branch(x, branches, norms, last_norm):
    for branch, norm in zip(branches, norms, strict=True):
        x = x + norm(branch(x))
    return last_norm(x)


@answer_to(chapter_06.each_token_alone)
def divides_by_n_minus_1(x, gain, shift):
    centred = x - x.mean(dim=-1, keepdim=True)
    variance = x.var(dim=-1, keepdim=True)
    return centred / (variance + 1e-6).sqrt() * gain + shift


@answer_to(chapter_06.each_token_alone)
def takes_the_variance_over_tokens(x, gain, shift):
    centred = x - x.mean(dim=2, keepdim=True)
    variance = centred.square().mean(dim=1, keepdim=True)
    return centred / (variance + 1e-6).sqrt() * gain + shift


@answer_to(chapter_06.each_token_alone)
def shifts_before_the_gain(x, gain, shift):
    centred = x - x.mean(dim=2, keepdim=True)
    variance = centred.square().mean(dim=2, keepdim=True)
    return (centred / (variance + 1e-6).sqrt() + shift) * gain


@answer_to(chapter_07.encoder)
def norms_before_each_block(x, blocks, norm, mask):
    for block in blocks:
        x = block(norm(x), mask)
    return norm(x)


@answer_to(chapter_07.encoder)
def forgets_the_mask(x, blocks, norm, mask):
    for block in blocks:
        x = block(x, None)
    return norm(x)


@answer_to(chapter_07.encoder)
def keeps_the_sum(x, blocks, norm, mask):
    for block in blocks:
        x = x + block(x, mask)
    return norm(x)


@answer_to(chapter_07.sentence_vector)
def sums_the_words(out, real):
    return (out * real[..., None]).sum(dim=1)


@answer_to(chapter_07.sentence_vector)
def divides_by_all_words_of_the_batch(out, real):
    return (out * real[..., None]).sum(dim=1) / real.sum()


@answer_to(chapter_07.sentence_vector)
def forgets_an_axis_of_the_count(out, real):
    return (out * real[..., None]).sum(dim=1) / real.sum(dim=1)


@answer_to(chapter_08.two_memories)
def asks_with_an_old_norm(
    x, memory, context, look_back, look_across, look_aside, network, norms
):
    y = x + look_back(norms[0](x))
    asking = norms[1](y)
    y = y + look_across(asking, memory)
    y = y + look_aside(asking, context)
    return y + network(norms[3](y))


@answer_to(chapter_08.two_memories)
def looks_twice_into_memory(
    x, memory, context, look_back, look_across, look_aside, network, norms
):
    y = x + look_back(norms[0](x))
    y = y + look_across(norms[1](y), memory)
    y = y + look_aside(norms[2](y), memory)
    return y + network(norms[3](y))


@answer_to(chapter_08.two_memories)
def forgets_the_last_sum(
    x, memory, context, look_back, look_across, look_aside, network, norms
):
    y = x + look_back(norms[0](x))
    y = y + look_across(norms[1](y), memory)
    y = y + look_aside(norms[2](y), context)
    return network(norms[3](y))


@answer_to(chapter_09.teacher_forcing)
def fills_on_the_left(sentences, bos_id, eos_id, pad_id):
    longest = max(map(len, sentences)) + 1
    rows = [
        [
            [pad_id] * (longest - len(row)) + row
            for row in ([bos_id, *words], [*words, eos_id])
        ]
        for words in sentences
    ]
    return torch.tensor(rows).transpose(0, 1)


@answer_to(chapter_09.teacher_forcing)
def ends_after_the_padding(sentences, bos_id, eos_id, pad_id):
    longest = max(map(len, sentences))
    filled = [row + [pad_id] * (longest - len(row)) for row in sentences]
    return torch.tensor(
        [
            [[bos_id, *row] for row in filled],
            [[*row, eos_id] for row in filled],
        ]
    )


@answer_to(chapter_09.teacher_forcing)
def labels_are_not_shifted(sentences, bos_id, eos_id, pad_id):
    rows = [[bos_id, *words, eos_id] for words in sentences]
    longest = max(map(len, rows))
    rows = [row + [pad_id] * (longest - len(row)) for row in rows]
    return torch.tensor([rows, rows])


@answer_to(chapter_09.loss_per_word)
def adds_all_up(logits, labels, pad_id):
    log_p = logits.log_softmax(dim=-1)
    surprise = -log_p.gather(-1, labels[..., None])[..., 0]
    return (surprise * (labels != pad_id)).sum()


@answer_to(chapter_09.loss_per_word)
def averages_sentence_by_sentence(logits, labels, pad_id):
    log_p = logits.log_softmax(dim=-1)
    surprise = -log_p.gather(-1, labels[..., None])[..., 0]
    real = labels != pad_id
    return ((surprise * real).sum(1) / real.sum(1)).mean()


@answer_to(chapter_09.loss_per_word)
def counts_the_padding_only(logits, labels, pad_id):
    log_p = logits.log_softmax(dim=-1)
    surprise = -log_p.gather(-1, labels[..., None])[..., 0]
    return surprise[labels == pad_id].mean()


@answer_to(chapter_10.chances_to_draw)
def multiplies_by_the_temperature(log_probs, temperature, top_k):
    scores = log_probs * temperature
    least = scores.topk(top_k).values[:, -1:]
    return scores.masked_fill(scores < least, -math.inf).softmax(dim=-1)


@answer_to(chapter_10.chances_to_draw)
def does_not_share_out_anew(log_probs, temperature, top_k):
    chances = (log_probs / temperature).softmax(dim=-1)
    least = chances.topk(top_k).values[:, -1:]
    return chances.masked_fill(chances < least, 0)


@answer_to(chapter_10.chances_to_draw)
def loses_the_last_of_the_best(log_probs, temperature, top_k):
    scores = log_probs / temperature
    least = scores.topk(top_k).values[:, -1:]
    return scores.masked_fill(scores <= least, -math.inf).softmax(dim=-1)


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


@answer_to(chapter_10.best_sentence)
def mends_the_mean_only(table, begin, end, max_len, beam_size):
    best = searched(
        table,
        begin,
        end,
        max_len,
        beam_size,
        lambda one: one[1] / (len(one[0]) - 1),
        keep_wide=False,
    )
    return torch.tensor(best[1:])


@answer_to(chapter_10.best_sentence)
def ranks_by_the_sum(table, begin, end, max_len, beam_size):
    best = searched(
        table,
        begin,
        end,
        max_len,
        beam_size,
        lambda one: one[1],
        keep_wide=True,
    )
    return torch.tensor(best[1:])


@answer_to(chapter_10.best_sentence)
def keeps_the_begin_mark(table, begin, end, max_len, beam_size):
    best = searched(
        table,
        begin,
        end,
        max_len,
        beam_size,
        lambda one: one[1] / (len(one[0]) - 1),
        keep_wide=True,
    )
    return torch.tensor(best)


@answer_to(chapter_11.to_kernel)
def reads_the_rows_across(matrix, num_channels, patch_size):
    p1, p2 = patch_size
    return matrix.reshape(p1, p2, num_channels, -1).permute(3, 2, 0, 1)


@answer_to(chapter_11.to_kernel)
def reshapes_at_once(matrix, num_channels, patch_size):
    return matrix.T.reshape(-1, num_channels, *patch_size)


@answer_to(chapter_11.to_kernel)
def leaves_height_and_width_exchanged(matrix, num_channels, patch_size):
    p1, p2 = patch_size
    return matrix.reshape(p2, p1, num_channels, -1).permute(3, 2, 0, 1)


@answer_to(chapter_11.colour_patches)
def puts_the_colours_last(images, p1, p2):
    windows = images.unfold(2, p1, p1).unfold(3, p2, p2)
    windows = windows.permute(0, 2, 3, 4, 5, 1)
    return windows.reshape(len(images), -1, images.shape[1] * p1 * p2)


@answer_to(chapter_11.colour_patches)
def reads_the_grid_by_columns(images, p1, p2):
    windows = images.unfold(2, p1, p1).unfold(3, p2, p2)
    windows = windows.permute(0, 3, 2, 1, 4, 5)
    return windows.reshape(len(images), -1, images.shape[1] * p1 * p2)


@answer_to(chapter_11.colour_patches)
def turns_each_patch(images, p1, p2):
    windows = images.unfold(2, p1, p1).unfold(3, p2, p2)
    windows = windows.permute(0, 2, 3, 1, 5, 4)
    return windows.reshape(len(images), -1, images.shape[1] * p1 * p2)


@answer_to(chapter_12.shuffled_positions)
def takes_the_order_backwards(weight, order):
    new = weight.clone()
    new[:, 1 + order] = weight[:, 1:]
    return new


@answer_to(chapter_12.shuffled_positions)
def counts_the_class_token_as_a_place(weight, order):
    return torch.cat([weight[:, :1], weight[:, order]], dim=1)


@answer_to(chapter_12.shuffled_positions)
def loses_the_class_token(weight, order):
    return weight[:, 1:][:, order]


@answer_to(chapter_12.entering_tokens)
def leaves_the_class_token_without_place(patches, class_token, positions):
    first = class_token.expand(len(patches), 1, -1)
    placed = patches + positions[1 : patches.shape[1] + 1]
    return torch.cat([first, placed], dim=1)


@answer_to(chapter_12.entering_tokens)
def puts_the_class_token_last(patches, class_token, positions):
    first = class_token.expand(len(patches), 1, -1)
    tokens = torch.cat([patches, first], dim=1)
    return tokens + positions[: tokens.shape[1]]


@answer_to(chapter_12.entering_tokens)
def takes_the_last_rows(patches, class_token, positions):
    first = class_token.expand(len(patches), 1, -1)
    tokens = torch.cat([first, patches], dim=1)
    return tokens + positions[-tokens.shape[1] :]


@answer_to(chapter_13.missing_class)
class OneBlockManyTimes(nn.Module):
    def __init__(self, make_block, depth):
        super().__init__()
        self.blocks = nn.ModuleList([make_block()] * depth)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


@answer_to(chapter_13.missing_class)
class AddsTheInputAgain(nn.Module):
    def __init__(self, make_block, depth):
        super().__init__()
        self.blocks = nn.ModuleList(make_block() for _ in range(depth))

    def forward(self, x):
        for block in self.blocks:
            x = x + block(x)
        return x


@answer_to(chapter_13.missing_class)
class StopsAfterTheFirst(nn.Module):
    def __init__(self, make_block, depth):
        super().__init__()
        self.blocks = nn.ModuleList(make_block() for _ in range(depth))

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
            return x


@answer_to(chapter_13.forward_pass)
def reads_the_mean(patches, cls_token, positions, blocks, norm, head):
    x = torch.cat([cls_token.expand(len(patches), -1, -1), patches], dim=1)
    x = x + positions
    for block in blocks:
        x = block(x)
    return head(norm(x).mean(dim=1))


@answer_to(chapter_13.forward_pass)
def positions_come_after(patches, cls_token, positions, blocks, norm, head):
    x = torch.cat([cls_token.expand(len(patches), -1, -1), patches], dim=1)
    for block in blocks:
        x = block(x)
    x = x + positions
    return head(norm(x)[:, 0])


@answer_to(chapter_13.forward_pass)
def forgets_the_norm(patches, cls_token, positions, blocks, norm, head):
    x = torch.cat([cls_token.expand(len(patches), -1, -1), patches], dim=1)
    x = x + positions
    for block in blocks:
        x = block(x)
    return head(x[:, 0])


def pair_of(patch_size):
    return patch_size if isinstance(patch_size, tuple) else (patch_size,) * 2


@answer_to(chapter_14.cut_patches)
def cuts_by_reshape_alone(images, patch_size):
    p1, p2 = pair_of(patch_size)
    return images.reshape(len(images), -1, images.shape[1] * p1 * p2)


@answer_to(chapter_14.cut_patches)
def puts_columns_before_rows(images, patch_size):
    p1, p2 = pair_of(patch_size)
    windows = images.unfold(2, p1, p1).unfold(3, p2, p2)
    return windows.permute(0, 2, 3, 5, 4, 1).flatten(3).flatten(1, 2)


@answer_to(chapter_14.cut_patches)
def mixes_up_the_grid(images, patch_size):
    p1, p2 = pair_of(patch_size)
    windows = images.unfold(2, p1, p1).unfold(3, p2, p2)
    return windows.permute(0, 3, 2, 4, 5, 1).flatten(3).flatten(1, 2)


@answer_to(chapter_14.skip_branches)
def keeps_what_is_to_be_skipped(branch, draws, rate):
    kept = (draws < rate)[:, None, None]
    return branch * kept / (1 - rate)


@answer_to(chapter_14.skip_branches)
def divides_by_the_rate(branch, draws, rate):
    kept = (draws >= rate)[:, None, None]
    return branch * kept / rate


@answer_to(chapter_14.skip_branches)
def scales_down(branch, draws, rate):
    kept = (draws >= rate)[:, None, None]
    return branch * kept * (1 - rate)


@answer_to(chapter_14.training_and_measuring)
def wakes_the_dropout_once(model, batches, optimizer, evaluate, epochs):
    accuracies = []
    model.train()
    for _ in range(epochs):
        for images, labels in batches:
            loss = F.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        accuracies.append(evaluate(model))
    return accuracies


@answer_to(chapter_14.training_and_measuring)
def returns_the_last_only(model, batches, optimizer, evaluate, epochs):
    for _ in range(epochs):
        model.train()
        for images, labels in batches:
            loss = F.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return evaluate(model)


@answer_to(chapter_14.training_and_measuring)
def keeps_old_gradients(model, batches, optimizer, evaluate, epochs):
    accuracies = []
    for _ in range(epochs):
        model.train()
        for images, labels in batches:
            loss = F.cross_entropy(model(images), labels)
            loss.backward()
            optimizer.step()
        accuracies.append(evaluate(model))
    return accuracies


@answer_to(chapter_15.windowed_flops)
def counts_a_product_and_a_sum_as_one(batch, tokens, d_model, window):
    maps = 12 * tokens * d_model**2
    return batch * (maps + 2 * tokens * window * d_model)


@answer_to(chapter_15.windowed_flops)
def counts_one_window(batch, tokens, d_model, window):
    maps = 24 * tokens * d_model**2
    return batch * (maps + 4 * window**2 * d_model)


@answer_to(chapter_15.windowed_flops)
def forgets_the_sum_of_the_values(batch, tokens, d_model, window):
    maps = 24 * tokens * d_model**2
    return batch * (maps + 2 * tokens * window * d_model)


def far(grid_size, patch_size, dtype):
    rows, columns = grid_size
    grid = torch.cartesian_prod(torch.arange(rows), torch.arange(columns))
    steps = grid[:, None] - grid
    return (steps * torch.tensor(pair_of(patch_size))).to(dtype)


@answer_to(chapter_16.head_distance)
def does_not_divide_by_what_patches_get(weights, grid_size, patch_size):
    distance = far(grid_size, patch_size, weights.dtype).norm(dim=-1)
    return (weights[..., 1:, 1:] * distance).sum(dim=-1).mean(dim=0)


@answer_to(chapter_16.head_distance)
def walks_along_the_streets(weights, grid_size, patch_size):
    distance = far(grid_size, patch_size, weights.dtype).abs().sum(dim=-1)
    weights = weights[..., 1:, 1:]
    weights = weights / weights.sum(dim=-1, keepdim=True)
    return (weights * distance).sum(dim=-1).mean(dim=0)


@answer_to(chapter_16.head_distance)
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


@answer_to(chapter_16.class_token_rollout)
def exchanges_the_shares(maps, kept):
    return rolled(maps, 1 - torch.as_tensor(kept), lambda r: r[:, 0, 1:])


@answer_to(chapter_16.class_token_rollout)
def reads_the_column(maps, kept):
    return rolled(maps, kept, lambda r: r[:, 1:, 0])


@answer_to(chapter_16.class_token_rollout)
def starts_with_the_last_layer(maps, kept):
    return rolled(
        maps.flip(0), list(reversed(list(kept))), lambda r: r[:, 0, 1:]
    )


@answer_to(chapter_16.thinned_rollout)
def divides_the_columns(maps, dropped):
    identity = torch.eye(maps.shape[-1]).to(maps)
    rollout = identity
    for layer in maps.mean(dim=1):
        weak = layer < layer.quantile(dropped)
        layer = layer.masked_fill(weak, 0) + identity
        layer = layer / layer.sum(dim=0, keepdim=True)
        rollout = layer @ rollout
    return rollout


@answer_to(chapter_16.thinned_rollout)
def drops_in_each_row(maps, dropped):
    identity = torch.eye(maps.shape[-1]).to(maps)
    rollout = identity
    for layer in maps.mean(dim=1):
        weak = layer < layer.quantile(dropped, dim=-1, keepdim=True)
        layer = layer.masked_fill(weak, 0) + identity
        layer = layer / layer.sum(dim=-1, keepdim=True)
        rollout = layer @ rollout
    return rollout


@answer_to(chapter_16.thinned_rollout)
def multiplies_from_the_other_side(maps, dropped):
    identity = torch.eye(maps.shape[-1]).to(maps)
    rollout = identity
    for layer in maps.mean(dim=1):
        weak = layer < layer.quantile(dropped)
        layer = layer.masked_fill(weak, 0) + identity
        layer = layer / layer.sum(dim=-1, keepdim=True)
        rollout = rollout @ layer
    return rollout


@answer_to(chapter_17.images_needed)
def goes_straight_over_the_size(sizes, accuracies, wanted):
    sizes = sizes.to(accuracies)
    for i in range(len(sizes)):
        if accuracies[i] >= wanted:
            if i == 0:
                return sizes[0]
            rise = accuracies[i] - accuracies[i - 1]
            share = (wanted - accuracies[i - 1]) / rise
            return sizes[i - 1] + share * (sizes[i] - sizes[i - 1])
    return torch.tensor(math.inf)


@answer_to(chapter_17.images_needed)
def takes_the_next_point(sizes, accuracies, wanted):
    reached = accuracies >= wanted
    if not reached.any():
        return torch.tensor(math.inf)
    return sizes[reached][0]


@answer_to(chapter_17.images_needed)
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


@answer_to(chapter_17.some_of_each)
def returns_places_in_the_order(labels, shots, order):
    shuffled = labels[order]
    places = [
        place
        for c in shuffled.unique()
        for place in (shuffled == c).nonzero().flatten()[:shots].tolist()
    ]
    return torch.tensor(sorted(places))


@answer_to(chapter_17.some_of_each)
def leaves_them_class_by_class(labels, shots, order):
    return torch.cat(
        [order[labels[order] == c][:shots] for c in labels.unique()]
    )


@answer_to(chapter_17.some_of_each)
def ignores_the_order(labels, shots, order):
    chosen = [
        (labels == c).nonzero().flatten()[:shots] for c in labels.unique()
    ]
    return torch.cat(chosen).sort().values


@answer_to(chapter_18.by_kind)
def goes_the_other_way(weight, num_heads):
    parts = weight.reshape(3, num_heads, -1, weight.shape[-1])
    return parts.transpose(0, 1).reshape(weight.shape)


@answer_to(chapter_18.by_kind)
def exchanges_heads_and_rows(weight, num_heads):
    parts = weight.reshape(num_heads, 3, -1, weight.shape[-1])
    return parts.permute(1, 2, 0, 3).reshape(weight.shape)


@answer_to(chapter_18.by_kind)
def takes_every_third_row(weight, num_heads):
    return torch.cat([weight[0::3], weight[1::3], weight[2::3]])


@answer_to(chapter_19.join)
def overflows(out_a, log_a, out_b, log_b):
    a, b = log_a.exp(), log_b.exp()
    return (a * out_a + b * out_b) / (a + b)


@answer_to(chapter_19.join)
def weighs_by_the_logarithms(out_a, log_a, out_b, log_b):
    return (log_a * out_a + log_b * out_b) / (log_a + log_b)


@answer_to(chapter_19.join)
def shares_out_over_the_queries(out_a, log_a, out_b, log_b):
    a, b = torch.stack([log_a, log_b]).softmax(dim=1)
    return a * out_a + b * out_b


@answer_to(chapter_19.loss_of_share)
def forgets_the_processes(losses, counts, everywhere, processes):
    return (losses * counts).sum() / everywhere


@answer_to(chapter_19.loss_of_share)
def divides_by_its_own_words(losses, counts, everywhere, processes):
    return (losses * counts).sum() / counts.sum()


@answer_to(chapter_19.loss_of_share)
def counts_losses_of_padding(losses, counts, everywhere, processes):
    return losses.sum() / everywhere * processes


# One more for each exercise, of mistakes that are seen less often.


@answer_to(chapter_01.read_both_ways)
def puts_the_backward_reading_first(x, forwards, backwards):
    return torch.cat([backwards(x.flip(1)).flip(1), forwards(x)], dim=-1)


@answer_to(chapter_02.move)
def turns_by_degrees(rows, steps):
    d_model = rows.shape[-1]
    i = torch.arange(0, d_model, 2, dtype=rows.dtype)
    return turned(rows, torch.rad2deg(steps / 10_000 ** (i / d_model)))


@answer_to(chapter_02.turning_hands)
def counts_from_1(length, d_model):
    table = table_with(
        lambda i: i / d_model, lambda i: i / d_model, length + 1, d_model
    )
    return table[1:]


@answer_to(chapter_03.attention)
def scales_after_the_softmax(q, k, v, mask=None):
    scores = q @ k.mT
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = scores.softmax(dim=-1).nan_to_num()
    return weights / math.sqrt(q.shape[-1]) @ v


@answer_to(chapter_04.decoder_mask)
def hides_the_first_pad_id_only(tokens, pad_id):
    length = tokens.shape[1]
    past = torch.ones(length, length).tril().bool()
    real = (tokens != pad_id).all(dim=0)
    return (past & real).expand(len(tokens), 1, length, length)


@answer_to(chapter_04.words_alone)
def shares_out_before_it_hides(q, k, v, real):
    weights = (q @ k.mT / q.shape[-1] ** 0.5).softmax(dim=-1)
    return weights.masked_fill(~real[:, None, None, :], 0) @ v


@answer_to(chapter_05.multi_head)
def reads_keys_as_values(x, w_qkv, w_o, num_heads):
    batch, num_tokens, d_model = x.shape
    q, v, k = (
        part.reshape(batch, num_tokens, num_heads, -1).transpose(1, 2)
        for part in (x @ w_qkv).chunk(3, dim=-1)
    )
    scale = (d_model // num_heads) ** 0.5
    heads = (q @ k.mT / scale).softmax(dim=-1) @ v
    return heads.transpose(1, 2).flatten(2) @ w_o


@answer_to(chapter_06.pre_norm_stack)
def starts_from_the_input_each_time(x, branches, norms, last_norm):
    y = x
    for branch, norm in zip(branches, norms, strict=True):
        y = x + branch(norm(y))
    return last_norm(y)


@answer_to(chapter_06.each_token_alone)
def forgets_the_root(x, gain, shift):
    centred = x - x.mean(dim=2, keepdim=True)
    variance = centred.square().mean(dim=2, keepdim=True)
    return centred / (variance + 1e-6) * gain + shift


@answer_to(chapter_07.encoder)
def norms_twice(x, blocks, norm, mask):
    x = norm(x)
    for block in blocks:
        x = block(x, mask)
    return norm(x)


@answer_to(chapter_07.sentence_vector)
def averages_the_padding(out, real):
    return (out * ~real[..., None]).sum(1) / (~real).sum(1, keepdim=True)


@answer_to(chapter_08.two_memories)
def norms_the_sum(
    x, memory, context, look_back, look_across, look_aside, network, norms
):
    y = norms[0](x + look_back(x))
    y = norms[1](y + look_across(y, memory))
    y = norms[2](y + look_aside(y, context))
    return norms[3](y + network(y))


@answer_to(chapter_09.teacher_forcing)
def exchanges_the_axes(sentences, bos_id, eos_id, pad_id):
    longest = max(map(len, sentences)) + 1
    rows = [
        [
            row + [pad_id] * (longest - len(row))
            for row in ([bos_id, *words], [*words, eos_id])
        ]
        for words in sentences
    ]
    return torch.tensor(rows)


@answer_to(chapter_09.loss_per_word)
def takes_chances_for_surprise(logits, labels, pad_id):
    chances = logits.softmax(dim=-1)
    right = chances.gather(-1, labels[..., None])[..., 0]
    real = labels != pad_id
    return ((1 - right) * real).sum() / real.sum()


@answer_to(chapter_10.chances_to_draw)
def sorts_the_chances(log_probs, temperature, top_k):
    best = (log_probs / temperature).topk(top_k).values.softmax(dim=-1)
    return F.pad(best, (0, log_probs.shape[1] - top_k))


@answer_to(chapter_10.best_sentence)
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


@answer_to(chapter_11.to_kernel)
def leaves_d_model_last(matrix, num_channels, patch_size):
    p1, p2 = patch_size
    return matrix.reshape(p2, p1, num_channels, -1).permute(2, 1, 0, 3)


@answer_to(chapter_11.colour_patches)
def keeps_every_other_patch(images, p1, p2):
    windows = images.unfold(2, p1, 2 * p1).unfold(3, p2, p2)
    windows = windows.permute(0, 2, 3, 1, 4, 5)
    return windows.reshape(len(images), -1, images.shape[1] * p1 * p2)


@answer_to(chapter_12.shuffled_positions)
def sorts_the_order(weight, order):
    return torch.cat(
        [weight[:, :1], weight[:, 1:][:, order.sort().values]], dim=1
    )


@answer_to(chapter_12.entering_tokens)
def gives_all_the_first_position(patches, class_token, positions):
    first = class_token.expand(len(patches), 1, -1)
    return torch.cat([first, patches], dim=1) + positions[0]


@answer_to(chapter_13.missing_class)
class LeavesOutTheLast(nn.Module):
    def __init__(self, make_block, depth):
        super().__init__()
        self.blocks = nn.ModuleList(make_block() for _ in range(depth))

    def forward(self, x):
        for i in range(len(self.blocks) - 1):
            x = self.blocks[i](x)
        return x


@answer_to(chapter_13.forward_pass)
def adds_positions_in_each_block(
    patches, cls_token, positions, blocks, norm, head
):
    x = torch.cat([cls_token.expand(len(patches), -1, -1), patches], dim=1)
    for block in blocks:
        x = block(x + positions)
    return head(norm(x)[:, 0])


@answer_to(chapter_14.cut_patches)
def reads_height_as_width(images, patch_size):
    p1, p2 = pair_of(patch_size)
    windows = images.mT.unfold(2, p1, p1).unfold(3, p2, p2)
    return windows.permute(0, 2, 3, 4, 5, 1).flatten(3).flatten(1, 2)


@answer_to(chapter_14.skip_branches)
def draws_for_each_feature(branch, draws, rate):
    return branch * (draws >= rate) / (1 - rate)


@answer_to(chapter_14.training_and_measuring)
def measures_after_each_batch(model, batches, optimizer, evaluate, epochs):
    accuracies = []
    for _ in range(epochs):
        for images, labels in batches:
            model.train()
            loss = F.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            accuracies.append(evaluate(model))
    return accuracies


@answer_to(chapter_15.windowed_flops)
def forgets_one_of_the_four_maps(batch, tokens, d_model, window):
    maps = 22 * tokens * d_model**2
    return batch * (maps + 4 * tokens * window * d_model)


@answer_to(chapter_16.head_distance)
def measures_from_the_key(weights, grid_size, patch_size):
    distance = far(grid_size, patch_size, weights.dtype).norm(dim=-1)
    weights = weights[..., 1:, 1:]
    weights = weights / weights.sum(dim=-1, keepdim=True)
    return (weights * distance).sum(dim=-2).mean(dim=0)


@answer_to(chapter_16.class_token_rollout)
def adds_the_heads(maps, kept):
    return rolled(maps * maps.shape[2], kept, lambda r: r[:, 0, 1:])


@answer_to(chapter_16.thinned_rollout)
def thins_the_strongest(maps, dropped):
    identity = torch.eye(maps.shape[-1]).to(maps)
    rollout = identity
    for layer in maps.mean(dim=1):
        strong = layer > layer.quantile(1 - dropped)
        layer = layer.masked_fill(strong, 0) + identity
        layer = layer / layer.sum(dim=-1, keepdim=True)
        rollout = layer @ rollout
    return rollout


@answer_to(chapter_17.images_needed)
def measures_from_the_far_end(sizes, accuracies, wanted):
    logs = sizes.to(accuracies).log()
    for i in range(len(sizes)):
        if accuracies[i] >= wanted:
            if i == 0:
                return sizes[0]
            rise = accuracies[i] - accuracies[i - 1]
            share = (accuracies[i] - wanted) / rise
            return (logs[i - 1] + share * (logs[i] - logs[i - 1])).exp()
    return torch.tensor(math.inf)


@answer_to(chapter_17.some_of_each)
def takes_the_last_in_order(labels, shots, order):
    return (
        torch.cat(
            [order[labels[order] == c][-shots:] for c in labels.unique()]
        )
        .sort()
        .values
    )


@answer_to(chapter_18.by_kind)
def puts_values_before_keys(weight, num_heads):
    parts = weight.reshape(num_heads, 3, -1, weight.shape[-1])
    return parts[:, [0, 2, 1]].transpose(0, 1).reshape(weight.shape)


@answer_to(chapter_19.join)
def exchanges_the_halves(out_a, log_a, out_b, log_b):
    a = (log_b - log_a).sigmoid()
    return a * out_a + (1 - a) * out_b


@answer_to(chapter_19.loss_of_share)
def averages_over_places(losses, counts, everywhere, processes):
    return (losses * counts).sum() / losses.numel() * processes


# The same once more, written when the answers above were all told why.


@answer_to(chapter_01.read_both_ways)
def reads_forwards_twice(x, forwards, backwards):
    return torch.cat([forwards(x), forwards(x.flip(1)).flip(1)], dim=-1)


@answer_to(chapter_02.move)
def turns_only_the_first_pair(rows, steps):
    angles = torch.zeros(rows.shape[-1] // 2, dtype=rows.dtype)
    angles[0] = steps
    return turned(rows, angles)


@answer_to(chapter_02.turning_hands)
def exchanges_sine_and_cosine(length, d_model):
    table = table_with(
        lambda i: i / d_model, lambda i: i / d_model, length, d_model
    )
    return table.unflatten(1, (-1, 2)).flip(2).flatten(1)


@answer_to(chapter_03.attention)
def hides_the_values(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = scores.softmax(dim=-1)
    return weights @ v


@answer_to(chapter_04.decoder_mask)
def looks_for_padding_by_zero(tokens, pad_id):
    length = tokens.shape[1]
    past = torch.ones(length, length).tril().bool()
    return past & (tokens > 0)[:, None, None, :]


@answer_to(chapter_05.multi_head)
def takes_the_softmax_over_heads(x, w_qkv, w_o, num_heads):
    batch, num_tokens, d_model = x.shape
    q, k, v = (
        part.reshape(batch, num_tokens, num_heads, -1).transpose(1, 2)
        for part in (x @ w_qkv).chunk(3, dim=-1)
    )
    scale = (d_model // num_heads) ** 0.5
    heads = (q @ k.mT / scale).softmax(dim=1) @ v
    return heads.transpose(1, 2).flatten(2) @ w_o


@answer_to(chapter_06.each_token_alone)
def forgets_the_shift(x, gain, shift):
    centred = x - x.mean(dim=2, keepdim=True)
    variance = centred.square().mean(dim=2, keepdim=True)
    return centred / (variance + 1e-6).sqrt() * gain


@answer_to(chapter_07.sentence_vector)
def divides_by_the_length(out, real):
    return (out * real[..., None]).sum(dim=1) / out.shape[1]


@answer_to(chapter_08.two_memories)
def feeds_the_memory_to_the_network(
    x, memory, context, look_back, look_across, look_aside, network, norms
):
    y = x + look_back(norms[0](x))
    y = y + look_across(norms[1](y), memory)
    y = y + look_aside(norms[2](y), context)
    return y + network(y)


@answer_to(chapter_09.loss_per_word)
def forgets_the_minus(logits, labels, pad_id):
    log_p = logits.log_softmax(dim=-1)
    chosen = log_p.gather(-1, labels[..., None])[..., 0]
    real = labels != pad_id
    return (chosen * real).sum() / real.sum()


@answer_to(chapter_09.loss_per_word)
def shares_out_over_steps(logits, labels, pad_id):
    log_p = logits.log_softmax(dim=1)
    surprise = -log_p.gather(-1, labels[..., None])[..., 0]
    real = labels != pad_id
    return (surprise * real).sum() / real.sum()


@answer_to(chapter_10.chances_to_draw)
def divides_after_the_softmax(log_probs, temperature, top_k):
    chances = log_probs.exp() / temperature
    least = chances.topk(top_k).values[:, -1:]
    chances = chances.masked_fill(chances < least, 0)
    return chances.softmax(dim=-1)


@answer_to(chapter_10.best_sentence)
def adds_chances(table, begin, end, max_len, beam_size):
    best = searched(
        table.exp(),
        begin,
        end,
        max_len,
        beam_size,
        lambda one: one[1] / (len(one[0]) - 1),
        keep_wide=True,
    )
    return torch.tensor(best[1:])


@answer_to(chapter_11.to_kernel)
def puts_the_colours_before_the_pixels(matrix, num_channels, patch_size):
    p1, p2 = patch_size
    return matrix.reshape(num_channels, p2, p1, -1).permute(3, 0, 2, 1)


@answer_to(chapter_12.shuffled_positions)
def shuffles_the_features(weight, order):
    new = weight.clone()
    new[:, 1:] = weight[:, 1:].flip(1)[:, order]
    return new


@answer_to(chapter_12.entering_tokens)
def adds_the_class_token_to_all(patches, class_token, positions):
    tokens = F.pad(patches, (0, 0, 1, 0)) + class_token
    return tokens + positions[: tokens.shape[1]]


@answer_to(chapter_13.missing_class)
class ReadsTheInputEachTime(nn.Module):
    def __init__(self, make_block, depth):
        super().__init__()
        self.blocks = nn.ModuleList(make_block() for _ in range(depth))

    def forward(self, x):
        return sum(block(x) for block in self.blocks)


@answer_to(chapter_13.forward_pass)
def runs_the_blocks_backwards(
    patches, cls_token, positions, blocks, norm, head
):
    x = torch.cat([cls_token.expand(len(patches), -1, -1), patches], dim=1)
    x = x + positions
    for block in reversed(blocks):
        x = block(x)
    return head(norm(x)[:, 0])


@answer_to(chapter_14.cut_patches)
def keeps_the_grid(images, patch_size):
    p1, p2 = pair_of(patch_size)
    windows = images.unfold(2, p1, p1).unfold(3, p2, p2)
    return windows.permute(0, 2, 3, 4, 5, 1).flatten(3)


@answer_to(chapter_14.skip_branches)
def keeps_the_sum_of_the_batch(branch, draws, rate):
    kept = (draws >= rate)[:, None, None]
    return branch * kept * len(draws) / kept.sum()


@answer_to(chapter_15.windowed_flops)
def counts_windows_instead_of_tokens(batch, tokens, d_model, window):
    maps = 24 * tokens * d_model**2
    return batch * (maps + 4 * tokens * (tokens // window) * d_model)


@answer_to(chapter_16.head_distance)
def forgets_the_root_of_the_distance(weights, grid_size, patch_size):
    distance = far(grid_size, patch_size, weights.dtype).square().sum(dim=-1)
    weights = weights[..., 1:, 1:]
    weights = weights / weights.sum(dim=-1, keepdim=True)
    return (weights * distance).sum(dim=-1).mean(dim=0)


@answer_to(chapter_16.class_token_rollout)
def keeps_the_class_token(maps, kept):
    return rolled(maps, kept, lambda r: r[:, 0])


@answer_to(chapter_17.images_needed)
def takes_the_last_crossing(sizes, accuracies, wanted):
    logs = sizes.to(accuracies).log()
    found = torch.tensor(math.inf)
    if accuracies[0] >= wanted:
        return sizes[0]
    for i in range(1, len(sizes)):
        if accuracies[i - 1] < wanted <= accuracies[i]:
            rise = accuracies[i] - accuracies[i - 1]
            share = (wanted - accuracies[i - 1]) / rise
            found = (logs[i - 1] + share * (logs[i] - logs[i - 1])).exp()
    return found


@answer_to(chapter_17.some_of_each)
def takes_one_too_few(labels, shots, order):
    chosen = [order[labels[order] == c][: shots - 1] for c in labels.unique()]
    return torch.cat(chosen).sort().values


@answer_to(chapter_18.by_kind)
def cuts_kinds_inside_out(weight, num_heads):
    parts = weight.reshape(num_heads, -1, 3, weight.shape[-1])
    return parts.permute(2, 0, 1, 3).reshape(weight.shape)


@answer_to(chapter_19.join)
def takes_the_larger_half(out_a, log_a, out_b, log_b):
    return torch.where(log_a > log_b, out_a, out_b)


@answer_to(chapter_19.loss_of_share)
def divides_by_the_processes(losses, counts, everywhere, processes):
    return (losses * counts).sum() / everywhere / processes


# What says that something is wrong, but not what: only a place or a size.
VAGUE = re.compile(
    f"{re.escape(UNTOLD)}"
    "|the numbers spread by|it is too (large|small)|Look at axis .[.]"
    "|There are as many numbers as there should be"
)


def tells_why(message: str) -> bool:
    return not VAGUE.search(message)


@pytest.fixture
def one_thread():
    """Threads that wait for one another cost more than such small sums."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("one_thread")
def test_wrong_answers_are_refused_and_told_why():
    untold = []
    for exercise, answer in FRESH:
        verdict = exercise._safely(answer)
        name = f"{exercise.number} {answer.__name__}"
        assert not verdict, name
        if not tells_why(verdict.message):
            untold.append(f"{name}: {verdict.message}")
    assert len(untold) <= 0.05 * len(FRESH), "\n".join(untold)
