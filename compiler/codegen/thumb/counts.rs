//! A pass after lowering that counts the elements of vector accesses once where neighbours have the same number.

use super::inst::{Arg, Inst, Op, Own};
use super::vectors::{Part, Vector};
use crate::own::Function;
use regalloc2::VReg;

/// Number of elements in the predicate register, and the exponent of their bytes.
type Counted = (VReg, u32);

/// Lets accesses to the first elements of vectors use the count of the access before them, which the predicate register still holds.
pub(super) fn share_counts(function: &mut Function<Inst>) {
    for data in &mut function.blocks {
        let mut known: Option<Counted> = None;
        for inst in &mut data.insts {
            if changes_predicate(inst) {
                known = None;
            }
            let Some(counted) = counted(inst) else { continue };
            if known == Some(counted)
                && let Some(moved) = moved(inst)
            {
                moved.part = Part::SameFirst;
                inst.args.pop();
            }
            known = Some(counted);
        }
    }
}

/// Tests whether an instruction that counts no elements changes the predicate register.
fn changes_predicate(inst: &Inst) -> bool {
    matches!(inst.op, Op::Own(Own::ChooseLanes(_)) | Op::Call(_))
}

/// Returns what an access counts.
fn counted(inst: &Inst) -> Option<Counted> {
    let (Op::Own(Own::Vector(moved) | Own::StepVector(moved, _)), Some(&Arg::Use(count))) = (inst.op, inst.args.last()) else {
        return None;
    };
    moved.has_count().then(|| (count, moved.counted_size()))
}

/// Returns the access to a vector that an instruction is.
fn moved(inst: &mut Inst) -> Option<&mut Vector> {
    match &mut inst.op {
        Op::Own(Own::Vector(moved) | Own::StepVector(moved, _)) => Some(moved),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::own::Address;
    use crate::own::words::Element;
    use crate::thumb::encode::Flags;
    use regalloc2::RegClass;

    #[test]
    fn neighbours_with_one_number_count_once() {
        let (word, vector) = (|n| VReg::new(n, RegClass::Int), |n| VReg::new(n, RegClass::Vector));
        let load = |element, count| {
            let own = Own::Vector(Vector { element, store: false, part: Part::First });
            Inst::new(Op::Own(own), &[Arg::Def(vector(9)), Arg::Memory(Address::at(word(0))), Arg::Use(word(count))])
        };
        let chosen = [Arg::Def(vector(9)), Arg::Use(vector(1)), Arg::Use(vector(2)), Arg::Use(vector(3)), Arg::Use(vector(4))];
        let choice = Inst::new(Op::Own(Own::ChooseLanes(Flags::Less)), &chosen);
        let mut function = Function { registers: 10, ..Function::default() };
        let block = function.block();
        function.at(block).insts = vec![
            load(Element::Byte, 1),
            load(Element::Byte, 1),
            load(Element::Byte, 2),
            load(Element::HalfOfLane, 2),
            load(Element::ByteOfLane, 2),
            choice,
            load(Element::Word, 2),
        ];
        share_counts(&mut function);
        let parts: Vec<Part> = function.at(block).insts.iter_mut().filter_map(|inst| Some(moved(inst)?.part)).collect();
        assert_eq!(parts, [Part::First, Part::SameFirst, Part::First, Part::First, Part::SameFirst, Part::First]);
        assert_eq!(function.at(block).insts.iter().filter(|inst| inst.args.len() == 2).count(), 2, "a shared count is no operand");
    }
}
