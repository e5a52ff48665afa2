//! The registers that each instruction reads and writes, from the calling convention alone.
//!
//! A kernel's registers are its arguments in the order of its schema, results last, and then the result once more. Several results are a list of
//! tensors there. Kernels on numbers have their result last and once. The result of `aten::copy_` is its first argument.

use super::draws::draws;
use super::memory::{Area, ByteRange};
use super::program::{EValue, Instruction, Plan, Storage};

/// The registers that an instruction reads, and the registers that it writes.
#[derive(Default, Debug, PartialEq, Eq)]
pub struct Effects {
    /// Registers that are read, with lists resolved to their members.
    pub uses: Vec<usize>,
    /// Registers that are written completely.
    pub defines: Vec<usize>,
    /// Registers that are written in part. The rest keeps its contents.
    pub updates: Vec<usize>,
}

/// The results among a kernel's arguments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Convention {
    /// Results, then the result again.
    Out,
    /// [`Self::Out`], and the arguments with these numbers are read and written in part.
    Caches(&'static [usize]),
    /// One result, once.
    Result,
    /// The first argument, which is the last one too, is written in full.
    Copy,
    /// The first argument is read and written in part.
    InPlace,
    /// The first argument is written row by row, from the first row on. It has no contents before.
    Grow,
}

fn convention(operator: &str) -> Convention {
    match operator {
        "aten::copy_" | "aten::copy_.default" => Convention::Copy,
        "executorch_prim::et_copy_index.tensor" => Convention::Grow,
        "aten::index_put_" | "aten::index_put_.default" => Convention::InPlace,
        "aten::sym_size.int" | "aten::_local_scalar_dense" | "aten::sym_numel" => Convention::Result,
        "llama::update_cache.out" | "llama::update_cache_with_indices.out" => Convention::Caches(&[1]),
        "llama::sdpa_with_kv_cache.out" => Convention::Caches(&[3, 4]),
        name if name.starts_with("executorch_prim::") => Convention::Result,
        _ => Convention::Out,
    }
}

/// The arguments of an operator that are written in part, besides its results.
pub fn caches(operator: &str) -> &'static [usize] {
    if let Convention::Caches(caches) = convention(operator) { caches } else { &[] }
}

/// The arguments of an operator that are memory for its kernel: nobody has written them, and nobody reads them later.
fn scratch(operator: &str) -> &'static [usize] {
    match operator.strip_prefix("cortex_m::").map(|name| name.trim_end_matches(".out").trim_end_matches("_nhwc")) {
        Some("quantized_batch_matmul") => &[7],
        Some("quantized_avg_pool2d") => &[8],
        Some("quantized_conv2d") => &[12],
        Some("quantized_depthwise_conv2d") => &[13],
        Some("quantized_transpose_conv2d") => &[13, 14],
        _ => &[],
    }
}

/// The registers that an instruction of a method reads and writes.
pub fn effects(plan: &Plan, instruction: &Instruction) -> Effects {
    let mut effects = Effects::default();
    match instruction {
        Instruction::Kernel { operator, args } => {
            let operator = &plan.operators[*operator];
            kernel(plan, operator, args, &mut effects);
            if draws(&plan.values, operator, args) {
                effects.uses.extend(plan.drawn);
                effects.defines.extend(plan.drawn);
            }
        }
        Instruction::Move { from, to } => {
            add(plan, *from, &mut effects.uses);
            effects.defines.push(*to);
        }
        Instruction::JumpFalse { condition, .. } => effects.uses.push(*condition),
        Instruction::Delegate { delegate, args } => {
            let delegate = &plan.delegates[*delegate];
            let Some(graph) = &delegate.graph else { return effects };
            (effects.uses, effects.defines) = graph.parted(args);
            effects.uses.extend(&delegate.buffers);
            effects.defines.extend(&delegate.buffers);
        }
        Instruction::Free => {}
    }
    effects
}

fn kernel(plan: &Plan, operator: &str, args: &[usize], effects: &mut Effects) {
    let Some((&last, before)) = args.split_last() else { return };
    let convention = convention(operator);
    let inputs = match convention {
        Convention::Result => {
            effects.defines.push(last);
            before
        }
        Convention::Copy => {
            effects.defines.extend(args.first());
            before.get(1..).unwrap_or(&[])
        }
        Convention::InPlace => {
            effects.updates.extend(args.first());
            args
        }
        Convention::Grow => {
            effects.updates.extend(args.first());
            args.get(1..).unwrap_or(&[])
        }
        Convention::Out | Convention::Caches(_) => {
            if let Convention::Caches(caches) = convention {
                effects.updates.extend(caches.iter().filter_map(|&argument| args.get(argument)));
            }
            add(plan, last, &mut effects.defines);
            &before[..before.len() - effects.defines.len().min(before.len())]
        }
    };
    let scratch = scratch(operator);
    for (_, &arg) in inputs.iter().enumerate().filter(|(argument, _)| !scratch.contains(argument)) {
        add(plan, arg, &mut effects.uses);
    }
}

/// A register and, of a list, its members.
fn add(plan: &Plan, register: usize, to: &mut Vec<usize>) {
    match &plan.values[register] {
        EValue::Ints(items) | EValue::Tensors(items) => to.extend(items),
        EValue::OptionalTensors(items) => to.extend(items.iter().flatten()),
        _ => to.push(register),
    }
}

/// The bytes that a register names in the file; none for constants and registers that are no tensors.
pub fn range_in_file(plan: &Plan, register: usize) -> Option<ByteRange> {
    let EValue::Tensor(meta) = &plan.values[register] else { return None };
    let (area, start) = match meta.storage {
        Storage::Planned { memory_id, offset, .. } => (Area::Planned(memory_id), offset),
        Storage::Unplanned | Storage::Buffer { .. } | Storage::Drawn => (Area::Private(register), 0),
        Storage::Constant(_) | Storage::External(_) => return None,
    };
    Some(ByteRange { area, start, end: start + meta.form.bytes() })
}
