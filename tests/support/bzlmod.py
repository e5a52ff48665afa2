"""Reads MODULE.bazel as Bazel does, as far as that needs no network: what it declares, and the repositories that its extension makes.

Starlark is a part of Python, so the files run here with functions that only take note. Arguments: folders with a MODULE.bazel."""

import json
import pathlib
import sys


def note(notes, name):
    return lambda *values, **named: notes.append([name, list(values), named])


def repositories(folder, label, name):
    """The repositories that a module extension of a file makes."""
    made = []
    rule = lambda **_: lambda **named: made.append(named["name"])
    scope = {"module_extension": lambda implementation, **_: implementation, "repository_rule": rule}

    def load(file, *names):
        exec((folder / file.removeprefix("//:")).read_text(), scope)
        assert all(name in scope for name in names), names

    scope["load"] = load
    load(label, name)
    scope[name](None)
    return made


def module(folder):
    notes, extensions = [], []

    def use_extension(label, name):
        extensions.append((label, name))
        return len(extensions) - 1

    def use_repo(extension, *names):
        made = repositories(folder, *extensions[extension])
        assert set(names) <= set(made), f"{names} are not among {made}"
        notes.append(["use_repo", list(names), {}])

    plain = ["module", "bazel_dep", "local_path_override"]
    scope = {name: note(notes, name) for name in plain} | {"use_extension": use_extension, "use_repo": use_repo}
    exec((folder / "MODULE.bazel").read_text(), scope)
    return notes


print(json.dumps([module(pathlib.Path(folder)) for folder in sys.argv[1:]]))
