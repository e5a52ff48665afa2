//! The values of a graph as registers.

use crate::diagnostic::{Diagnostic, codes};
use crate::frontend::delegates::container::Source;
use crate::frontend::executorch::program::{EValue, Form, Storage, TensorMeta, form, index};
use crate::ir::ElementType;
use crate::schema::vulkan::{GraphTypes, VkDataType, VkTensor, VkValue};
use std::collections::{BTreeMap, HashMap};

/// The registers of a graph.
pub(super) struct Values {
    /// The values of the graph by their numbers, then the members of lists of integers.
    pub(super) registers: Vec<EValue>,
    /// The registers that are constants, and which.
    pub(super) constants: Vec<(usize, Source)>,
    /// The tensors that callers pass as another type, and which.
    pub(super) staged: BTreeMap<usize, ElementType>,
}

/// The values of a graph while they are read.
struct Reader<'b, 'n> {
    table: Vec<VkValue<'b>>,
    sources: &'n [Source],
    /// The prefix of tensors' names.
    name: &'n str,
    constants: Vec<(usize, Source)>,
    staged: BTreeMap<usize, ElementType>,
    /// Integers of lists. They have registers of their own, after the graph's.
    members: Vec<i64>,
    registers_of: HashMap<i64, usize>,
}

pub(super) fn invalid(message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(codes::PROGRAM_STRUCTURE, message)
}

/// Reads the values. `name` is the name of their graph.
///
/// # Errors
/// When one contradicts itself, or names a value or a constant that does not exist.
pub(super) fn read(table: Vec<VkValue<'_>>, sources: &[Source], name: &str) -> Result<Values, Diagnostic> {
    let count = table.len();
    let mut reader =
        Reader { table, sources, name, constants: Vec::new(), staged: BTreeMap::new(), members: Vec::new(), registers_of: HashMap::new() };
    let mut registers = Vec::with_capacity(count);
    for number in 0..count {
        registers.push(reader.value(number).map_err(|fault| fault.about_tensor(format!("value {number} of the Vulkan graph")))?);
    }
    registers.extend(reader.members.into_iter().map(EValue::Int));
    Ok(Values { registers, constants: reader.constants, staged: reader.staged })
}

impl Reader<'_, '_> {
    fn value(&mut self, number: usize) -> Result<EValue, Diagnostic> {
        use GraphTypes as T;
        let missing = || invalid("the value has a type but no contents");
        let value = self.table[number];
        Ok(match value.value_type() {
            T::NONE | T::Null => EValue::None,
            T::Int => EValue::Int(value.value_as_int().ok_or_else(missing)?.int_val()),
            T::SymInt => EValue::Int(value.value_as_sym_int().ok_or_else(missing)?.value().into()),
            T::Bool => EValue::Bool(value.value_as_bool().ok_or_else(missing)?.bool_val()),
            T::Double => number_of(value.value_as_double().ok_or_else(missing)?.double_val()),
            T::String => EValue::String(value.value_as_string().ok_or_else(missing)?.string_val().unwrap_or_default().to_owned()),
            T::DoubleList => EValue::Doubles(value.value_as_double_list().ok_or_else(missing)?.items().into_iter().flatten().collect()),
            T::BoolList => EValue::Bools(value.value_as_bool_list().ok_or_else(missing)?.items().into_iter().flatten().collect()),
            T::IntList => {
                let items = value.value_as_int_list().ok_or_else(missing)?.items();
                EValue::Ints(items.into_iter().flatten().map(|n| self.member(n)).collect())
            }
            T::ValueList => {
                let items = value.value_as_value_list().ok_or_else(missing)?.items();
                let items = items.into_iter().flatten().map(|i| index(i, self.table.len(), "value")).collect::<Result<_, _>>()?;
                self.list(items)
            }
            T::VkTensor => EValue::Tensor(self.tensor(number, value.value_as_vk_tensor().ok_or_else(missing)?)?),
            other => return Err(invalid(format!("unknown value type {}", other.0))),
        })
    }

    /// The register of an integer of a list.
    fn member(&mut self, n: i64) -> usize {
        let next = self.table.len() + self.members.len();
        let register = *self.registers_of.entry(n).or_insert(next);
        if register == next {
            self.members.push(n);
        }
        register
    }

    /// A list of values: integers, or tensors of which some may be absent.
    fn list(&self, items: Vec<usize>) -> EValue {
        let is = |types: &[GraphTypes]| items.iter().all(|&i| types.contains(&self.table[i].value_type()));
        let nothing = |i: usize| matches!(self.table[i].value_type(), GraphTypes::NONE | GraphTypes::Null);
        if is(&[GraphTypes::Int, GraphTypes::SymInt]) {
            return EValue::Ints(items);
        }
        if items.iter().any(|&i| nothing(i)) {
            return EValue::OptionalTensors(items.into_iter().map(|i| (!nothing(i)).then_some(i)).collect());
        }
        EValue::Tensors(items)
    }

    fn tensor(&mut self, number: usize, tensor: VkTensor<'_>) -> Result<TensorMeta, Diagnostic> {
        let dims: Result<Vec<i32>, _> = tensor.dims().into_iter().flatten().map(i32::try_from).collect();
        let dims = dims.map_err(|_| invalid("an extent is too large").expected("less than 2^31", "more"))?;
        let form: Form = form(element(tensor.datatype())?, &dims, &[])?;
        let constant = usize::try_from(tensor.constant_id()).ok();
        if let Some(constant) = constant {
            let constant = index(constant, self.sources.len(), "constant")?;
            self.constants.push((number, self.sources[constant].clone()));
        }
        if tensor.staging_datatype() != VkDataType::UNSET {
            self.staged.insert(number, element(tensor.staging_datatype())?);
        }
        let name = Some(format!("{}.{number}", self.name));
        // Dimensions are bounds: nothing in a graph says which of them vary.
        Ok(TensorMeta { form, storage: Storage::Unplanned, dynamic: constant.is_none(), name })
    }
}

/// A float. Equal numbers are one value in these graphs, so 1.0 may be given where an integer is meant, and 1 where a float is.
fn number_of(x: f64) -> EValue {
    let is_whole = x.fract() == 0.0 && x.abs() < (1u64 << 53) as f64 && !(x == 0.0 && x.is_sign_negative());
    if is_whole { EValue::Int(x as i64) } else { EValue::Double(x) }
}

fn element(datatype: VkDataType) -> Result<ElementType, Diagnostic> {
    Ok(match datatype {
        VkDataType::BOOL => ElementType::Bool,
        VkDataType::UINT8 => ElementType::U8,
        VkDataType::INT8 => ElementType::I8,
        VkDataType::INT32 => ElementType::I32,
        VkDataType::INT64 => ElementType::I64,
        VkDataType::FLOAT16 => ElementType::F16,
        VkDataType::FLOAT32 => ElementType::F32,
        VkDataType::FLOAT64 => ElementType::F64,
        other => return Err(invalid(format!("unknown element type {}", other.0))),
    })
}
