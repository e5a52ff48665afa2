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
    known: list[str] = []
    # What loading takes, compiling takes too.
    for function, title, base in [("load", "LoadOptions", "TypedDict"), ("compile", "CompileOptions", "LoadOptions")]:
        text += f'\n\nclass {title}({base}, total=False):\n    """Keywords of `modelc.{function}`."""\n\n'
        own = [option for option in _modelc.options(function) if option[0] not in known]
        text += "".join(map(field, own))
        known += [name for name, *_ in own]
    return text


def test_keywords_are_the_options() -> None:
    if os.environ.get("MODELC_BLESS"):
        OPTIONS.write_text(made())
    assert OPTIONS.read_text() == made()
