//! Operands that are only read become one where a device binds fewer than a kernel has: those of one element size, in one buffer of the device,
//! are seen from the first of them on. Words of integers and of floats are the same bits.

use super::operands::merge;
use crate::kernel::{Buffer, BufferKind, Kernel};
use crate::program::DeviceMemory;

/// Where an operand is.
type Place = (DeviceMemory, u64);

/// Joins operands of a kernel until there are at most so many. Constants come first: nothing waits for what is never written. Where more are
/// left, how many.
pub fn join(kernel: &mut Kernel, places: &mut Vec<Place>, most: usize) -> Result<(), usize> {
    while places.len() > most {
        let params: Vec<Buffer> = kernel.pointer_params().map(|(buffer, _)| buffer).collect();
        let pair = [DeviceMemory::Constants, DeviceMemory::Area].into_iter().find_map(|memory| pair(kernel, &params, places, memory));
        let (first, second) = pair.ok_or(places.len())?;
        let lane = u64::from(kernel.buffer(params[first]).lane.bytes());
        let distance = (places[second].1 - places[first].1) / lane;
        merge(kernel, params[first], params[second], distance);
        places.remove(second);
    }
    Ok(())
}

/// Two operands that can be one, the one that begins first before the other.
fn pair(kernel: &Kernel, params: &[Buffer], places: &[Place], memory: DeviceMemory) -> Option<(usize, usize)> {
    let is_read = |&number: &usize| {
        let buffer = params[number];
        places[number].0 == memory && kernel.buffer(buffer).kind == BufferKind::Input && !kernel.clamps(buffer)
    };
    let numbers: Vec<usize> = (0..params.len()).filter(is_read).collect();
    numbers.iter().flat_map(|&a| numbers.iter().map(move |&b| (a, b))).find(|&(a, b)| {
        let [lane, other] = [a, b].map(|number| kernel.buffer(params[number]).lane);
        let distance = places[b].1.checked_sub(places[a].1);
        let is_alike = lane == other || (lane.bytes(), other.bytes()) == (4, 4);
        a != b && is_alike && distance.is_some_and(|distance| distance.is_multiple_of(lane.bytes().into()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::text::parse_kernel;
    use crate::kernel::verify::verify;

    #[test]
    fn words_of_floats_are_read_as_words_of_integers() {
        let text = "kernel @k(a: input i32[4] align 4, b: input f32[4] align 4, d: output f32[4] align 4) {
          %0: f32x4 = load b[0]
          %1: i32x4 = load a[0]
          %2: f32x4 = signed_to_float %1
          %3: f32x4 = add %0, %2
          store d[0], %3
        }";
        let mut kernel = parse_kernel(text).expect("a kernel");
        let mut places = vec![(DeviceMemory::Constants, 0), (DeviceMemory::Constants, 256), (DeviceMemory::Area, 256)];
        assert_eq!(join(&mut kernel, &mut places, 2), Ok(()));
        assert_eq!(verify(&kernel), Ok(()));
        assert!(kernel.to_string().contains("i32x4 = load a[64]") && kernel.to_string().contains("bitcast"), "{kernel}");
    }

    #[test]
    fn constants_of_one_type_are_read_from_the_first_on() {
        let text = "kernel @k(a: input i32[8] align 4, b: input i8[4] align 4, c: input i32[4] align 4, d: output i32[4] align 4) {
          %0: i32x4 = load a[4]
          %1: i32x4 = load c[0]
          %2: i32x4 = add %0, %1
          store d[0], %2
        }";
        let kernel = parse_kernel(text).expect("a kernel");
        let constants = |offset| (DeviceMemory::Constants, offset);
        let mut places = vec![constants(512), constants(0), constants(256), (DeviceMemory::Area, 256)];
        let mut joined = kernel.clone();
        assert_eq!(join(&mut joined, &mut places, 3), Ok(()));
        assert_eq!(places, [constants(0), constants(256), (DeviceMemory::Area, 256)]);
        assert_eq!(verify(&joined), Ok(()));
        // The second i32 operand comes first in memory, 64 elements before.
        let text = joined.to_string();
        assert!(text.contains("c: input i32[72]") && text.contains("load c[68]") && text.contains("load c[0]"), "{text}");
        let mut places = vec![constants(512), constants(0), constants(256), (DeviceMemory::Area, 256)];
        assert_eq!(join(&mut kernel.clone(), &mut places, 2), Err(3));
    }
}
