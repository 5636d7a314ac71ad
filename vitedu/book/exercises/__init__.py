"""The exercises, a module a chapter: a check names the thought that erred.

A check looks at what an answer does, never at how it is written. A chapter
begins with ``from vitedu.book.exercises import chapter_03 as check``.
"""
