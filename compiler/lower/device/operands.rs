//! Changes of a kernel's pointer parameters that keep its results.

use crate::kernel::{Buffer, ConvertOp, Inst, Kernel, Lane, Region, Statement, Type, Value};
use cranelift_entity::EntityRef;
use smallvec::smallvec;

/// Changes the lane type of a read-only buffer. A conversion after each load restores the original type.
pub fn load_as(kernel: &mut Kernel, buffer: Buffer, lane: Lane, op: ConvertOp) {
    kernel.buffers[buffer.index()].lane = lane;
    let mut body = std::mem::take(&mut kernel.body);
    convert_loads(&mut body, buffer, &mut kernel.types, (lane, op));
    kernel.body = body;
}

fn convert_loads(region: &mut Region, buffer: Buffer, types: &mut Vec<Type>, (lane, op): (Lane, ConvertOp)) {
    for mut statement in std::mem::take(&mut region.statements) {
        statement.inst.regions_mut().into_iter().for_each(|inner| convert_loads(inner, buffer, types, (lane, op)));
        let results = statement.results.clone();
        let loads = statement.inst.buffer() == Some(buffer);
        if let (true, &[result]) = (loads, &results[..]) {
            let loaded = Value::new(types.len());
            types.push(types[result.index()].with_lane(lane));
            statement.results = smallvec![loaded];
            region.statements.push(statement);
            region.statements.push(Statement { results, inst: Inst::Convert { op, a: loaded } });
        } else {
            region.statements.push(statement);
        }
    }
}

/// Extends a buffer by a number of elements at its start, and moves its accesses.
pub fn begin_before(kernel: &mut Kernel, buffer: Buffer, elements: u64, alignment: u32) {
    let data = &mut kernel.buffers[buffer.index()];
    data.elements += elements;
    data.alignment = alignment;
    kernel.move_accesses(buffer, buffer, elements as i64);
}
