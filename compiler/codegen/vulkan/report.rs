//! The report that the application can ask for.

use super::common::{self, NAME_BYTES};
use super::runtime::{Own, Runtime};
use crate::driver::language::{CompareOp, Function, Operand, Width, function};
use modelc_interface::device::{Field, PROPERTIES_BYTES};
use modelc_interface::{E_ABI, GPU_INFO, GpuInfo};

/// Writes `int report(part, modelc_gpu_info *info)`. It reports if the device runs, which call failed with which result, and the device's properties.
pub fn report(runtime: &Runtime) -> Function {
    function(runtime.layout, Own::Report.signature(), |e, arguments| {
        let &[part, out] = arguments else { unreachable!("report has two parameters") };
        let size = e.member(&GPU_INFO, out, GpuInfo::StructSize);
        let least = GPU_INFO.offset(GpuInfo::CpuNs, runtime.layout) as u64;
        let small = e.compare(CompareOp::Less, size, least);
        e.leave_if(small, E_ABI);
        let runs = e.device_runs(part);
        let [call, result] = [Field::Call, Field::Result].map(|field| e.field(part, field));
        e.set_member(runs, &GPU_INFO, out, GpuInfo::Runs);
        e.set_member(0, &GPU_INFO, out, GpuInfo::Reserved);
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
        e.set_member(name, &GPU_INFO, out, GpuInfo::Failed);
        e.set_member(result, &GPU_INFO, out, GpuInfo::Result);
        let to = e.at(out, GPU_INFO.offset(GpuInfo::ApiVersion, runtime.layout) as u64);
        let from = e.field_address(part, Field::Properties);
        let arguments = vec![to.into(), from.into(), PROPERTIES_BYTES.into()];
        e.call_only(runtime.callee(Own::Copy), Own::Copy.signature(), arguments);
    })
}
