//! Helpers of several tests: they find recorded models, run them, and compare results.

#![allow(dead_code, reason = "each test file uses a part of it")]

pub mod bless;
pub mod device;
pub mod engines;
pub mod harness;
pub mod marked;
pub mod program;
pub mod ranges;
pub mod texts;
pub mod vulkan;

use modelc::compare::{Difference, Tolerance};
use modelc::diagnostic::{Diagnostic, Diagnostics};
use modelc::frontend::given::Sample;
use modelc::frontend::{self, LoadOptions};
use modelc::ir::interpret::Interpreter;
use modelc::ir::{Method, Module, Tensor};
use modelc::machine::{CpuMachine, GpuMachine, MACHINES, MICROCONTROLLERS};
use modelc::npz::{self, Archive};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Makes a CPU with the capabilities of a GPU, for kernels as they are before they get grids.
pub fn as_cpu(gpu: &GpuMachine) -> &'static CpuMachine {
    Box::leak(Box::new(CpuMachine { level: gpu.level, capabilities: gpu.capabilities.clone(), ..MACHINES[0].clone() }))
}

/// Returns the CPU levels that differ for schedules. Levels with equal capabilities have equal kernels, and differ in machine code alone.
pub fn machines() -> Vec<&'static CpuMachine> {
    let mut known = HashSet::new();
    MACHINES.iter().chain(MICROCONTROLLERS).filter(|machine| known.insert((machine.isa, &machine.capabilities))).collect()
}

/// Returns a folder of recorded models: below `MODELC_CORPUS`, or `../shared/models` beside the project. Tests that need one declare it; see
/// [`harness`].
pub fn corpus(folder: &str) -> Option<PathBuf> {
    let root = std::env::var_os("MODELC_CORPUS").map(PathBuf::from);
    let root = root.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/models"));
    Some(root.join(folder)).filter(|path| path.is_dir())
}

/// Returns the path of a folder of this repository.
pub fn own(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)
}

/// Returns the models of a folder of the corpus, in order; none without a corpus.
pub fn models(folder: &str, extension: &str) -> Vec<PathBuf> {
    corpus(folder).map_or_else(Vec::new, |folder| models_in(&folder, extension))
}

/// Returns the files of a folder with an extension that are selected (see [`harness::is_wanted`]), in order.
pub fn models_in(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder can be read");
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == extension) && harness::is_wanted(&stem(path)));
    paths.sort();
    paths
}

/// Returns a model's name: its file name without extension.
pub fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Loads a model. Extents and values that a `.tflite` leaves open are taken from the record.
pub fn load(path: &Path) -> Result<Module, Diagnostics> {
    let bytes = std::fs::read(path).expect("the model can be read");
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut options = LoadOptions::default();
    let inputs = recorded(path, "inputs.npz").ok().filter(|_| path.extension().is_some_and(|extension| extension == "tflite"));
    if let Some(inputs) = inputs {
        let inputs = inputs.inputs(0).into_iter().map(|(index, array)| (index, array.clone())).collect();
        options.samples = vec![Sample { method: None, inputs }];
    }
    if let Ok(tensors) = std::fs::read(path.with_extension("ptd")) {
        options.data.push(("tensors.ptd".into(), tensors.into()));
    }
    frontend::load(Arc::new(bytes), &name, &options)
}

/// Models whose outputs were recorded with other kernels than the reference's, with their tolerances.
///
/// The reference kernels reject selfie_segmentation for its second-to-last operator, so XNNPACK's outputs are recorded. Without the last two
/// operators LiteRT runs it with both. XNNPACK's result then differs by 6.6e-6 of the largest value from the reference's, and ours by 5.5e-7.
///
/// The last two operators are a sum of sixteen products and a logistic function. The largest output, 0.0022, has the argument -6.117 for the
/// reference (computed in binary64 from there) and for us, and -6.1169 for XNNPACK. There the function turns an absolute difference into an
/// equal relative one. So our distance from the reference is 1.3e-5 of the largest output, and XNNPACK's is 2.1e-4.
///
/// PyTorch's outputs are recorded for the MobileNet, whose 52 convolutions accumulate differences in the order of sums: 1.1e-5.
const OTHER_KERNELS: &[(&str, f64)] = &[
    ("mediapipe-selfie_segmentation", 2.5e-4),
    ("mobilenet_v2_w35_96.portable", 2e-5),
    ("mobilenet_v2_w35_96.vulkan", 2e-5),
    ("mobilenet_v2_w35_96.xnnpack", 2e-5),
];

/// Delegates that quantize rows at run time, with their tolerances on a level without fused multiply-adds. The recorded runtime fuses them.
/// Without fusion, a float near the middle between two integers can be rounded to the other one. This is one step of a row: 4.9e-3 of the
/// largest output here. Levels with fusion match to 2e-7.
const NOT_FUSED: &[(&str, f64)] = &[("vit_small_d8.xnnpack", 1e-2)];

/// Returns the [`tolerance`] for a CPU level.
pub fn tolerance_on(level: &CpuMachine, model: &Path, usual: f64) -> f64 {
    let usual = tolerance(model, usual);
    let stem = stem(model);
    NOT_FUSED.iter().find(|(name, _)| !level.fma && *name == stem).map_or(usual, |&(_, tolerance)| tolerance)
}

/// Returns the tolerance for the floats of a model: `usual`, unless other kernels than the reference's were recorded.
pub fn tolerance(model: &Path, usual: f64) -> f64 {
    let stem = model.file_stem().unwrap_or_default().to_string_lossy();
    OTHER_KERNELS.iter().find(|(name, _)| *name == stem).map_or(usual, |&(_, tolerance)| tolerance)
}

/// Tolerance of floats, relative to the largest one: the order of sums differs.
pub const FLOAT_TOLERANCE: f64 = 1e-5;

/// Returns the programs of this repository with operators of ExecuTorch's Cortex-M back end.
pub fn cortex_m_programs() -> Vec<PathBuf> {
    let mut programs = models_in(&own("tests/models/executorch"), "pte");
    programs.retain(|path| stem(path).starts_with(CORTEX_M));
    harness::at_least(programs.len(), 13, "programs of the Cortex-M back end");
    programs
}

/// Beginning of the names of these programs.
const CORTEX_M: &str = "cortex_m_";

/// Returns the tolerance for a program with a delegate.
pub fn delegate_tolerance(program: &Path) -> f64 {
    match stem(program).as_str() {
        // Results are those of the exporter's kernels, bit for bit.
        name if name.starts_with(CORTEX_M) => 0.0,
        // The exporter expresses GELU with tanh for the delegate's GELU with erf: the record is PyTorch's, which differs by 1.7e-4.
        "gelu.gelu_f32_tanh_approximation.xnnpack" => 3e-4,
        // binary16 inside: each of the three layers rounds.
        "mlp_f16.xnnpack" => 2e-3,
        // Rows are quantized at run time. The call of seven rows is equal; calls of one row differ, which is not explained yet.
        "llm_tiny_ptd.xnnpack" => 1e-2,
        // The exporter omits the quantization of activations; PyTorch's result for the graph equals ours to 1e-5.
        "addmul_q8.vulkan" => 3e-2,
        "mlp_vkd8.vulkan" => 3e-3,
        // binary16 inside.
        "mlp_f16.vulkan" => 2e-3,
        _ => FLOAT_TOLERANCE,
    }
}

/// Reads the recorded inputs or outputs beside a model.
pub fn recorded(model: &Path, what: &str) -> Result<Archive, Diagnostic> {
    Archive::read(&model.with_extension(what))
}

/// A call of a method, with the results of the interpreter.
pub struct Run {
    pub method: usize,
    pub arguments: Vec<Tensor>,
    pub outputs: Vec<Tensor>,
}

/// Runs all recorded calls of a model in the interpreter, in order.
pub fn interpreted(model: &Path, module: &Module) -> Result<Vec<Run>, String> {
    let mut interpreter = Interpreter::new(module);
    run_with(model, module, |method, arguments| interpreter.run(method, arguments).map_err(|error| error.to_string()))
}

/// Runs all recorded calls of a model with `run`, in order.
pub fn run_with(
    model: &Path,
    module: &Module,
    mut run: impl FnMut(usize, &[Tensor]) -> Result<Vec<Tensor>, String>,
) -> Result<Vec<Run>, String> {
    let inputs = recorded(model, "inputs.npz").map_err(|error| error.to_string())?;
    let methods = methods_of_calls(model);
    let mut runs = Vec::new();
    for call in 0..inputs.calls().max(methods.len()).max(1) {
        let wanted = methods.get(call);
        let found = module.methods.iter().position(|method| wanted.is_none_or(|name| *name == method.name));
        let method = found.ok_or_else(|| format!("there is no method {wanted:?}"))?;
        let arguments = arguments(module, &module.methods[method], &inputs, call)?;
        let outputs = run(method, &arguments)?;
        runs.push(Run { method, arguments, outputs });
    }
    Ok(runs)
}

/// Runs all recorded calls of a model in the interpreter and compares. Returns the largest difference.
pub fn check_interpreted(model: &Path, tolerance: f64) -> Result<f64, String> {
    let module = load(model).map_err(|error| error.to_string())?;
    modelc::ir::verify::verify(&module).map_err(|error| format!("verifier: {error}"))?;
    let runs = interpreted(model, &module)?;
    check_runs(model, &module, &runs, tolerance)
}

/// Reads the recorded outputs: the format's own runtime's, if it differs from the framework by design.
pub fn answers(model: &Path) -> Result<Archive, Diagnostic> {
    let of_runtime = model.with_extension("runtime.npz").exists();
    recorded(model, if of_runtime { "runtime.npz" } else { "expected.npz" })
}

/// Compares the results of runs with the record. Returns the largest difference.
pub fn check_runs(model: &Path, module: &Module, runs: &[Run], tolerance: f64) -> Result<f64, String> {
    let expected = answers(model).map_err(|error| error.to_string())?;
    let tolerance = self::tolerance(model, tolerance);
    let mut worst = 0f64;
    for (call, run) in runs.iter().enumerate() {
        for (index, (output, port)) in run.outputs.iter().zip(&module.methods[run.method].outputs).enumerate() {
            let index = port.position(index);
            let output = port.from_buffer(output).ok_or("an output has another rank than its port")?;
            let Some(array) = expected.output(call, index) else { return Err(format!("output {index} of call {call} is not recorded")) };
            worst = worst.max(compare(&output, array, tolerance).map_err(|error| format!("output {index} of call {call}: {error}"))?);
        }
    }
    Ok(worst)
}

/// Returns the recorded inputs of a call in the types of a method.
pub fn arguments(module: &Module, method: &Method, inputs: &Archive, call: usize) -> Result<Vec<Tensor>, String> {
    let function = &module.functions[method.function];
    let mut arguments = Vec::new();
    for (number, port) in method.inputs.iter().enumerate() {
        let index = port.position(number);
        let array = inputs.input(call, index).ok_or_else(|| format!("input {index} of call {call} is not recorded"))?;
        let ty = function.tensor(function.params[number]);
        let array = port.to_buffer(array).ok_or_else(|| format!("input {index} of call {call} has another rank"))?;
        let shape = ty.static_shape().unwrap_or_else(|| array.shape.clone());
        arguments.push(npz::conform(&array, ty.element, &shape, &format!("in{call}_{index}")).map_err(|error| error.to_string())?);
    }
    Ok(arguments)
}

/// Returns the method of each recorded call, from the `.json` beside a model; empty without such a file.
pub fn methods_of_calls(model: &Path) -> Vec<String> {
    let Ok(text) = std::fs::read_to_string(model.with_extension("json")) else { return Vec::new() };
    let json: serde_json::Value = serde_json::from_str(&text).expect("the description of the calls is JSON");
    let calls = json["calls"].as_array().cloned().unwrap_or_default();
    calls.iter().map(|call| call["method"].as_str().unwrap_or_default().to_owned()).collect()
}

/// Compares tensors. Integers must be equal; floats may differ by `tolerance` of the largest recorded magnitude. Returns the largest such
/// ratio.
pub fn compare(found: &Tensor, expected: &Tensor, tolerance: f64) -> Result<f64, String> {
    match modelc::compare::compare(found, expected, Tolerance { relative: tolerance, absolute: 0.0 }) {
        Difference::None { worst } => Ok(worst),
        difference => Err(difference.to_string()),
    }
}

/// Changes a TFLite model as another training might: other integers as weights, other scales, other zero points, the same operators. Tensors
/// that share a scale still do. Constants that operators require stay, such as 1/256, and zero points at the end of the range.
pub fn retrained(model: &[u8]) -> Vec<u8> {
    use modelc::schema::tflite;
    let options = modelc::schema::verifier_options(model.len());
    let file = tflite::root_as_model_with_opts(&options, model).expect("the model is sound");
    let mut new = model.to_vec();
    let mut put = |at: &[u8], bytes: &[u8]| {
        let offset = at.as_ptr() as usize - model.as_ptr() as usize;
        new[offset..offset + bytes.len()].copy_from_slice(bytes);
    };
    let buffers = file.buffers().expect("there are buffers");
    for tensor in file.subgraphs().into_iter().flatten().flat_map(|subgraph| subgraph.tensors().into_iter().flatten()) {
        let data = buffers.get(tensor.buffer() as usize).data().filter(|data| !data.is_empty());
        let Some(quantization) = tensor.quantization() else { continue };
        let fixed = quantization.scale().is_some_and(|scales| scales.iter().any(|scale| scale == 1.0 / 256.0));
        if fixed {
            continue;
        }
        for (position, scale) in quantization.scale().into_iter().flatten().enumerate() {
            let factor = 0.9 + 0.01 * (scale.to_bits() % 17) as f32;
            put(&quantization.scale().expect("it has scales").bytes()[4 * position..], &(scale * factor).to_le_bytes());
        }
        if let (Some(points), None) = (quantization.zero_point(), data) {
            for (position, point) in points.iter().enumerate().filter(|(_, point)| point.abs() < 100) {
                put(&points.bytes()[8 * position..], &(point + 1 + point.rem_euclid(3)).to_le_bytes());
            }
        }
        if let (Some(data), tflite::TensorType::INT8) = (data, tensor.type_()) {
            let bytes: Vec<u8> = data.bytes().iter().map(|&byte| (byte as i8 / 2 + 1 - (byte % 3) as i8) as u8).collect();
            put(data.bytes(), &bytes);
        }
    }
    new
}
