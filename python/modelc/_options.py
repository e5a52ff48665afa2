"""The options of the command line as keywords. Made by a test, `tests/test_options.py`."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Literal, TypedDict

Value = str | int | PathLike[str] | Sequence[Any]
Values = Value | Mapping[str, Any]


class LoadOptions(TypedDict, total=False):
    """Keywords of `modelc.load`."""

    #: CPU levels: x86-64-v3,x86-64-v4 (see `modelc targets`)
    cpu: Value | None
    #: Optimize for speed or size [default: speed]
    optimize: Literal["speed", "size"] | None
    #: Memory plan: own, or program for the file's [default: own]
    plan: Literal["own", "program"] | None
    #: Search for a smaller plan: normal or max [default: normal]
    plan_effort: Literal["normal", "max"] | None
    #: Memory areas, arena first: dtcm=64K:fast,sram=256K,psram=8M:slow
    memory: Value | None
    #: Copy weights to an area of --memory
    copy_weights: Value | None
    #: Plan memory for N threads [default: --num-threads, else 1]
    threads: Value | None
    #: Change the shape of an input: in0=1x224x224x3
    shape: Values | None
    #: Make a dimension dynamic, up to a bound: in0.1=128
    bound: Values | None
    #: Fix an input to a constant, for shapes computed from it: in1=2,3
    value: Values | None
    #: Name an input or output: in0=image
    port_name: Values | None
    #: Give the results of litert or tflm (TFLite Micro) [default: litert]
    reference: Literal["litert", "tflm"] | None
    #: Tensor file of an ExecuTorch program (.ptd)
    data: Values | None
    #: Call a C function for a custom operator [default symbol: NAME]
    custom: Values | None
    #: Stop a call after N iterations of a loop
    max_iterations: Value | None
    #: Use of a GPU: auto (if estimated to be faster), require or off
    gpu: Literal["auto", "require", "off"] | None
    #: Operators for the GPU: all, a pattern (CONV*), positions (3-17)
    gpu_ops: Value | None
    #: vulkan1.1, vulkan1.1+bytes or vulkan1.3 [default: vulkan1.1]
    vk_profile: Value | None
    #: Vulkan from the system (dlopen) or the application (host)
    vk_loader: Literal["dlopen", "host"] | None
    #: GPU runtime in the object (embed) or by `modelc runtime` (link)
    runtime: Literal["embed", "link"] | None


class CompileOptions(LoadOptions, total=False):
    """Keywords of `modelc.compile`."""

    #: Write another output: object, archive, shared, weights, header, rust, hpp, json, html, graph, trace, ir, kernels, driver, clif, asm, plan, depfile, test, bench
    emit: Values | None
    #: Path of the header
    header: Value | None
    #: Write a dependency file for Make
    depfile: Value | None
    #: Write a page: memory over time, kernels, weights
    report: Value | None
    #: Triple, core or board [default: this computer]
    target: Value | None
    #: Prefix of symbols [default: the output's name without suffix]
    name: Value | None
    #: Float ABI of RISC-V: lp64, lp64f, lp64d, ilp32 or ilp32f
    abi: Value | None
    #: Weights: embed, or external in OUT.bin [default: embed]
    weights: Value | None
    #: Name of the section with the weights
    weights_section: Value | None
    #: Call modelc_config's on_kernel before and after every kernel
    profile_hooks: bool | None
    #: Fail above limits: arena<=64K,stack<=2K,flash<=300K
    require: Value | None
    #: Method to call [default: that of the .npz, else the first]
    method: Value | None
    #: Methods of the calls, in order
    calls: Values | None
    #: Inputs: in{call}_{index} [default: a .bpte's cases, else random]
    inputs: Value | None
    #: Outputs: out{call}_{index} [default: the interpreter's]
    expected: Value | None
    #: f32: quantize float32 arrays for quantized inputs
    input_type: Literal["f32"] | None
    #: Relative float error [default: 1e-5; 1e-4 for .bpte or the interpreter]
    rtol: Value | None
    #: Float error that is added to the relative one [default: 0]
    atol: Value | None
