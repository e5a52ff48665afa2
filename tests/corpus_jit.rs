//! Real models in the JIT, compared with recorded outputs.

mod support;

use modelc::diagnostic::{Diagnostics, Kind};
use modelc::jit::Jit;
use modelc::lower::Options;
use modelc::machine::CpuMachine;
use modelc::{passes, pipeline, target};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use support::harness::{self, Needs};

/// Tolerance as for the interpreter: sums have another order than the reference's.
const FLOAT_TOLERANCE: f64 = 1e-5;

/// Memory of a model, and the largest difference of its outputs.
struct Report {
    worst: f64,
    plan: String,
    /// Scratch memory, variables, inputs and outputs.
    bytes: u64,
}

/// Reason why a model has no result to compare.
enum Failure {
    /// An unsupported feature, which the error names.
    Unsupported(String),
    Other(String),
}

impl From<String> for Failure {
    fn from(message: String) -> Self {
        Self::Other(message)
    }
}

impl From<Diagnostics> for Failure {
    fn from(error: Diagnostics) -> Self {
        let unsupported = error.0.iter().all(|d| d.kind() == Kind::Unsupported);
        if unsupported { Self::Unsupported(error.0[0].message.clone()) } else { Self::Other(error.to_string()) }
    }
}

fn check(model: &Path, machine: &'static CpuMachine, tolerance: f64) -> Result<Report, Failure> {
    let mut module = support::load(model)?;
    passes::run_all(&mut module);
    let options = Options::new(machine);
    let lowered = pipeline::lower(&module, "model", options)?;
    let jit = Jit::new(&lowered.program, machine).map_err(|e| e.to_string())?;
    let mut instance = jit.instance().map_err(|e| e.to_string())?;
    let inputs = support::recorded(model, "inputs.npz").map_err(|e| e.to_string())?;
    let expected = support::answers(model).map_err(|e| e.to_string())?;
    let method = &lowered.program.methods[0];
    let mut worst = 0f64;
    let mut first = Vec::new();
    for call in 0..inputs.calls().max(1) + 1 {
        // Once more from the start: variables are reset to their initial contents.
        let again = call == inputs.calls().max(1);
        let call = if again { 0 } else { call };
        if again {
            instance.reset().map_err(|e| e.to_string())?;
        }
        let arguments = support::arguments(&module, &module.methods[0], &inputs, call)?;
        let outputs = instance.call_tensors(0, &arguments).map_err(|e| e.to_string())?;
        if call == 0 && !again {
            first.clone_from(&outputs);
            for threads in [2, 3, 7] {
                let mut instance = jit.instance_on(threads).map_err(|e| e.to_string())?;
                if instance.call_tensors(0, &arguments).map_err(|e| e.to_string())? != first {
                    return Err(Failure::Other(format!("other outputs with {threads} threads")));
                }
            }
            if target::host_machine().is_ok_and(|host| host.level == machine.level) {
                support::ranges::check_in_ranges(&module, options, &arguments, std::slice::from_ref(&first))?;
            }
        } else if again && outputs != first {
            return Err(Failure::Other("other outputs after a reset".into()));
        }
        for (index, found) in outputs.into_iter().enumerate() {
            let array = expected.output(call, index).ok_or_else(|| "not recorded".to_owned())?;
            worst = worst.max(support::compare(&found, array, tolerance).map_err(|e| format!("output {index} of call {call}: {e}"))?);
        }
    }
    let io: u64 = method.inputs.iter().chain(&method.outputs).map(|p| p.bytes).sum();
    let bytes = lowered.program.variable_bytes + lowered.plans[0].arena_bytes + io;
    Ok(Report { worst, plan: lowered.plans[0].to_string(), bytes })
}

/// Checks the models of a folder with recorded outputs, at every CPU level of this computer. Returns the bytes of each.
fn check_all(mut models: Vec<PathBuf>) -> Vec<(String, u64)> {
    models.retain(|model| support::recorded(model, "expected.npz").is_ok());
    let (mut failures, mut sizes) = (Vec::new(), Vec::new());
    for level in target::host_machines() {
        for model in &models {
            let name = support::stem(model);
            match check(model, level, support::tolerance_on(level, model, FLOAT_TOLERANCE)) {
                Ok(report) => {
                    harness::progress(|| {
                        format!("{name} {}: {:.1e}, {} with all {}", level.level, report.worst, report.plan, report.bytes)
                    });
                    sizes.push((name, report.bytes));
                }
                Err(Failure::Unsupported(error) | Failure::Other(error)) => failures.push(format!("{name} {}: {error}", level.level)),
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    sizes
}

/// Memory of TFLite Micro's interpreter for models that it can run: the arena that its Python package reports (October 2026). It includes
/// variables, inputs and outputs.
const INTERPRETER_MEMORY: &[(&str, u64)] = &[
    ("coral-tf2_mobilenet_v2_1.0_224_ptq", 1_665_776),
    ("dtln-model_1", 16_512),
    ("esphome-v1-alexa", 53_136),
    ("esphome-v2-hey_jarvis", 19_808),
    ("esphome-v2-okay_nabu", 23_424),
    ("esphome-v2-vad", 12_208),
    ("mediapipe-hand_recrop", 1_592_848),
    ("mlperftiny-ToyCar_quant_fullint", 6_592),
    ("mlperftiny-ad01_fp32", 6_224),
    ("mlperftiny-ad01_int8", 3_984),
    ("mlperftiny-kws_ref_model", 24_272),
    ("mlperftiny-pretrainedResnet", 203_376),
    ("mlperftiny-pretrainedResnet_large_float", 502_320),
    ("mlperftiny-pretrainedResnet_large_int8", 133_744),
    ("mlperftiny-pretrainedResnet_quant", 55_984),
    ("mlperftiny-str_ww_ref_model", 16_640),
    ("mlperftiny-vww_96_float", 324_800),
    ("mlperftiny-vww_96_int8", 103_680),
    ("pymicrowakeword-okay_nabu", 25_904),
    ("support-mobilenet_v1_0.25_224_1_default_1", 1_643_520),
    ("tflm-hello_world_float", 1_536),
    ("tflm-hello_world_int8", 1_504),
    ("tflm-keyword_scrambled", 15_152),
    ("tflm-keyword_scrambled_8bit", 10_032),
    ("tflm-micro_speech_lstm", 20_000),
    ("tflm-micro_speech_quantized", 7_584),
    ("tflm-mnist_lstm", 8_272),
    ("tflm-mnist_lstm_int8", 4_208),
    ("tflm-person_detect", 85_264),
];

/// Approximate memory of models whose largest tensors are in the middle of chains, in bands of rows.
const IN_BANDS: &[(&str, u64)] = &[("coral-tf2_mobilenet_v2_1.0_224_ptq", 400_000), ("mlperftiny-vww_96_int8", 54_000)];

fn every_real_model_matches_in_the_jit_and_takes_less_memory_than_an_interpreter() {
    for (name, bytes) in check_all(support::models("tflite", "tflite")) {
        let limits = INTERPRETER_MEMORY.iter().chain(IN_BANDS).filter(|(model, _)| *model == name);
        assert!(limits.into_iter().all(|(_, limit)| bytes <= *limit), "{name} takes {bytes} B");
    }
}

/// Networks whose layers are in a delegate. If activations are integers without float functions between them, sums and roundings equal the
/// runtime's. So the tolerance is only for the rounding of the float outputs.
fn networks_of_xnnpack_delegates_match_in_the_jit() {
    const NETWORKS: &[&str] = &[
        "dscnn_kws",
        "lenet",
        "lenet_q8",
        "lenet_q8pt",
        "lstm",
        "mobilenet_v2_q8",
        "mobilenet_v2_w35_96_q8",
        "resnet18_half_q8",
        "vit_small",
        "vit_small_d8",
    ];
    let Some(folder) = support::corpus("executorch") else { return };
    let checked = check_all(NETWORKS.iter().map(|name| folder.join(format!("{name}.xnnpack.pte"))).collect());
    harness::at_least(checked.len(), NETWORKS.len() * target::host_machines().len(), "networks");
}

/// Networks with graphs for a GPU, on the CPU.
fn networks_of_vulkan_delegates_match_in_the_jit() {
    const NETWORKS: &[&str] = &[
        "bert_tiny",
        "lenet",
        "llama_tiny_dyn",
        "llama_tiny_dyn_8da4w",
        "lstm",
        "mobilenet_v2_w35_96",
        "mobilenet_v2_w35_96_q8",
        "vit_small",
    ];
    let Some(folder) = support::corpus("executorch") else { return };
    let checked = check_all(NETWORKS.iter().map(|name| folder.join(format!("{name}.vulkan.pte"))).collect());
    harness::at_least(checked.len(), NETWORKS.len() * target::host_machines().len(), "networks");
}

/// Recurrent operators and control flow in variants that real models lack.
fn recurrent_models_and_control_flow_match_in_the_jit() {
    let checked = check_all(support::models_in(&support::own("tests/models"), "tflite"));
    harness::at_least(checked.len(), 21 * target::host_machines().len(), "models");
}

fn single_operators_match_in_the_jit() {
    let machine = target::host_machine().expect("the host has a machine description");
    let failures: Vec<String> = support::models("tflite_ops", "tflite").iter().filter_map(|model| failure(model, machine)).collect();
    assert!(failures.is_empty(), "{} fail:\n{}", failures.len(), failures.join("\n"));
}

fn failure(model: &Path, machine: &'static CpuMachine) -> Option<String> {
    let name = support::stem(model);
    match check(model, machine, FLOAT_TOLERANCE) {
        Ok(_) => None,
        Err(Failure::Unsupported(why)) => Some(format!("REFUSED {name}: {why}")),
        Err(Failure::Other(error)) => Some(format!("FAILED {name}: {error}")),
    }
}

/// Limits of the embedded weights of models that need more than a tenth above the file's bytes, in thousandths of these bytes.
const EMBEDDED: &[(&str, u64)] = &[
    // Its first layer has one input, padded to the size of a group in a product; all its weights have 300 bytes.
    ("tflm-hello_world_int8", 1160),
    // Lookup tables of a kilobyte each, and requantization parameters, are a large part of such small models.
    ("tflm-micro_speech_quantized", 1120),
    ("tflm-mnist_lstm_int8", 1480),
    // Parameters with which one kernel replaces several are also included: about 2 KB here, for 7 KB less code. The second model also shares
    // its reductions: 1,344 B more, for 2,333 B less code.
    ("tflm-keyword_scrambled", 1150),
    ("tflm-keyword_scrambled_8bit", 1490),
    // Its last layer has three outputs of 3,920 weights each, which are padded to four.
    ("tflm-micro_speech_lstm", 1140),
];

/// Returns the bytes of a file's constants, with scales, zero points, and indices of sparse ones.
fn stored_bytes(file: &[u8]) -> u64 {
    let model =
        modelc::schema::tflite::root_as_model_with_opts(&modelc::schema::verifier_options(file.len()), file).expect("a sound model");
    let buffers: Vec<_> = model.buffers().into_iter().flatten().collect();
    let mut used = std::collections::BTreeSet::new();
    let (mut scales, mut zero_points, mut places) = (0, 0, 0);
    for tensor in model.subgraphs().into_iter().flatten().flat_map(|s| s.tensors().into_iter().flatten()) {
        used.insert(tensor.buffer() as usize);
        for dimension in tensor.sparsity().and_then(|s| s.dim_metadata()).into_iter().flatten() {
            let bytes = [dimension.array_segments_as_uint8_vector(), dimension.array_indices_as_uint8_vector()];
            let pairs = [dimension.array_segments_as_uint16_vector(), dimension.array_indices_as_uint16_vector()];
            places += bytes.iter().flatten().filter_map(|list| list.values()).map(|list| list.len() as u64).sum::<u64>();
            places += pairs.iter().flatten().filter_map(|list| list.values()).map(|list| 2 * list.len() as u64).sum::<u64>();
        }
        zero_points += tensor.quantization().and_then(|q| q.zero_point()).map_or(0, |list| list.len() as u64);
        scales += tensor.quantization().and_then(|q| q.scale()).map_or(0, |list| list.len() as u64);
    }
    let bytes = used.iter().filter_map(|&i| buffers.get(i)?.data()).map(|data| data.len() as u64).sum::<u64>();
    bytes + 4 * scales + 8 * zero_points + places
}

fn weights_are_as_small_as_stored() {
    // Panels are padded to whole vectors, the last ones to short vectors. All levels of an object share them.
    let levels = ["x86-64-v2", "x86-64-v3", "x86-64-v4"].map(|level| modelc::machine::machine(level).expect("a level of that name"));
    let objects = [&levels[..1], &levels[1..2], &levels[2..], &levels[..]];
    let mut larger = Vec::new();
    for model in support::models("tflite", "tflite") {
        let name = support::stem(&model);
        let thousandths = EMBEDDED.iter().find(|(n, _)| *n == name).map_or(1100, |(_, thousandths)| *thousandths);
        let file = std::fs::read(&model).expect("the model can be read");
        let stored = stored_bytes(&file);
        let Ok(module) = pipeline::read(Arc::new(file), "model", &modelc::frontend::LoadOptions::default()) else { continue };
        for machines in objects {
            let options = Options::new(machines[0]);
            let Ok(lowered) = pipeline::lower_levels(&module, "model", options, &machines[1..]) else { continue };
            let embedded: u64 = lowered.program.constants.iter().map(|blob| blob.data.bytes().len() as u64).sum();
            let report = format!("{embedded} B of {stored} B stored ({:.3})", embedded as f64 / stored as f64);
            let names = machines.iter().map(|machine| machine.level).collect::<Vec<_>>().join(",");
            harness::progress(|| format!("{name} {names}: {report}"));
            if embedded * 1000 > stored * thousandths {
                larger.push(format!("{name} {names}: {report}"));
            }
        }
    }
    assert!(larger.is_empty(), "{}", larger.join("\n"));
}

fn main() -> std::process::ExitCode {
    harness::run(&[
        (
            "every_real_model_matches_in_the_jit_and_takes_less_memory_than_an_interpreter",
            Needs::Corpus("tflite"),
            every_real_model_matches_in_the_jit_and_takes_less_memory_than_an_interpreter,
        ),
        ("networks_of_xnnpack_delegates_match_in_the_jit", Needs::Corpus("executorch"), networks_of_xnnpack_delegates_match_in_the_jit),
        ("networks_of_vulkan_delegates_match_in_the_jit", Needs::Corpus("executorch"), networks_of_vulkan_delegates_match_in_the_jit),
        ("recurrent_models_and_control_flow_match_in_the_jit", Needs::Nothing, recurrent_models_and_control_flow_match_in_the_jit),
        ("single_operators_match_in_the_jit", Needs::Corpus("tflite_ops"), single_operators_match_in_the_jit),
        ("weights_are_as_small_as_stored", Needs::Corpus("tflite"), weights_are_as_small_as_stored),
    ])
}
