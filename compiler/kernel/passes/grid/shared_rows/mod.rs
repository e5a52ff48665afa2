//! Rows of products by way of memory that a workgroup shares.
//!
//! A position of a matrix product reads its own rows, an element of each per round. The rows of the other lanes lie a row length apart. So each load
//! of a round touches as many cache lines as there are lanes. This pass first copies a chunk of all lanes' rows to shared memory. Neighbouring lanes
//! copy neighbouring words, and the rounds of the chunk read the copy:
//!
//! ```text
//! each lane: places[lane] = where its rows begin; barrier
//! for chunk in rows { copy by all lanes; barrier; for round in chunk { products as before, from the copy }; barrier }
//! ```
//!
//! **Loads that qualify** (`rows.rs`). The loop is one that all positions of a workgroup reach, with constant bounds and no loops inside. The index
//! of the load is the loop's counter, plus a constant, plus values from before the loop. These values may be anything, padding and strides included:
//! each lane states where its rows begin. Buffers that the kernel writes are not copied.
//!
//! **Length of a chunk** (`rows.rs`). A chunk divides the loop's rounds evenly. It is the longest one that leaves room for [`WORKGROUPS`] workgroups.
//! Rows have an odd number of words, so that lanes that read the same element of their rows use different banks.
//!
//! **Profit** (`rows.rs`). The kernel determines which cache lines the lanes of a workgroup touch. Rows are copied if this halves both the lines and
//! the loads, which are 16 bytes each. Each load must also be a factor of at least 8 products, because shared memory costs time, too. Rows that all
//! lanes share are not copied, since they are read at one place.
//!
//! **Positions beyond the end** reach every barrier. They repeat the work of the last position, and skip the statements after the last loop.
//!
//! The sums and their order do not change, so results have the same bits.

mod emit;
mod lanes;
mod rows;

use super::super::super::equal::Equal;
use super::super::super::indices::Indices;
use super::super::super::verify::verify;
use super::super::{COMMON, DEAD};
use crate::dependence::Places;
use crate::*;
use cranelift_entity::EntityRef;
use emit::{Emitter, Guard, Said};
use lanes::Lanes;
use rows::{Finder, SharedRows};
use rustc_hash::FxHashSet;
use smallvec::smallvec;

/// Number of workgroups that must fit the shared memory of one: some compute while others wait for their copies.
const WORKGROUPS: u64 = 3;

/// Maximum number of terms in an index that is analysed.
const MOST_TERMS: usize = 16;

/// Rewrites a kernel with a grid so that its workgroups copy rows to shared memory, if that is better. `places` says where its pointer parameters
/// are. A workgroup shares at most `shared_bytes`.
///
/// # Panics
/// In debug builds, if the new kernel breaks a rule of the language.
pub fn with_shared_rows(kernel: &Kernel, places: &Places, shared_bytes: u64) -> Option<Kernel> {
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

/// A pointer parameter, the number of its memory, and its range of bytes there.
type Param = (Buffer, usize, [u64; 2]);

/// Returns the buffers that the kernel writes, and those that overlap one of these.
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

/// The pass over one kernel.
struct Pass<'k> {
    kernel: &'k Kernel,
    equal: Equal<'k>,
    finder: Finder<'k>,
}

impl Pass<'_> {
    /// Rewrites statements that all positions of a workgroup reach. Returns `None` if no loop among them reads shared rows.
    fn together(&self, statements: &[Statement], emitter: &mut Emitter) -> Option<Vec<Statement>> {
        let (last, before) = statements.split_last()?;
        if let Inst::If { condition, then, otherwise } = &last.inst {
            if self.equal.contains(*condition) {
                let sides = [then, otherwise].map(|side| self.together(&side.statements, emitter));
                sides.iter().any(Option::is_some).then_some(())?;
                let [of_then, of_otherwise] = sides;
                let of = |side: &Region, shared: Option<Vec<Statement>>| {
                    let statements = shared.unwrap_or_else(|| side.statements.clone());
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

    /// Returns the guard of a last statement: a branch with an empty other side, whose condition is that an earlier index is below a constant.
    fn guard(&self, last: &Statement, before: &[Statement]) -> Option<Guard> {
        let Inst::If { condition, otherwise, .. } = &last.inst else { return None };
        let defined = |value: Value| before.iter().find(|statement| statement.results[..] == [value]);
        let &Inst::Compare { op: CompareOp::Less, a, b } = &defined(*condition)?.inst else { return None };
        let count = self.finder.indices.number(b).filter(|&count| count > 0)?;
        let is_own = matches!(defined(a)?.inst, Inst::Binary { .. }) && otherwise.statements.is_empty() && last.results.is_empty();
        is_own.then_some(Guard { condition: *condition, own: a, count })
    }

    /// Makes loops among statements read shared rows: `before` is unconditional, and `inside` may be under a guard.
    fn flat(&self, before: &[Statement], inside: &[Statement], guard: Option<Guard>, emitter: &mut Emitter) -> Option<Vec<Statement>> {
        let loops: Vec<Option<SharedRows>> = inside.iter().map(|statement| self.finder.find(statement)).collect();
        let last = loops.iter().rposition(Option::is_some)?;
        let (along, after) = inside.split_at(last + 1);
        // Positions beyond the end run these statements, too. So they must have no effect, and must not read what others write.
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
        for (statement, shared) in along.iter().zip(&loops) {
            match shared {
                Some(shared) => emitter.with_shared_rows(statement, shared, &mut said, &mut out),
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

    /// Tests whether a statement, or one inside it, reads memory that the kernel writes. Local arrays do not count.
    fn reads_changed(&self, statement: &Statement) -> bool {
        let mut found = false;
        statement.for_each(&mut |inst| {
            let is_array = |buffer: Buffer| self.kernel.buffer(buffer).kind == BufferKind::Local;
            found |= inst.buffer().is_some_and(|buffer| self.finder.changed.contains(&buffer) && !is_array(buffer));
        });
        found
    }
}
