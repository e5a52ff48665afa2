"""The compiler of this computer as the repository @modelc."""

def _find(repository):
    """The path that MODELC names, or that of `modelc` on PATH."""
    named = repository.os.environ.get("MODELC")
    found = repository.path(named) if named else repository.which("modelc")
    if not found:
        fail("modelc is not on PATH: install it, or name it with --repo_env=MODELC=/path/of/modelc")
    return found

def _compiler(repository):
    repository.symlink(_find(repository), "modelc")
    repository.file("BUILD", 'exports_files(["modelc"])\n')

modelc_compiler = repository_rule(
    implementation = _compiler,
    environ = ["MODELC", "PATH"],
    doc = "The repository @modelc with the compiler that MODELC names, or that PATH has.",
)
