//! Inputs and outputs of a method: buffers of the caller, inputs with a fixed value, and shapes.

use super::addresses::Addresses;
use super::language::{BinaryOp, Builder, CompareOp, Operand, Value, Width};
use modelc_interface::{E_SHAPE, Field};
use modelc_program::{Address, Method, Port};

/// Loads and checks the addresses of the caller's buffers.
pub fn buffers(e: &mut Builder, base: Value, ports: &[Port], fields: &[Field]) -> Vec<Value> {
    let buffer = |(port, field): (&Port, &Field)| {
        if port.scalar {
            return e.at(base, field.offset);
        }
        let pointer = e.load(Width::Word, base, field.offset as i32);
        if port.bytes > 0 {
            e.leave_if_null(pointer);
        }
        if port.element.alignment() > 1 {
            e.leave_if_misaligned(pointer, port.element.alignment());
        }
        pointer
    };
    ports.iter().zip(fields).map(buffer).collect()
}

/// Returns `MODELC_E_SHAPE` if a buffer differs from `bytes`; an element has `size` bytes. The code contains the bytes as numbers, so they do not
/// depend on the weights.
pub fn leave_if_different(e: &mut Builder, buffer: Value, bytes: &[u8], size: u64) {
    let (width, size) = match size.min(e.layout.pointer) {
        8 => (Width::Word, 8),
        4 => (Width::Single, 4),
        2 => (Width::Half, 2),
        _ => (Width::Byte, 1),
    };
    let mut difference = None;
    for (index, element) in bytes.chunks(size).enumerate() {
        let wanted = element.iter().rev().fold(0u64, |bits, &byte| bits << 8 | u64::from(byte));
        let found = e.load(width, buffer, (index * size) as i32);
        let bits = e.binary(BinaryOp::Xor, found, wanted);
        difference = Some(difference.map_or(bits, |others| e.binary(BinaryOp::Or, others, bits)));
    }
    if let Some(difference) = difference {
        e.leave_if(difference, E_SHAPE);
    }
}

/// Checks the shapes that the caller gives. Returns each dynamic extent once, with the address of its cell.
pub fn extents(e: &mut Builder, method: &Method, record: Value, fields: &[Field]) -> Vec<(Address, Value)> {
    let mut kept: Vec<(Address, Value)> = Vec::new();
    for (number, (port, field)) in (0..).zip(method.inputs.iter().zip(fields)) {
        let Some(start) = field.shape_offset else { continue };
        for (dimension, &most) in (0..).zip(&port.shape) {
            let extent = e.load(Width::Word, record, extent_offset(e, start, dimension));
            let dynamic = method.input_extents.iter().find(|x| (x.port, x.dimension) == (number, dimension));
            let Some(dynamic) = dynamic else {
                let wrong = e.compare(CompareOp::NotEqual, extent, most);
                e.leave_if(wrong, E_SHAPE);
                continue;
            };
            // One comparison checks both ends: a smaller extent wraps to a large number.
            let above = e.add(extent, dynamic.low.wrapping_neg());
            let wrong = e.compare(CompareOp::Greater, above, most - dynamic.low);
            e.leave_if(wrong, E_SHAPE);
            if dynamic.multiple > 1 {
                let rest = e.binary(BinaryOp::And, extent, dynamic.multiple - 1);
                e.leave_if(rest, E_SHAPE);
            }
            match kept.iter().find(|(cell, _)| *cell == dynamic.cell) {
                None => kept.push((dynamic.cell, extent)),
                Some(&(_, same)) => {
                    let wrong = e.compare(CompareOp::NotEqual, extent, same);
                    e.leave_if(wrong, E_SHAPE);
                }
            }
        }
    }
    kept
}

/// Loads the dynamic extents that the caller gives, each once, limited to their bound.
pub fn clamped(e: &mut Builder, method: &Method, record: Value, fields: &[Field]) -> Vec<Value> {
    let mut seen = Vec::new();
    let mut extents = Vec::new();
    for dynamic in &method.input_extents {
        let (port, dimension) = (dynamic.port as usize, dynamic.dimension);
        if seen.contains(&dynamic.cell) {
            continue;
        }
        let Some(start) = fields[port].shape_offset else { continue };
        seen.push(dynamic.cell);
        let (extent, most) =
            (e.load(Width::Word, record, extent_offset(e, start, dimension)), method.inputs[port].shape[dimension as usize]);
        let above = e.compare(CompareOp::Greater, extent, most);
        extents.push(e.select(above, most, extent));
    }
    extents
}

/// Stores the dynamic extents of the caller in their cells.
pub fn keep(addresses: &Addresses<'_>, e: &mut Builder, extents: &[(Address, Value)]) {
    for &(cell, extent) in extents {
        let cell = addresses.address(e, cell);
        e.store(Width::Cell, extent, cell, 0);
    }
}

/// Stores the shapes of outputs in the caller's struct.
pub fn leave(addresses: &Addresses<'_>, e: &mut Builder, method: &Method, record: Value, fields: &[Field]) {
    for (number, (port, field)) in (0..).zip(method.outputs.iter().zip(fields)) {
        let Some(start) = field.shape_offset else { continue };
        for (dimension, &known) in (0..).zip(&port.shape) {
            let dynamic = method.output_extents.iter().find(|x| (x.port, x.dimension) == (number, dimension));
            let extent = match dynamic {
                Some(dynamic) => {
                    let cell = addresses.address(e, dynamic.cell);
                    e.load(Width::Cell, cell, 0).into()
                }
                None => Operand::Number(known),
            };
            e.store(Width::Word, extent, record, extent_offset(e, start, dimension));
        }
    }
}

/// Returns the offset of an extent in a struct whose shape begins at `start`.
fn extent_offset(e: &Builder, start: u64, dimension: u32) -> i32 {
    (start + e.layout.pointer * u64::from(dimension)) as i32
}
