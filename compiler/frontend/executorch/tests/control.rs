//! Branches and loops on tensors of run-time extents.

use super::*;

impl Program {
    fn here(&self) -> usize {
        self.instructions.len()
    }

    /// A jump if a register is false; where to is said later.
    fn jump(&mut self, condition: usize) -> usize {
        self.instructions.push(Instruction::JumpFalse { condition, target: usize::MAX });
        self.here() - 1
    }

    fn land(&mut self, jump: usize, at: usize) {
        let Instruction::JumpFalse { target, .. } = &mut self.instructions[jump] else { panic!("a jump") };
        *target = at;
    }

    /// `torch.cond` as it is exported: each way's result is moved into the last register.
    fn cond(&mut self, condition: usize, result: usize, then: impl FnOnce(&mut Self) -> usize, otherwise: impl FnOnce(&mut Self) -> usize) {
        let first = self.jump(condition);
        let from = then(self);
        self.instructions.push(Instruction::Move { from, to: result });
        let never = self.value(EValue::Bool(false));
        let second = self.jump(never);
        self.land(first, self.here());
        let from = otherwise(self);
        self.instructions.push(Instruction::Move { from, to: result });
        self.land(second, self.here());
    }

    /// A loop over the rows of a tensor as `map` and `scan` are exported. The round is given a row, and the number of the round.
    fn rows(&mut self, x: usize, row: usize, round: impl FnOnce(&mut Self, usize)) {
        let (axis, one, counter, done) = (self.int(0), self.int(1), self.int(0), self.value(EValue::Bool(false)));
        let count = self.size(x, 0);
        let begin = self.here();
        self.call("aten::select_copy.int_out", &[x, axis, counter, row, row]);
        round(self, counter);
        self.call("executorch_prim::add.Scalar", &[counter, one, counter]);
        self.call("executorch_prim::eq.Scalar", &[counter, count, done]);
        let jump = self.jump(done);
        self.land(jump, begin);
        self.call("executorch_prim::sub.Scalar", &[counter, count, counter]);
    }

    fn grow(&mut self, whole: usize, row: usize, counter: usize) {
        self.call("executorch_prim::et_copy_index.tensor", &[whole, row, counter]);
    }

    fn apply(&mut self, operator: &str, x: usize, shape: &[u64]) -> usize {
        let y = self.tensor(ElementType::I64, shape, true);
        self.call(operator, &[x, y, y]);
        y
    }

    fn sum(&mut self, x: usize, y: usize, shape: &[u64]) -> usize {
        let (alpha, sum) = (self.int(1), self.tensor(ElementType::I64, shape, true));
        self.call("aten::add.out", &[x, y, alpha, sum, sum]);
        sum
    }

    fn joined(&mut self, parts: &[usize], shape: &[u64]) -> usize {
        let (list, axis, y) = (self.value(EValue::Tensors(parts.to_vec())), self.int(0), self.tensor(ElementType::I64, shape, true));
        self.call("aten::cat.out", &[list, axis, y, y]);
        y
    }

    fn from(&mut self, x: usize, start: i64, shape: &[u64]) -> usize {
        let (axis, start, end, step) = (self.int(0), self.int(start), self.value(EValue::None), self.int(1));
        let y = self.tensor(ElementType::I64, shape, true);
        self.call("aten::slice_copy.Tensor_out", &[x, axis, start, end, step, y, y]);
        y
    }
}

/// The text of a module reads back as it is printed.
fn check_text(module: &Module) {
    let text = print_module(module, Constants::Whole);
    assert_eq!(print_module(&parse_module(&text).unwrap(), Constants::Whole), text);
}

fn truth(value: bool) -> Tensor {
    Tensor { element: ElementType::Bool, shape: vec![], bytes: vec![u8::from(value)] }
}

#[test]
fn both_ways_of_a_branch_give_one_shape() {
    // p ? x + x : −x, and x is added to the result.
    let mut p = Program::default();
    let (condition, x) = (p.input(ElementType::Bool, &[], false), p.input(ElementType::I64, &[8], true));
    let y = p.tensor(ElementType::I64, &[8], true);
    p.cond(condition, y, |p| p.sum(x, x, &[8]), |p| p.apply("aten::neg.out", x, &[8]));
    let z = p.sum(y, x, &[8]);
    p.outputs.push(z);
    let module = p.module();
    check_text(&module);
    for count in 1..=8u64 {
        let x = longs(&[count], 0..count as i64);
        for (taken, factor) in [(true, 3), (false, 0)] {
            let found = run(&module, &[truth(taken), x.clone()]).unwrap();
            assert_eq!(numbers(&found), (0..count as i64).map(|n| factor * n).collect::<Vec<_>>(), "{taken}, {count}");
        }
    }
}

#[test]
fn extents_computed_alike_on_both_ways_are_one() {
    // x joined with itself on both ways, and after the branch too: 2·n rows in four places.
    let mut p = Program::default();
    let (condition, x) = (p.input(ElementType::Bool, &[], false), p.input(ElementType::I64, &[4], true));
    let y = p.tensor(ElementType::I64, &[8], true);
    let negated = |p: &mut Program| {
        let twice = p.joined(&[x, x], &[8]);
        p.apply("aten::neg.out", twice, &[8])
    };
    p.cond(condition, y, |p| p.joined(&[x, x], &[8]), negated);
    let twice = p.joined(&[x, x], &[8]);
    let z = p.sum(y, twice, &[8]);
    p.outputs.push(z);
    let module = p.module();
    assert!(!print_module(&module, Constants::Whole).contains("select"), "no extent depends on the way");
    for count in 1..=4u64 {
        let x = longs(&[count], 0..count as i64);
        for (taken, factor) in [(true, 2), (false, 0)] {
            let found = run(&module, &[truth(taken), x.clone()]).unwrap();
            assert_eq!(numbers(&found), (0..2 * count as i64).map(|n| factor * (n % count as i64)).collect::<Vec<_>>());
        }
    }
}

#[test]
fn an_extent_may_depend_on_the_way() {
    // p ? x[1:] : x[2:], in a branch whose other way leaves x as it is.
    let mut p = Program::default();
    let (condition, other) = (p.input(ElementType::Bool, &[], false), p.input(ElementType::Bool, &[], false));
    let x = p.input(ElementType::I64, &[8], true);
    let (inner, y) = (p.tensor(ElementType::I64, &[8], true), p.tensor(ElementType::I64, &[8], true));
    let sliced = |p: &mut Program| {
        p.cond(condition, inner, |p| p.from(x, 1, &[8]), |p| p.from(x, 2, &[8]));
        inner
    };
    p.cond(other, y, sliced, |p| p.apply("aten::neg.out", x, &[8]));
    let z = p.apply("aten::neg.out", y, &[8]);
    p.outputs.push(z);
    let faults = p.module_with(&LoadOptions::default()).unwrap_err();
    assert!(faults.iter().any(|fault| fault.message.contains("one way of a branch")), "{faults:#?}");
    // Not nested, it is one number or the other.
    let mut p = Program::default();
    let (condition, x) = (p.input(ElementType::Bool, &[], false), p.input(ElementType::I64, &[8], true));
    let y = p.tensor(ElementType::I64, &[8], true);
    p.cond(condition, y, |p| p.from(x, 1, &[8]), |p| p.from(x, 2, &[8]));
    let z = p.apply("aten::neg.out", y, &[8]);
    p.outputs.push(z);
    let module = p.module();
    for count in 2..=8i64 {
        for (taken, start) in [(true, 1), (false, 2)] {
            let found = run(&module, &[truth(taken), longs(&[count as u64], 0..count)]).unwrap();
            assert_eq!((found.shape[0] as i64, numbers(&found)), (count - start, (start..count).map(|n| -n).collect::<Vec<_>>()));
        }
    }
}

#[test]
fn what_is_required_on_a_way_is_required_of_callers() {
    // p ? x + y : x, where x and y come with as many elements.
    let mut p = Program::default();
    let condition = p.input(ElementType::Bool, &[], false);
    let (x, y) = (p.input(ElementType::I64, &[6], true), p.input(ElementType::I64, &[8], true));
    let z = p.tensor(ElementType::I64, &[6], true);
    p.cond(condition, z, |p| p.sum(x, y, &[6]), |p| p.apply("aten::neg.out", x, &[6]));
    p.outputs.push(z);
    let module = p.module();
    assert_eq!(varying(&module), [(1, 0, 6), (2, 0, 6)]);
    let found = run(&module, &[truth(true), longs(&[3], 0..3), longs(&[3], 10..13)]).unwrap();
    assert_eq!(numbers(&found), [10, 12, 14]);
    assert!(run(&module, &[truth(true), longs(&[3], 0..3), longs(&[2], 10..12)]).is_err(), "three and two");
}

#[test]
fn ways_are_taken_by_an_extent_and_read_it() {
    // n > 3 ? x + 10 : −x, and n is read within the way.
    let mut p = Program::default();
    let x = p.input(ElementType::I64, &[8], true);
    let (n, three, verdict) = (p.size(x, 0), p.int(3), p.value(EValue::Bool(false)));
    p.call("executorch_prim::gt.Scalar", &[n, three, verdict]);
    let y = p.tensor(ElementType::I64, &[8], true);
    let filled = |p: &mut Program| {
        let size = p.size(x, 0);
        let (list, all) = (p.ints(&[size]), p.tensor(ElementType::I64, &[8], true));
        let ten = p.int(10);
        p.call("aten::full.out", &[list, ten, all, all]);
        p.sum(x, all, &[8])
    };
    p.cond(verdict, y, filled, |p| p.apply("aten::neg.out", x, &[8]));
    p.outputs.push(y);
    let module = p.module();
    for count in 1..=8i64 {
        let found = run(&module, &[longs(&[count as u64], 0..count)]).unwrap();
        let expected: Vec<i64> = (0..count).map(|n| if count > 3 { n + 10 } else { -n }).collect();
        assert_eq!(numbers(&found), expected);
    }
}

#[test]
fn a_number_may_depend_on_the_way() {
    // As many tens as x has elements, or three.
    let mut p = Program::default();
    let (condition, x) = (p.input(ElementType::Bool, &[], false), p.input(ElementType::I64, &[8], true));
    let count = p.int(0);
    p.cond(condition, count, |p| p.size(x, 0), |p| p.int(3));
    let (list, ten) = (p.ints(&[count]), p.int(10));
    let y = p.output(ElementType::I64, &[8]);
    p.call("aten::full.out", &[list, ten, y, y]);
    let module = p.module();
    for count in 1..=8 {
        for (taken, expected) in [(true, count), (false, 3)] {
            let found = run(&module, &[truth(taken), longs(&[count as u64], 0..count)]).unwrap();
            assert_eq!(numbers(&found), vec![10; expected as usize], "{taken}, {count}");
        }
    }
}

#[test]
fn what_two_ways_choose_from_is_made_equal_where_it_has_to_be() {
    // (p ? x : y) + x, where x and y come with as many elements.
    let mut p = Program::default();
    let condition = p.input(ElementType::Bool, &[], false);
    let (x, y) = (p.input(ElementType::I64, &[6], true), p.input(ElementType::I64, &[6], true));
    let z = p.tensor(ElementType::I64, &[6], true);
    p.cond(condition, z, |p| p.apply("aten::neg.out", x, &[6]), |p| p.apply("aten::abs.out", y, &[6]));
    let sum = p.sum(z, x, &[6]);
    p.outputs.push(sum);
    let module = p.module();
    let inputs = |count: i64| [truth(false), longs(&[3], 0..3), longs(&[count as u64], 10..10 + count)];
    assert_eq!(numbers(&run(&module, &inputs(3)).unwrap()), [10, 12, 14]);
    assert!(run(&module, &inputs(2)).is_err(), "three and two");
}

#[test]
fn a_loop_maps_rows_and_carries_a_tensor() {
    // carry ← carry + row; the sums so far are the rows of the result, and x is added to them.
    let mut p = Program::default();
    let (x, first) = (p.input(ElementType::I64, &[8, 3], true), p.input(ElementType::I64, &[3], false));
    let (carry, row) = (p.planned(ElementType::I64, &[3]), p.tensor(ElementType::I64, &[3], false));
    let (sums, no) = (p.tensor(ElementType::I64, &[8, 3], true), p.value(EValue::Bool(false)));
    p.call("aten::copy_", &[carry, first, no, carry]);
    p.rows(x, row, |p, counter| {
        let next = p.sum(carry, row, &[3]);
        p.call("aten::copy_", &[carry, next, no, carry]);
        p.grow(sums, next, counter);
    });
    let all = p.sum(sums, x, &[8, 3]);
    p.outputs.extend([all, carry]);
    let module = p.module();
    check_text(&module);
    assert_eq!(varying(&module), [(0, 0, 8)]);
    // The carried tensor is written before it is read, so it is no state.
    assert!(module.states.is_empty());
    for count in 1..=8u64 {
        let x = longs(&[count, 3], 0..3 * count as i64);
        let outputs = Interpreter::new(&module).run(0, &[x.clone(), longs(&[3], [100, 200, 300])]).unwrap();
        let (mut carry, mut expected) = (vec![100, 200, 300], vec![]);
        for row in numbers(&x).chunks(3) {
            carry.iter_mut().zip(row).for_each(|(sum, n)| *sum += n);
            expected.extend(carry.iter().zip(row).map(|(sum, n)| sum + n));
        }
        assert_eq!((numbers(&outputs[0]), numbers(&outputs[1])), (expected, carry), "{count}");
    }
}

#[test]
fn loops_nest_and_carry_tensors_of_run_time_extents() {
    // Each element of each row of x is added to a carried tensor of a row's length, if it is above 0.
    let mut p = Program::default();
    let (x, first) = (p.input(ElementType::I64, &[4, 5], true), p.input(ElementType::I64, &[5], true));
    let (carry, row) = (p.tensor(ElementType::I64, &[5], true), p.tensor(ElementType::I64, &[5], true));
    let (element, next, no) =
        (p.tensor(ElementType::I64, &[], false), p.tensor(ElementType::I64, &[5], true), p.value(EValue::Bool(false)));
    p.call("aten::clone.out", &[first, no, carry, carry]);
    p.rows(x, row, |p, _| {
        p.rows(row, element, |p, _| {
            let (zero, above) = (p.int(0), p.tensor(ElementType::Bool, &[], false));
            p.call("aten::gt.Scalar_out", &[element, zero, above, above]);
            p.cond(above, next, |p| p.sum(carry, element, &[5]), |p| p.apply("aten::abs.out", carry, &[5]));
            p.call("aten::copy_", &[carry, next, no, carry]);
        });
    });
    p.outputs.push(carry);
    let module = p.module();
    for (rows, columns) in [(1, 1), (3, 2), (4, 5), (2, 4)] {
        let x = longs(&[rows, columns], (0..(rows * columns) as i64).map(|n| n * 5 % 7 - 3));
        let found = run(&module, &[x.clone(), longs(&[columns], (0..columns as i64).map(|n| n - 1))]).unwrap();
        let mut carry: Vec<i64> = (0..columns as i64).map(|n| n - 1).collect();
        for n in numbers(&x) {
            carry.iter_mut().for_each(|sum| *sum = if n > 0 { *sum + n } else { sum.abs() });
        }
        assert_eq!(numbers(&found), carry, "{rows} × {columns}");
    }
}

#[test]
fn loops_that_change_a_shape_are_named_errors() {
    // carry ← carry joined with the row.
    let mut p = Program::default();
    let (x, first) = (p.input(ElementType::I64, &[8, 3], true), p.input(ElementType::I64, &[3], false));
    let (carry, row) = (p.tensor(ElementType::I64, &[27], true), p.tensor(ElementType::I64, &[3], false));
    let no = p.value(EValue::Bool(false));
    p.call("aten::clone.out", &[first, no, carry, carry]);
    p.rows(x, row, |p, _| {
        let next = p.joined(&[carry, row], &[27]);
        p.call("aten::clone.out", &[next, no, carry, carry]);
    });
    p.outputs.push(carry);
    let faults = p.module_with(&LoadOptions::default()).unwrap_err();
    assert!(faults.iter().any(|fault| fault.message.contains("round")), "{faults:#?}");
}
