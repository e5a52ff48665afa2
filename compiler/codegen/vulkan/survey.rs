//! A survey of the available devices. No object contains it: the compiler runs it on this computer, with the runtime's own functions of choice.

use super::choose::{MOST_DEVICES, enumerate};
use super::functions::{Source, Vk};
use super::layout::DEVICE_PROPERTIES;
use super::open::{clear, find, instance, keep_entry, open_library};
use super::runtime::{Own, Runtime};
use crate::driver::language::{CompareOp, Function, Signature, Width, function};
use modelc_interface::device::{Field, PROPERTIES_BYTES};

/// Name of the function.
pub const SURVEY: &str = "vulkan_survey";
/// Maximum number of devices in the result.
pub const SURVEYED: usize = MOST_DEVICES as usize;

/// A row of the result.
pub mod survey_row {
    use super::PROPERTIES_BYTES;

    /// Offset of the score, 0 for an unsuitable device; 32 bits.
    pub const SCORE: i32 = 0;
    /// Offset of the first bytes of `VkPhysicalDeviceProperties`.
    pub const PROPERTIES: i32 = 4;
    /// Bytes of a row.
    pub const BYTES: u64 = PROPERTIES as u64 + PROPERTIES_BYTES;
}

/// Writes `int survey(part, table, void *rows, uint32_t *count)`. It writes a row of [`survey_row`] for each device, scored for the table. `close`
/// frees instance and library, also after a failure.
pub fn survey(runtime: &Runtime) -> Function {
    function(runtime.layout, Signature::status(4), |e, arguments| {
        let &[part, table, rows, count] = arguments else { unreachable!("a survey has four parameters") };
        clear(e, part, table);
        e.set_field(1, part, Field::Owns);
        if let Some((loader, imports)) = runtime.loader {
            let get = open_library(runtime, e, part, &loader, imports);
            keep_entry(e, part, get);
        }
        find(runtime, e, part, Source::Global);
        instance(e, part, table);
        find(runtime, e, part, Source::Instance);
        let (devices, found) = enumerate(e, part);
        e.store(Width::Single, found, count, 0);
        let (properties, family) = (e.room(&DEVICE_PROPERTIES), e.memory(8));
        let number = e.value(Width::Single);
        let [at, row] = [(); 2].map(|()| e.value(Width::Word));
        let head = e.region(|e| vec![e.compare(CompareOp::Less, number, found).into()]);
        let body = e.region(|e| {
            let physical = e.load(Width::Word, at, 0);
            let arguments = vec![part.into(), table.into(), physical.into(), family.into()];
            let score = e.call(runtime.callee(Own::Suits), Own::Suits.signature(), arguments);
            e.store(Width::Single, score, row, survey_row::SCORE);
            e.vulkan_only(part, Vk::GetPhysicalDeviceProperties, vec![physical.into(), properties.into()]);
            let to = e.at(row, survey_row::PROPERTIES as u64);
            let arguments = vec![to.into(), properties.into(), PROPERTIES_BYTES.into()];
            e.call_only(runtime.callee(Own::Copy), Own::Copy.signature(), arguments);
            vec![e.add(number, 1).into(), e.add(at, 8).into(), e.add(row, survey_row::BYTES).into()]
        });
        e.repeat(&[(number, 0.into()), (at, devices.into()), (row, rows.into())], head, body);
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::language::verify::verify;
    use crate::vulkan::Loader;
    use modelc_interface::Layout;

    #[test]
    fn it_keeps_the_rules() {
        for loader in [None, Some((Loader::LINUX, [0, 1]))] {
            let runtime = Runtime { layout: Layout { pointer: 8 }, first: 0, data: 0, loader, measures: false };
            verify(&survey(&runtime), runtime.layout).unwrap();
        }
        assert_eq!(survey_row::BYTES % 4, 0);
    }
}
