//! The report that the application can ask for.

use super::common::{self, NAME_BYTES};
use super::runtime::{Own, Runtime};
use crate::driver::language::{CompareOp, Function, Operand, Width, function};
use modelc_interface::E_ABI;
use modelc_interface::device as part;

/// Fields of `modelc_gpu_info`.
pub mod info {
    #![allow(missing_docs, reason = "the header documents them")]
    pub const STRUCT_SIZE: i32 = 0;
    pub const RUNS: i32 = 4;
    pub const RESULT: i32 = 8;
    pub const RESERVED: i32 = 12;
    pub const FAILED: i32 = 16;
    /// Offset of the properties: five values of 32 bits, and a name.
    pub const PROPERTIES: u64 = 24;
    /// Offset of the estimated times, which the driver fills, since they depend on the model.
    pub const HOST_NS: i32 = 304;
    pub const DEVICE_NS: i32 = 312;
}

/// Bytes of `modelc_gpu_info`.
pub const GPU_INFO_BYTES: u64 = 320;
/// Bytes of the first version of `modelc_gpu_info`, without estimates.
const LEAST_BYTES: u64 = 304;

/// Writes `int report(part, modelc_gpu_info *info)`. It reports if the device runs, which call failed with which result, and the device's properties.
pub fn report(runtime: &Runtime) -> Function {
    function(runtime.layout, Own::Report.signature(), |e, arguments| {
        let &[part, out] = arguments else { unreachable!("report has two parameters") };
        let size = e.load(Width::Single, out, info::STRUCT_SIZE);
        let small = e.compare(CompareOp::Less, size, LEAST_BYTES);
        e.leave_if(small, E_ABI);
        let runs = e.device_runs(part);
        let [call, result] = [part::CALL, part::RESULT].map(|offset| e.load(Width::Single, part, offset));
        e.store(Width::Single, runs, out, info::RUNS);
        e.store(Width::Single, 0, out, info::RESERVED);
        let failed = e.region(|e| {
            let number = e.extend(Width::Word, call);
            let end = e.mul(number, NAME_BYTES);
            let names = e.data(runtime.data, common::NAMES);
            let end = e.add(names, end);
            vec![e.add(end, -(NAME_BYTES as i32)).into(), result.into()]
        });
        let good = e.region(|_| vec![Operand::Number(0); 2]);
        let [name, result] = e.branch(call, &[Width::Word, Width::Single], failed, good)[..] else {
            unreachable!("a branch of two values")
        };
        e.store(Width::Word, name, out, info::FAILED);
        e.store(Width::Single, result, out, info::RESULT);
        let to = e.at(out, info::PROPERTIES);
        let from = e.at(part, part::PROPERTIES as u64);
        let arguments = vec![to.into(), from.into(), part::PROPERTIES_BYTES.into()];
        e.call_only(runtime.callee(Own::Copy), Own::Copy.signature(), arguments);
    })
}
