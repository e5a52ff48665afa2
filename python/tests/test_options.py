"""The keywords are the options of the command line: `modelc/_options.py` is made of their table.

`MODELC_BLESS=1 ./test.sh` writes the file anew.
"""

import os
import pathlib

from modelc import _modelc

OPTIONS = pathlib.Path(__file__).resolve().parents[1] / "modelc" / "_options.py"

HEAD = '''"""The options of the command line as keywords. Made by a test, `tests/test_options.py`."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Literal, TypedDict

Value = str | int | PathLike[str] | Sequence[Any]
Values = Value | Mapping[str, Any]
'''


def field(option: tuple[str, bool, bool, list[str], str]) -> str:
    name, takes_value, repeats, values, text = option
    if not takes_value:
        kind = "bool"
    elif values:
        kind = f"Literal[{', '.join(repr(value) for value in values)}]".replace("'", '"')
    else:
        kind = "Values" if repeats else "Value"
    return f"    #: {text}\n    {name.replace('-', '_')}: {kind} | None\n"


def made() -> str:
    text = HEAD
    for function, title in [("load", "LoadOptions"), ("compile", "CompileOptions")]:
        text += f'\n\nclass {title}(TypedDict, total=False):\n    """Keywords of `modelc.{function}`."""\n\n'
        text += "".join(map(field, _modelc.options(function)))
    return text


def test_keywords_are_the_options() -> None:
    if os.environ.get("MODELC_BLESS"):
        OPTIONS.write_text(made())
    assert OPTIONS.read_text() == made()
