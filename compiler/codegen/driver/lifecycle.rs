//! `init`, `reset` and `deinit`.

use super::Context;
use super::emitter::{Emitter, POINTER, config, function, record, signature};
use crate::interface::{CONFIG_BYTES, E_ABI, E_ARENA, E_CPU, E_WEIGHTS, RECORD_BYTES};
use crate::program::ALIGNMENT;
use crate::target::required_features;
use cranelift_codegen::ir::{self, InstBuilder, Value, condcodes::IntCC, types};

/// Configurations are small; a larger size is a struct that was never filled in.
const LARGEST_CONFIG: u64 = 4096;
/// Variables up to this size are written by straight code.
const STRAIGHT_BYTES: u64 = 64;

/// `int init(void *arena, size_t arena_bytes, const modelc_config *config)`.
pub fn init(context: &Context<'_>) -> ir::Function {
    function(context.isa, signature(context.isa, 3, true), |e, arguments| {
        let &[arena, arena_bytes, config] = arguments else { unreachable!("init has three parameters") };
        e.leave_if_null(arena);
        e.leave_if_misaligned(arena, ALIGNMENT);
        let state_bytes = context.interface.state_bytes;
        let small = e.builder.ins().icmp_imm_u(IntCC::UnsignedLessThan, arena_bytes, state_bytes as i64);
        e.leave_if(small, E_ARENA);
        let fields = read_config(e, config);
        let level = choose_level(e, context, fields.cpu_features);
        let whole = e.builder.ins().icmp_imm_u(IntCC::UnsignedGreaterThanOrEqual, arena_bytes, context.interface.arena_bytes() as i64);
        let weights = check_weights(e, context, &fields);
        write_record(e, context, arena, (whole, level), &fields);
        initialise_variables(e, context, arena, weights);
    })
}

/// `int reset(void *arena)`.
pub fn reset(context: &Context<'_>) -> ir::Function {
    function(context.isa, signature(context.isa, 1, true), |e, arguments| {
        e.check_state(arguments[0], context.model_hash);
        let weights = context.weights_file.map(|_| e.load(POINTER, arguments[0], record::WEIGHTS));
        initialise_variables(e, context, arguments[0], weights);
    })
}

/// `void deinit(void *arena)`: afterwards every call says `MODELC_E_STATE`. Nothing happens to memory that is not initialised.
pub fn deinit(context: &Context<'_>) -> ir::Function {
    function(context.isa, signature(context.isa, 1, false), |e, arguments| {
        let arena = arguments[0];
        e.check_state(arena, context.model_hash);
        let zero = e.number(0);
        e.store(zero, arena, record::MAGIC);
    })
}

/// What `init` takes from the configuration; zeros without one.
struct ConfigFields {
    threads: Value,
    cpu_features: Value,
    weights_bytes: Value,
    /// Pointers with their place in the record.
    pointers: Vec<(Value, i32)>,
}

/// Offsets in the configuration and in the record.
const POINTERS: [(i32, i32); 5] = [
    (config::PARALLEL_FOR, record::PARALLEL_FOR),
    (config::ON_KERNEL, record::ON_KERNEL),
    (config::USER, record::USER),
    (config::WEIGHTS, record::WEIGHTS),
    (config::AREAS, record::AREAS),
];

fn read_config(e: &mut Emitter<'_>, config: Value) -> ConfigFields {
    let (given, absent, after) = (e.builder.create_block(), e.builder.create_block(), e.builder.create_block());
    let threads = e.builder.append_block_param(after, types::I32);
    let rest: Vec<_> = (0..POINTERS.len() + 2).map(|_| e.builder.append_block_param(after, POINTER)).collect();
    e.builder.ins().brif(config, given, &[], absent, &[]);

    e.builder.switch_to_block(absent);
    let (no_threads, zero) = (e.builder.ins().iconst(types::I32, 0), e.number(0));
    let mut values = vec![no_threads.into()];
    values.resize(rest.len() + 1, zero.into());
    e.builder.ins().jump(after, &values);

    e.builder.switch_to_block(given);
    check_config(e, config);
    let mut values = vec![e.load(types::I32, config, config::THREADS).into()];
    values.push(e.load(POINTER, config, config::CPU_FEATURES).into());
    values.push(e.load(POINTER, config, config::WEIGHTS_BYTES).into());
    values.extend(POINTERS.map(|(from, _)| ir::BlockArg::from(e.load(POINTER, config, from))));
    e.builder.ins().jump(after, &values);

    e.builder.switch_to_block(after);
    let pointers = rest[2..].iter().zip(POINTERS).map(|(&value, (_, to))| (value, to)).collect();
    ConfigFields { threads, cpu_features: rest[0], weights_bytes: rest[1], pointers }
}

/// The size is that of ABI 1 or larger with zeros behind, and no flag is set that nobody knows.
fn check_config(e: &mut Emitter<'_>, config: Value) {
    let size = e.load(types::I32, config, config::STRUCT_SIZE);
    let size = e.builder.ins().uextend(POINTER, size);
    let beyond = e.builder.ins().iadd_imm_s(size, -(CONFIG_BYTES as i64));
    // A smaller size wraps around, so one comparison does for both.
    let wrong = e.builder.ins().icmp_imm_u(IntCC::UnsignedGreaterThan, beyond, (LARGEST_CONFIG - CONFIG_BYTES) as i64);
    e.leave_if(wrong, E_ABI);
    let flags = e.load(types::I32, config, config::FLAGS);
    e.leave_if(flags, E_ABI);
    let tail = e.at(config, CONFIG_BYTES);
    e.count(beyond, 1, |e, index| {
        let address = e.builder.ins().iadd(tail, index);
        let byte = e.load(types::I8, address, 0);
        e.leave_if(byte, E_ABI);
    });
}

/// The number of the first level whose needs the CPU has, 16 bits; without one the function returns `MODELC_E_CPU`.
fn choose_level(e: &mut Emitter<'_>, context: &Context<'_>, given: Value) -> Value {
    let needs: Vec<u64> = context.levels.iter().map(|kernels| required_features(kernels.level.machine)).collect();
    if needs[0] == 0 {
        return e.builder.ins().iconst(types::I16, 0);
    }
    let (detected, detect) = (e.builder.create_block(), e.builder.create_block());
    let features = e.builder.append_block_param(detected, POINTER);
    e.builder.ins().brif(given, detected, &[given.into()], detect, &[]);
    e.builder.switch_to_block(detect);
    let found = match context.numbers.cpu {
        Some(cpu) => e.call(cpu, &[], Some(POINTER)).expect("the CPU function has a result"),
        // No instruction can ask. The caller is trusted with the only level, and does not ask for more than the
        // least of several.
        None => e.number(needs[needs.len() - 1]),
    };
    e.builder.ins().jump(detected, &[found.into()]);
    e.builder.switch_to_block(detected);
    let chosen = e.builder.create_block();
    let level = e.builder.append_block_param(chosen, types::I16);
    for (number, required) in needs.into_iter().enumerate() {
        let next = e.builder.create_block();
        let present = e.builder.ins().band_imm_u(features, required as i64);
        let fits = e.builder.ins().icmp_imm_u(IntCC::Equal, present, required as i64);
        let number = e.builder.ins().iconst(types::I16, number as i64);
        e.builder.ins().brif(fits, chosen, &[number.into()], next, &[]);
        e.builder.switch_to_block(next);
    }
    e.leave(E_CPU);
    e.builder.switch_to_block(chosen);
    level
}

/// Weights in a file of their own: that they are there, aligned, as long as they say and of this object, in a few comparisons
/// whatever their size. Gives their address.
fn check_weights(e: &mut Emitter<'_>, context: &Context<'_>, fields: &ConfigFields) -> Option<Value> {
    let header = context.weights_file?;
    let weights = fields.pointers.iter().find(|(_, place)| *place == record::WEIGHTS).map(|(value, _)| *value)?;
    let absent = e.builder.ins().icmp_imm_u(IntCC::Equal, weights, 0);
    e.leave_if(absent, E_WEIGHTS);
    e.leave_if_misaligned(weights, ALIGNMENT);
    let expected = e.number(header.file_bytes());
    let short = e.builder.ins().icmp(IntCC::UnsignedLessThan, fields.weights_bytes, expected);
    e.leave_if(short, E_WEIGHTS);
    for (offset, word) in (0..).step_by(8).zip(header.words()) {
        let (found, expected) = (e.load(POINTER, weights, offset), e.number(word));
        let wrong = e.builder.ins().icmp(IntCC::NotEqual, found, expected);
        e.leave_if(wrong, E_WEIGHTS);
    }
    Some(weights)
}

fn write_record(e: &mut Emitter<'_>, context: &Context<'_>, state: Value, (whole, level): (Value, Value), fields: &ConfigFields) {
    let whole = e.builder.ins().uextend(types::I16, whole);
    e.store(whole, state, record::WHOLE);
    e.store(level, state, record::LEVEL);
    e.store(fields.threads, state, record::THREADS);
    for &(value, offset) in &fields.pointers {
        e.store(value, state, offset);
    }
    for (value, offset) in [(context.model_hash, record::HASH), (record::INITIALISED, record::MAGIC)] {
        let value = e.number(value);
        e.store(value, state, offset);
    }
}

/// Variables get their initial contents, or zeros.
fn initialise_variables(e: &mut Emitter<'_>, context: &Context<'_>, state: Value, weights: Option<Value>) {
    for variable in &context.program.variables {
        let to = e.at(state, RECORD_BYTES + variable.offset);
        let initial = variable.initial.map(|constant| context.constants.offsets[constant]);
        let from = initial.map(|offset| e.constant(weights, offset));
        fill(e, to, from, variable.bytes);
    }
}

/// Copies or zeroes `bytes` bytes in words, then the rest; both addresses are aligned to words.
fn fill(e: &mut Emitter<'_>, to: Value, from: Option<Value>, bytes: u64) {
    let words = bytes / 8 * 8;
    if words <= STRAIGHT_BYTES {
        for offset in (0..words).step_by(8) {
            move_at(e, types::I64, to, from, offset as i32);
        }
    } else {
        let end = e.number(words);
        e.count(end, 8, |e, index| {
            let to = e.builder.ins().iadd(to, index);
            let from = from.map(|from| e.builder.ins().iadd(from, index));
            move_at(e, types::I64, to, from, 0);
        });
    }
    let (to, from) = (e.at(to, words), from.map(|from| e.at(from, words)));
    for offset in 0..(bytes - words) {
        move_at(e, types::I8, to, from, offset as i32);
    }
}

fn move_at(e: &mut Emitter<'_>, ty: ir::Type, to: Value, from: Option<Value>, offset: i32) {
    let value = match from {
        Some(from) => e.load(ty, from, offset),
        None => e.builder.ins().iconst(ty, 0),
    };
    e.store(value, to, offset);
}
