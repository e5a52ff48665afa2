"""The compiler for MODULE.bazel."""

load("//:compiler.bzl", "modelc_compiler")

def _compiler(_context):
    modelc_compiler(name = "modelc")

compiler = module_extension(implementation = _compiler)
