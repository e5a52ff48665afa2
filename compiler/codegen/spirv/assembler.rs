//! A SPIR-V module under construction: ids, unique types and constants, and the blocks of its only function.

use rspirv::binary::Assemble;
use rspirv::dr::{self, Instruction, Operand};
use rspirv::spirv::{self, Decoration, Op, StorageClass, Word};
use std::collections::HashMap;

/// The type of a register's components.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// A truth value.
    Bool,
    /// An integer of 32 bits.
    Int,
    /// A binary32.
    Float,
}

/// A register type: a scalar, or a vector of up to four components.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Register {
    /// Type of each component.
    pub kind: Kind,
    /// Number of components.
    pub lanes: u16,
}

impl Register {
    /// A scalar integer.
    pub const INT: Self = Self { kind: Kind::Int, lanes: 1 };

    /// Returns the type with as many components of another kind.
    pub const fn with(self, kind: Kind) -> Self {
        Self { kind, lanes: self.lanes }
    }

    /// Returns the type of one component.
    pub const fn scalar(self) -> Self {
        Self { kind: self.kind, lanes: 1 }
    }
}

/// The extended instructions of GLSL.
pub use rspirv::spirv::GlslStd450Op as Extended;

/// The value that a block hands on to a phi.
#[derive(Clone, Copy)]
pub struct Incoming {
    /// The value.
    pub value: Word,
    /// The label of the block.
    pub label: Word,
}

/// A module with one function.
pub struct Assembler {
    module: dr::Module,
    /// Next free id.
    next: Word,
    /// Ids of types and constants, by their words without the id.
    known: HashMap<Vec<u32>, Word>,
    /// Id of the set of extended instructions.
    extended: Word,
    blocks: Vec<dr::Block>,
    /// Variables of the function, which come first in its first block.
    variables: Vec<Instruction>,
}

impl Assembler {
    /// Makes a module without capabilities and blocks.
    pub fn new() -> Self {
        let mut assembler =
            Self { module: dr::Module::new(), next: 1, known: HashMap::new(), extended: 0, blocks: vec![], variables: vec![] };
        assembler.extended = assembler.id();
        let name = Operand::LiteralString("GLSL.std.450".into());
        assembler.module.ext_inst_imports.push(Instruction::new(Op::ExtInstImport, None, Some(assembler.extended), vec![name]));
        let model = [Operand::AddressingModel(spirv::AddressingModel::Logical), Operand::MemoryModel(spirv::MemoryModel::GLSL450)];
        assembler.module.memory_model = Some(Instruction::new(Op::MemoryModel, None, None, model.to_vec()));
        assembler
    }

    /// Returns a new id.
    pub fn id(&mut self) -> Word {
        self.next += 1;
        self.next - 1
    }

    /// Requires a capability, which some devices may lack.
    pub fn capability(&mut self, capability: spirv::Capability) {
        let inst = Instruction::new(Op::Capability, None, None, vec![Operand::Capability(capability)]);
        if !self.module.capabilities.contains(&inst) {
            self.module.capabilities.push(inst);
        }
    }

    /// Requires an extension, which defines capabilities.
    pub fn extension(&mut self, name: &str) {
        let inst = Instruction::new(Op::Extension, None, None, vec![Operand::LiteralString(name.into())]);
        if !self.module.extensions.contains(&inst) {
            self.module.extensions.push(inst);
        }
    }

    /// Decorates an id.
    pub fn decorate(&mut self, id: Word, decoration: Decoration, more: &[Operand]) {
        let operands = [&[Operand::IdRef(id), Operand::Decoration(decoration)], more].concat();
        self.module.annotations.push(Instruction::new(Op::Decorate, None, None, operands));
    }

    /// Adds a type or a constant unless it exists. Returns its id, and `true` if it is new.
    fn once(&mut self, op: Op, ty: Option<Word>, operands: Vec<Operand>) -> (Word, bool) {
        let mut inst = Instruction::new(op, ty, None, operands);
        let key = inst.assemble();
        if let Some(&id) = self.known.get(&key) {
            return (id, false);
        }
        let id = self.id();
        self.known.insert(key, id);
        inst.result_id = Some(id);
        self.module.types_global_values.push(inst);
        (id, true)
    }

    fn scalar_type(&mut self, kind: Kind) -> Word {
        match kind {
            Kind::Bool => self.once(Op::TypeBool, None, vec![]).0,
            Kind::Int => self.integer_type(32),
            Kind::Float => self.once(Op::TypeFloat, None, vec![Operand::LiteralBit32(32)]).0,
        }
    }

    /// Returns the id of an integer type. It has no sign; operations do.
    pub fn integer_type(&mut self, bits: u32) -> Word {
        self.once(Op::TypeInt, None, vec![Operand::LiteralBit32(bits), Operand::LiteralBit32(0)]).0
    }

    /// Returns the id of a register type.
    pub fn ty(&mut self, register: Register) -> Word {
        let scalar = self.scalar_type(register.kind);
        if register.lanes == 1 {
            return scalar;
        }
        self.once(Op::TypeVector, None, vec![Operand::IdRef(scalar), Operand::LiteralBit32(register.lanes.into())]).0
    }

    /// Returns the id of a struct with two members of one type.
    pub fn pair_type(&mut self, register: Register) -> Word {
        let ty = self.ty(register);
        self.once(Op::TypeStruct, None, vec![Operand::IdRef(ty); 2]).0
    }

    /// Returns the id of a pointer type for a storage class.
    pub fn pointer_type(&mut self, class: StorageClass, to: Word) -> Word {
        self.once(Op::TypePointer, None, vec![Operand::StorageClass(class), Operand::IdRef(to)]).0
    }

    /// Returns the id of a buffer's block type: a run-time array of elements, each of `bytes` bytes.
    pub fn block_type(&mut self, element: Word, bytes: u32) -> Word {
        let (array, is_new) = self.once(Op::TypeRuntimeArray, None, vec![Operand::IdRef(element)]);
        if is_new {
            self.decorate(array, Decoration::ArrayStride, &[Operand::LiteralBit32(bytes)]);
        }
        let (block, is_new) = self.once(Op::TypeStruct, None, vec![Operand::IdRef(array)]);
        if is_new {
            self.decorate(block, Decoration::Block, &[]);
            let offset =
                [Operand::IdRef(block), Operand::LiteralBit32(0), Operand::Decoration(Decoration::Offset), Operand::LiteralBit32(0)];
            self.module.annotations.push(Instruction::new(Op::MemberDecorate, None, None, offset.to_vec()));
        }
        block
    }

    /// Returns the id of an array type with `count` elements.
    pub fn array_type(&mut self, element: Word, count: u32) -> Word {
        let count = self.int(Register::INT, count);
        self.once(Op::TypeArray, None, vec![Operand::IdRef(element), Operand::IdRef(count)]).0
    }

    /// Adds a variable of the module.
    pub fn global(&mut self, class: StorageClass, ty: Word) -> Word {
        let pointer = self.pointer_type(class, ty);
        let id = self.id();
        let inst = Instruction::new(Op::Variable, Some(pointer), Some(id), vec![Operand::StorageClass(class)]);
        self.module.types_global_values.push(inst);
        id
    }

    /// Adds a variable of the function.
    pub fn local(&mut self, ty: Word) -> Word {
        let pointer = self.pointer_type(StorageClass::Function, ty);
        let id = self.id();
        self.variables.push(Instruction::new(Op::Variable, Some(pointer), Some(id), vec![Operand::StorageClass(StorageClass::Function)]));
        id
    }

    /// Returns the id of a constant with the same bits in every component. A truth value is true if any bit is set.
    pub fn constant(&mut self, register: Register, bits: u32) -> Word {
        let ty = self.ty(register.scalar());
        let scalar = match register.kind {
            Kind::Bool if bits != 0 => self.once(Op::ConstantTrue, Some(ty), vec![]).0,
            Kind::Bool => self.once(Op::ConstantFalse, Some(ty), vec![]).0,
            Kind::Int | Kind::Float => self.once(Op::Constant, Some(ty), vec![Operand::LiteralBit32(bits)]).0,
        };
        if register.lanes == 1 {
            return scalar;
        }
        self.constant_vector(register, &vec![scalar; register.lanes.into()])
    }

    /// Returns the id of a constant vector.
    pub fn constant_vector(&mut self, register: Register, components: &[Word]) -> Word {
        let ty = self.ty(register);
        self.once(Op::ConstantComposite, Some(ty), components.iter().map(|&id| Operand::IdRef(id)).collect()).0
    }

    /// Returns the id of an integer constant, the same in every component.
    pub fn int(&mut self, register: Register, number: u32) -> Word {
        self.constant(register.with(Kind::Int), number)
    }

    /// Returns the id of a float constant, the same in every component.
    pub fn float(&mut self, register: Register, number: f32) -> Word {
        self.constant(register.with(Kind::Float), number.to_bits())
    }

    /// Begins a block; instructions now go into it.
    pub fn begin(&mut self, label: Word) {
        let label = Instruction::new(Op::Label, None, Some(label), vec![]);
        self.blocks.push(dr::Block { label: Some(label), instructions: vec![] });
    }

    /// Returns the label of the current block.
    pub fn label(&self) -> Word {
        self.blocks.last().and_then(dr::Block::label_id).unwrap_or_default()
    }

    /// Returns the index of the current block, for [`Assembler::phi`].
    pub fn block(&self) -> usize {
        self.blocks.len() - 1
    }

    fn push(&mut self, inst: Instruction) {
        if let Some(block) = self.blocks.last_mut() {
            block.instructions.push(inst);
        }
    }

    /// Adds an instruction without a result.
    pub fn effect(&mut self, op: Op, operands: Vec<Operand>) {
        self.push(Instruction::new(op, None, None, operands));
    }

    /// Adds an instruction with a result of a type; returns its id.
    pub fn result(&mut self, op: Op, ty: Word, operands: Vec<Operand>) -> Word {
        let id = self.id();
        self.push(Instruction::new(op, Some(ty), Some(id), operands));
        id
    }

    /// Adds an instruction on ids, whose result is a register; returns its id.
    pub fn op(&mut self, op: Op, register: Register, ids: &[Word]) -> Word {
        let ty = self.ty(register);
        self.result(op, ty, ids.iter().map(|&id| Operand::IdRef(id)).collect())
    }

    /// Adds an extended instruction; returns the id of its result.
    pub fn extended(&mut self, op: Extended, register: Register, ids: &[Word]) -> Word {
        let ty = self.ty(register);
        let head = [Operand::IdRef(self.extended), Operand::LiteralExtInstInteger(op as u32)];
        self.result(Op::ExtInst, ty, head.into_iter().chain(ids.iter().map(|&id| Operand::IdRef(id))).collect())
    }

    /// Extracts a component of a register.
    pub fn component(&mut self, a: Word, register: Register, lane: u16) -> Word {
        if register.lanes == 1 {
            return a;
        }
        let ty = self.ty(register.scalar());
        self.result(Op::CompositeExtract, ty, vec![Operand::IdRef(a), Operand::LiteralBit32(lane.into())])
    }

    /// Combines scalars to a register.
    pub fn vector(&mut self, register: Register, scalars: &[Word]) -> Word {
        if register.lanes == 1 { scalars[0] } else { self.op(Op::CompositeConstruct, register, scalars) }
    }

    /// Adds a phi at the beginning of a block.
    pub fn phi(&mut self, block: usize, id: Word, register: Register, from: &[Incoming]) {
        let ty = self.ty(register);
        let operands = from.iter().flat_map(|from| [Operand::IdRef(from.value), Operand::IdRef(from.label)]).collect();
        self.blocks[block].instructions.insert(0, Instruction::new(Op::Phi, Some(ty), Some(id), operands));
    }

    /// Finishes the module: its blocks become the function `main` of a compute shader. A workgroup has `workgroup` invocations in one dimension.
    pub fn finish(mut self, inputs: &[Word], workgroup: u32) -> dr::Module {
        let void = self.once(Op::TypeVoid, None, vec![]).0;
        let ty = self.once(Op::TypeFunction, None, vec![Operand::IdRef(void)]).0;
        let main = self.id();
        if let Some(first) = self.blocks.first_mut() {
            first.instructions.splice(0..0, std::mem::take(&mut self.variables));
        }
        let control = vec![Operand::FunctionControl(spirv::FunctionControl::NONE), Operand::IdRef(ty)];
        let function = dr::Function {
            def: Some(Instruction::new(Op::Function, Some(void), Some(main), control)),
            end: Some(Instruction::new(Op::FunctionEnd, None, None, vec![])),
            parameters: vec![],
            blocks: self.blocks,
        };
        let name = [Operand::ExecutionModel(spirv::ExecutionModel::GLCompute), Operand::IdRef(main), Operand::LiteralString("main".into())];
        let entry = name.into_iter().chain(inputs.iter().map(|&id| Operand::IdRef(id))).collect();
        let sizes = [workgroup, 1, 1].map(Operand::LiteralBit32);
        let mode = [Operand::IdRef(main), Operand::ExecutionMode(spirv::ExecutionMode::LocalSize)].into_iter().chain(sizes).collect();
        let mut module = self.module;
        module.functions.push(function);
        module.entry_points.push(Instruction::new(Op::EntryPoint, None, None, entry));
        module.execution_modes.push(Instruction::new(Op::ExecutionMode, None, None, mode));
        let mut header = dr::ModuleHeader::new(self.next);
        header.set_version(1, 3);
        module.header = Some(header);
        module
    }
}
