use super::*;
use crate::mathematics::Arithmetic;
use crate::{KernelBuilder, mathematics};
use smallvec::smallvec;

fn scalar(lane: Lane) -> Type {
    Type::scalar(lane)
}

/// Verifies a kernel with an input and an output of 10 numbers each, and returns the message.
fn mistake(build: impl FnOnce(&mut KernelBuilder, Buffer, Buffer)) -> String {
    let mut b = KernelBuilder::new("k");
    let x = b.buffer("x", BufferKind::Input, Lane::F32, 10, 4);
    let y = b.buffer("y", BufferKind::Output, Lane::F32, 10, 4);
    build(&mut b, x, y);
    verify(&b.finish()).map_or_else(|error| error.to_string(), |()| "good".into())
}

/// Verifies a valid kernel after `change`, and returns the message.
fn changed(build: impl FnOnce(&mut KernelBuilder, Buffer, Buffer), change: impl FnOnce(&mut Kernel)) -> String {
    let mut b = KernelBuilder::new("k");
    let x = b.buffer("x", BufferKind::Input, Lane::F32, 10, 4);
    let y = b.buffer("y", BufferKind::Output, Lane::F32, 10, 4);
    build(&mut b, x, y);
    let mut kernel = b.finish();
    assert_eq!(verify(&kernel), Ok(()), "before the change");
    change(&mut kernel);
    verify(&kernel).map_or_else(|error| error.to_string(), |()| "good".into())
}

#[test]
fn mathematics_of_one_lane_and_many_keep_the_rules() {
    for lanes in [1, 4, 8] {
        let verdict = mistake(|b, x, y| {
            let zero = b.index(0);
            let mut value = b.load(x, zero, 0, lanes);
            let functions: [fn(&mut KernelBuilder, Value) -> Value; 8] = [
                |b, x| mathematics::exp(b, Arithmetic::PLAIN, x),
                |b, x| mathematics::log(b, Arithmetic::PLAIN, x),
                |b, x| mathematics::tanh(b, Arithmetic::PLAIN, x),
                |b, x| mathematics::logistic(b, Arithmetic::PLAIN, x),
                |b, x| mathematics::erf(b, Arithmetic::PLAIN, x),
                |b, x| mathematics::sin(b, Arithmetic::PLAIN, x),
                |b, x| mathematics::cos(b, Arithmetic::PLAIN, x),
                mathematics::rsqrt,
            ];
            for function in functions {
                value = function(b, value);
            }
            value = mathematics::pow(b, value, value);
            b.store(y, zero, 0, value);
        });
        assert_eq!(verdict, "good");
    }
}

#[test]
fn accesses_of_counted_loops_are_followed() {
    // The largest sum of the two counters and the lanes is 5 + 3 + lanes.
    let copy = |lanes: u16, offset: i64| {
        mistake(move |b, x, y| {
            b.for_range(0, 6, 5, |b, i| {
                b.for_range(0, 4, 1, |b, j| {
                    let minus = b.scale_index(j, -1, 3);
                    let sum = b.add(i, minus);
                    let value = b.load(x, sum, offset, lanes);
                    b.store(y, sum, offset, value);
                });
            });
        })
    };
    assert_eq!(copy(1, 1), "good");
    assert_eq!(copy(2, 0), "good");
    assert_eq!(copy(2, 1), "kernel k: element 10 of x, which has 10, in `%11: f32x2 = load x[%10 + 1]`");
    assert_eq!(copy(1, -1), "kernel k: element -1 of x, which has 10, in `%11: f32 = load x[%10 - 1]`");
}

#[test]
fn tables_of_bytes_have_an_entry_for_each() {
    let gather = |offset: i64, bounds: Bounds| {
        mistake(|b, _, _| {
            let table = b.buffer("table", BufferKind::Local, Lane::I8, 257, 1);
            let bytes = b.int(Type::vector(Lane::I8, 4), 3);
            b.gather(table, bytes, offset, bounds);
        })
    };
    assert_eq!([128, 129].map(|offset| gather(offset, Bounds::Proven)), ["good", "good"]);
    for (offset, bounds) in [(127, Bounds::Proven), (130, Bounds::Proven), (128, Bounds::Clamp)] {
        let verdict = gather(offset, bounds);
        assert!(verdict.contains(&format!("bytes as indices of 257 elements from {offset} on")), "{verdict}");
    }
}

#[test]
fn differences_of_counters_are_exact() {
    let verdict = mistake(|b, x, _| {
        b.for_range(3, 20, 1, |b, i| {
            let further = b.scale_index(i, 1, 2);
            let two = b.sub(further, i);
            b.load(x, two, 0, 8);
        });
    });
    assert_eq!(verdict, "good");
}

#[test]
fn what_may_not_run_is_not_accused() {
    let guarded = mistake(|b, x, _| {
        b.for_range(0, 20, 1, |b, i| {
            let ten = b.index(10);
            let inside = b.compare(CompareOp::Less, i, ten);
            b.if_else(inside, |b| vec![b.load(x, i, 0, 1)], |b| vec![b.float(scalar(Lane::F32), 0.0)]);
        });
    });
    assert_eq!(guarded, "good");
    let failing = mistake(|b, x, _| {
        b.for_range(0, 20, 1, |b, i| {
            let ten = b.index(10);
            let outside = b.compare(CompareOp::GreaterEqual, i, ten);
            b.fail_if(outside, -12);
            b.load(x, i, 0, 1);
        });
    });
    assert_eq!(failing, "good");
    let short = mistake(|b, x, _| {
        b.for_range(0, 20, 1, |b, i| {
            let (zero, nineteen) = (b.index(0), b.index(19));
            let left = b.sub(nineteen, i);
            b.for_values(zero, left, 10, |b, _| {
                b.load(x, i, -9, 1);
            });
        });
    });
    assert_eq!(short, "good");
    // An access at a constant place is checked even if it may not run.
    let constant = mistake(|b, x, _| {
        let (zero, never) = (b.index(0), b.mask(1, false));
        b.if_else(never, |b| vec![b.load(x, zero, 10, 1)], |b| vec![b.float(scalar(Lane::F32), 0.0)]);
    });
    assert_eq!(constant, "kernel k: element 10 of x, which has 10, in `%2: f32 = load x[10]`");
}

#[test]
fn inputs_are_not_written() {
    let verdict = mistake(|b, x, _| {
        let (zero, number) = (b.index(0), b.float(scalar(Lane::F32), 1.5));
        b.store(x, zero, 0, number);
    });
    assert_eq!(verdict, "kernel k: a store to the input x, in `store x[0], 1.5`");
}

#[test]
fn operations_know_their_lanes() {
    let binary = |op, ty: Type| {
        mistake(move |b, _, _| {
            let value = if ty.lane.is_float() { b.float(ty, 1.0) } else { b.int(ty, 1) };
            b.binary(op, value, value);
        })
    };
    assert_eq!(binary(BinaryOp::FloatDiv, scalar(Lane::I32)), "kernel k: FloatDiv of i32, in `%1: i32 = float_div 1, 1`");
    assert_eq!(binary(BinaryOp::And, scalar(Lane::F32)), "kernel k: And of f32, in `%1: f32 = and 1.0, 1.0`");
    assert_eq!(binary(BinaryOp::SignedAddSaturating, scalar(Lane::I16)), "good");
    assert!(binary(BinaryOp::SignedAddSaturating, scalar(Lane::I32)).contains("SignedAddSaturating of i32"));
    assert_eq!(binary(BinaryOp::Add, Type::vector(Lane::I32, 3)), "kernel k: %0 has 3 lanes");
    let convert = |op, from, to| {
        mistake(move |b, _, _| {
            let value = b.int(scalar(from), 1);
            b.convert(op, value, to);
        })
    };
    assert_eq!(convert(ConvertOp::NarrowSigned, Lane::I32, Lane::I8), "good");
    assert_eq!(convert(ConvertOp::SignExtend, Lane::I32, Lane::I8), "kernel k: SignExtend of i32 to i8, in `%1: i8 = sign_extend 1: i32`");
    assert!(convert(ConvertOp::Bitcast, Lane::I32, Lane::F64).contains("Bitcast of i32 to f64"));
}

/// Adds a loaded vector, and an `if` that yields it or its double.
fn branch(b: &mut KernelBuilder, x: Buffer, _: Buffer) {
    let zero = b.index(0);
    let condition = b.mask(1, true);
    let loaded = b.load(x, zero, 0, 4);
    b.if_else(condition, |b| vec![b.add(loaded, loaded)], |_| vec![loaded]);
}

#[test]
fn values_are_defined_once_and_seen_from_inside_only() {
    let sum = Value::new(3);
    let after = |kernel: &mut Kernel| {
        kernel.types.push(Type::vector(Lane::F32, 4));
        let inst = Inst::Unary { op: UnaryOp::Neg, a: sum };
        kernel.body.statements.push(Statement { results: smallvec![Value::new(kernel.types.len() - 1)], inst });
    };
    assert_eq!(changed(branch, after), "kernel k: %3 is used outside its region, in `%5: f32x4 = neg %3`");
    let early = |kernel: &mut Kernel| kernel.body.statements.swap(1, 3);
    assert_eq!(changed(branch, early), "kernel k: %1 is used before it is defined, in `%4: f32x4 = if true {`");
    let twice = |kernel: &mut Kernel| {
        let again = kernel.body.statements[2].clone();
        kernel.body.statements.push(again);
    };
    assert_eq!(changed(branch, twice), "kernel k: %2 is defined twice, in `%2: f32x4 = load x[0]`");
    let unknown = |kernel: &mut Kernel| kernel.body.statements[0].results[0] = Value::new(99);
    assert_eq!(changed(branch, unknown), "kernel k: %99 has no type, in `%99 = constant 0`");
}

#[test]
fn regions_agree_with_what_is_around_them() {
    let yields = |kernel: &mut Kernel| {
        if let Inst::If { otherwise, .. } = &mut kernel.body.statements[3].inst {
            otherwise.yields[0] = Value::new(0);
        }
    };
    assert_eq!(changed(branch, yields), "kernel k: %0 is i64, not f32x4, in `%4: f32x4 = if true {`");
    let count = |b: &mut KernelBuilder, _: Buffer, _: Buffer| {
        let (start, end) = (b.index(0), b.index(4));
        b.for_carry(start, end, 1, &[start], |b, i, carried| vec![b.add(carried[0], i)]);
    };
    let drop_yield = |kernel: &mut Kernel| {
        if let Inst::For { body, .. } = &mut kernel.body.statements[2].inst {
            body.yields.clear();
        }
    };
    let place = "in `%5: i64 = for %2 in 0..4 step 1 carry %3 = 0 {`";
    assert_eq!(changed(count, drop_yield), format!("kernel k: 0 yields, not 1, {place}"));
    let drop_param = |kernel: &mut Kernel| {
        if let Inst::For { body, .. } = &mut kernel.body.statements[2].inst {
            body.params.truncate(1);
        }
    };
    assert!(changed(count, drop_param).starts_with("kernel k: 1 region parameters, not 2"));
    let stand = |kernel: &mut Kernel| {
        if let Inst::For { step, .. } = &mut kernel.body.statements[2].inst {
            *step = 0;
        }
    };
    assert!(changed(count, stand).starts_with("kernel k: a step of 0"));
    let drop_result = |kernel: &mut Kernel| kernel.body.statements[2].results.clear();
    assert!(changed(count, drop_result).starts_with("kernel k: 0 results, not 1"));
}

#[test]
fn buffers_are_sound() {
    let with = |lane, elements, alignment| {
        mistake(move |b, _, _| {
            b.buffer("z", BufferKind::Local, lane, elements, alignment);
        })
    };
    assert_eq!(with(Lane::Mask, 1, 1), "kernel k: buffer z of masks");
    assert_eq!(with(Lane::I8, 1, 0), "kernel k: buffer z has an alignment of 0");
    assert_eq!(with(Lane::I32, 1 << 62, 4), format!("kernel k: buffer z of {} elements", 1u64 << 62));
}

#[test]
fn lanes_and_groups_fit() {
    let lane = |kernel: &mut Kernel| kernel.body.statements[3].inst = Inst::Extract { a: Value::new(2), lane: 4 };
    let build = |b: &mut KernelBuilder, x: Buffer, _: Buffer| {
        let (zero, _) = (b.index(0), b.index(1));
        let loaded = b.load(x, zero, 0, 4);
        b.extract(loaded, 3);
    };
    assert_eq!(changed(build, lane), "kernel k: lane 4 of f32x4 as f32, in `%3: f32 = extract %2, 4`");
    let pick = |kernel: &mut Kernel| {
        let (a, lanes) = (Value::new(2), vec![8]);
        kernel.body.statements[3].inst = Inst::Shuffle { a, b: a, lanes };
    };
    assert_eq!(changed(build, pick), "kernel k: lane 8 of two of f32x4, in `%3: f32 = shuffle %2, %2 [8]`");
    let active = |kernel: &mut Kernel| {
        if let Inst::Load { active, .. } = &mut kernel.body.statements[2].inst {
            *active = 5;
        }
    };
    assert_eq!(changed(build, active), "kernel k: 5 active lanes of 4, in `%2: f32x4 = load x[0] active 5`");
}

#[test]
fn masks_are_of_the_lanes_that_they_choose_from() {
    let masked = |statements: &str| {
        mistake_of(&format!(
            "kernel @k(x: input i32[4] align 4, y: output i32[4] align 4, %0: i64) {{\n%1: maskx4 = first_lanes %0\n{statements}\n}}"
        ))
    };
    assert_eq!(masked("%2: i32x4 = load x[2] where %1\nstore y[3], %2 where %1"), "good");
    let wrong = masked("%2: i32x8 = load x[0] active 4 where %1");
    assert!(wrong.contains("%1 is maskx4, not maskx8"), "{wrong}");
    let wrong = masked("%2: i32x4 = first_lanes %0");
    assert!(wrong.contains("first lanes of i32x4"), "{wrong}");
}

/// Verifies a kernel of a text, and returns the message.
fn mistake_of(text: &str) -> String {
    let kernel = crate::text::parse_kernel(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    verify(&kernel).map_or_else(|error| error.to_string(), |()| "good".into())
}

#[test]
fn grids_have_one_position() {
    let head = |params: &str, grid: &str| mistake_of(&format!("kernel @k(y: output i8[4] align 1{params}) {grid} {{}}"));
    assert_eq!(head(", %0: i64", "grid 4 workgroup 64"), "good");
    assert_eq!(head(", %0: i32", "grid 2147483647 workgroup 64"), "good");
    assert_eq!(head("", "grid 4 workgroup 64"), "kernel k: a grid and 0 integer parameters");
    assert_eq!(head(", %0: i64, %1: i64", "grid 4 workgroup 64"), "kernel k: a grid and 2 integer parameters");
    assert_eq!(head(", %0: i8", "grid 4 workgroup 64"), "kernel k: the position %0 is i8, no index");
    assert_eq!(head(", %0: i32", ""), "kernel k: %0 is i32, not i64");
    for numbers in [(0, 64), (1u64 << 31, 64), (4, 0)] {
        let wanted = format!("kernel k: a grid of {} positions in workgroups of {}", numbers.0, numbers.1);
        assert_eq!(head(", %0: i64", &format!("grid {} workgroup {}", numbers.0, numbers.1)), wanted);
    }
}

#[test]
fn accesses_of_all_positions_are_followed() {
    let store = |body: &str| {
        let params = "y: output i8[4] align 1, s: output i32[1] align 4, %0: i64";
        mistake_of(&format!("kernel @k({params}) grid 4 workgroup 64 {{ {body} }}"))
    };
    assert_eq!(store("store y[%0], 1"), "good");
    assert_eq!(store("store y[%0 + 1], 1"), "kernel k: element 4 of y, which has 4, in `store y[%0 + 1], 1`");
    // A position that has failed ends.
    assert_eq!(store("%1: mask = greater %0, 2 fail_if %1, 3 store y[%0 + 1], 1"), "good");
}

#[test]
fn kernels_with_grids_fail_by_a_status() {
    let fails = |params: &str, body: &str| {
        mistake_of(&format!("kernel @k({params}, %0: i64) grid 4 workgroup 64 {{ %1: mask = greater %0, 2 fail_if %1, 3 {body} }}"))
    };
    let none = "kernel k: a kernel with a grid may fail, and its last pointer parameter is no output of one i32";
    assert_eq!(fails("y: output i32[4] align 4, s: output i32[1] align 4", ""), "good");
    assert_eq!(fails("s: output i32[1] align 4, y: output i32[4] align 4", ""), none);
    assert_eq!(fails("s: output i8[1] align 4", ""), none);
    assert_eq!(fails("s: scratch i32[1] align 4", ""), none);
    assert_eq!(fails("s: output i32[1] align 4", "store s[0], 1"), "kernel k: an access to the status s");
}

#[test]
fn all_positions_come_to_a_barrier() {
    let of = |grid: &str, body: &str| {
        mistake_of(&format!(
            "kernel @k(n: input i64[1] align 8, y: output i8[8] align 1, %0: i64) {grid} {{ t: shared i8[4] align 4 {body} }}"
        ))
    };
    let full = |body: &str| of("grid 8 workgroup 4", body);
    assert_eq!(full("store t[0], 1 barrier"), "good");
    assert_eq!(full("for %1 in 0..4 step 1 { barrier }"), "good");
    assert_eq!(full("%1: i64 = load n[0] for %2 in 0..%1 step 1 { for %3 in %2..%1 step 1 { barrier } }"), "good");
    let differs = "kernel k: a barrier in a loop that may count differently at each position";
    assert_eq!(full("for %2 in 0..%0 step 1 { barrier }"), differs);
    assert_eq!(full("%1: i8 = load y[0] %3: i64 = sign_extend %1 for %2 in 0..%3 step 1 { barrier }"), differs);
    assert_eq!(full("%1: mask = less %0, 2 if %1 { barrier }"), "kernel k: a barrier under a condition");
    assert_eq!(full("%1: i64 = unsigned_div %0, 4 %2: mask = less %1, 1 if %2 { barrier }"), "good");
    assert_eq!(full("%1: i64 = unsigned_div %0, 2 %2: mask = less %1, 1 if %2 { barrier }"), "kernel k: a barrier under a condition");
    assert_eq!(full("%1: mask = less %0, 2 loop { barrier yield %1 }"), "kernel k: a barrier under a condition");
    let partial = "kernel k: a shared buffer or a barrier, and 9 positions do not fill workgroups of 4";
    assert_eq!(of("grid 9 workgroup 4", "store t[0], 1"), partial);
}

#[test]
fn workgroups_need_a_grid() {
    assert_eq!(mistake_of("kernel @k() { t: shared i8[4] align 4 }"), "kernel k: buffer t is shared, and there is no grid");
    assert_eq!(mistake_of("kernel @k() { barrier }"), "kernel k: a barrier, and no grid");
    let fails = "kernel @k(s: output i32[1] align 4, %0: i64) grid 8 workgroup 4 { %1: mask = less %0, 2 fail_if %1, 3 barrier }";
    assert_eq!(mistake_of(fails), "kernel k: a shared buffer or a barrier, to which a position that has failed does not come");
}
