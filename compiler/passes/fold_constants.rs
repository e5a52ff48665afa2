//! Evaluation of instructions whose operands are all constants.
//!
//! Contract: the interpreter evaluates an instruction whose operands are all constants. The total work in a module is limited.
//! A result must not be larger than the operands, so that compressed weights stay compressed. There are three exceptions:
//! * Small results, except filters.
//! * Weights that [`tables`] finds. Computed at run time, they would need memory and would be packed in every call.
//! * Values [on the way](on_the_way) to a result that is no larger than its constants.
//!
//! An instruction that fails on its operands stays, so that it fails when the program runs.

use super::edit::{Edit, Visit, rewrite_function};
use crate::ir::*;
use rustc_hash::{FxHashMap, FxHashSet};

/// The number of bytes up to which a result may be larger than its operands.
const SMALL: u64 = 4096;
/// The number of bytes up to which a constant is made.
const LARGEST: u64 = 64 << 20;
/// Scalar operations that folding may spend on a module.
const WORK: u64 = 1 << 28;

/// Applies the rewrite.
pub(super) fn run(module: &mut Module) -> bool {
    let mut budget = WORK;
    let functions: Vec<Func> = module.functions.keys().collect();
    functions.into_iter().fold(false, |changed, func| {
        let mut larger = tables(&module.functions[func]);
        larger.extend(on_the_way(&module.functions[func]));
        rewrite_function(module, func, &mut |edit, inst| fold(edit, inst, &larger, &mut budget).map_or(Visit::Keep, Visit::Replace))
            | changed
    })
}

/// The instructions on constants whose results are read only as right operands of convolutions and products, such as the matrices of a Fourier
/// transform.
fn tables(function: &Function) -> FxHashSet<Inst> {
    let mut closed: FxHashSet<Value> = FxHashSet::default();
    for &inst in &function.body {
        if function.uses(inst).all(|value| closed.contains(&value)) {
            closed.extend(&function.insts[inst].results);
        }
    }
    let mut read_otherwise: FxHashSet<Value> = function.results.iter().copied().collect();
    let mut tables = FxHashSet::default();
    for &inst in function.body.iter().rev() {
        let data = &function.insts[inst];
        let is_contraction = matches!(data.op(), Op::Conv | Op::Matmul);
        let is_closed = data.results.iter().all(|result| closed.contains(result));
        if !is_contraction && is_closed && is_table(function, inst, &read_otherwise) {
            tables.insert(inst);
            continue;
        }
        let others = function.uses(inst).enumerate().filter(|(position, _)| !is_contraction || *position != 1);
        read_otherwise.extend(others.map(|(_, value)| value));
    }
    tables
}

/// Tests whether an instruction computes a tensor that is read as weights only, from elements at least as wide.
fn is_table(function: &Function, inst: Inst, read_otherwise: &FxHashSet<Value>) -> bool {
    let data = &function.insts[inst];
    let bits = |value: &Value| function.values[*value].ty.as_tensor().map(|ty| ty.element.bits());
    let [result] = data.results[..] else { return false };
    bits(&result).is_some() && !read_otherwise.contains(&result) && data.operands.iter().all(|operand| bits(operand) >= bits(&result))
}

/// The instructions that lead to a result no larger than the constants it is computed from, and whose results only such instructions read.
/// For example, the integer product of two constants that is then requantized.
fn on_the_way(function: &Function) -> FxHashSet<Inst> {
    let sources = sources(function);
    let mut stays: FxHashSet<Value> = function.results.iter().copied().collect();
    let mut found = FxHashSet::default();
    for &inst in function.body.iter().rev() {
        let data = &function.insts[inst];
        let results = &data.results;
        if let Some(sources) = sources.get(&inst).filter(|_| data.op() != Op::Constant) {
            let sizes = [bytes(function, results), bytes(function, sources)];
            let is_small = matches!(sizes, [Some(made), Some(read)] if made <= read);
            if is_small || !results.iter().any(|result| stays.contains(result)) {
                found.insert(inst);
                continue;
            }
        }
        stays.extend(function.uses(inst));
    }
    found
}

/// Maps each instruction on constants alone to the constants that it is computed from.
fn sources(function: &Function) -> FxHashMap<Inst, FxHashSet<Value>> {
    let mut made_by: FxHashMap<Value, Inst> = FxHashMap::default();
    let mut sources: FxHashMap<Inst, FxHashSet<Value>> = FxHashMap::default();
    for &inst in &function.body {
        let data = &function.insts[inst];
        let read: Option<Vec<Inst>> = function.uses(inst).map(|value| made_by.get(&value).copied()).collect();
        let is_constant = matches!(data.op(), Op::Constant | Op::IndexConstant);
        let Some(read) = read.filter(|read| is_constant || !read.is_empty()) else { continue };
        made_by.extend(data.results.iter().map(|&value| (value, inst)));
        let own = data.results.iter().copied().filter(|_| is_constant);
        let all = read.iter().flat_map(|inst| &sources[inst]).copied().chain(own).collect();
        sources.insert(inst, all);
    }
    sources
}

/// The static size of tensors in bytes; `None` if it is not static. Index values have 0 bytes.
fn bytes<'v>(function: &Function, values: impl IntoIterator<Item = &'v Value>) -> Option<u64> {
    let of_one = |&value: &Value| function.values[value].ty.as_tensor().map_or(Some(0), TensorType::static_bytes);
    values.into_iter().try_fold(0u64, |sum, value| sum.checked_add(of_one(value)?))
}

fn fold(edit: &mut Edit<'_>, inst: Inst, larger: &FxHashSet<Inst>, budget: &mut u64) -> Option<Vec<Value>> {
    let data = &edit.function.insts[inst];
    // Packed weights stay packed.
    if matches!(data.op(), Op::Constant | Op::IndexConstant | Op::Unpack) {
        return None;
    }
    let is_constant = |v: Value| edit.definition(v).is_some_and(|d| matches!(d.op(), Op::Constant | Op::IndexConstant));
    if !edit.function.uses(inst).all(is_constant) || !data.results.iter().all(|&v| edit.function.values[v].ty.as_tensor().is_some()) {
        return None;
    }
    let (read, made) = (bytes(&edit.function, &data.operands)?, bytes(&edit.function, &data.results)?);
    let work = data.work(edit.module, &edit.function)?;
    let small = made <= SMALL && !edit.function.widens_weights(inst);
    if made > LARGEST || (made > read && !small && !larger.contains(&inst)) || work > *budget {
        return None;
    }
    *budget -= work;
    if let Some(moved) = moved(edit, inst) {
        return Some(vec![insert(edit, moved)?]);
    }
    let results = interpret::evaluate(edit.module, &edit.function, inst).ok()?;
    for operand in &edit.function.insts[inst].operands {
        if let Some(Operation::Constant(constant)) = edit.definition(*operand).map(|data| &data.operation) {
            edit.module.constants[constant.data].data.release();
        }
    }
    results.into_iter().map(|tensor| constant(edit, tensor)).collect()
}

/// Returns the constant that a transpose or a reshape of a constant makes. It costs no work: the bytes stay or are permuted on demand.
fn moved(edit: &Edit<'_>, inst: Inst) -> Option<ConstantData> {
    let data = &edit.function.insts[inst];
    let Operation::Constant(operand) = &edit.definition(*data.operands.first()?)?.operation else { return None };
    let operand = &edit.module.constants[operand.data];
    match &data.operation {
        Operation::Transpose(transpose) => operand.permuted(&transpose.permutation),
        Operation::Reshape(_) => {
            let ty = edit.function.tensor(data.results[0]);
            Some(ConstantData { ty: TensorType::of(ty.element, &ty.static_shape()?), data: operand.data.clone() })
        }
        _ => None,
    }
}

/// A tensor as a constant value.
pub(super) fn constant(edit: &mut Edit<'_>, tensor: Tensor) -> Option<Value> {
    let ty = TensorType::of(tensor.element, &tensor.shape);
    insert(edit, ConstantData { ty, data: tensor.bytes.into() })
}

fn insert(edit: &mut Edit<'_>, constant: ConstantData) -> Option<Value> {
    let constant = edit.module.add_constant(constant.ty, constant.data);
    edit.insert_one(operators::Constant { data: constant }, &[])
}

#[cfg(test)]
mod tests {
    use super::super::{dead_code, fold_constants};
    use crate::ir::text::parse_module;

    /// The number of instructions left after folding `body`, which can read v0: f32[2, 32] and v1: i8[40, 32].
    fn left(body: &str, result: &str) -> usize {
        let numbers = (0..40 * 32).map(|n| (n % 100).to_string()).collect::<Vec<_>>().join(", ");
        let text = format!(
            "const0: i8[40, 32] = [{numbers}]\nfunc @main(v0: f32[2, 32]) {{\n  v1 = constant {{ data = const0 }}\n{body}  return {result}\n}}\n\
             method \"main\" = @main {{\n  input \"x\"\n  output \"y\"\n}}\n"
        );
        let mut module = parse_module(&text).unwrap();
        fold_constants::run(&mut module);
        dead_code::run(&mut module);
        module.functions.values().flat_map(|function| &function.body).count()
    }

    /// Weights that are read through a transpose, a small filter among them, keep their width.
    #[test]
    fn weights_stay_as_narrow_as_they_are() {
        let wide =
            "  v2 = map v1 {\n    expression = (i8) {\n      n0: i8 = input 0\n      n1: f32 = convert n0\n      return n1\n    }\n  }\n";
        let product = "  v4 = matmul v0, v3 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }\n";
        let turned = "  v3 = transpose v2 { permutation = [0, 1] }\n";
        assert_eq!(left(&format!("{wide}{turned}{product}"), "v4"), 4);
        assert_eq!(left(&format!("{wide}  v3 = reduce v2 {{ reduction = sum, axes = [1] }}\n"), "v3"), 1, "they are no weights");
    }

    /// Folds a table of 40 × 32 sums that either a product or `rest` reads.
    fn folded(rest: &str, result: &str) -> usize {
        let numbers = |count: usize| (0..count).map(|n| format!("{n}.0")).collect::<Vec<_>>().join(", ");
        let text = format!(
            "const0: f32[32] = [{}]\nconst1: f32[40, 1] = [{}]\nfunc @main(v0: f32[2, 32]) {{\n  v1 = constant {{ data = const0 }}\n  \
             v2 = constant {{ data = const1 }}\n  v3 = map v1, v2 {{\n    expression = (f32, f32) {{\n      n0: f32 = input 0\n      n1: f32 = input 1\n      \
             n2: f32 = add n0, n1\n      return n2\n    }}\n  }}\n{rest}  return {result}\n}}\nmethod \"main\" = @main {{\n  input \"x\"\n  output \"y\"\n}}\n",
            numbers(32),
            numbers(40)
        );
        let mut module = parse_module(&text).unwrap();
        fold_constants::run(&mut module);
        dead_code::run(&mut module);
        module.functions.values().flat_map(|function| &function.body).count()
    }

    #[test]
    fn tables_that_are_weights_are_made_once_and_others_in_each_call() {
        let product = "  v4 = matmul v0, v3 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }\n";
        assert_eq!(folded(product, "v4"), 2, "a constant and the product");
        assert_eq!(folded("", "v3"), 3, "two constants and the map");
        let left = "  v4 = matmul v3, v0 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }\n";
        assert_eq!(folded(left, "v4"), 4);
        assert_eq!(folded("  v4 = reduce v3 { reduction = sum, axes = [1] }\n", "v4"), 1, "a large one on the way to a small one");
    }
}
