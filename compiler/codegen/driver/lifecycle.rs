//! `init`, `reset` and `deinit`.

use super::context::Context;
use super::gpu;
use super::language::{BinaryOp, Builder, Callee, CompareOp, Function, Operand, Signature, Value, Width, function};
use super::members::width;
use modelc_interface::{CONFIG, Config, E_ABI, E_ARENA, E_CPU, E_WEIGHTS, RECORD, Record};
use modelc_target::required_features;

/// Upper limit of the configuration's size. A larger number means that the struct was never filled in.
const LARGEST_CONFIG: u64 = 4096;
/// Variables up to this size are initialized without a loop.
const STRAIGHT_BYTES: u64 = 64;

/// Writes the functions that manage the state, with their names.
pub fn lifecycle(context: &Context<'_>) -> [(&'static str, Function); 3] {
    [("init", init(context)), ("reset", reset(context)), ("deinit", deinit(context))]
}

/// Writes `int init(void *arena, size_t arena_bytes, const modelc_config *config)`.
pub(super) fn init(context: &Context<'_>) -> Function {
    function(context.interface.layout, Signature::status(3), |e, arguments| {
        let &[arena, arena_bytes, config] = arguments else { unreachable!("init has three parameters") };
        e.leave_if_null(arena);
        e.leave_if_misaligned(arena, context.program.alignment.bytes());
        let small = e.compare(CompareOp::Less, arena_bytes, context.interface.state_bytes);
        e.leave_if(small, E_ARENA);
        let fields = read_config(e, context, config);
        let level = choose_level(e, context, fields.cpu_features);
        let whole = e.compare(CompareOp::GreaterOrEqual, arena_bytes, context.interface.arena_bytes());
        let weights = check_weights(e, context, &fields);
        check_areas(e, context, &fields);
        if let Some(gpu) = &context.gpu {
            gpu::release(e, context, gpu, arena);
        }
        write_record(e, context, arena, (whole, level), &fields);
        initialise_variables(e, context, arena, weights, true);
        copy_weights(e, context, &fields, weights);
        if let (Some(gpu), Some(host)) = (&context.gpu, fields.host) {
            gpu::open_if_faster(e, context, gpu, level, (arena, weights, host));
        }
    })
}

/// Writes `int reset(void *arena)`.
fn reset(context: &Context<'_>) -> Function {
    function(context.interface.layout, Signature::status(1), |e, arguments| {
        e.check_state(context, arguments[0]);
        if let Some(part) = &context.gpu {
            gpu::reset(e, context, part, arguments[0]);
        }
        let weights = context.weights_file.map(|_| e.member(&RECORD, arguments[0], Record::Weights));
        initialise_variables(e, context, arguments[0], weights, false);
    })
}

/// Writes `void deinit(void *arena)`. Afterwards every call returns `MODELC_E_STATE`. Memory without a state is left unchanged.
fn deinit(context: &Context<'_>) -> Function {
    function(context.interface.layout, Signature::new(&[Width::Word], None), |e, arguments| {
        let arena = arguments[0];
        e.check_state(context, arena);
        if let Some(part) = &context.gpu {
            gpu::close(e, context, part, arena);
        }
        e.set_member(0, &RECORD, arena, Record::Magic);
    })
}

/// Fields of the configuration that `init` uses; zeros without a configuration.
struct ConfigFields {
    threads: Value,
    cpu_features: Value,
    weights_bytes: Value,
    /// Number of memory areas; `None` if the model needs none.
    area_count: Option<Value>,
    /// Pointers, each with its field in the state's record.
    pointers: Vec<(Value, Record)>,
    /// The application's own device; `None` if the program has no GPU part.
    host: Option<Value>,
}

/// Pointer members of the configuration, and their fields in the state's record.
const POINTERS: [(Config, Record); 5] = [
    (Config::ParallelFor, Record::ParallelFor),
    (Config::OnKernel, Record::OnKernel),
    (Config::User, Record::User),
    (Config::Weights, Record::Weights),
    (Config::Areas, Record::Areas),
];

fn read_config(e: &mut Builder, context: &Context<'_>, config: Value) -> ConfigFields {
    let mut members = vec![Config::Threads, Config::CpuFeatures, Config::WeightsBytes];
    members.extend(POINTERS.map(|(member, _)| member));
    members.extend(context.gpu.as_ref().map(|_| Config::Vk));
    let has_areas = !context.interface.area_bytes.is_empty();
    members.extend(has_areas.then_some(Config::AreaCount));
    let given = e.region(|e| {
        check_config(e, config);
        members.iter().map(|&member| e.member(&CONFIG, config, member).into()).collect()
    });
    let absent = e.region(|_| vec![Operand::Number(0); members.len()]);
    let widths: Vec<Width> = members.iter().map(|&member| width(CONFIG.place(member, e.layout).0).of_value()).collect();
    let values = e.branch(config, &widths, given, absent);
    let pointers = values[3..].iter().zip(POINTERS).map(|(&value, (_, to))| (value, to)).collect();
    let host = context.gpu.as_ref().and_then(|_| values.get(3 + POINTERS.len()).copied());
    let area_count = values.last().copied().filter(|_| has_areas);
    if let Some(host) = host {
        gpu::check_host(e, host);
    }
    ConfigFields { threads: values[0], cpu_features: values[1], weights_bytes: values[2], area_count, pointers, host }
}

/// Checks that the memory areas that methods need are present and aligned.
fn check_areas(e: &mut Builder, context: &Context<'_>, fields: &ConfigFields) {
    let needed = &context.interface.area_bytes;
    let list = fields.pointers.iter().find(|(_, to)| *to == Record::Areas);
    let (Some(&(list, _)), Some(count)) = (list, fields.area_count) else { return };
    let few = e.compare(CompareOp::Less, count, needed.len() as u64);
    e.leave_if(few, E_ARENA);
    e.leave_if_null(list);
    let pointer = e.layout.pointer as i32;
    for (number, _) in (0..).zip(needed).filter(|(_, bytes)| **bytes > 0) {
        let area = e.load(Width::Word, list, number * pointer);
        e.leave_if_null(area);
        e.leave_if_misaligned(area, context.program.alignment.bytes());
    }
}

/// Checks the size and the flags. The size is that of ABI 1, or larger with zeros behind it. No flag may be set.
fn check_config(e: &mut Builder, config: Value) {
    let bytes = CONFIG.bytes(e.layout);
    let size = e.member(&CONFIG, config, Config::StructSize);
    let size = e.extend(Width::Word, size);
    let beyond = e.add(size, bytes.wrapping_neg());
    // A smaller size wraps around, so one comparison checks both limits.
    let wrong = e.compare(CompareOp::Greater, beyond, LARGEST_CONFIG - bytes);
    e.leave_if(wrong, E_ABI);
    let flags = e.member(&CONFIG, config, Config::Flags);
    e.leave_if(flags, E_ABI);
    let tail = e.at(config, bytes);
    e.each(beyond, 1, |e, offset| {
        let address = e.add(tail, offset);
        let byte = e.load(Width::Byte, address, 0);
        e.leave_if(byte, E_ABI);
    });
}

/// Computes the number of the first level that the CPU supports, 16 bits. Without one, the function returns `MODELC_E_CPU`.
fn choose_level(e: &mut Builder, context: &Context<'_>, given: Value) -> Operand {
    let needs: Vec<u64> = context.levels.iter().map(|kernels| required_features(kernels.level.machine)).collect();
    if needs[0] == 0 {
        return Operand::Number(0);
    }
    let last = needs.len() - 1;
    let detected = match context.numbers.cpu {
        Some(cpu) => e.region(|e| vec![e.call(Callee::Function(cpu), Signature::new(&[], Some(Width::Word)), vec![]).into()]),
        // No instruction can ask. A single level is assumed to fit. Of several levels, the lowest runs unless the caller names features.
        None if needs[last] == 0 => return first_level(e, given, 0, &needs).into(),
        None => {
            let told = e.region(|e| vec![first_level(e, given, 0, &needs).into()]);
            let least = e.region(|_| vec![(last as u64).into()]);
            return e.branch(given, &[Width::Half], told, least)[0].into();
        }
    };
    let told = e.region(|_| vec![given.into()]);
    let features = e.branch(given, &[Width::Word], told, detected)[0];
    first_level(e, features, 0, &needs).into()
}

/// Returns the number of the first level that runs with these features. `needs` are the features of the remaining levels, and `first` is the number
/// of the first of these.
fn first_level(e: &mut Builder, features: Value, first: u64, needs: &[u64]) -> Value {
    let (&required, others) = needs.split_first().expect("there is a level");
    let present = e.binary(BinaryOp::And, features, required);
    let fits = e.compare(CompareOp::Equal, present, required);
    let this = e.region(|_| vec![first.into()]);
    let other = e.region(|e| {
        if others.is_empty() {
            e.leave(E_CPU);
            return vec![];
        }
        vec![first_level(e, features, first + 1, others).into()]
    });
    e.branch(fits, &[Width::Half], this, other)[0]
}

/// Checks a separate file of weights with a few comparisons: presence, alignment, length, and a header for this object. Returns its address.
fn check_weights(e: &mut Builder, context: &Context<'_>, fields: &ConfigFields) -> Option<Value> {
    let header = context.weights_file?;
    let weights = fields.pointers.iter().find(|(_, place)| *place == Record::Weights).map(|(value, _)| *value)?;
    let absent = e.compare(CompareOp::Equal, weights, 0);
    e.leave_if(absent, E_WEIGHTS);
    e.leave_if_misaligned(weights, context.program.alignment.bytes());
    let short = e.compare(CompareOp::Less, fields.weights_bytes, header.file_bytes());
    e.leave_if(short, E_WEIGHTS);
    for (offset, word) in (0..).step_by(8).zip(header.words()) {
        let wrong = e.differs(weights, offset, word);
        e.leave_if(wrong, E_WEIGHTS);
    }
    Some(weights)
}

fn write_record(e: &mut Builder, context: &Context<'_>, state: Value, (whole, level): (Value, Operand), fields: &ConfigFields) {
    let whole = e.extend(Width::Half, whole);
    e.set_member(whole, &RECORD, state, Record::Whole);
    e.set_member(level, &RECORD, state, Record::Level);
    e.set_member(fields.threads, &RECORD, state, Record::Threads);
    for &(value, field) in &fields.pointers {
        e.set_member(value, &RECORD, state, field);
    }
    for (value, field) in [(context.model_hash, Record::Hash), (Record::INITIALISED, Record::Magic)] {
        e.store_long(value, state, field.offset());
    }
}

/// Writes the initial contents of variables, or zeros. `weights` is the address of a separate file of weights, and `true` for copies of constants, too.
fn initialise_variables(e: &mut Builder, context: &Context<'_>, state: Value, weights: Option<Value>, copies: bool) {
    for variable in context.program.variables.iter().filter(|variable| copies || !variable.is_copy) {
        let to = e.at(state, context.interface.state.variables.offset + variable.offset);
        let initial = variable.initial.map(|constant| context.constants.offsets[constant]);
        let from = initial.map(|offset| e.constant(weights, offset));
        fill(e, to, from, variable.bytes);
    }
}

/// Copies constants to areas.
fn copy_weights(e: &mut Builder, context: &Context<'_>, fields: &ConfigFields, weights: Option<Value>) {
    let list = fields.pointers.iter().find(|(_, to)| *to == Record::Areas);
    let Some(&(list, _)) = list.filter(|_| !context.program.copies.is_empty()) else { return };
    for copy in &context.program.copies {
        let area = e.load(Width::Word, list, copy.area as i32 * e.layout.pointer as i32);
        let to = e.at(area, copy.offset);
        let from = e.constant(weights, context.constants.offsets[copy.constant]);
        fill(e, to, Some(from), copy.bytes);
    }
}

/// Copies or zeroes `bytes` bytes, first in words, then in bytes. Both addresses are aligned to words.
fn fill(e: &mut Builder, to: Value, from: Option<Value>, bytes: u64) {
    let word = e.layout.pointer;
    let words = bytes / word * word;
    if words <= STRAIGHT_BYTES {
        for offset in (0..words).step_by(word as usize) {
            move_at(e, Width::Word, to, from, offset as i32);
        }
    } else {
        e.each(words, word, |e, offset| {
            let to = e.add(to, offset);
            let from = from.map(|from| e.add(from, offset));
            move_at(e, Width::Word, to, from, 0);
        });
    }
    let (to, from) = (e.at(to, words), from.map(|from| e.at(from, words)));
    for offset in 0..(bytes - words) {
        move_at(e, Width::Byte, to, from, offset as i32);
    }
}

fn move_at(e: &mut Builder, width: Width, to: Value, from: Option<Value>, offset: i32) {
    let value = match from {
        Some(from) => e.load(width, from, offset).into(),
        None => Operand::Number(0),
    };
    e.store(width, value, to, offset);
}
