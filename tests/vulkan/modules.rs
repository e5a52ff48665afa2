//! Handwritten SPIR-V modules: the kernels of the tests on a device.

use rspirv::binary::Assemble;
use rspirv::dr::{Builder, Operand};
use rspirv::spirv;

/// Number of elements of every buffer.
pub const LENGTH: u32 = 64;
/// Number of positions of a workgroup.
const WORKGROUP: u32 = 16;

/// Operation of a kernel on its position's element of each input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Work {
    /// x + w
    Sum,
    /// x · x
    Square,
    /// x, and the status -12 where it is below 0
    Check,
}

/// A builder with the types that all modules use.
struct Module {
    b: Builder,
    uint: u32,
    float: u32,
    void: u32,
    /// Pointer types of buffers, by element type.
    blocks: Vec<(u32, u32)>,
}

impl Module {
    fn new() -> Self {
        let mut b = Builder::new();
        b.set_version(1, 3);
        b.capability(spirv::Capability::Shader);
        b.memory_model(spirv::AddressingModel::Logical, spirv::MemoryModel::GLSL450);
        let (uint, float, void) = (b.type_int(32, 0), b.type_float(32, None), b.type_void());
        Self { b, uint, float, void, blocks: vec![] }
    }

    /// Returns the type of pointers to storage buffers with an element type.
    fn block(&mut self, element: u32) -> u32 {
        if let Some((_, pointer)) = self.blocks.iter().find(|(known, _)| *known == element) {
            return *pointer;
        }
        let b = &mut self.b;
        let array = b.type_runtime_array(element);
        let block = b.type_struct([array]);
        b.decorate(array, spirv::Decoration::ArrayStride, [Operand::LiteralBit32(4)]);
        b.decorate(block, spirv::Decoration::Block, []);
        b.member_decorate(block, 0, spirv::Decoration::Offset, [Operand::LiteralBit32(0)]);
        let pointer = b.type_pointer(None, spirv::StorageClass::StorageBuffer, block);
        self.blocks.push((element, pointer));
        pointer
    }

    /// Adds a storage buffer with an element type, at a binding.
    fn buffer(&mut self, element: u32, binding: u32) -> u32 {
        let pointer = self.block(element);
        let variable = self.b.variable(pointer, None, spirv::StorageClass::StorageBuffer, None);
        self.b.decorate(variable, spirv::Decoration::DescriptorSet, [Operand::LiteralBit32(0)]);
        self.b.decorate(variable, spirv::Decoration::Binding, [Operand::LiteralBit32(binding)]);
        variable
    }

    fn element(&mut self, element: u32, buffer: u32, index: u32) -> u32 {
        let zero = self.b.constant_bit32(self.uint, 0);
        let pointer = self.b.type_pointer(None, spirv::StorageClass::StorageBuffer, element);
        self.b.access_chain(pointer, None, buffer, [zero, index]).unwrap()
    }
}

/// Returns the module of a kernel, with the number of bindings of [`bindings`].
pub fn module(work: Work) -> Vec<u32> {
    let mut m = Module::new();
    let vector = m.b.type_vector(m.uint, 3);
    let pointer = m.b.type_pointer(None, spirv::StorageClass::Input, vector);
    let identifier = m.b.variable(pointer, None, spirv::StorageClass::Input, None);
    m.b.decorate(identifier, spirv::Decoration::BuiltIn, [Operand::BuiltIn(spirv::BuiltIn::GlobalInvocationId)]);
    let (uint, float) = (m.uint, m.float);
    let count = bindings(work) as u32;
    let last = if work == Work::Check { uint } else { float };
    let buffers: Vec<u32> = (0..count).map(|binding| m.buffer(if binding + 1 == count { last } else { float }, binding)).collect();
    let signature = m.b.type_function(m.void, []);
    let main = m.b.begin_function(m.void, None, spirv::FunctionControl::NONE, signature).unwrap();
    m.b.begin_block(None).unwrap();
    let position = m.b.load(vector, None, identifier, None, []).unwrap();
    let position = m.b.composite_extract(uint, None, position, [0]).unwrap();
    let at = m.element(float, buffers[0], position);
    let x = m.b.load(float, None, at, None, []).unwrap();
    let result = match work {
        Work::Sum => {
            let at = m.element(float, buffers[1], position);
            let w = m.b.load(float, None, at, None, []).unwrap();
            m.b.f_add(float, None, x, w).unwrap()
        }
        Work::Square => m.b.f_mul(float, None, x, x).unwrap(),
        Work::Check => x,
    };
    let output = if work == Work::Check { buffers[1] } else { buffers[count as usize - 1] };
    let at = m.element(float, output, position);
    m.b.store(at, result, None, []).unwrap();
    if work == Work::Check {
        fail_below_zero(&mut m, x, buffers[2]);
    }
    m.b.ret().unwrap();
    m.b.end_function().unwrap();
    m.b.entry_point(spirv::ExecutionModel::GLCompute, main, "main", [identifier]);
    m.b.execution_mode(main, spirv::ExecutionMode::LocalSize, [WORKGROUP, 1, 1]);
    m.b.module().assemble()
}

/// Stores the status of an invalid index if `x` is negative.
fn fail_below_zero(m: &mut Module, x: u32, status: u32) {
    let zero = m.b.constant_bit32(m.float, 0);
    let truth = m.b.type_bool();
    let is_below = m.b.f_ord_less_than(truth, None, x, zero).unwrap();
    let (inside, after) = (m.b.id(), m.b.id());
    m.b.selection_merge(after, spirv::SelectionControl::NONE).unwrap();
    m.b.branch_conditional(is_below, inside, after, []).unwrap();
    m.b.begin_block(Some(inside)).unwrap();
    let first = m.b.constant_bit32(m.uint, 0);
    let at = m.element(m.uint, status, first);
    let value = m.b.constant_bit32(m.uint, -12i32 as u32);
    m.b.store(at, value, None, []).unwrap();
    m.b.branch(after).unwrap();
    m.b.begin_block(Some(after)).unwrap();
}

/// Returns the number of buffers of a kernel: the inputs, the output, the status.
pub fn bindings(work: Work) -> usize {
    match work {
        Work::Sum | Work::Check => 3,
        Work::Square => 2,
    }
}

/// Returns the workgroups of every dispatch.
pub fn groups() -> [u32; 3] {
    [LENGTH / WORKGROUP, 1, 1]
}
