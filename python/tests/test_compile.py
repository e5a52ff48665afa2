"""Objects, the options, the command line."""

import pathlib
import re
import subprocess
import sys
from typing import Any

import modelc
import pytest

from conftest import DIGITS, MODELS


def test_objects_are_those_of_the_command_line(tmp_path: pathlib.Path) -> None:
    compiled = modelc.compile(DIGITS, out=tmp_path / "a.o", target="aarch64-none-elf", name="net", optimize="size")
    command = ["--target", "aarch64-none-elf", "--name", "net", "--optimize", "size"]
    subprocess.run([sys.executable, "-m", "modelc", str(DIGITS), "-o", str(tmp_path / "b.o"), *command], check=True)
    assert (tmp_path / "a.o").read_bytes() == (tmp_path / "b.o").read_bytes() == compiled.object
    assert (tmp_path / "a.h").read_text() == compiled.header
    assert compiled.arena_bytes > 0 and compiled.report["schema"] == "modelc.report/1"
    assert compiled.weights is None and [method.name for method in compiled.signatures.values()]
    assert compiled._repr_html_().startswith("<iframe")


def test_nothing_is_written_unless_asked(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    compiled = modelc.compile(DIGITS, weights="external", cpu=["x86-64-v3", "x86-64-v2"], target="x86_64-linux-gnu")
    assert compiled.weights and list(tmp_path.iterdir()) == []
    modelc.compile(DIGITS, emit=["plan", "ir=text.ir"])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["digits_int8.plan", "text.ir"]


def test_options_of_every_form() -> None:
    compiled = modelc.compile(MODELS / "composite.tflite", bound={"in0.0": 4}, profile_hooks=True, threads=2)
    assert next(iter(compiled.signatures.values())).inputs[0].shape == [4, 3]
    reshaped = modelc.compile(MODELS / "composite.tflite", shape={"in0": (5, 3)}, profile_hooks=False)
    assert next(iter(reshaped.signatures.values())).inputs[0].shape == [5, 3]
    padded = modelc.compile(MODELS / "pad_by_value.tflite", value={"in1": [0] * 4})
    assert padded.arena_bytes > 0


def test_mistakes_raise() -> None:
    mistakes: list[tuple[Any, str]] = [
        ({"optimize": "both"}, "MC0800"),
        ({"target": "z80"}, "MC0702"),
        ({"require": "arena<=1"}, "MC0602"),
    ]
    for options, code in mistakes:
        with pytest.raises(modelc.Error) as raised:
            modelc.compile(DIGITS, **options)
        assert raised.value.code == code
    with pytest.raises(TypeError, match="optimise"):
        modelc.compile(DIGITS, optimise="size")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="target"):
        modelc.load(DIGITS, target="aarch64-none-elf")  # type: ignore[call-arg]


def test_every_option_of_the_command_line_is_known() -> None:
    help_text = subprocess.run([sys.executable, "-m", "modelc", "--help"], check=True, capture_output=True, text=True).stdout
    named = {name.replace("-", "_") for name in re.findall(r"^ +(?:-\w, )?--([a-z-]+)", help_text, re.MULTILINE)}
    assert named - set(modelc.options()) == {"output", "message_format", "quiet", "verbose", "help", "version"}
    assert all(modelc.options().values()) and set(modelc.options("load")) < set(modelc.options())


def test_the_command_line_ends_as_it_does() -> None:
    script = pathlib.Path(sys.executable).with_name("modelc")
    for command in ([sys.executable, "-m", "modelc"], [str(script)]):
        version = subprocess.run([*command, "--version"], check=True, capture_output=True, text=True).stdout
        assert version == f"modelc {modelc.__version__}\n"
        missing = subprocess.run([*command, "missing.tflite", "-o", "x.o"], capture_output=True, text=True, check=False)
        assert missing.returncode == 1 and "MC0102" in missing.stderr
        wrong = subprocess.run([*command, "--wrong"], capture_output=True, text=True, check=False)
        assert wrong.returncode == 2
        mistyped = subprocess.run([*command, "bnech", "x.tflite"], capture_output=True, text=True, check=False)
        assert "modelc bench" in mistyped.stderr
