//! Layout of code: instructions and moves in the order of the blocks, jumps in the shortest encoding that reaches, and constants after the code.

use super::allocate::Flat;
use super::buffer::Buffer;
use super::error::AssemblyError;
use super::frame::{Need, StackFrame};
use super::instruction::{Flow, Instruction, InstructionSet};
use crate::Code;
use regalloc2::{Allocation, Edit, InstOrEdit, Output, PReg, PRegSet};
use smallvec::SmallVec;

/// Emitted code, with the end of its instructions and its labels.
pub struct Emitted {
    /// Instructions, then constants.
    pub code: Code,
    /// Bytes of the instructions.
    pub instruction_bytes: usize,
    /// The start of each block that is the target of a jump.
    pub labels: Vec<usize>,
}

/// A jump whose distance is not written yet.
struct Jump<C> {
    /// Its first byte.
    at: usize,
    /// The position of its target in the order of blocks.
    to: usize,
    condition: Option<C>,
}

struct Layout<'a, S: InstructionSet> {
    set: &'a S,
    flat: &'a Flat<'a, S::Inst>,
    output: &'a Output,
    frame: &'a S::Frame,
    /// The position of each block in the order.
    places: &'a [usize],
    /// The final target of a jump to each block.
    threads: &'a [usize],
    /// The number of each jump's encoding, in the order of the code.
    encodings: &'a [usize],
    code: Buffer<S::Reference>,
    jumps: Vec<Jump<S::Condition>>,
    /// The start of each block.
    starts: Vec<usize>,
}

/// Lays out the code of a function with allocated registers.
///
/// # Errors
/// A message if an instruction's operands do not fit, or if the code is too long for its jumps. Both are bugs of the compiler.
pub fn lay_out<S: InstructionSet>(set: &S, flat: &Flat<'_, S::Inst>, output: &Output) -> Result<Emitted, AssemblyError> {
    let function = flat.function;
    let frame = S::Frame::new(&Need {
        registers: registers(flat, output),
        slots: output.num_spillslots as u32,
        local_bytes: function.local_bytes,
        outgoing: function.outgoing,
        toward_zero: function.toward_zero,
    });
    let places = function.places();
    let threads = threads(flat, output, &places);
    // A block has at most two jumps. Encodings only become longer from round to round, so the loop ends.
    let mut encodings = vec![0; 2 * function.order.len()];
    loop {
        let mut layout = Layout {
            set,
            flat,
            output,
            frame: &frame,
            places: &places,
            threads: &threads,
            encodings: &encodings,
            code: Buffer::default(),
            jumps: vec![],
            starts: vec![0; function.order.len()],
        };
        frame.enter(&mut layout.code)?;
        (0..function.order.len()).try_for_each(|index| layout.block(index))?;
        let short = layout.link();
        let Layout { code, jumps, starts, .. } = layout;
        if short.is_empty() {
            let labels = jumps.iter().map(|jump| starts[threads[jump.to]]).collect();
            return finish(set, code, &function.pool, frame.stack_bytes(), labels);
        }
        for number in short {
            encodings[number] += 1;
            if encodings[number] == set.reaches(jumps[number].condition).len() {
                return Err(AssemblyError::JumpTooFar);
            }
        }
    }
}

/// Returns all registers that an allocation uses or an instruction changes.
fn registers<I: Instruction>(flat: &Flat<'_, I>, output: &Output) -> PRegSet {
    let edits = output.edits.iter().map(|(_, Edit::Move { to, .. })| *to);
    let mut registers = PRegSet::from_iter(output.allocs.iter().copied().chain(edits).filter_map(Allocation::as_reg));
    flat.insts.iter().for_each(|inst| registers.union_from(inst.clobbers()));
    registers
}

/// Returns the final target of a jump to each block. Blocks with only a jump are skipped.
fn threads<I: Instruction>(flat: &Flat<'_, I>, output: &Output, places: &[usize]) -> Vec<usize> {
    let mut threads: Vec<usize> = (0..flat.function.order.len()).collect();
    for index in (0..threads.len()).rev() {
        let data = flat.function.ordered(index);
        let jumps = data.end.as_ref().is_some_and(|(inst, _)| inst.flow() == Flow::Jump);
        let alone = output.block_insts_and_edits(flat, regalloc2::Block::new(index)).count() == 1;
        if jumps && data.insts.is_empty() && alone {
            let to = places[data.edges()[0].to.0 as usize];
            // The target of a backward jump is not resolved yet. One more step after this loop is enough.
            threads[index] = threads[to];
        }
    }
    for index in 0..threads.len() {
        threads[index] = threads[threads[index]];
    }
    threads
}

/// Adds the constants after the code, and writes the distances to them.
fn finish<S: InstructionSet>(
    set: &S,
    mut code: Buffer<S::Reference>,
    pool: &[u8],
    stack_bytes: u32,
    labels: Vec<usize>,
) -> Result<Emitted, AssemblyError> {
    let instruction_bytes = code.bytes.len();
    if !pool.is_empty() {
        let missing = instruction_bytes.next_multiple_of(S::ALIGNMENT) - instruction_bytes;
        code.fill(&[S::STOP], missing);
        let start = code.bytes.len();
        for named in code.take_references() {
            set.refer(named.reference, (start + named.offset as usize - named.at) as i64, &mut code.bytes[named.at..])?;
        }
        code.bytes.extend(pool);
    }
    let code = Code { bytes: code.bytes, alignment: S::ALIGNMENT as u64, relocations: code.relocations, stack_bytes };
    Ok(Emitted { code, instruction_bytes, labels })
}

impl<S: InstructionSet> Layout<'_, S> {
    fn block(&mut self, index: usize) -> Result<(), AssemblyError> {
        if self.flat.function.ordered(index).hot {
            let length = self.code.bytes.len();
            self.code.fill(S::NOTHING, length.next_multiple_of(S::LOOP_ALIGNMENT) - length);
        }
        self.starts[index] = self.code.bytes.len();
        if self.threads[index] != index {
            // All jumps skip this block.
            return Ok(());
        }
        for item in self.output.block_insts_and_edits(self.flat, regalloc2::Block::new(index)) {
            match item {
                InstOrEdit::Edit(Edit::Move { from, to }) => self.set.transfer(*from, *to, self.frame, &mut self.code)?,
                InstOrEdit::Inst(number) => {
                    let inst = self.flat.insts[number.index()];
                    let on_stack = || AssemblyError::OnStack { inst: format!("{inst:?}") };
                    let at = self.output.inst_allocs(number).iter().map(|allocation| allocation.as_reg().ok_or_else(on_stack));
                    let at = at.collect::<Result<SmallVec<[PReg; 8]>, _>>()?;
                    match inst.flow() {
                        Flow::Straight { .. } => self.set.emit(inst, &at, self.frame, &mut self.code)?,
                        Flow::Jump => self.jump_unless_next(index, self.targets(index)[0]),
                        Flow::Branch => self.branch(index, inst, &at)?,
                        Flow::Return => self.set.leave(inst, self.frame, &mut self.code)?,
                    }
                }
            }
        }
        Ok(())
    }

    fn targets(&self, index: usize) -> Vec<usize> {
        let edges = self.flat.function.ordered(index).edges();
        edges.iter().map(|edge| self.threads[self.places[edge.to.0 as usize]]).collect()
    }

    /// Tests whether control falls through from one block to another: the blocks between them have no code.
    fn is_next(&self, index: usize, to: usize) -> bool {
        to > index && (index + 1..to).all(|between| self.threads[between] != between)
    }

    fn branch(&mut self, index: usize, inst: &S::Inst, at: &[PReg]) -> Result<(), AssemblyError> {
        let [first, second] = self.targets(index)[..] else { return Err(AssemblyError::Edges { inst: format!("{inst:?}") }) };
        let condition = self.set.test(inst, at, &mut self.code)?;
        let (taken, condition, rest) =
            if self.is_next(index, first) { (second, self.set.inverse(condition), first) } else { (first, condition, second) };
        self.jump(taken, Some(condition));
        self.jump_unless_next(index, rest);
        Ok(())
    }

    fn jump_unless_next(&mut self, index: usize, to: usize) {
        if !self.is_next(index, to) {
            self.jump(to, None);
        }
    }

    /// Reserves the bytes of a jump.
    fn jump(&mut self, to: usize, condition: Option<S::Condition>) {
        let at = self.code.bytes.len();
        let bytes = self.set.reaches(condition)[self.encodings[self.jumps.len()]].bytes;
        self.jumps.push(Jump { at, to, condition });
        self.code.bytes.resize(at + bytes, 0);
    }

    /// Writes the jumps. Returns the numbers of the jumps whose encoding does not reach.
    fn link(&mut self) -> Vec<usize> {
        let mut short = vec![];
        for (number, jump) in self.jumps.iter().enumerate() {
            let distance = self.starts[self.threads[jump.to]] as i64 - jump.at as i64;
            let encoding = self.encodings[number];
            let reach = self.set.reaches(jump.condition)[encoding];
            if reach.holds(distance) {
                self.set.jump(jump.condition, encoding, distance, &mut self.code.bytes[jump.at..jump.at + reach.bytes]);
            } else {
                short.push(number);
            }
        }
        short
    }
}
