//! Additions to the builder of the driver: fields of the state's part and of tables, Vulkan structures, and calls with a check of their result.

use super::functions::Vk;
use super::layout::Structure;
use super::tables::Head;
use crate::driver::language::{Builder, Callee, CompareOp, Operand, Value, Width};
use crate::driver::width;
use modelc_interface::device::{FIELDS, Field};
use modelc_interface::{E_GPU, Layout};

/// `VK_ERROR_INITIALIZATION_FAILED`
pub const INITIALIZATION_FAILED: i32 = -3;
/// `VK_ERROR_FEATURE_NOT_PRESENT`
pub const FEATURE_NOT_PRESENT: i32 = -8;
/// `VK_INCOMPLETE`
pub const INCOMPLETE: i32 = 5;

/// Returns the offset of a function's address in the part of the state.
pub fn function_place(function: Vk) -> i32 {
    Field::Functions.offset() + 8 * function as i32
}

impl Builder {
    /// Loads a field of the part of the state.
    pub fn field(&mut self, part: Value, field: Field) -> Value {
        self.member(&FIELDS, part, field)
    }

    /// Stores a field of the part of the state.
    pub fn set_field(&mut self, value: impl Into<Operand>, part: Value, field: Field) {
        self.set_member(value, &FIELDS, part, field);
    }

    /// Computes the address of a field of the part of the state.
    pub fn field_address(&mut self, part: Value, field: Field) -> Value {
        self.at(part, field.offset() as u64)
    }

    /// Loads a field of the head of a table.
    pub fn head(&mut self, table: Value, field: Head) -> Value {
        self.load(Width::Word, table, field.offset())
    }

    /// Loads the low 32 bits of a field of the head of a table.
    pub fn head_single(&mut self, table: Value, field: Head) -> Value {
        self.load(Width::Single, table, field.offset())
    }

    /// Tests whether the device was opened for this part of the state. In a copy of a state the answer is no. 8 bits.
    pub fn has_own_device(&mut self, part: Value) -> Value {
        let place = self.field(part, Field::Place);
        self.compare(CompareOp::Equal, place, part)
    }

    /// Tests whether the device of a part runs its regions. 32 bits.
    pub fn device_runs(&mut self, part: Value) -> Value {
        let own = self.has_own_device(part);
        let runs = self.field(part, Field::Runs);
        self.select(own, runs, 0)
    }

    /// Reserves memory for a structure that a call fills. `sType` is set, and `pNext` is 0.
    pub fn room(&mut self, structure: &Structure) -> Value {
        let memory = self.memory(structure.bytes() as u32);
        if let Some(kind) = structure.kind {
            self.store(Width::Single, u64::from(kind), memory, structure.offset("sType"));
            self.store(Width::Word, 0, memory, structure.offset("pNext"));
        }
        memory
    }

    /// Writes a structure to the function's stack; members that are not given are 0.
    pub fn structure(&mut self, structure: &Structure, members: &[(&str, Operand)]) -> Value {
        let memory = self.memory(structure.bytes() as u32);
        let known = |name: &str| members.iter().find(|(member, _)| *member == name).map(|(_, value)| *value);
        debug_assert!(members.iter().all(|(name, _)| structure.places().any(|place| place.0 == *name)), "{members:?}");
        for (name, member, offset) in structure.places() {
            let kind = structure.kind.filter(|_| name == "sType").map(|kind| Operand::Number(kind.into()));
            let value = kind.or_else(|| known(name)).unwrap_or(Operand::Number(0));
            let (step, count) = member.elements(Layout::WIDE);
            for number in 0..count {
                self.store(width(member), value, memory, (offset + number * step) as i32);
            }
        }
        memory
    }

    /// Returns the address of a function.
    fn function_of(&mut self, part: Value, function: Vk) -> Operand {
        self.load(Width::Word, part, function_place(function)).into()
    }

    /// Stores the number of the next call in the state.
    pub fn vulkan_next(&mut self, part: Value, function: Vk) {
        self.set_field(function as u64 + 1, part, Field::Call);
    }

    /// Calls a function without a result.
    pub fn vulkan_only(&mut self, part: Value, function: Vk, arguments: Vec<Operand>) {
        let address = self.function_of(part, function);
        self.call_only(Callee::Pointer(address), function.signature(), arguments);
    }

    /// Calls a function; returns its result.
    pub fn vulkan_call(&mut self, part: Value, function: Vk, arguments: Vec<Operand>) -> Value {
        let address = self.function_of(part, function);
        self.call(Callee::Pointer(address), function.signature(), arguments)
    }

    /// Stores the result of a call. The written function returns `MODELC_E_GPU` unless it is 0.
    pub fn vulkan_check(&mut self, part: Value, result: Value) {
        self.set_field(result, part, Field::Result);
        self.leave_if(result, E_GPU);
    }

    /// Calls a function whose result must be 0.
    pub fn vulkan(&mut self, part: Value, function: Vk, arguments: Vec<Operand>) {
        self.vulkan_next(part, function);
        let result = self.vulkan_call(part, function, arguments);
        self.vulkan_check(part, result);
    }

    /// Calls a function that makes an object and stores its handle through the last argument. The handle is then stored at an address. A failing call
    /// may store anything, so the argument points to the function's stack.
    pub fn vulkan_make(&mut self, part: Value, function: Vk, mut arguments: Vec<Operand>, to: (Value, i32)) {
        let made = self.memory(8);
        self.store(Width::Word, 0, made, 0);
        arguments.push(made.into());
        self.vulkan(part, function, arguments);
        let handle = self.load(Width::Word, made, 0);
        self.store(Width::Word, handle, to.0, to.1);
    }

    /// Calls a function that makes an object of the device: `function(device, information, allocator, &made)`.
    pub fn vulkan_make_on_device(&mut self, part: Value, function: Vk, information: Value, to: (Value, i32)) {
        let [device, allocator] = [Field::Device, Field::Allocator].map(|field| self.field(part, field));
        self.vulkan_make(part, function, vec![device.into(), information.into(), allocator.into()], to);
    }

    /// Makes the written function return `MODELC_E_GPU` if a condition holds. The state then has the number and the result of a call.
    pub fn vulkan_fail_if(&mut self, part: Value, truth: Value, function: Vk, result: i32) {
        self.when(truth, |e| {
            e.vulkan_next(part, function);
            e.set_field(result, part, Field::Result);
            e.leave(E_GPU);
        });
    }

    /// Makes the written function fail in this way if a value is 0.
    pub fn vulkan_fail_unless(&mut self, part: Value, value: Value, function: Vk, result: i32) {
        let absent = self.compare(CompareOp::Equal, value, 0);
        self.vulkan_fail_if(part, absent, function, result);
    }

    /// Writes a loop over records from one address up to another. `body` gets each record's address.
    pub fn records(&mut self, first: Value, end: Value, bytes: u64, body: impl FnOnce(&mut Self, Value)) {
        let at = self.value(Width::Word);
        let head = self.region(|e| vec![e.compare(CompareOp::Less, at, end).into()]);
        let body = self.region(|e| {
            body(e, at);
            vec![e.add(at, bytes).into()]
        });
        self.repeat(&[(at, first.into())], head, body);
    }

    /// Writes a loop over the rows between two fields of the head of a table.
    pub fn rows(&mut self, table: Value, fields: [Head; 2], bytes: u64, body: impl FnOnce(&mut Self, Value)) {
        let [first, end] = fields.map(|field| {
            let offset = self.head(table, field);
            self.add(table, offset)
        });
        self.records(first, end, bytes, body);
    }

    /// Computes the smaller of two numbers.
    pub fn smaller(&mut self, a: impl Into<Operand>, b: impl Into<Operand>) -> Value {
        let (a, b) = (a.into(), b.into());
        let less = self.compare(CompareOp::Less, a, b);
        self.select(less, a, b)
    }

    /// Computes the larger of two numbers.
    pub fn larger(&mut self, a: impl Into<Operand>, b: impl Into<Operand>) -> Value {
        let (a, b) = (a.into(), b.into());
        let less = self.compare(CompareOp::Less, a, b);
        self.select(less, b, a)
    }
}
