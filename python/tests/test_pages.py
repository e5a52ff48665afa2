"""The Python of README.md and of the pages of docs, and their commands that need this package."""

import pathlib
import re
import shutil
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from conftest import DIGITS, ROOT

PAGES = [ROOT / "README.md", ROOT / "python" / "README.md", ROOT / "docs" / "python.md"]


def blocks(page: pathlib.Path, mark: str) -> list[str]:
    return re.findall(rf"^```{mark}\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A folder with the files that pages name. The programs of this environment come first on the search path."""
    shutil.copy(DIGITS, tmp_path / "model.tflite")
    shutil.copy(DIGITS.with_suffix(".inputs.npz"), tmp_path / "in.npz")
    shutil.copy(DIGITS.with_suffix(".expected.npz"), tmp_path / "out.npz")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(pathlib.Path(sys.executable).parent), prepend=":")
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_python_of_pages_runs(page: pathlib.Path, folder: pathlib.Path) -> None:
    names: dict[str, Any] = {"image": np.zeros((1, 8, 8, 1), np.int8)}
    found = blocks(page, "python")
    assert found
    for block in found:
        exec(compile(block, str(page), "exec"), names)


def test_commands_of_pages_run(folder: pathlib.Path) -> None:
    found = [line for page in ROOT.glob("docs/*.md") for block in blocks(page, "sh python") for line in block.splitlines()]
    assert found
    for line in found:
        subprocess.run(line, shell=True, check=True, cwd=folder)
