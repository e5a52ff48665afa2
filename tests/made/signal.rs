//! Models of TFLite Micro's signal operators. `tests/models/signal` has them, with recorded outputs of the runtime.

use super::Number::{Bool, Int};
use super::{Made, Number, options};
use modelc::schema::tflite::TensorType;

const I16: TensorType = TensorType::INT16;
const I32: TensorType = TensorType::INT32;
const U32: TensorType = TensorType::UINT32;
const U64: TensorType = TensorType::UINT64;
const F32: TensorType = TensorType::FLOAT32;
const BOOL: TensorType = TensorType::BOOL;

/// Makes a model of one operator; all its tensors are inputs or outputs.
fn one(name: &str, entries: &[(&str, Number)], inputs: &[(TensorType, &[i32])], outputs: &[(TensorType, &[i32])]) -> Vec<u8> {
    let mut model = Made::default();
    let mut tensors = |list: &[(TensorType, &[i32])]| -> Vec<i32> { list.iter().map(|(ty, shape)| model.tensor(*ty, shape)).collect() };
    let (inputs, outputs) = (tensors(inputs), tensors(outputs));
    let options = if entries.is_empty() { vec![] } else { options(entries) };
    model.custom(name, options, &inputs, &outputs);
    model.finish(&inputs, &outputs)
}

/// Makes a Fourier transform of `rows` lines of samples, and its inverse.
fn transforms(element: TensorType, length: i32, samples: i32, rows: i32) -> [Vec<u8>; 2] {
    let entries = [("T", Int(element.0.into())), ("fft_length", Int(length))];
    let spectrum = [rows, length + 2];
    let shape = |last: i32| [rows, last];
    [
        one("SignalRfft", &entries, &[(element, &shape(samples))], &[(element, &spectrum)]),
        one("SignalIrfft", &entries, &[(element, &spectrum)], &[(element, &shape(length))]),
    ]
}

/// Makes a window over two frames.
fn window() -> Vec<u8> {
    let mut model = Made::default();
    let (input, output) = (model.tensor(I16, &[2, 20]), model.tensor(I16, &[2, 20]));
    let weights: Vec<i16> = (0..20).map(|i| [4096, 9000, -3000, 17, 32767][i % 5] / (1 + i as i16 / 5)).collect();
    let weights = model.constant_i16(&weights);
    model.custom("SignalWindow", options(&[("shift", Int(12))]), &[input, weights], &[output]);
    model.finish(&[input], &[output])
}

/// Makes a filter bank of overlapping bands, one of them empty and one with negative weights, followed by square roots.
fn filter_bank() -> Vec<u8> {
    let mut model = Made::default();
    let (energies, shift) = (model.tensor(U32, &[24]), model.tensor(I32, &[]));
    let weights: Vec<i16> = (0..22).map(|i| (i * 377 % 4097) as i16 - if i == 15 { 5000 } else { 0 }).collect();
    let unweights: Vec<i16> = weights.iter().map(|w| 4096 - w).collect();
    let starts = [2, 4, 7, 9, 14, 17];
    let lists = [&weights[..], &unweights, &starts, &[0, 4, 8, 12, 12, 16], &[4, 4, 4, 0, 4, 6]];
    let tables = lists.map(|list| model.constant_i16(list));
    let (sums, roots) = (model.tensor(U64, &[5]), model.tensor(U32, &[5]));
    let inputs = [&[energies], &tables[..]].concat();
    model.custom("SignalFilterBank", options(&[("num_channels", Int(5))]), &inputs, &[sums]);
    model.custom("SignalFilterBankSquareRoot", vec![], &[sums, shift], &[roots]);
    model.finish(&[energies, shift], &[roots])
}

fn subtraction(clamping: bool) -> Vec<u8> {
    let entries = [
        ("alternate_one_minus_smoothing", Int(15401)),
        ("alternate_smoothing", Int(983)),
        ("clamping", Bool(clamping)),
        ("min_signal_remaining", Int(819)),
        ("num_channels", Int(13)),
        ("one_minus_smoothing", Int(15975)),
        ("smoothing", Int(409)),
        ("smoothing_bits", Int(10)),
        ("spectral_subtraction_bits", Int(14)),
    ];
    one("SignalFilterBankSpectralSubtraction", &entries, &[(U32, &[13])], &[(U32, &[13]), (U32, &[13])])
}

fn pcan() -> Vec<u8> {
    let mut model = Made::default();
    let [signal, noise, output] = [0, 1, 2].map(|_| model.tensor(U32, &[32]));
    let gains: Vec<i16> = (0..125).map(|i| (32000 - 250 * i) >> (i % 4)).collect();
    let gains = model.constant_i16(&gains);
    model.custom("SignalPCAN", options(&[("snr_shift", Int(6))]), &[signal, noise, gains], &[output]);
    model.finish(&[signal, noise], &[output])
}

fn framer(size: i32, step: i32, prefill: bool, rows: i32, frames: i32) -> Vec<u8> {
    let entries = [("frame_size", Int(size)), ("frame_step", Int(step)), ("prefill", Bool(prefill))];
    one("SignalFramer", &entries, &[(I16, &[rows, frames * step])], &[(I16, &[rows, frames, size]), (BOOL, &[])])
}

fn stacker(left: i32, right: i32, step: i32) -> Vec<u8> {
    let entries =
        [("num_channels", Int(6)), ("stacker_left_context", Int(left)), ("stacker_right_context", Int(right)), ("stacker_step", Int(step))];
    one("SignalStacker", &entries, &[(I16, &[6])], &[(I16, &[6 * (left + right + 1)]), (BOOL, &[])])
}

fn overlap_add(element: TensorType, frames: i32) -> Vec<u8> {
    let entries = [("T", Int(element.0.into())), ("frame_step", Int(5))];
    one("SignalOverlapAdd", &entries, &[(element, &[2, frames, 12])], &[(element, &[2, frames * 5])])
}

/// Makes a model from 400 samples to features of four channels, as in keyword spotting.
fn features() -> Vec<u8> {
    let mut model = Made::default();
    let samples = model.tensor(I16, &[400]);
    let windowed = model.tensor(I16, &[400]);
    let weights: Vec<i16> = (0..400).map(|i: i32| (4096 - (i - 200) * (i - 200) / 10) as i16).collect();
    let weights = model.constant_i16(&weights);
    model.custom("SignalWindow", options(&[("shift", Int(12))]), &[samples, weights], &[windowed]);
    let (scaled, bits) = (model.tensor(I16, &[400]), model.tensor(I32, &[]));
    model.custom("SignalFftAutoScale", vec![], &[windowed], &[scaled, bits]);
    let spectrum = model.tensor(I16, &[514]);
    model.custom("SignalRfft", options(&[("T", Int(I16.0.into())), ("fft_length", Int(512))]), &[scaled], &[spectrum]);
    let energies = model.tensor(U32, &[257]);
    model.custom("SignalEnergy", options(&[("start_index", Int(4)), ("end_index", Int(200))]), &[spectrum], &[energies]);
    let widths = [12, 24, 40, 56, 60];
    let starts: Vec<i16> = (0..5).map(|i| 4 + widths[..i].iter().sum::<i16>()).collect();
    let places: Vec<i16> = starts.iter().map(|start| start - 4).collect();
    let weights: Vec<i16> = widths.iter().flat_map(|&n| (0..n).map(move |i| (i32::from(i) * 4096 / i32::from(n)) as i16)).collect();
    let unweights: Vec<i16> = weights.iter().map(|w| 4096 - w).collect();
    let tables = [&weights[..], &unweights, &starts, &places, &widths].map(|list| model.constant_i16(list));
    let sums = model.tensor(U64, &[4]);
    let inputs = [&[energies], &tables[..]].concat();
    model.custom("SignalFilterBank", options(&[("num_channels", Int(4))]), &inputs, &[sums]);
    let roots = model.tensor(U32, &[4]);
    model.custom("SignalFilterBankSquareRoot", vec![], &[sums, bits], &[roots]);
    let logarithms = model.tensor(I16, &[4]);
    model.custom("SignalFilterBankLog", options(&[("input_correction_bits", Int(3)), ("output_scale", Int(64))]), &[roots], &[logarithms]);
    model.finish(&[samples], &[logarithms])
}

/// Returns every model by name.
pub fn models() -> Vec<(String, Vec<u8>)> {
    let mut models: Vec<(String, Vec<u8>)> = Vec::new();
    let mut add = |name: &str, model: Vec<u8>| models.push((name.to_owned(), model));
    for (name, element) in [("i16", I16), ("i32", I32), ("f32", F32)] {
        for (length, samples, rows) in [(4, 3, 1), (12, 12, 1), (24, 24, 3), (30, 28, 1), (64, 60, 1), (240, 240, 1), (512, 480, 1)] {
            let [forward, inverse] = transforms(element, length, samples, rows);
            add(&format!("rfft_{name}_{length}"), forward);
            add(&format!("irfft_{name}_{length}"), inverse);
        }
    }
    add("window", window());
    add("fft_auto_scale", one("SignalFftAutoScale", &[], &[(I16, &[24])], &[(I16, &[24]), (I32, &[])]));
    add("energy", one("SignalEnergy", &[("start_index", Int(0)), ("end_index", Int(17))], &[(I16, &[34])], &[(U32, &[17])]));
    add("filter_bank", filter_bank());
    add("spectral_subtraction", subtraction(false));
    add("spectral_subtraction_clamped", subtraction(true));
    add("pcan", pcan());
    let entries = [("input_correction_bits", Int(3)), ("output_scale", Int(64))];
    add("filter_bank_log", one("SignalFilterBankLog", &entries, &[(U32, &[32])], &[(I16, &[32])]));
    add("framer", framer(10, 4, false, 1, 1));
    add("framer_rows", framer(7, 3, false, 2, 3));
    add("framer_prefilled", framer(10, 4, true, 2, 2));
    add("stacker", stacker(2, 1, 2));
    add("stacker_each", stacker(1, 0, 1));
    add("stacker_apart", stacker(0, 2, 3));
    add("overlap_add_i16", overlap_add(I16, 1));
    add("overlap_add_f32", overlap_add(F32, 3));
    add("delay", one("SignalDelay", &[("delay_length", Int(5))], &[(I16, &[2, 3])], &[(I16, &[2, 3])]));
    add("features", features());
    models
}
