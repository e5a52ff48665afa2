//! Lanes picked from two vectors: by one instruction if it has their order, else by bytes.

use super::held::{Vector, WIDTH};
use super::inst::Arg;
use super::lowering::Lowering;
use super::rows::{self, Row, Size};
use regalloc2::VReg;

/// A byte of a register: the register, and the position.
type Byte = (VReg, usize);

/// An order of lanes: from the number of lanes and the position to the source register (0 or 1) and its lane.
type Order = fn(usize, usize) -> (usize, usize);

/// Orders of the lanes of two registers that an instruction has.
const ORDERS: [(&Row, Order); 6] = [
    (&rows::ZIP1, |_, i| (i % 2, i / 2)),
    (&rows::ZIP2, |count, i| (i % 2, count / 2 + i / 2)),
    (&rows::UZP1, |count, i| (2 * i / count, 2 * i % count)),
    (&rows::UZP2, |count, i| (2 * i / count, 2 * i % count + 1)),
    (&rows::TRN1, |_, i| (i % 2, i / 2 * 2)),
    (&rows::TRN2, |_, i| (i % 2, i / 2 * 2 + 1)),
];

impl Lowering<'_> {
    /// Picks lanes from the concatenation of a and b.
    pub fn pick(&mut self, a: &Vector, b: &Vector, lanes: &[u16]) -> Vector {
        let bytes = a.bytes as usize;
        let place = |&lane: &u16| {
            let (source, lane) = if lane < a.lanes { (a, lane) } else { (b, lane - a.lanes) };
            let at = usize::from(lane) * bytes;
            (source.parts[at / WIDTH as usize], at % WIDTH as usize)
        };
        let parts = lanes.chunks((WIDTH / a.bytes) as usize).map(|some| {
            let wanted: Vec<Byte> = some.iter().map(place).flat_map(|(part, at)| (0..bytes).map(move |byte| (part, at + byte))).collect();
            self.pick_register(&wanted)
        });
        Vector { bytes: a.bytes, lanes: lanes.len() as u16, parts: parts.collect() }
    }

    /// Picks up to 16 bytes from anywhere. Bytes behind them are undefined.
    fn pick_register(&mut self, wanted: &[Byte]) -> VReg {
        let mut sources: Vec<VReg> = vec![];
        for (register, _) in wanted {
            if !sources.contains(register) {
                sources.push(*register);
            }
        }
        let first = sources[0];
        if wanted.iter().enumerate().all(|(i, &byte)| byte == (first, i)) {
            return first;
        }
        for size in [Size::D, Size::S, Size::H, Size::B] {
            if let Some(result) = self.pick_lanes(size, wanted, &sources) {
                return result;
            }
        }
        self.pick_rotated(wanted, &sources).unwrap_or_else(|| self.pick_bytes(wanted, &sources))
    }

    /// Picks lanes of a size by one instruction; `None` if no instruction has the order.
    fn pick_lanes(&mut self, size: Size, wanted: &[Byte], sources: &[VReg]) -> Option<VReg> {
        let bytes = size.bits() as usize / 8;
        let lane = |some: &[Byte]| {
            let (register, at) = some[0];
            let whole = at.is_multiple_of(bytes) && some.iter().enumerate().all(|(i, &byte)| byte == (register, at + i));
            (whole && some.len() == bytes).then_some((register, at / bytes))
        };
        let lanes: Vec<(VReg, usize)> = wanted.chunks(bytes).map(lane).collect::<Option<_>>()?;
        if lanes.iter().all(|lane| *lane == lanes[0]) {
            return Some(self.repeat(size, lanes[0].0, lanes[0].1 as i64));
        }
        let count = WIDTH as usize / bytes;
        let pairs = match *sources {
            [x] => vec![[x, x]],
            [x, y] => vec![[x, y], [y, x]],
            _ => return None,
        };
        for pair in pairs {
            let is = |order: Order| {
                let alike = |(i, lane): (usize, &(VReg, usize))| {
                    let (register, from) = order(count, i);
                    *lane == (pair[register], from)
                };
                lanes.iter().enumerate().all(alike)
            };
            if let Some((row, _)) = ORDERS.iter().find(|(_, order)| is(*order)) {
                let result = self.two(row, size, pair[0], pair[1]);
                self.note_every_second(row, size, result, pair);
                return Some(result);
            }
        }
        let reversed = |(i, lane): (usize, &(VReg, usize))| *lane == (sources[0], i ^ (8 / bytes - 1));
        (size != Size::D && lanes.iter().enumerate().all(reversed)).then(|| self.one(&rows::REV64, size, sources[0]))
    }

    /// Picks neighbouring bytes of two concatenated registers; `None` if the bytes are not neighbours.
    fn pick_rotated(&mut self, wanted: &[Byte], sources: &[VReg]) -> Option<VReg> {
        let (first, start) = wanted[0];
        let second = *sources.iter().find(|&&register| register != first).unwrap_or(&first);
        let width = WIDTH as usize;
        let place = |i: usize| if start + i < width { (first, start + i) } else { (second, start + i - width) };
        let in_order = sources.len() <= 2 && wanted.iter().enumerate().all(|(i, &byte)| byte == place(i));
        in_order.then(|| self.row(&rows::EXT, Size::B, &[Arg::Use(first), Arg::Use(second), Arg::Number(start as i64)]))
    }

    /// Picks bytes by lookups in one register after the other.
    fn pick_bytes(&mut self, wanted: &[Byte], sources: &[VReg]) -> VReg {
        let mut result = None;
        for &source in sources {
            // The index of a byte from another register is outside the table. TBL then gives zero, and TBX keeps the byte.
            let mut order = [0xFF; WIDTH as usize];
            for (to, &(register, at)) in order.iter_mut().zip(wanted) {
                if register == source {
                    *to = at as u8;
                }
            }
            let order = self.pool(&order);
            result = Some(match result {
                None => self.two(&rows::TBL, Size::B, source, order),
                Some(before) => self.tied(&rows::TBX, Size::B, before, source, order),
            });
        }
        result.unwrap_or(sources[0])
    }
}
