//! A program as plain data: methods with their values, instructions and memory areas, every index and size checked.

use super::reader::File;
use super::traced;
use crate::diagnostic::{Diagnostic, codes};
use crate::frontend::delegates::graph::{self, Delegate};
use crate::ir::operators::MAX_RANK;
use crate::ir::{ElementType, Extent, Layout};
use crate::operators::extents;
use crate::schema::{program as schema, scalar_type::ScalarType};

/// A method.
#[derive(Debug)]
pub struct Plan {
    /// Its name.
    pub name: String,
    /// The registers; instructions name them by position.
    pub values: Vec<EValue>,
    /// Registers that the caller fills.
    pub inputs: Vec<usize>,
    /// Registers that the caller reads.
    pub outputs: Vec<usize>,
    /// Names with overload, such as `aten::add.out`.
    pub operators: Vec<String>,
    /// Parts of the program that were given to back ends.
    pub delegates: Vec<Delegate>,
    /// All chains one after the other.
    pub instructions: Vec<Instruction>,
    /// Bytes of each memory area; area 0 has none.
    pub area_bytes: Vec<u64>,
    /// The register that counts drawn random numbers, if the method draws some; see `draws.rs`.
    pub drawn: Option<usize>,
    /// Names of registers that follow from the program's debug data; see `traced.rs`.
    pub traced: Vec<(usize, String)>,
}

/// A register's contents in the file.
#[derive(Clone, Debug, PartialEq)]
pub enum EValue {
    /// None.
    None,
    /// An integer.
    Int(i64),
    /// A truth value.
    Bool(bool),
    /// A float.
    Double(f64),
    /// A tensor.
    Tensor(TensorMeta),
    /// A string.
    String(String),
    /// Integers, each in a register of its own.
    Ints(Vec<usize>),
    /// Floats.
    Doubles(Vec<f64>),
    /// Truth values.
    Bools(Vec<bool>),
    /// Tensors, each in a register of its own.
    Tensors(Vec<usize>),
    /// Tensors, some of them absent.
    OptionalTensors(Vec<Option<usize>>),
}

/// The interpretation of bytes as a tensor: element type, logical shape, order of dimensions. In the file the shape consists of numbers. During
/// translation it consists of extents, some of which may be known only at run time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form<N = u64> {
    /// Type of the elements.
    pub element: ElementType,
    /// The logical shape.
    pub shape: Vec<N>,
    /// The order of dimensions in memory.
    pub layout: Layout,
}

impl<N: Copy> Form<N> {
    /// A row-major form.
    pub fn row_major(element: ElementType, shape: Vec<N>) -> Self {
        Self { element, shape, layout: Layout::ROW_MAJOR }
    }

    /// The extents in the order in which they lie in memory, outermost first.
    pub fn physical_shape(&self) -> Vec<N> {
        self.order().into_iter().map(|d| self.shape[d]).collect()
    }

    /// The order of dimensions in memory as a permutation.
    pub fn order(&self) -> Vec<usize> {
        match self.layout.order() {
            Some(order) => order.iter().map(|&d| usize::from(d)).collect(),
            None => (0..self.shape.len()).collect(),
        }
    }
}

impl Form {
    /// Elements; saturates, but a checked [`TensorMeta`] never does.
    pub fn elements(&self) -> u64 {
        self.shape.iter().fold(1, |product: u64, &n| product.saturating_mul(n))
    }

    /// Bytes; saturates, but a checked [`TensorMeta`] never does.
    pub fn bytes(&self) -> u64 {
        self.element.bytes_for(self.elements()).unwrap_or(u64::MAX)
    }

    /// The form with its numbers as extents.
    pub fn on_extents(&self) -> Form<Extent> {
        Form { element: self.element, shape: extents(&self.shape), layout: self.layout.clone() }
    }
}

impl Form<Extent> {
    /// The form in numbers, if all extents are known.
    pub fn known(&self) -> Option<Form> {
        let shape = self.shape.iter().map(|extent| extent.as_static()).collect::<Option<_>>()?;
        Some(Form { element: self.element, shape, layout: self.layout.clone() })
    }
}

/// The place of a state's initial value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Initial {
    /// A segment of the program.
    Segment {
        /// The mutable data segment.
        segment: u64,
        /// The entry in it.
        entry: u32,
    },
    /// Another file, under a name, as for parameters of training programs.
    External(String),
}

/// The place of a tensor's bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Storage {
    /// A constant of the file.
    Constant(u32),
    /// A constant of another file, by name.
    External(String),
    /// Planned memory.
    Planned {
        /// The area.
        memory_id: u32,
        /// Bytes from the area's start.
        offset: u64,
        /// The place of the initial value, if the tensor is a state with one.
        initial: Option<Initial>,
    },
    /// Memory that the caller or the runtime provides.
    Unplanned,
    /// A buffer that the graph of a delegate keeps from call to call.
    Buffer {
        /// The delegate.
        delegate: usize,
        /// The number of the buffer.
        buffer: usize,
    },
    /// The state that counts the random numbers that the program has drawn; no file has it.
    Drawn,
}

/// A tensor register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorMeta {
    /// The interpretation of its bytes. The shape of a dynamic tensor is its bound.
    pub form: Form,
    /// The place of its bytes.
    pub storage: Storage,
    /// `true` if instructions may give it another shape.
    pub dynamic: bool,
    /// The name of a parameter or buffer.
    pub name: Option<String>,
}

/// An instruction. Registers, operators and delegates exist; targets are at most the number of instructions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Instruction {
    /// A kernel on registers.
    Kernel {
        /// Index into [`Plan::operators`].
        operator: usize,
        /// Registers.
        args: Vec<usize>,
    },
    /// A delegate on registers: inputs, then outputs.
    Delegate {
        /// Index into [`Plan::delegates`].
        delegate: usize,
        /// Registers.
        args: Vec<usize>,
    },
    /// Sets a register to another one. A tensor's register then names the same memory, and no bytes are copied.
    Move {
        /// The source.
        from: usize,
        /// The destination.
        to: usize,
    },
    /// A jump if a register, a truth value or a tensor of one, is false.
    JumpFalse {
        /// The condition.
        condition: usize,
        /// The instruction to go to.
        target: usize,
    },
    /// The end of a tensor's life.
    Free,
}

fn invalid(message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(codes::PROGRAM_STRUCTURE, message)
}

/// The element type of a scalar type of the file.
///
/// # Errors
/// When it is unknown, or known and not supported.
pub fn element_type(scalar: ScalarType) -> Result<ElementType, Diagnostic> {
    use ElementType as E;
    Ok(match scalar {
        ScalarType::BYTE => E::U8,
        ScalarType::CHAR => E::I8,
        ScalarType::SHORT => E::I16,
        ScalarType::INT => E::I32,
        ScalarType::LONG => E::I64,
        ScalarType::HALF => E::F16,
        ScalarType::FLOAT => E::F32,
        ScalarType::DOUBLE => E::F64,
        ScalarType::COMPLEX64 => E::C64,
        ScalarType::COMPLEX128 => E::C128,
        ScalarType::BOOL => E::Bool,
        ScalarType::BFLOAT16 => E::Bf16,
        ScalarType::UINT16 => E::U16,
        ScalarType::UINT32 => E::U32,
        ScalarType::UINT64 => E::U64,
        other => {
            return Err(match other.variant_name() {
                Some(name) => Diagnostic::new(codes::TENSOR_UNSUPPORTED, format!("tensors of type {name} are not supported")),
                None => invalid(format!("unknown scalar type {}", other.0)),
            });
        }
    })
}

/// A form from sizes and dimension order as files have them.
///
/// # Errors
/// When a size is negative, the order is no permutation, or the bytes do not fit 63 bits.
pub fn form(element: ElementType, sizes: &[i32], order: &[u8]) -> Result<Form, Diagnostic> {
    if sizes.len() > MAX_RANK {
        return Err(invalid("too many dimensions").expected(format!("at most {MAX_RANK}"), sizes.len().to_string()));
    }
    let shape: Result<Vec<u64>, _> = sizes.iter().map(|&n| u64::try_from(n)).collect();
    let shape = shape.map_err(|_| invalid("a size is negative").expected("sizes of 0 or more", format!("{sizes:?}")))?;
    let layout = if order.is_empty() { Some(Layout::ROW_MAJOR) } else { Layout::from_order(order).filter(|_| order.len() == shape.len()) };
    let layout = layout.ok_or_else(|| {
        invalid("the dimension order is not a permutation")
            .expected(format!("a permutation of {} dimensions", shape.len()), format!("{order:?}"))
    })?;
    // Zero extents are left out, so that no product on the way to a tensor's size overflows either.
    let product = shape.iter().filter(|&&n| n != 0).try_fold(1u64, |product, &n| product.checked_mul(n));
    let bytes = product.and_then(|n| element.bytes_for(n)).filter(|&n| n <= i64::MAX as u64);
    bytes.ok_or_else(|| invalid("the tensor is too large").expected("less than 2^63 bytes", format!("{sizes:?} of {element}")))?;
    Ok(Form { element, shape, layout })
}

/// Reads every method of a program, its delegates by a function.
///
/// # Errors
/// Everything that is wrong in any method.
pub fn plans(file: &File, read: graph::Read) -> Result<Vec<Plan>, Vec<Diagnostic>> {
    let program = file.program().map_err(|diagnostic| vec![diagnostic])?;
    let mut plans: Vec<Plan> = Vec::new();
    let mut faults = Vec::new();
    for plan in program.execution_plan().into_iter().flatten() {
        let name = plan.name().unwrap_or_default().to_owned();
        if plans.iter().any(|known| known.name == name) {
            faults.push(invalid("two methods have the same name").in_function(&name));
        }
        match read_plan(file, plan, &name, read) {
            Ok(plan) => plans.push(plan),
            Err(fault) => faults.push(fault.in_function(&name)),
        }
    }
    if plans.is_empty() && faults.is_empty() {
        faults.push(invalid("the program has no method"));
    }
    if faults.is_empty() { Ok(plans) } else { Err(faults) }
}

fn read_plan(file: &File, plan: schema::ExecutionPlan<'_>, name: &str, read: graph::Read) -> Result<Plan, Diagnostic> {
    let mut area_bytes = Vec::new();
    for (id, bytes) in plan.non_const_buffer_sizes().into_iter().flatten().enumerate() {
        let fault = || invalid(format!("memory area {id} has a negative size"));
        area_bytes.push(if id == 0 { 0 } else { u64::try_from(bytes).map_err(|_| fault())? });
    }
    let table = plan.values();
    let count = table.map_or(0, |values| values.len());
    let mut values = Vec::with_capacity(count);
    for (i, value) in table.into_iter().flatten().enumerate() {
        values.push(read_value(value, count, &area_bytes).map_err(|fault| fault.about_tensor(format!("value {i}")))?);
    }
    let registers = |list: Option<flatbuffers::Vector<'_, i32>>, what: &str| {
        list.into_iter().flatten().map(|i| index(i, count, what)).collect::<Result<Vec<_>, _>>()
    };
    let operators: Vec<String> = plan.operators().into_iter().flatten().map(operator_name).collect();
    let delegates = plan.delegates().into_iter().flatten().enumerate().map(|delegate| read(file, name, delegate));
    let mut delegates = delegates.collect::<Result<Vec<_>, _>>()?;
    for (number, delegate) in delegates.iter_mut().enumerate() {
        let first = values.len();
        values.extend(buffers(number, delegate));
        delegate.buffers = (first..values.len()).collect();
    }
    let mut instructions = Vec::new();
    for chain in plan.chains().into_iter().flatten() {
        let first = instructions.len();
        let length = chain.instructions().map_or(0, |list| list.len());
        for (i, instruction) in chain.instructions().into_iter().flatten().enumerate() {
            let read = read_instruction(instruction, [count, operators.len(), delegates.len(), length], first);
            instructions.push(read.map_err(|fault| fault.at_operator((first + i) as u32, "instruction"))?);
        }
    }
    let mut read = Plan {
        name: name.to_owned(),
        inputs: registers(plan.inputs(), "input")?,
        outputs: registers(plan.outputs(), "output")?,
        values,
        operators,
        delegates,
        instructions,
        area_bytes,
        drawn: None,
        traced: vec![],
    };
    read.traced = traced::names(|pc| read.result_of(pc), plan);
    Ok(read)
}

/// Adds registers to a method for the buffers of a delegate's graph, so that they are states like any other.
fn buffers(number: usize, delegate: &Delegate) -> impl Iterator<Item = EValue> {
    delegate.graph_buffers().iter().enumerate().map(move |(i, buffer)| {
        let form = Form::row_major(buffer.element, buffer.shape.clone());
        let storage = Storage::Buffer { delegate: number, buffer: i };
        let name = Some(format!("delegate{number}.value{}", buffer.register));
        EValue::Tensor(TensorMeta { form, storage, dynamic: false, name })
    })
}

/// `aten::add.out`; without an overload only the name, as `aten::copy_`.
fn operator_name(operator: schema::Operator<'_>) -> String {
    let name = operator.name().unwrap_or_default();
    match operator.overload() {
        Some(overload) if !overload.is_empty() => format!("{name}.{overload}"),
        _ => name.to_owned(),
    }
}

/// A number of the file that has to be below a count.
///
/// # Errors
/// When it is not.
pub fn index(i: impl TryInto<usize> + std::fmt::Display + Copy, count: usize, what: &str) -> Result<usize, Diagnostic> {
    let found = i.try_into().ok().filter(|&i| i < count);
    found.ok_or_else(|| invalid(format!("{what} {i} does not exist")).expected(format!("less than {count}"), i.to_string()))
}

fn read_instruction(
    instruction: schema::Instruction<'_>,
    [values, operators, delegates, length]: [usize; 4],
    first: usize,
) -> Result<Instruction, Diagnostic> {
    let value = |i: i32| index(i, values, "value");
    if let Some(call) = instruction.instr_args_as_kernel_call() {
        let operator = index(call.op_index(), operators, "operator")?;
        let args = call.args().into_iter().flatten().map(value).collect::<Result<_, _>>()?;
        return Ok(Instruction::Kernel { operator, args });
    }
    if let Some(call) = instruction.instr_args_as_delegate_call() {
        let args = call.args().into_iter().flatten().map(value).collect::<Result<_, _>>()?;
        return Ok(Instruction::Delegate { delegate: index(call.delegate_index(), delegates, "delegate")?, args });
    }
    if let Some(call) = instruction.instr_args_as_move_call() {
        return Ok(Instruction::Move { from: value(call.move_from())?, to: value(call.move_to())? });
    }
    if let Some(call) = instruction.instr_args_as_jump_false_call() {
        let target = first + index(call.destination_instruction(), length + 1, "instruction")?;
        return Ok(Instruction::JumpFalse { condition: value(call.cond_value_index())?, target });
    }
    if instruction.instr_args_as_free_call().is_some() {
        return Ok(Instruction::Free);
    }
    Err(invalid(format!("unknown instruction type {}", instruction.instr_args_type().0)))
}

fn read_value(value: schema::EValue<'_>, count: usize, areas: &[u64]) -> Result<EValue, Diagnostic> {
    use schema::KernelTypes as K;
    let missing = || invalid("the value has a type but no contents");
    let registers = |list: Option<flatbuffers::Vector<'_, i32>>| {
        list.into_iter().flatten().map(|i| index(i, count, "value")).collect::<Result<Vec<_>, _>>()
    };
    Ok(match value.val_type() {
        K::NONE | K::Null => EValue::None,
        K::Int => EValue::Int(value.val_as_int().ok_or_else(missing)?.int_val()),
        K::Bool => EValue::Bool(value.val_as_bool().ok_or_else(missing)?.bool_val()),
        K::Double => EValue::Double(value.val_as_double().ok_or_else(missing)?.double_val()),
        K::String => EValue::String(value.val_as_string().ok_or_else(missing)?.string_val().unwrap_or_default().to_owned()),
        K::Tensor => EValue::Tensor(read_tensor(value.val_as_tensor().ok_or_else(missing)?, areas)?),
        K::IntList => {
            let items = value.val_as_int_list().ok_or_else(missing)?.items();
            EValue::Ints(items.into_iter().flatten().map(|i| index(i, count, "value")).collect::<Result<_, _>>()?)
        }
        K::DoubleList => EValue::Doubles(value.val_as_double_list().ok_or_else(missing)?.items().into_iter().flatten().collect()),
        K::BoolList => EValue::Bools(value.val_as_bool_list().ok_or_else(missing)?.items().into_iter().flatten().collect()),
        K::TensorList => EValue::Tensors(registers(value.val_as_tensor_list().ok_or_else(missing)?.items())?),
        K::OptionalTensorList => {
            let items = value.val_as_optional_tensor_list().ok_or_else(missing)?.items();
            let item = |i: i32| if i == -1 { Ok(None) } else { index(i, count, "value").map(Some) };
            EValue::OptionalTensors(items.into_iter().flatten().map(item).collect::<Result<_, _>>()?)
        }
        other => return Err(invalid(format!("unknown value type {}", other.0))),
    })
}

fn read_tensor(tensor: schema::Tensor<'_>, areas: &[u64]) -> Result<TensorMeta, Diagnostic> {
    let sizes: Vec<i32> = tensor.sizes().into_iter().flatten().collect();
    let order = tensor.dim_order().map_or(&[][..], |order| order.bytes());
    let form = form(element_type(tensor.scalar_type())?, &sizes, order)?;
    if tensor.storage_offset() != 0 {
        return Err(Diagnostic::new(codes::STORAGE_OFFSET, "tensors with a storage offset are not supported")
            .expected("0", tensor.storage_offset().to_string()));
    }
    let dynamic = match tensor.shape_dynamism() {
        schema::TensorShapeDynamism::STATIC => false,
        schema::TensorShapeDynamism::DYNAMIC_BOUND => true,
        schema::TensorShapeDynamism::DYNAMIC_UNBOUND => {
            return Err(Diagnostic::new(codes::SHAPE_WITHOUT_BOUND, "tensors without a bound on their shape are not supported"));
        }
        other => return Err(invalid(format!("unknown kind of shape {}", other.0))),
    };
    let extra = tensor.extra_tensor_info();
    let name = extra.and_then(|e| e.fully_qualified_name()).map(str::to_owned);
    let external = extra.is_some_and(|e| e.location() == schema::TensorDataLocation::EXTERNAL);
    let buffer = tensor.data_buffer_idx();
    let storage = match tensor.allocation_info() {
        None if external => Storage::External(name.clone().unwrap_or_default()),
        None if buffer > 0 => Storage::Constant(buffer),
        None => Storage::Unplanned,
        Some(allocation) => {
            let segment = extra.map_or(0, |e| e.mutable_data_segments_idx());
            let initial = match external {
                true => Some(Initial::External(name.clone().unwrap_or_default())),
                false => (buffer > 0).then_some(Initial::Segment { segment, entry: buffer }),
            };
            planned(allocation, form.bytes(), areas, initial)?
        }
    };
    Ok(TensorMeta { form, storage, dynamic, name })
}

fn planned(allocation: schema::AllocationDetails<'_>, bytes: u64, areas: &[u64], initial: Option<Initial>) -> Result<Storage, Diagnostic> {
    let memory_id = allocation.memory_id();
    let offset = u64::from(allocation.memory_offset_low()) | u64::from(allocation.memory_offset_high()) << 32;
    let area = areas.get(memory_id as usize).filter(|_| memory_id != 0);
    let area = *area.ok_or_else(|| {
        invalid(format!("memory area {memory_id} does not exist"))
            .expected(format!("1 to {}", areas.len().saturating_sub(1)), memory_id.to_string())
    })?;
    if offset.checked_add(bytes).is_none_or(|end| end > area) {
        return Err(invalid(format!("the allocation extends beyond the end of memory area {memory_id}"))
            .expected(format!("at most {area} bytes"), format!("{bytes} bytes from {offset}")));
    }
    Ok(Storage::Planned { memory_id, offset, initial })
}

impl Plan {
    /// Tests whether the method returns only strings, the same in every call.
    pub fn gives_strings(&self) -> bool {
        let is_string = |&register: &usize| matches!(self.values[register], EValue::String(_));
        !self.outputs.is_empty() && self.outputs.iter().all(is_string) && self.instructions.is_empty()
    }

    /// The name of an instruction: its operator's name, or its kind.
    pub fn instruction_name(&self, pc: usize) -> &str {
        match &self.instructions[pc] {
            Instruction::Kernel { operator, .. } => &self.operators[*operator],
            Instruction::Delegate { delegate, .. } => &self.delegates[*delegate].name,
            Instruction::Move { .. } => "MoveCall",
            Instruction::JumpFalse { .. } => "JumpFalseCall",
            Instruction::Free => "FreeCall",
        }
    }

    /// The name of a register: its parameter's or buffer's name, or the name of the line that computes it. Without a name in the file it is the
    /// register's number.
    pub fn register_name(&self, register: usize) -> String {
        match &self.values[register] {
            EValue::Tensor(TensorMeta { name: Some(name), .. }) => name.clone(),
            _ => self
                .traced
                .iter()
                .find(|(traced, _)| *traced == register)
                .map_or_else(|| format!("value {register}"), |(_, name)| name.clone()),
        }
    }

    /// The register that an instruction writes, the first of several; `None` if it writes none.
    pub fn result_of(&self, pc: usize) -> Option<usize> {
        match &self.instructions[pc] {
            Instruction::Kernel { args, .. } => args.last().map(|&last| match &self.values[last] {
                EValue::Tensors(items) => items.first().copied().unwrap_or(last),
                _ => last,
            }),
            Instruction::Move { to, .. } => Some(*to),
            _ => None,
        }
    }
}
