"""The options of the command line as keywords. Made by a test, `tests/test_options.py`."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Literal, TypedDict

Value = str | int | PathLike[str] | Sequence[Any]
Values = Value | Mapping[str, Any]


class LoadOptions(TypedDict, total=False):
    """Keywords of `modelc.load`."""

    #: CPU level, e.g. x86-64-v3. Objects may have several, separated by commas. `modelc targets` lists them
    cpu: Value | None
    #: Memory plan: modelc's own, or the plan in the ExecuTorch program
    plan: Literal["own", "program"] | None
    #: Effort to find a smaller memory plan
    plan_effort: Literal["normal", "max"] | None
    #: Optimize for fast code or for small code
    optimize: Literal["speed", "size"] | None
    #: Plan scratch memory for this many threads [default: the value of --num-threads, else 1]
    threads: Value | None
    #: Change the shape of an input: in0=1x224x224x3. An input is given by number or name
    shape: Values | None
    #: Make a dimension of an input or output dynamic, with an upper bound: in0.1=128
    bound: Values | None
    #: Fix an input to a constant, so that shapes and axes computed from it are known: in1=2,3
    value: Values | None
    #: Tensor file of an ExecuTorch program (.ptd)
    data: Values | None
    #: Compile a custom operator as a call to a C function of the application [default symbol: NAME]
    custom: Values | None
    #: Stop a call with MODELC_E_ABORTED after this many iterations of a loop
    max_iterations: Value | None
    #: Use of a GPU. auto: only a GPU that is estimated to be faster than the CPU [default: auto; off without an operating system]
    gpu: Literal["auto", "require", "off"] | None
    #: Operators to run on the GPU: all, a name pattern (CONV*), or positions (3-17)
    gpu_ops: Value | None
    #: Capabilities of the GPU: vulkan1.1, vulkan1.1+bytes or vulkan1.3 [default: vulkan1.1]
    vk_profile: Value | None
    #: Source of the Vulkan library: the system's loader or the application [default: dlopen]
    vk_loader: Literal["dlopen", "host"] | None
    #: Place of the GPU runtime: in the object, or in a separate object from `modelc runtime` [default: embed]
    runtime: Literal["embed", "link"] | None


class CompileOptions(LoadOptions, total=False):
    """Keywords of `modelc.compile`."""

    #: Also write: object, archive, shared, weights, header, rust, hpp, json, html, ir, kernels, driver, clif, asm, plan, depfile, test
    emit: Values | None
    #: Path of the header
    header: Value | None
    #: Write a dependency file for Make
    depfile: Value | None
    #: Write an HTML report: memory over time, kernels, weights
    report: Value | None
    #: Prefix of every symbol [default: the output's file name without suffix]
    name: Value | None
    #: Target to compile for [default: this computer]. `modelc targets` lists them
    target: Value | None
    #: Float ABI in the header of riscv64 objects: lp64, lp64f or lp64d [default: lp64d]
    abi: Value | None
    #: Place of the weights: embed (in the object) or external (in a separate file, OUT.bin)
    weights: Value | None
    #: Name of the section that contains the weights
    weights_section: Value | None
    #: Call the on_kernel function of modelc_config before and after every kernel
    profile_hooks: bool | None
    #: Fail if the model needs more than these limits, e.g. arena<=64K,stack<=2K,flash<=300K
    require: Value | None
    #: Method to run [default: the one named in the .npz, else the first]
    method: Value | None
    #: Methods of the calls, in order
    calls: Values | None
    #: Archive with the inputs for --emit test. Array names: in{call}_{index} [default: the cases of a .bpte, else random]
    inputs: Value | None
    #: Archive with the expected outputs. Array names: out{call}_{index} [default: computed by the interpreter]
    expected: Value | None
    #: Accept arrays of this type for quantized inputs, and quantize them
    input_type: Literal["f32"] | None
    #: Allowed float error, relative to the largest expected value of the tensor [default: 1e-5; 1e-4 or more for a .bpte and for interpreter results]
    rtol: Value | None
    #: Allowed float error that is added to the relative one [default: 0]
    atol: Value | None
