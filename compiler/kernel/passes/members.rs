//! Kernels that one joined kernel does the work of. They differ in numbers, which the joined kernel reads from one of its buffers.

use super::known;
use crate::*;
use cranelift_entity::EntitySet;

impl Kernel {
    /// Returns the kernel for the calls of one member: with its numbers as constants, and with its buffers.
    pub fn of_member(&self, buffer: Buffer, member: &Member) -> Self {
        let mut kernel = Self { proof: Proof::Alone, ..self.clone() };
        kernel.buffers[..member.buffers.len()].clone_from_slice(&member.buffers);
        let mut zeros = EntitySet::new();
        for statement in self.statements() {
            if let (Inst::Constant { bits: 0 }, &[result]) = (&statement.inst, &statement.results[..]) {
                zeros.insert(result);
            }
        }
        kernel.body.for_each_statement_mut(&mut |statement| {
            if let Inst::Load { buffer: from, index, offset, mask: None, .. } = statement.inst
                && from == buffer
                && zeros.contains(index)
                && let Some(number) = usize::try_from(offset).ok().and_then(|place| member.numbers.get(place))
            {
                statement.inst = Inst::Constant { bits: u64::from(number.cast_unsigned()) };
            }
        });
        known::run(&mut kernel);
        kernel
    }
}

/// Makes a joined kernel for tests, which copies as many words as its number says. Each member has a number of words, and a length of its buffers.
pub fn joined_copies(members: &[(i32, u64)]) -> Kernel {
    let text = "kernel @k(x: input i32[4] align 4, y: output i32[4] align 4, numbers: input i32[1] align 4) {
      %1: i32 = load numbers[0]
      %2: i64 = sign_extend %1
      for %3 in 0..%2 step 1 {
        %4: i32 = load x[%3]
        store y[%3], %4
      }
    }";
    let mut kernel = text::parse_kernel(text).expect("a kernel");
    let member = |&(words, elements): &(i32, u64)| {
        let buffers = kernel.buffers[..2].iter().map(|data| BufferData { elements, ..data.clone() }).collect();
        Member { numbers: vec![words], buffers }
    };
    let list = members.iter().map(member).collect();
    kernel.proof = Proof::Members(Members { buffer: cranelift_entity::EntityRef::new(2), list });
    kernel
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::verify;

    #[test]
    fn every_member_is_proven() {
        assert_eq!(verify(&joined_copies(&[(4, 7), (7, 7)])), Ok(()));
        let error = verify(&joined_copies(&[(4, 6), (7, 6)])).unwrap_err().to_string();
        assert!(error.contains('6'), "{error}");
        let members = joined_copies(&[(4, 7), (7, 7)]);
        let members = members.members().expect("members");
        assert_eq!((members.at(0).collect::<Vec<_>>(), members.at(1).count()), (vec![4, 7], 0));
        assert!(members.with(&[5]).is_none() && members.with(&[7]).is_some());
    }
}
