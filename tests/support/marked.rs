//! Models without GPU marks whose operators are all assigned to the device.

use modelc::machine::{GPUS, GpuMachine};
use std::path::{Path, PathBuf};

/// Models with all operators on the device: floats, quantized inputs of float models, integer models, run-time extents. Each has the number of
/// its profile on a device. The first profile stores bytes in words.
const MARKED: [(&str, usize); 8] = [
    ("dyn_batch.portable", 1),
    ("dyn_seq.portable", 1),
    ("tfex-mobilenet_v2_035_96_embedder_with_metadata", 1),
    ("mediapipe-face_landmark", 1),
    ("mlperftiny-pretrainedResnet_quant", 2),
    ("mlperftiny-kws_ref_model", 1),
    ("tflm-keyword_scrambled_8bit", 0),
    // Workgroups copy rows of its products to shared memory.
    ("support-mobilenet_v1_0.25_224_1_default_1", 2),
];

fn profile(path: &Path) -> Option<&'static GpuMachine> {
    let stem = super::stem(path);
    MARKED.iter().find(|(name, _)| *name == stem).map(|(_, number)| &GPUS[*number])
}

/// Tests whether a model is one of these.
pub fn is_marked(path: &Path) -> bool {
    profile(path).is_some()
}

/// Returns the models that are present, each with its profile.
pub fn models() -> Vec<(PathBuf, &'static GpuMachine)> {
    let models = [super::models("tflite", "tflite"), super::models("executorch", "pte")].concat();
    models.into_iter().filter_map(|path| profile(&path).map(|machine| (path, machine))).collect()
}
