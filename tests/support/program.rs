//! Lowered programs in the interpreter of kernels.

use modelc::ir::Tensor;
use modelc::kernel::BufferKind;
use modelc::kernel::interpret::interpret;
use modelc::program::{Address, Call, Method, Port, PortExtent, Program, Step, Tasks, calls};

/// Returns the arguments of a range of a call that runs together with others.
fn range(call: &Call, (rounds, most): (u64, u64), number: u64) -> (Vec<Address>, Vec<i64>) {
    let mut arguments = call.arguments.clone();
    let ranges = call.division.ranges().expect("calls together have ranges");
    let of_round = ranges.rounds / rounds;
    let integers = [number, number + 1].map(|bound| (bound * rounds / most * of_round) as i64).to_vec();
    for private in ranges.private.iter().filter(|_| number > 0) {
        arguments[private.argument] = private.second.plus((number - 1) * private.step);
    }
    (arguments, integers)
}

/// Memory of one instance and of one call.
pub struct Memory<'p> {
    program: &'p Program,
    constants: Vec<Vec<u8>>,
    variables: Vec<u8>,
    scratch: Vec<u8>,
    areas: Vec<Vec<u8>>,
    inputs: Vec<Vec<u8>>,
    outputs: Vec<Vec<u8>>,
    /// The device, if the program has one and it is used.
    pub device: Option<super::device::Memory>,
}

impl<'p> Memory<'p> {
    /// Allocates the memory before the first call.
    pub fn new(program: &'p Program) -> Self {
        let constants: Vec<Vec<u8>> = program.constants.iter().map(|blob| blob.data.bytes().to_vec()).collect();
        let mut variables = vec![0; program.variable_bytes as usize];
        for variable in &program.variables {
            if let Some(initial) = variable.initial {
                variables[variable.offset as usize..][..variable.bytes as usize].copy_from_slice(&constants[initial]);
            }
        }
        Self { program, constants, variables, scratch: vec![], areas: vec![], inputs: vec![], outputs: vec![], device: None }
    }

    /// Allocates the memory with a device that runs the GPU part.
    pub fn with_device(program: &'p Program) -> Self {
        let mut device = program.device.as_deref().map(|device| super::device::Memory::new(device, program));
        if let (Some(memory), Some(device)) = (&mut device, &program.device)
            && let Some(residents) = &device.residents
        {
            memory.run(device, residents.region).expect("variables get their first contents");
        }
        Self { device, ..Self::new(program) }
    }

    /// Calls a method. Bytes that must not be read before they are written are not zero. Neither are the bytes after inputs that are smaller
    /// than their bound.
    pub fn call(&mut self, method: &Method, inputs: &[Tensor]) -> Result<Vec<Vec<u8>>, String> {
        let full = |(tensor, port): (&Tensor, &Port)| {
            let mut bytes = tensor.bytes.clone();
            bytes.resize(port.bytes as usize, 0x5a);
            bytes
        };
        self.inputs = inputs.iter().zip(&method.inputs).map(full).collect();
        self.scratch = vec![0xa5; method.scratch_bytes as usize];
        self.areas = method.area_bytes.iter().map(|&bytes| vec![0xa5; bytes as usize]).collect();
        self.outputs = method.outputs.iter().map(|port| vec![0x5a; port.bytes as usize]).collect();
        for PortExtent { port, dimension, cell, .. } in &method.input_extents {
            let extent = inputs[*port as usize].shape[*dimension as usize] as i64;
            self.at(*cell, 8)?.copy_from_slice(&extent.to_le_bytes());
        }
        self.steps(&method.steps)?;
        let mut lengths = Vec::new();
        for (number, port) in (0..).zip(&method.outputs) {
            let mut shape = port.shape.clone();
            for extent in method.output_extents.iter().filter(|extent| extent.port == number) {
                shape[extent.dimension as usize] = self.number(extent.cell)? as u64;
            }
            lengths.push(port.element.bytes_for(shape.iter().product()).ok_or("an output beyond all memory")?);
        }
        let mut outputs = std::mem::take(&mut self.outputs);
        outputs.iter_mut().zip(lengths).for_each(|(bytes, length)| bytes.truncate(length as usize));
        Ok(outputs)
    }

    /// Reads an extent.
    fn number(&mut self, cell: Address) -> Result<i64, String> {
        Ok(i64::from_le_bytes(self.at(cell, 8)?.try_into().unwrap_or_default()))
    }

    fn steps(&mut self, steps: &[Step]) -> Result<(), String> {
        for step in steps {
            match step {
                Step::Call(call) => self.call_kernel(call)?,
                Step::Region { region, otherwise } => match self.device.take() {
                    None => self.steps(otherwise)?,
                    Some(mut memory) => {
                        let done = self.region(&mut memory, *region);
                        self.device = Some(memory);
                        done?;
                    }
                },
                // The tasks run in another order.
                Step::Parallel(run) => match run.tasks {
                    Tasks::Ranges { rounds, most } => {
                        for number in (0..u64::from(most)).rev() {
                            for call in calls(&run.calls) {
                                let (arguments, integers) = range(call, (rounds, most.into()), number);
                                self.kernel(call.kernel, &arguments, &integers)?;
                            }
                        }
                    }
                    Tasks::Lists { .. } => {
                        let lists: Vec<&[Step]> = run.lists().collect();
                        lists.into_iter().rev().try_for_each(|list| self.steps(list))?;
                    }
                },
                Step::External(external) => return Err(format!("{} is not here", external.symbol)),
                Step::If { condition, then, otherwise } => {
                    let taken = if self.at(*condition, 1)?[0] != 0 { then } else { otherwise };
                    self.steps(taken)?;
                }
                Step::While { head, condition, body } => {
                    self.steps(head)?;
                    while self.at(*condition, 1)?[0] != 0 {
                        self.steps(body)?;
                        self.steps(head)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn region(&mut self, memory: &mut super::device::Memory, number: usize) -> Result<(), String> {
        let device = self.program.device.as_deref().ok_or("a region without a device")?;
        let region = &device.regions[number];
        for crossing in &region.enter {
            memory.enter(crossing, self.at(crossing.host, crossing.bytes as usize)?);
        }
        memory.run(device, number)?;
        for crossing in &region.leave {
            self.at(crossing.host, crossing.bytes as usize)?.copy_from_slice(memory.leave(crossing));
        }
        Ok(())
    }

    /// Runs a kernel once, or once for each block of slices.
    fn call_kernel(&mut self, call: &Call) -> Result<(), String> {
        let integers = call.division.integers();
        let Some(blocks) = call.division.blocks() else { return self.kernel(call.kernel, &call.arguments, &integers) };
        let mut count = 1;
        for &(cell, _) in &blocks.extents {
            count *= self.number(cell)? as u64;
        }
        let mut slice = blocks.after.map_or(0, |size| count / size * size);
        while slice + blocks.block <= count {
            let moved = call.arguments.iter().zip(&blocks.strides).map(|(address, stride)| address.plus(slice * stride));
            self.kernel(call.kernel, &moved.collect::<Vec<_>>(), &integers)?;
            slice += blocks.block;
        }
        Ok(())
    }

    fn kernel(&mut self, number: usize, arguments: &[Address], integers: &[i64]) -> Result<(), String> {
        let kernel = &self.program.kernels[number];
        let mut buffers = Vec::new();
        for ((_, data), &address) in kernel.pointer_params().zip(arguments) {
            let bytes = (data.elements * u64::from(data.lane.bytes())) as usize;
            buffers.push(self.at(address, bytes).map_err(|e| format!("{} of {}: {e}", data.name, kernel.name))?.to_vec());
        }
        let before = buffers.clone();
        let status = interpret(kernel, &mut buffers, integers).map_err(|e| format!("{e}\n{kernel}"))?;
        for ((((_, data), &address), buffer), before) in kernel.pointer_params().zip(arguments).zip(&buffers).zip(&before) {
            if data.kind != BufferKind::Input {
                write_changes(self.at(address, buffer.len())?, before, buffer);
            }
        }
        if status == 0 { Ok(()) } else { Err(format!("{} returns {status}", kernel.name)) }
    }

    /// Returns bytes of a memory area.
    fn at(&mut self, address: Address, bytes: usize) -> Result<&mut [u8], String> {
        let (area, offset) = match address {
            Address::Scratch(offset) | Address::Moving(_, offset) => (&mut self.scratch, offset),
            Address::Area(number, offset) => (&mut self.areas[number as usize], offset),
            Address::Variable(offset) => (&mut self.variables, offset),
            Address::Resident(_) => return Err(format!("{address:?} is on the device")),
            Address::Input(number, offset) => (&mut self.inputs[number as usize], offset),
            Address::Output(number, offset) => (&mut self.outputs[number as usize], offset),
            Address::Constant(number, offset) => (&mut self.constants[number as usize], offset),
        };
        let length = area.len();
        let end = (offset as usize).checked_add(bytes);
        let range = end.and_then(|end| area.get_mut(offset as usize..end));
        range.ok_or_else(|| format!("{bytes} bytes at {address:?} of an area of {length}"))
    }
}

/// Writes the bytes of a buffer that a kernel has changed. The interpreter copies each buffer. If two buffers alias, one that the kernel only
/// reads must not restore old bytes.
pub fn write_changes(memory: &mut [u8], before: &[u8], after: &[u8]) {
    for ((byte, _), &new) in memory.iter_mut().zip(before).zip(after).filter(|((_, old), new)| old != new) {
        *byte = new;
    }
}
