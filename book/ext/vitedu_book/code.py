"""Write code without elements for words that look like any other text.

Names, brackets and commas are two thirds of the words of a program. Without
an element for each, a page has half as many, and is drawn in half the time.
"""

from collections.abc import Iterable
from typing import TextIO

from pygments.formatters import HtmlFormatter
from pygments.token import Name, Punctuation, Text, Token, Whitespace
from sphinx.application import Sphinx
from sphinx.highlighting import PygmentsBridge

# Those without a colour of their own in the styles of the book.
PLAIN = {Name, Name.Namespace, Punctuation, Whitespace}


class Formatter(HtmlFormatter):
    """Pygments' formatter, told that plain words are text."""

    def format(
        self, tokensource: Iterable[tuple[type(Token), str]], outfile: TextIO
    ) -> None:
        """Write words and their kinds as HTML."""
        words = (
            (Text if kind in PLAIN else kind, word)
            for kind, word in tokensource
        )
        super().format(words, outfile)


def setup(app: Sphinx) -> None:
    """Let Sphinx use our formatter."""
    PygmentsBridge.html_formatter = Formatter
