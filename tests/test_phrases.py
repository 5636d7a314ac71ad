"""What the book says in Chinese: phrases, and the outputs that hold them."""

import html
import json
import re

import pytest
import torch
from chapter_files import ROOT

from vitedu.book import misreadings
from vitedu.book.comparing import named_sizes
from vitedu.book.grading import Hints, Verdict, judge_function
from vitedu.book.notebook import _Entry, table
from vitedu.book.outputs import lines_in, shown_in
from vitedu.book.phrases import Phrases, phrases_of

SAY = Phrases(
    {
        "{1} of {2} are right.": "{2} 个里有 {1} 个对。",
        "{1} of {2} lines": "共 {2} 行中的 {1} 行",
        "loss": "损失",
        "no mask": "没有掩码",
        "two heads": "两个头",
        "a long title of a figure": "一幅图的长标题",
        "{case}: {message}": "{case}：{message}",
        "`{name}` is missing on axis {1}.": "轴 {1} 上缺 `{name}`。",
        "{what} is {other}": "{what} 就是 {other}",
        "it passes all of {cases}.": "全部通过：{cases}。",
        "it stops: {error}": "中断了：{error}",
        "Right:": "正确：",
        "Show hint {1}": "提示 {1}",
        "Use `q @ k`.": "用 `q @ k`。",
        "by hand": "手写的",
        "of vitedu": "库里的",
        "outputs": "输出",
        "(largest difference {1})": "（最大差 {1}）",
    }
)


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        ("3 of 1,024 are right.", "1,024 个里有 3 个对。"),
        ("  loss\t", "  损失\t"),
        ("no mask: `q` is missing on axis 2.", "没有掩码：轴 2 上缺 `q`。"),
        ("`q` is `k`", "`q` 就是 `k`"),
        (
            "it passes all of no mask, two heads.",
            "全部通过：没有掩码、两个头。",
        ),
        ("3 of 4 are right. loss", "3 of 4 are right. loss"),
        (
            "3 of 4 are right. 1 of 4 are right.",
            "4 个里有 3 个对。4 个里有 1 个对。",
        ),
        (
            "it stops: mat1 and mat2 shapes differ",
            "中断了：mat1 and mat2 shapes differ",
        ),
        # Words that are no phrase make no sentence.
        ("`q` is sorted on one axis", "`q` is sorted on one axis"),
        ("some case: some message", "some case: some message"),
        ("12", "12"),
        ("", ""),
    ],
)
def test_a_phrase_is_said_in_the_other_language(english, chinese):
    assert SAY(english) == chinese


def test_there_are_phrases_in_chinese_only():
    assert phrases_of("zh")("write your answer into the cell first.") == (
        "先把答案写进单元格。"
    )
    for wrong in ("fr", "../zh", ""):
        with pytest.raises(ValueError, match=f"'zh'.*got '{wrong}'"):
            phrases_of(wrong)
    with pytest.raises(TypeError, match="language"):
        phrases_of(3)


def shown(thing):
    data = {"text/plain": repr(thing), "text/html": thing._repr_html_()}
    return shown_in(data, SAY)["text/html"]


def test_verdicts_and_hints_speak_with_their_code_and_their_folds():
    said = shown(Verdict(True, "no mask: `q` is missing on axis 2."))
    assert "<strong>正确：</strong> 没有掩码：轴 2 上缺 <code>q</code>" in said
    said = shown(Hints(("loss", "Use `q @ k`.")))
    assert "<summary>提示 2</summary><p>用 <code>q @ k</code>。</p>" in said
    assert "<p>损失</p>" in said


def test_a_claim_keeps_its_number_and_knows_where_it_stands():
    entry = {
        "name": "a",
        "statement": "3 of 4 are right.",
        "shown": "3",
        "at": 0,
        "value": 3,
        "unit": "",
    }
    said = shown(_Entry("claim", entry["statement"], entry))
    [data] = re.findall(r'data-claim=["\'](.*?)["\'] ?(?=id|>)', said)
    found = json.loads(html.unescape(data))
    assert found["statement"] == "4 个里有 3 个对。"
    assert found["statement"][found["at"] :].startswith("3 个对")
    page = _Entry("claim", entry["statement"], entry)._repr_html_()
    with pytest.raises(ValueError, match=r"must hold '3', got '全对。'"):
        shown_in({"text/html": page}, lambda text: "全对。")


def test_a_rung_is_said_in_its_parts():
    entry = {"name": "a", "lower": "by hand", "upper": "of vitedu"}
    entry |= {"compares": "outputs", "difference": 0.0, "tolerance": 0.0}
    sentence = "by hand = of vitedu (largest difference 2e-15)"
    said = shown(_Entry("rung", sentence, entry))
    assert said.endswith(">手写的 = 库里的（最大差 2e-15）</p>")
    assert html.unescape(said).count("输出") == 1


def test_the_cells_of_a_table_are_said_and_nothing_else_in_markdown():
    rows = table(["loss", "a | b"], [["no mask", 0.5], ["`x_1`", 2]])
    data = {"text/markdown": rows._repr_markdown_(), "text/plain": repr(rows)}
    lines = shown_in(data, SAY)["text/markdown"].split("\n")
    assert lines[0] == "| 损失 | a \\| b |"
    assert lines[2:] == ["| 没有掩码 | 0.5 |", "| \\`x\\_1\\` | 2 |"]
    code = {"text/markdown": "`loss`\n```python\nloss\n```"}
    assert shown_in(code, SAY) == code


def test_printed_lines_are_said_one_by_one():
    assert lines_in("loss\nno  mask\n\n x = 1\n", SAY) == (
        "损失\n没有掩码\n\n x = 1\n"
    )
    assert shown_in({"text/plain": "loss"}, SAY) == {"text/plain": "损失"}


X = torch.linspace(-1, 1, 48).view(4, 12)
INPUTS = {
    "x": X,
    "order": torch.arange(6),
    "mask": X > 0,
    "parts": [torch.sin, torch.cos],
    "f": torch.tanh,
    "k": 3,
    "y": X + 1,
}


def test_each_reading_of_an_input_is_said_in_chinese():
    """A learner who reads Chinese is told what the result would be right for.

    Each other input in turn is what a wrong function has taken.
    """
    say, told = phrases_of("zh"), set()
    inputs, names = tuple(INPUTS.values()), tuple(INPUTS)
    sizes = named_sizes(inputs, names)
    for said, _ in misreadings._other_inputs(inputs, names, sizes):
        english = f"your result is exactly {misreadings._told(said, sizes)}"
        code = r"`[^`]*`|True|False|argsort"
        assert not re.search("[a-z]{2}", re.sub(code, "", say(english))), said
        told.add(re.sub(r"`[^`]*`|\d[\d.]*", "", said))
    assert not say.missed
    assert len(told) > 50


def weights(q, k):
    return (q @ k.mT).softmax(dim=-1)


@pytest.mark.parametrize(
    ("wrong", "english", "chinese"),
    [
        (
            lambda q, k: weights(q, k**2),
            "your result is exactly what the right function returns for `k` "
            "squared.",
            "你的结果恰好等于正确函数在`k` 换成它的平方时返回的结果。",
        ),
        (
            lambda q, k: weights(q, k * 2),
            "what the right function returns for a `q` twice as large.",
            "在`q` 变为两倍时",
        ),
        (
            lambda q, k: weights(q, k).pow(1 + (torch.arange(4) == 2))[:, :],
            "of the 4 positions on axis 1, only position 2 is wrong",
            "轴 1 上有 4 个位置，只有位置 2 是错的",
        ),
        (
            lambda q, k: weights(q, k).pow(1 + (torch.arange(4) != 2))[:, :],
            "only position 2 is right; at the others, every number is the sq",
            "只有位置 2 是对的；其余位置上，每个数都是应有值的平方。",
        ),
    ],
)
def test_a_check_says_what_it_means(wrong, english, chinese):
    case = {"three heads": (X, X + X.flip(1) / 3)}
    message = judge_function(wrong, weights, {}, case).message
    assert english in message
    assert chinese in phrases_of("zh")(message)


def test_every_table_of_the_book_can_be_read():
    for path in ROOT.glob("book/zh/phrases/**/*.json"):
        assert Phrases.read([path]), path
