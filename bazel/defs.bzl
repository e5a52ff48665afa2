"""modelc_library, modelc_test and modelc_benchmark compile a model for the machine that Bazel builds for."""

load("@rules_cc//cc:defs.bzl", "cc_library", "cc_test")

# Targets of modelc by the constraints of platforms.
_TARGETS = {
    Label("//targets:linux_x86_64"): "x86_64-unknown-linux-gnu",
    Label("//targets:linux_aarch64"): "aarch64-unknown-linux-gnu",
    Label("//targets:linux_riscv64"): "riscv64-unknown-linux-gnu",
    Label("//targets:macos_aarch64"): "aarch64-apple-darwin",
    Label("//targets:macos_x86_64"): "x86_64-apple-darwin",
    Label("//targets:windows_x86_64"): "x86_64-pc-windows-msvc",
    Label("//targets:bare_aarch64"): "aarch64-none-elf",
    Label("//targets:bare_riscv64"): "riscv64-none-elf",
}

def _target():
    return select(
        {str(label): triple for label, triple in _TARGETS.items()},
        no_match_error = "modelc_library: this platform has no target; name one with target = \"TRIPLE\"",
    )

def _compile(context):
    name = context.attr.c_name
    # A folder for each model, so that two may have one name in two programs.
    path = context.label.name + "/" + name
    outputs = [context.actions.declare_file(path + suffix) for suffix in [".o", ".h"]]
    arguments = context.actions.args()
    arguments.add(context.file.model)
    arguments.add("-o", outputs[0])
    arguments.add("--name", name)
    arguments.add("--target", context.attr.target)
    arguments.add("--quiet")
    if context.attr.test:
        outputs.append(context.actions.declare_file(path + "_test.c"))
        arguments.add(outputs[2], format = "--emit=test=%s")
    arguments.add_all(context.files.data, before_each = "--data")
    arguments.add_all(context.attr.options)
    context.actions.run(
        executable = context.executable._modelc,
        arguments = [arguments],
        inputs = [context.file.model] + context.files.data,
        outputs = outputs,
        mnemonic = "Modelc",
        progress_message = "Compiling %s" % context.file.model.short_path,
    )
    groups = {output.extension: depset([output]) for output in outputs}
    return [DefaultInfo(files = depset(outputs)), OutputGroupInfo(**groups)]

_modelc_files = rule(
    implementation = _compile,
    doc = "The object, the header and the test of a model.",
    attrs = {
        "model": attr.label(allow_single_file = True, mandatory = True),
        "c_name": attr.string(mandatory = True),
        "target": attr.string(mandatory = True),
        "data": attr.label_list(allow_files = True),
        "options": attr.string_list(),
        "test": attr.bool(),
        "_modelc": attr.label(default = "@modelc//:modelc", executable = True, allow_single_file = True, cfg = "exec"),
    },
)

def _files(name, model, c_name, target, data, options, test):
    _modelc_files(
        name = name + "_files",
        model = model,
        c_name = c_name or name,
        target = target or _target(),
        data = data,
        options = options,
        test = test,
    )
    for extension in ["o", "h"] + (["c"] if test else []):
        native.filegroup(name = "{}_{}".format(name, extension), srcs = [name + "_files"], output_group = extension)

def modelc_library(name, model, c_name = None, target = None, data = [], options = [], **others):
    """A library with a compiled model and its header C_NAME.h.

    Args:
      name: the library.
      model: a .tflite, .pte or .bpte file.
      c_name: the prefix of names in C; `name` if not given.
      target: the machine, as modelc calls it; that of the platform if not given.
      data: tensor files of an ExecuTorch program.
      options: options of modelc.
      **others: attributes of cc_library, such as visibility.
    """
    _files(name, model, c_name, target, data, options, False)
    cc_library(name = name, srcs = [name + "_o"], hdrs = [name + "_h"], includes = [name + "_files"], **others)

def modelc_test(name, model, c_name = None, target = None, data = [], options = [], **others):
    """A test that compares a compiled model's outputs with those that modelc's interpreter computes.

    Args:
      name: the test.
      model: a .tflite, .pte or .bpte file.
      c_name: the prefix of names in C; `name` if not given.
      target: the machine; that of the platform if not given.
      data: tensor files of an ExecuTorch program.
      options: options of modelc, among them those of its tests: --inputs, --expected.
      **others: attributes of cc_test, such as size.
    """
    _files(name, model, c_name, target, data, options, True)
    cc_test(name = name, srcs = [name + "_c", name + "_o", name + "_h"], includes = [name + "_files"], local_defines = ["modelc_puts=puts"], **others)

def _benchmark(context):
    script = context.actions.declare_file(context.label.name)
    words = [context.executable._modelc.short_path, "bench", context.file.model.short_path] + context.attr.options
    context.actions.write(script, "#!/bin/sh\nexec {} \"$@\"\n".format(" ".join(["'%s'" % word for word in words])), is_executable = True)
    files = context.runfiles([context.executable._modelc, context.file.model])
    return [DefaultInfo(executable = script, runfiles = files)]

modelc_benchmark = rule(
    implementation = _benchmark,
    executable = True,
    doc = "A program that measures a model on this computer: `bazel run NAME -- --profile`.",
    attrs = {
        "model": attr.label(allow_single_file = True, mandatory = True),
        "options": attr.string_list(doc = "Options of modelc bench."),
        "_modelc": attr.label(default = "@modelc//:modelc", executable = True, allow_single_file = True, cfg = "target"),
    },
)
