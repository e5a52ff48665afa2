//! Custom operators that models in the wild have.

use super::operator::Lower;
use super::{detection, signal, transposed_convolution, unpooling};

/// Custom operators that hold another compiler's code: the operator's name, the compiler, and its target.
const COMPILED: &[(&str, &str, &str)] = &[
    ("ethos-u", "Vela", "Arm Ethos-U"),
    ("edgetpu-custom-op", "edgetpu_compiler", "the Edge TPU"),
    ("NeutronGraph", "NXP's Neutron converter", "the eIQ Neutron NPU"),
    ("vsi-npu", "VeriSilicon's compiler", "a VeriSilicon NPU"),
    ("DISPATCH_OP", "LiteRT's compiler plug-in", "an NPU"),
];

/// The advice about a custom operator that is not compiled.
pub(super) fn help(name: &str) -> String {
    if let Some((_, compiler, processor)) = COMPILED.iter().find(|(compiled, ..)| *compiled == name) {
        return format!("{compiler} made this file for {processor}: give the .tflite file that was its input");
    }
    let is_identifier = !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if is_identifier {
        format!("`--custom {name}` leaves it to a function of that name in your program")
    } else {
        format!("`--custom \"{name}=FUNCTION\"` leaves it to the function FUNCTION of your program")
    }
}

/// Every custom operator that is compiled, in the order of their names.
pub(super) const SUPPORTED: &[(&str, Lower)] = &[
    ("Convolution2DTransposeBias", transposed_convolution::transpose_bias),
    ("MaxPoolingWithArgmax2D", unpooling::max_pool_with_positions),
    ("MaxUnpooling2D", unpooling::max_unpool),
    ("SignalDelay", signal::delay),
    ("SignalEnergy", signal::energy),
    ("SignalFftAutoScale", signal::auto_scale),
    ("SignalFilterBank", signal::filter_bank),
    ("SignalFilterBankLog", signal::filter_bank_log),
    ("SignalFilterBankSpectralSubtraction", signal::spectral_subtraction),
    ("SignalFilterBankSquareRoot", signal::filter_bank_square_root),
    ("SignalFramer", signal::framer),
    ("SignalIrfft", signal::inverse_real_fourier),
    ("SignalOverlapAdd", signal::overlap_add),
    ("SignalPCAN", signal::pcan),
    ("SignalRfft", signal::real_fourier),
    ("SignalStacker", signal::stacker),
    ("SignalWindow", signal::window),
    ("TFLite_Detection_PostProcess", detection::post_process),
];

#[cfg(test)]
mod tests {
    use super::help;

    #[test]
    fn what_another_compiler_made_is_named_with_it() {
        for (name, compiler) in [("ethos-u", "Vela"), ("edgetpu-custom-op", "edgetpu_compiler")] {
            let help = help(name);
            assert!(help.contains(compiler) && !help.contains("--custom"), "{help}");
        }
        assert!(help("Decode").contains("`--custom Decode`") && help("de-code").contains("\"de-code=FUNCTION\""));
    }
}
