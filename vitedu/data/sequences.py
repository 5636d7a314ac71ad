"""Sentence pairs as ids: a vocabulary, padding, and teacher forcing."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import BatchSampler, DataLoader, RandomSampler

from vitedu import require
from vitedu.masks import check_first_token


@dataclass(frozen=True)
class Vocabulary:
    """The words of a language, each with an id.

    Three special tokens come first: ``<pad>`` (0) pads short sentences,
    ``<bos>`` (1) begins a target sentence, ``<eos>`` (2) ends it.

    Attributes:
        words: The other words, each once; the first gets the id 3.

    Raises:
        TypeError: `words` is not a tuple of strings.
        ValueError: A word occurs twice or is a special token.

    >>> letters = Vocabulary(("a", "b"))
    >>> len(letters), letters.encode(["b", "a"])
    (5, [4, 3])
    >>> letters.decode([1, 4, 3, 2, 0, 0])
    ['b', 'a']
    """

    words: tuple[str, ...]

    special_tokens: ClassVar[tuple[str, ...]] = ("<pad>", "<bos>", "<eos>")
    pad_id: ClassVar[int] = 0
    bos_id: ClassVar[int] = 1
    eos_id: ClassVar[int] = 2

    def __post_init__(self) -> None:
        if not isinstance(self.words, tuple) or not all(
            isinstance(word, str) for word in self.words
        ):
            raise TypeError(
                f"words must be a tuple of strings, got {self.words!r}"
            )
        if len(self._ids) < len(self):
            raise ValueError(
                "words must differ from each other and from "
                f"{self.special_tokens}, got {self.words}"
            )

    def __len__(self) -> int:
        """Words and special tokens together: the size of an embedding."""
        return len(self.special_tokens) + len(self.words)

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {
            word: i for i, word in enumerate(self.special_tokens + self.words)
        }

    def encode(self, words: Iterable[str]) -> list[int]:
        """Return the id of each word; special tokens are not added.

        Raises:
            ValueError: The vocabulary lacks a word.
        """
        require.instance("words", words, Iterable)
        words = list(words)
        for word in words:
            if word not in self._ids:
                raise ValueError(
                    f"words must be in the vocabulary, got {word!r} in {words}"
                )
        return [self._ids[word] for word in words]

    def decode(self, ids: Sequence[int] | Int[Tensor, " length"]) -> list[str]:
        """Return the words up to the first ``<eos>``, without special tokens.

        Raises:
            TypeError: An id is not an integer.
            ValueError: An id is negative or not below the vocabulary's size.
        """
        require.instance("ids", ids, Sequence, Tensor)
        names = self.special_tokens + self.words
        words = []
        for i in ids.tolist() if isinstance(ids, Tensor) else ids:
            require.integer("id", i, at_least=0)
            if i >= len(self):
                raise ValueError(f"id must be below {len(self)}, got {i}")
            if i == self.eos_id:
                break
            words.append(names[i])
        return [word for word in words if word not in self.special_tokens]


@dataclass(frozen=True, kw_only=True)
class Pairs:
    """Source and target sentences as ids, ready for teacher forcing.

    Attributes:
        src: (pair, src), each row a sentence and then padding.
        tgt: (pair, tgt), each row ``<bos>``, a sentence, ``<eos>`` and then
            padding.
        src_vocabulary: The words of the source sentences.
        tgt_vocabulary: The words of the target sentences.

    Raises:
        TypeError: Ids that are not integers, or something that is not a
            `Vocabulary`.
        ValueError: Other axes, padding in front of a sentence, or unequal
            numbers of sources and targets.
    """

    src: Int[Tensor, "pair src"]
    tgt: Int[Tensor, "pair tgt"]
    src_vocabulary: Vocabulary
    tgt_vocabulary: Vocabulary

    def __post_init__(self) -> None:
        for side in ("src", "tgt"):
            ids = getattr(self, side)
            vocabulary = getattr(self, f"{side}_vocabulary")
            if not isinstance(vocabulary, Vocabulary):
                raise TypeError(
                    f"{side}_vocabulary must be a Vocabulary, "
                    f"got {vocabulary!r}"
                )
            require.ids(side, ids, len(vocabulary))
            if ids.dtype != torch.int64:
                raise TypeError(f"{side} must hold int64, got {ids.dtype}")
            check_first_token(side, ids, vocabulary.pad_id)
        if len(self.src) != len(self.tgt):
            raise ValueError(
                f"tgt must hold one row per row of src, {len(self.src)}, "
                f"got {len(self.tgt)}"
            )

    @classmethod
    def encode(
        cls,
        sentences: Iterable[tuple[Sequence[str], Sequence[str]]],
        src_vocabulary: Vocabulary,
        tgt_vocabulary: Vocabulary,
    ) -> "Pairs":
        """Turn (source words, target words) into padded ids.

        Raises:
            ValueError: No sentences, a source without words, a word that its
                vocabulary lacks.
        """
        require.instance("src_vocabulary", src_vocabulary, Vocabulary)
        require.instance("tgt_vocabulary", tgt_vocabulary, Vocabulary)
        require.instance("sentences", sentences, Iterable)
        sources, targets = [], []
        for source, target in map(_sentences, sentences):
            if len(source) == 0:
                raise ValueError(
                    f"source {len(sources)} must hold a word, got none for "
                    f"{target!r}"
                )
            sources.append(src_vocabulary.encode(source))
            words = ("<bos>", *target, "<eos>")
            targets.append(tgt_vocabulary.encode(words))
        if not sources:
            raise ValueError("sentences must hold at least one pair, got none")
        return cls(
            src=_padded(sources),
            tgt=_padded(targets),
            src_vocabulary=src_vocabulary,
            tgt_vocabulary=tgt_vocabulary,
        )

    def __len__(self) -> int:
        """Count the pairs."""
        return len(self.src)

    def __getitem__(
        self, index: int | slice | list[int] | Int[Tensor, " chosen"]
    ) -> "Pairs":
        """Choose pairs; one index gives one pair, still with its axis."""
        if isinstance(index, int):
            index = [index]
        return type(self)(
            src=self.src[index],
            tgt=self.tgt[index],
            src_vocabulary=self.src_vocabulary,
            tgt_vocabulary=self.tgt_vocabulary,
        )

    @property
    def tgt_input(self) -> Int[Tensor, "pair step"]:
        """What the decoder reads in training: the target, one step late."""
        return self.tgt[:, :-1]

    @property
    def tgt_labels(self) -> Int[Tensor, "pair step"]:
        """What it must predict at each step; padding, 0, does not count."""
        return self.tgt[:, 1:]

    @property
    def words(self) -> list[tuple[list[str], list[str]]]:
        """The words of source and target, pair by pair, no special tokens."""
        return [
            (self.src_vocabulary.decode(src), self.tgt_vocabulary.decode(tgt))
            for src, tgt in zip(self.src, self.tgt, strict=True)
        ]


class PairBatch(NamedTuple):
    """What a Transformer reads in one training step, and what it must predict.

    Attributes:
        src: (pair, src), the source sentences.
        tgt_input: (pair, step), see `Pairs.tgt_input`.
        tgt_labels: (pair, step), see `Pairs.tgt_labels`.
    """

    src: Int[Tensor, "pair src"]
    tgt_input: Int[Tensor, "pair step"]
    tgt_labels: Int[Tensor, "pair step"]


def pair_batches(pairs: Pairs, *, batch_size: int, seed: int) -> DataLoader:
    """Make a shuffled loader, a `PairBatch` per step; no incomplete last one.

    For each batch, ``model(batch.src, batch.tgt_input)`` gives logits, and
    ``F.cross_entropy(logits.flatten(0, 1), batch.tgt_labels.flatten(),
    ignore_index=0)`` the loss, as `vitedu.training.loop.fit` computes it.

    Args:
        pairs: All training pairs.
        batch_size: Pairs per batch, at most all of them.
        seed: Seed of the loader's own generator, 0 to 2**64 - 1.

    Raises:
        TypeError, ValueError: `batch_size` or `seed` is not an integer in its
            range.

    Derived in: 09-transformer
    """
    require.instance("pairs", pairs, Pairs)
    require.positive_int("batch_size", batch_size)
    require.seed("seed", seed)
    if batch_size > len(pairs):
        raise ValueError(
            f"batch_size must be at most the {len(pairs)} pairs, "
            f"got {batch_size}"
        )
    generator = torch.Generator().manual_seed(seed)
    order = RandomSampler(range(len(pairs)), generator=generator)
    return DataLoader(
        pairs,
        sampler=BatchSampler(order, batch_size, drop_last=True),
        batch_size=None,
        collate_fn=_teacher_forced,
        generator=generator,
    )


def _teacher_forced(chosen: Pairs) -> PairBatch:
    return PairBatch(chosen.src, chosen.tgt_input, chosen.tgt_labels)


def _sentences(pair: object) -> tuple[Sequence[str], Sequence[str]]:
    if not (
        isinstance(pair, tuple | list)
        and len(pair) == 2
        and all(isinstance(words, Sequence) for words in pair)
    ):
        raise TypeError(
            f"sentences must hold pairs (source, target), got {pair!r}"
        )
    return tuple(pair)


def _padded(rows: list[list[int]]) -> Int[Tensor, "row longest"]:
    return pad_sequence(
        [torch.tensor(row) for row in rows],
        batch_first=True,
        padding_value=Vocabulary.pad_id,
    )
