//! A pass after lowering that fuses shifts, products and addresses into the only instruction that uses them.

use super::inst::{Arg, Inst, Op};
use super::rows::{self, Row};
use crate::own::{Address, Base, Function};
use regalloc2::VReg;
use rustc_hash::FxHashMap;

/// Fuses instructions in each block. `uses` counts the uses of each register.
pub(super) fn fuse(function: &mut Function<Inst>, uses: &[u32], has_dsp: bool) {
    for data in &mut function.blocks {
        let mut gone = vec![false; data.insts.len()];
        // The definitions of registers with a single use.
        let mut defined: FxHashMap<VReg, usize> = FxHashMap::default();
        for at in 0..data.insts.len() {
            if has_dsp && let Some(inst) = high_product(&data.insts[at], uses) {
                data.insts[at] = inst;
            }
            while let Some((inst, source)) = fused(&data.insts, at, &defined) {
                data.insts[at] = inst;
                gone[source] = true;
            }
            let inst = &data.insts[at];
            let is_pure = match inst.op {
                Op::Row(row) => row.pure,
                op => op == Op::LoadAddress,
            };
            if let Some(&Arg::Def(result)) = inst.args.first().filter(|_| is_pure)
                && uses[result.vreg()] == 1
            {
                defined.insert(result, at);
            }
        }
        let mut index = 0;
        data.insts.retain(|_| {
            index += 1;
            !gone[index - 1]
        });
    }
}

/// Replaces a long signed product by its high half, if nothing uses the low half.
fn high_product(inst: &Inst, uses: &[u32]) -> Option<Inst> {
    match inst.args[..] {
        [Arg::Def(low), high @ Arg::Def(_), a, b] if inst.op == Op::Row(&rows::SMULL) && uses[low.vreg()] == 0 => {
            Some(Inst { op: Op::Row(&rows::SMMUL), args: vec![high, a, b] })
        }
        _ => None,
    }
}

/// Fuses an instruction with the definition of one of its operands. Returns the new instruction and the position of the definition.
fn fused(insts: &[Inst], at: usize, defined: &FxHashMap<VReg, usize>) -> Option<(Inst, usize)> {
    if let Some(found) = product_in_address(insts, at, defined).or_else(|| element_of_array(insts, at, defined)) {
        return Some(found);
    }
    let Op::Row(row) = insts[at].op else { return None };
    let source = |register: VReg| {
        let &place = defined.get(&register)?;
        let Op::Row(row) = insts[place].op else { return None };
        Some((place, row, &insts[place].args[1..]))
    };
    match insts[at].args[..] {
        [to, bits @ Arg::Number(_), Arg::Use(a)] if row == &rows::SSAT || row == &rows::USAT => match source(a)? {
            (place, made, &[a, count]) if made == &rows::ASR_NUMBER => {
                let row = if row == &rows::SSAT { &rows::SSAT_ASR } else { &rows::USAT_ASR };
                Some((Inst { op: Op::Row(row), args: vec![to, bits, a, count] }, place))
            }
            _ => None,
        },
        [to, a, Arg::Use(b)] => {
            let first = source(b).and_then(|(place, made, args)| Some((with(row, made, to, a, args)?, place)));
            if first.is_some() || row == &rows::SUB {
                return first;
            }
            let Arg::Use(a) = a else { return None };
            source(a).and_then(|(place, made, args)| Some((with(row, made, to, Arg::Use(b), args)?, place)))
        }
        _ => None,
    }
}

/// Fuses an address with the product that is its index.
fn product_in_address(insts: &[Inst], at: usize, defined: &FxHashMap<VReg, usize>) -> Option<(Inst, usize)> {
    match (insts[at].op, &insts[at].args[..]) {
        (
            Op::LoadAddress,
            &[to @ Arg::Def(_), Arg::Memory(Address { base: Base::Register(base), index: Some((index, 0)), displacement: 0 })],
        ) => {
            let &place = defined.get(&index)?;
            let is_product = insts[place].op == Op::Row(&rows::MUL);
            match insts[place].args[..] {
                [_, a, b] if is_product => Some((Inst { op: Op::Row(&rows::MLA), args: vec![to, a, b, Arg::Use(base)] }, place)),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Fuses a load with the address of an element of the first stack array. Kernels pass no arguments on the stack, so this array begins at the stack
/// pointer.
fn element_of_array(insts: &[Inst], at: usize, defined: &FxHashMap<VReg, usize>) -> Option<(Inst, usize)> {
    let inst = &insts[at];
    let is_word = inst.moved().is_some_and(|moved| !moved.store) && !inst.is_of_pair();
    match inst.args[..] {
        [to, Arg::Memory(Address { base: Base::Register(base), index: None, displacement: 0 })] if is_word => {
            let &place = defined.get(&base)?;
            let made = &insts[place];
            match made.args[..] {
                [_, array @ Arg::Memory(Address { base: Base::Locals, index: Some((_, 0..4)), displacement: 0 })]
                    if made.op == Op::LoadAddress =>
                {
                    Some((Inst { op: inst.op, args: vec![to, array] }, place))
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// Fuses an operation on `a` and the result of another instruction. `made` and `operands` are that instruction's row and operands.
fn with(row: &Row, made: &Row, to: Arg, a: Arg, operands: &[Arg]) -> Option<Inst> {
    let products = [(&rows::ADD, &rows::MUL, &rows::MLA), (&rows::SUB, &rows::MUL, &rows::MLS), (&rows::ADD, &rows::SMMUL, &rows::SMMLA)];
    let product = products.into_iter().find(|&(sum, product, _)| row == sum && made == product).map(|(_, _, both)| both);
    let args = |last: &[Arg]| [&[to], last].concat();
    if let (Some(both), &[x, y]) = (product, operands) {
        return Some(Inst { op: Op::Row(both), args: args(&[x, y, a]) });
    }
    let shifts = [&rows::LSL_NUMBER, &rows::LSR_NUMBER, &rows::ASR_NUMBER];
    let shift = shifts.into_iter().position(|shift| made == shift)?;
    let both = match row {
        row if row == &rows::ADD => [&rows::ADD_LSL, &rows::ADD_LSR, &rows::ADD_ASR],
        row if row == &rows::SUB => [&rows::SUB_LSL, &rows::SUB_LSR, &rows::SUB_ASR],
        row if row == &rows::ORR => [&rows::ORR_LSL, &rows::ORR_LSR, &rows::ORR_ASR],
        row if row == &rows::EOR => [&rows::EOR_LSL, &rows::EOR_LSR, &rows::EOR_ASR],
        _ => return None,
    };
    let &[x, count] = operands else { return None };
    Some(Inst { op: Op::Row(both[shift]), args: args(&[a, x, count]) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::own::count_uses;
    use crate::thumb::inst::Own;
    use regalloc2::RegClass;

    /// Fuses a list of instructions, and returns the names of the remaining ones.
    fn left(list: &[(&'static Row, Vec<Arg>)]) -> Vec<&'static str> {
        let name = |op: Op| if let Op::Row(row) = op { row.name } else { "" };
        let list: Vec<_> = list.iter().map(|(row, args)| (Op::Row(row), args.clone())).collect();
        all_left(&list).iter().map(|(op, _)| name(*op)).collect()
    }

    /// Fuses a list of instructions.
    fn all_left(list: &[(Op, Vec<Arg>)]) -> Vec<(Op, Vec<Arg>)> {
        let mut function = Function { registers: 10, ..Function::default() };
        let block = function.block();
        function.order.push(block);
        function.at(block).insts = list.iter().map(|(op, args)| Inst { op: *op, args: args.clone() }).collect();
        let uses = count_uses(&function);
        fuse(&mut function, &uses, true);
        function.at(block).insts.iter().map(|inst| (inst.op, inst.args.clone())).collect()
    }

    #[test]
    fn addresses_become_part_of_products_and_loads() {
        let v = |n| VReg::new(n, RegClass::Int);
        let at = |base, index, displacement| Arg::Memory(Address { base, index, displacement });
        let product = (Op::Row(&rows::MUL), vec![Arg::Def(v(4)), Arg::Use(v(0)), Arg::Use(v(1))]);
        let address = |index, displacement| {
            let memory = at(Base::Register(v(2)), Some((v(4), index)), displacement);
            (Op::LoadAddress, vec![Arg::Def(v(5)), memory])
        };
        let sum = (Op::Row(&rows::MLA), vec![Arg::Def(v(5)), Arg::Use(v(0)), Arg::Use(v(1)), Arg::Use(v(2))]);
        assert_eq!(all_left(&[product.clone(), address(0, 0)]), [sum]);
        assert_eq!(all_left(&[product.clone(), address(1, 0)]), [product.clone(), address(1, 0)]);
        assert_eq!(all_left(&[product.clone(), address(0, 4)]), [product, address(0, 4)]);
        let element = |displacement| at(Base::Locals, Some((v(0), 3)), displacement);
        let place = |displacement| (Op::LoadAddress, vec![Arg::Def(v(5)), element(displacement)]);
        let load = |memory| (Op::Own(Own::Load(4, false)), vec![Arg::Def(v(6)), memory]);
        let near = at(Base::Register(v(5)), None, 0);
        assert_eq!(all_left(&[place(0), load(near)]), [load(element(0))]);
        assert_eq!(all_left(&[place(8), load(near)]), [place(8), load(near)], "not the first array");
    }

    #[test]
    fn shifts_and_products_become_part_of_their_only_use() {
        let v = |n| VReg::new(n, RegClass::Int);
        let (def, used) = (|n| Arg::Def(v(n)), |n| Arg::Use(v(n)));
        let product = (&rows::MUL, vec![def(4), used(0), used(1)]);
        assert_eq!(left(&[product.clone(), (&rows::ADD, vec![def(5), used(4), used(2)])]), ["mla"]);
        assert_eq!(left(&[product.clone(), (&rows::SUB, vec![def(5), used(2), used(4)])]), ["mls"]);
        assert_eq!(left(&[product.clone(), (&rows::SUB, vec![def(5), used(4), used(2)])]), ["mul", "sub"]);
        assert_eq!(left(&[product, (&rows::ADD, vec![def(5), used(4), used(4)])]), ["mul", "add"]);
        let shift = (&rows::ASR_NUMBER, vec![def(4), used(0), Arg::Number(3)]);
        assert_eq!(left(&[shift.clone(), (&rows::EOR, vec![def(5), used(4), used(2)])]), ["eor"]);
        assert_eq!(left(&[shift, (&rows::SSAT, vec![def(5), Arg::Number(7), used(4)])]), ["ssat"]);
        let long = (&rows::SMULL, vec![def(4), def(5), used(0), used(1)]);
        assert_eq!(left(&[long.clone(), (&rows::ADD, vec![def(6), used(5), used(2)])]), ["smmla"]);
        assert_eq!(left(&[long, (&rows::ADD, vec![def(6), used(5), used(4)])]), ["smull", "add"]);
    }
}
