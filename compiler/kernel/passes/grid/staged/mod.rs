//! Rows of products by way of memory that a workgroup shares.
//!
//! A position of a product of matrices goes through rows of its own, an element of each in a round. So do the other lanes of its workgroup, whose rows
//! lie a row's length apart: each load of a round touches as many cache lines as there are lanes. Here a workgroup brings a chunk of all its
//! lanes' rows into shared memory first, neighbouring lanes neighbouring words, and the rounds of the chunk read that:
//!
//! ```text
//! each lane: places[lane] = where its rows begin; barrier
//! for chunk in rows { copy by all lanes; barrier; for round in chunk { products as before, from the copy }; barrier }
//! ```
//!
//! **Which loads** (`rows.rs`). Those of a loop at the level to which all positions of a workgroup come, with numbers for its ends and no loops inside, whose
//! index is the loop's counter, a number, and values from before the loop. What these values are does not matter, padding and strides are in them already:
//! each lane says where its rows begin. Nothing that the kernel writes is copied.
//!
//! **How much** (`rows.rs`). A chunk is a part of the loop's rounds that leaves no rest, the longest whose copy leaves room for [`WORKGROUPS`] workgroups.
//! A row has one word more than it needs if that number is even, so that lanes which read the same element of their rows are in different banks.
//!
//! **When** (`rows.rs`). Which lines of a cache the lanes of a workgroup touch follows from the kernel. Rows are copied where lanes so touch at most half as many lines,
//! and make at most half as many loads, 16 bytes each; and where each load is a factor of at least 8 products, for the way through shared memory costs time
//! too. Rows that all lanes share stay as they are: those are read at one place.
//!
//! **Positions beyond the end** come to every barrier: they go along as the last position does, and what comes after the last loop they leave out.
//!
//! Sums are taken as before and in the same order, so bits are the same.

mod emit;
mod lanes;
mod rows;

use super::super::super::equal::Equal;
use super::super::super::indices::Indices;
use super::super::super::verify::verify;
use super::super::{COMMON, DEAD};
use super::Places;
use crate::kernel::*;
use cranelift_entity::EntityRef;
use emit::{Emitter, Guard, Said};
use lanes::Lanes;
use rows::{Finder, Staged};
use rustc_hash::FxHashSet;
use smallvec::smallvec;

/// So many workgroups are to have room in the shared memory of one: some compute while others wait for what they copy.
const WORKGROUPS: u64 = 3;

/// Terms of an index that are looked at.
const MOST_TERMS: usize = 16;

/// A kernel with a grid whose workgroups copy rows to memory that they share, if that is better. Its pointer parameters are at some places, and a
/// workgroup shares so many bytes at most.
///
/// # Panics
/// In debug builds, if it breaks a rule of the language.
pub fn staged(kernel: &Kernel, places: &Places, shared_bytes: u64) -> Option<Kernel> {
    let grid = kernel.grid.filter(|grid| grid.positions.is_multiple_of(grid.workgroup.into()))?;
    let is_shared = |data: &BufferData| data.kind == BufferKind::Shared;
    if kernel.may_fail() || kernel.has_barrier() || kernel.buffers.iter().any(is_shared) {
        return None;
    }
    let pass = Pass {
        kernel,
        equal: Equal::of(kernel),
        finder: Finder {
            kernel,
            indices: Indices::of(kernel, MOST_TERMS),
            lanes: Lanes::of(kernel, grid)?,
            changed: changed(kernel, places),
            bytes: shared_bytes / WORKGROUPS,
        },
    };
    let mut emitter = Emitter::new(kernel, grid.workgroup);
    let statements = pass.together(&kernel.body.statements, &mut emitter)?;
    let (mut written, bytes) = emitter.finish(statements);
    if bytes > shared_bytes {
        return None;
    }
    for pass in [COMMON, DEAD] {
        (pass.run)(&mut written);
    }
    debug_assert_eq!(verify(&written), Ok(()), "{written}");
    Some(written)
}

/// A pointer parameter, its memory, and from where to where it is there.
type Param = (Buffer, usize, [u64; 2]);

/// The buffers that share memory with one that the kernel writes, those among them.
fn changed(kernel: &Kernel, places: &Places) -> FxHashSet<Buffer> {
    let params: Vec<Param> = kernel
        .pointer_params()
        .zip(places)
        .map(|((buffer, data), &(memory, start))| (buffer, memory, [start, start + data.bytes()]))
        .collect();
    let meet = |a: &Param, b: &Param| a.1 == b.1 && a.2[0] < b.2[1] && b.2[0] < a.2[1];
    let is_changed = |param: &&Param| params.iter().any(|other| kernel.writes(other.0) && meet(param, other));
    let alone = (0..kernel.buffers.len()).map(Buffer::new).filter(|&buffer| kernel.writes(buffer));
    params.iter().filter(is_changed).map(|param| param.0).chain(alone).collect()
}

/// What is done with a kernel.
struct Pass<'k> {
    kernel: &'k Kernel,
    equal: Equal<'k>,
    finder: Finder<'k>,
}

impl Pass<'_> {
    /// Statements to which all positions of a workgroup come; none where nothing of them is staged.
    fn together(&self, statements: &[Statement], emitter: &mut Emitter) -> Option<Vec<Statement>> {
        let (last, before) = statements.split_last()?;
        if let Inst::If { condition, then, otherwise } = &last.inst {
            if self.equal.contains(*condition) {
                let sides = [then, otherwise].map(|side| self.together(&side.statements, emitter));
                sides.iter().any(Option::is_some).then_some(())?;
                let [of_then, of_otherwise] = sides;
                let of = |side: &Region, staged: Option<Vec<Statement>>| {
                    let statements = staged.unwrap_or_else(|| side.statements.clone());
                    Region { statements, ..side.clone() }
                };
                let inst = Inst::If { condition: *condition, then: of(then, of_then), otherwise: of(otherwise, of_otherwise) };
                return Some([before, &[Statement { results: last.results.clone(), inst }]].concat());
            }
            if let Some(guard) = self.guard(last, before) {
                return self.flat(before, &then.statements, Some(guard), emitter);
            }
        }
        self.flat(&[], statements, None, emitter)
    }

    /// The condition of a last statement that has nothing on its other side, if it is that an index of before is below a number.
    fn guard(&self, last: &Statement, before: &[Statement]) -> Option<Guard> {
        let Inst::If { condition, otherwise, .. } = &last.inst else { return None };
        let defined = |value: Value| before.iter().find(|statement| statement.results[..] == [value]);
        let &Inst::Compare { op: CompareOp::Less, a, b } = &defined(*condition)?.inst else { return None };
        let count = self.finder.indices.number(b).filter(|&count| count > 0)?;
        let is_own = matches!(defined(a)?.inst, Inst::Binary { .. }) && otherwise.statements.is_empty() && last.results.is_empty();
        is_own.then_some(Guard { condition: *condition, own: a, count })
    }

    /// Statements of which loops are staged, some under no condition and then some under a guard.
    fn flat(&self, before: &[Statement], inside: &[Statement], guard: Option<Guard>, emitter: &mut Emitter) -> Option<Vec<Statement>> {
        let loops: Vec<Option<Staged>> = inside.iter().map(|statement| self.finder.find(statement)).collect();
        let last = loops.iter().rposition(Option::is_some)?;
        let (along, after) = inside.split_at(last + 1);
        // What positions beyond the end do as well must do nothing, and see nothing that others write.
        let is_harmless = |statement: &Statement| !statement.inst.has_effect() && !self.reads_changed(statement);
        if !before.iter().chain(along).all(is_harmless) {
            return None;
        }
        let mut out = Vec::new();
        match guard {
            Some(guard) => emitter.clamped(before, guard, &mut out),
            None => out.extend_from_slice(before),
        }
        let mut said = Said::new();
        for (statement, staged) in along.iter().zip(&loops) {
            match staged {
                Some(staged) => emitter.staged(statement, staged, &mut said, &mut out),
                None => out.push(statement.clone()),
            }
        }
        match guard {
            Some(Guard { condition, .. }) => {
                let then = Region { statements: after.to_vec(), ..Region::default() };
                out.push(Statement { results: smallvec![], inst: Inst::If { condition, then, otherwise: Region::default() } });
            }
            None => out.extend_from_slice(after),
        }
        Some(out)
    }

    /// Whether a statement, or one inside it, reads what the kernel writes.
    fn reads_changed(&self, statement: &Statement) -> bool {
        let mut found = false;
        statement.for_each(&mut |inst| {
            let is_array = |buffer: Buffer| self.kernel.buffer(buffer).kind == BufferKind::Local;
            found |= inst.buffer().is_some_and(|buffer| self.finder.changed.contains(&buffer) && !is_array(buffer));
        });
        found
    }
}
