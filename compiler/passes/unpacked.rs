//! Unpacking of packed integers for maps, to one integer a byte.
//!
//! Contract: packed integers are constants, or slices picked from constants. A separate instruction, which has a kernel, reads their bytes and
//! unpacks them.
//! Operands that contractions read in the file's format stay: contractions unpack them themselves.

use super::edit::{Edit, Visit, rewrite_function};
use crate::ir::*;
use rustc_hash::{FxHashMap, FxHashSet};

/// Applies the rewrite.
pub(super) fn run(module: &mut Module) -> bool {
    let functions: Vec<Func> = module.functions.keys().collect();
    functions.into_iter().fold(false, |changed, func| {
        let stored = read_as_stored(&module.functions[func]);
        let mut visit = |edit: &mut Edit<'_>, inst| match stored.contains(&inst) {
            true => Visit::Keep,
            false => edit.attempt(|edit| map(edit, inst)).map_or(Visit::Keep, Visit::Replace),
        };
        rewrite_function(module, func, &mut visit) | changed
    })
}

/// The maps that contractions alone read, as conversions of weights.
fn read_as_stored(function: &Function) -> FxHashSet<Inst> {
    let mut uses: FxHashMap<Value, i64> = FxHashMap::default();
    for value in function.body.iter().flat_map(|&inst| function.uses(inst)).chain(function.results.iter().copied()) {
        *uses.entry(value).or_default() += 1;
    }
    for data in function.body.iter().map(|&inst| &function.insts[inst]) {
        if matches!(data.op(), Op::Conv | Op::Matmul) && stored_right(function, data).0 != data.operands[1] {
            *uses.entry(data.operands[1]).or_default() -= 1;
        }
    }
    uses.iter().filter(|(_, count)| **count == 0).filter_map(|(&value, _)| function.defining_inst(value)).collect()
}

/// A map with the bytes of its packed operands unpacked.
fn map(edit: &mut Edit<'_>, inst: Inst) -> Option<Vec<Value>> {
    let data = edit.function.insts[inst].clone();
    let Operation::Map(operators::Map { mut expression }) = data.operation else { return None };
    let mut operands = data.operands;
    let mut changed = false;
    for (operand, ty) in operands.iter_mut().zip(&mut expression.inputs) {
        if ty.is_packed() {
            *operand = one_a_byte(edit, *operand)?;
            *ty = ty.unpacked();
            changed = true;
        }
    }
    if !changed || !converts_packed_inputs(&expression) {
        return None;
    }
    for node in expression.nodes.values_mut() {
        if let ScalarOp::Input(i) = node.op {
            node.ty = expression.inputs[i as usize];
        }
    }
    edit.insert(operators::Map { expression }, &operands).ok()
}

/// Tests whether an expression only converts its packed inputs, which works on bytes alike.
fn converts_packed_inputs(expression: &Expression) -> bool {
    let is_packed = |&node: &Node| matches!(expression.nodes[node].op, ScalarOp::Input(_)) && expression.nodes[node].ty.is_packed();
    let only_converts = |data: &NodeData| data.op == ScalarOp::Convert || !data.operands.iter().any(is_packed);
    expression.nodes.values().all(only_converts) && !expression.results.iter().any(is_packed)
}

/// Returns packed integers as one integer a byte.
fn one_a_byte(edit: &mut Edit<'_>, value: Value) -> Option<Value> {
    let data = edit.definition(value)?.clone();
    let ty = edit.function.tensor(value).clone();
    match &data.operation {
        Operation::Constant(constant) => {
            let rows = Rows::new(edit, constant.data)?;
            let unpacked = rows.unpacked(edit, rows.bytes)?;
            reshaped(edit, unpacked, &ty.shape)
        }
        Operation::Reshape(_) => {
            let inner = one_a_byte(edit, data.operands[0])?;
            reshaped(edit, inner, &ty.shape)
        }
        Operation::Gather(gather) => {
            let source = edit.function.tensor(data.operands[0]).rank();
            if gather.axis + 1 == source {
                let inner = one_a_byte(edit, data.operands[0])?;
                return edit.insert_one(data.operation.clone(), &[inner, data.operands[1]]);
            }
            let rows = Rows::new(edit, edit.constant_of(data.operands[0])?)?;
            let picked = edit.insert_one(data.operation.clone(), &[rows.bytes, data.operands[1]])?;
            rows.unpacked(edit, picked)
        }
        _ => None,
    }
}

fn reshaped(edit: &mut Edit<'_>, value: Value, shape: &[Extent]) -> Option<Value> {
    if edit.function.tensor(value).shape == shape {
        return Some(value);
    }
    edit.insert_one(operators::Reshape { shape: shape.to_vec() }, &[value])
}

/// The bytes of packed integers, each row in bytes of its own.
struct Rows {
    bytes: Value,
    element: ElementType,
    /// Integers of a row.
    length: u64,
}

impl Rows {
    /// Reads the rows of a constant. Rows that do not fill whole bytes are packed anew.
    fn new(edit: &mut Edit<'_>, constant: Constant) -> Option<Self> {
        let ConstantData { ty, data } = edit.module.constants[constant].clone();
        let element = ty.element;
        let mut shape = ty.static_shape()?;
        if shape.is_empty() {
            shape.push(1);
        }
        let count = ty.static_elements()?;
        let last = shape.last_mut()?;
        let length = *last;
        *last = length.div_ceil(element.per_byte());
        let fills_bytes = length.is_multiple_of(element.per_byte());
        let data = if fills_bytes { data } else { packed_rows(element, &data, [count as usize, length as usize]) };
        let constant = edit.module.add_constant(TensorType::of(ElementType::U8, &shape), data);
        let bytes = edit.insert_one(operators::Constant { data: constant }, &[])?;
        Some(Self { bytes, element, length })
    }

    /// The integers in bytes of some rows.
    fn unpacked(&self, edit: &mut Edit<'_>, bytes: Value) -> Option<Value> {
        let unpacked = edit.insert_one(operators::Unpack { element: self.element }, &[bytes])?;
        let mut size = edit.function.tensor(unpacked).shape.clone();
        let last = size.last_mut()?;
        if *last == Extent::Static(self.length) {
            return Some(unpacked);
        }
        *last = Extent::Static(self.length);
        let (start, stride) = (vec![Extent::Static(0); size.len()], vec![1; size.len()]);
        edit.insert_one(operators::Slice { start, size, stride }, &[unpacked])
    }
}

/// Packed rows that each begin in a byte of their own; `length` is not 0.
fn packed_rows(element: ElementType, data: &Data, [count, length]: [usize; 2]) -> Data {
    let unpacked = packed::unpack(element, data.bytes(), count);
    unpacked.chunks_exact(length).flat_map(|row| packed::pack(element, row)).collect::<Vec<u8>>().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::text::{Constants, parse_module, print_module};

    /// Returns a function that adds 1 to `picked`, which picks from v1: three rows of seven packed integers of a type.
    fn module(element: &str, bytes: &str, picked: &str) -> Module {
        let text = format!(
            "const0: {element}[3, 7] = hex \"{bytes}\"\nfunc @main(v0: i32[2]) {{\n  v1 = constant {{ data = const0 }}\n{picked}  v3 = map v2 {{\n    \
             expression = ({element}) {{\n      n0: {element} = input 0\n      n1: f32 = convert n0\n      n2: f32 = constant 1.0\n      \
             n3: f32 = add n1, n2\n      return n3\n    }}\n  }}\n  return v3\n}}\nmethod \"main\" = @main {{\n  input \"x\"\n  output \"y\"\n}}\n"
        );
        parse_module(&text).unwrap()
    }

    fn interpreted(module: &Module) -> Vec<Tensor> {
        let picks = Tensor { element: ElementType::I32, shape: vec![2], bytes: [2i32, 0].iter().flat_map(|n| n.to_le_bytes()).collect() };
        let function = module.functions.keys().next().unwrap();
        interpret::Interpreter::new(module).run_function(function, &[picks], None).unwrap()
    }

    #[test]
    fn maps_read_bytes() {
        let packed = [("i4", "21436587a9cbed0f1e2d3c"), ("u4", "21436587a9cbed0f1e2d3c"), ("i2", "1be472a90f05")];
        let picked = [
            "  v2 = gather v1, v0 { axis = 0, batch = 0 }\n",
            "  v2 = gather v1, v0 { axis = 1, batch = 0 }\n",
            "  v2 = reshape v1 { shape = [7, 3] }\n",
        ];
        for (element, bytes) in packed {
            for picked in picked {
                let mut module = module(element, bytes, picked);
                let before = interpreted(&module);
                assert!(run(&mut module), "{element} {picked}");
                super::super::dead_code::run(&mut module);
                verify(&module).unwrap();
                assert_eq!(interpreted(&module), before, "{element} {picked}");
                let text = print_module(&module, Constants::Elided);
                assert!(text.contains("unpack") && !text.contains(&format!("{element}[")), "{text}");
            }
        }
    }

    #[test]
    fn rows_of_one_integer_have_a_byte_each() {
        let mut module = module("i2", "1be472a90f05", "  v2 = slice v1 { start = [0, 2], size = [3, 1], stride = [1, 1] }\n");
        super::super::fold_constants::run(&mut module);
        let before = interpreted(&module);
        run(&mut module);
        assert_eq!(interpreted(&module), before);
        let scalar = "const0: i4[] = hex \"0d\"\nconst1: i4[5, 1] = hex \"214305\"\nfunc @main(v0: i32[2]) {\n  v1 = constant { data = const0 }\n  \
             v2 = constant { data = const1 }\n  v3 = map v1, v2 {\n    expression = (i4, i4) {\n      n0: i4 = input 0\n      n1: i4 = input 1\n      \
             n2: i32 = convert n0\n      n3: i32 = convert n1\n      n4: i32 = add n2, n3\n      return n4\n    }\n  }\n  return v3\n}\n\
             method \"main\" = @main {\n  input \"x\"\n  output \"y\"\n}\n";
        let mut module = parse_module(scalar).unwrap();
        let before = interpreted(&module);
        assert!(run(&mut module));
        assert_eq!(interpreted(&module), before);
    }

    #[test]
    fn what_products_read_as_stored_stays() {
        let text = "const0: i4[2, 3] = hex \"214305\"\nfunc @main(v0: f32[1, 3]) {\n  v1 = constant { data = const0 }\n  v2 = map v1 {\n    \
             expression = (i4) {\n      n0: i4 = input 0\n      n1: f32 = convert n0\n      return n1\n    }\n  }\n  \
             v3 = matmul v0, v2 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }\n  return v3\n}\n\
             method \"main\" = @main {\n  input \"x\"\n  output \"y\"\n}\n";
        assert!(!run(&mut parse_module(text).unwrap()));
    }
}
