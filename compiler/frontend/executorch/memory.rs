//! SSA from byte ranges.
//!
//! Values are memory in an ExecuTorch program: several tensors share bytes, static views are missing from the file, and kernels write to given
//! addresses. [`Memory`] knows for each byte the definition that reaches it. A write defines a range. A read resolves to
//!
//! - *one whole definition* of the same form: the value itself;
//! - *a view*: one whole definition under other sizes or another dimension order. Exporters leave out the instruction of such a view. It means the
//!   elements in their logical order, as in PyTorch: a reshape, wherever the bytes lie;
//! - *parts* of one or more definitions: slices of their bytes joined. The element type must be the same.
//!
//! A tensor with run-time extents occupies the bytes of its bound. It is read whole: under the same form, or as a view of as many elements.
//!
//! Faults name bytes that nothing wrote, and bytes whose contents could not be followed.

use super::fault::Fault;
use super::program::Form;
use crate::ir::{Extent, Value};
use crate::operators::graph::movement::inverse;
use crate::operators::{Graph, extents};
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

/// A contiguous piece of memory that no other overlaps.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Area {
    /// Planned memory of that id.
    Planned(u32),
    /// The own memory of a register.
    Private(usize),
}

impl fmt::Display for Area {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Planned(id) => write!(f, "planned memory {id}"),
            Self::Private(value) => write!(f, "the memory of value {value}"),
        }
    }
}

/// Bytes of an area.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ByteRange {
    /// The area.
    pub area: Area,
    /// The first byte.
    pub start: u64,
    /// The byte after the last.
    pub end: u64,
}

impl ByteRange {
    /// Tests whether two ranges have a byte in common.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.area == other.area && self.start < other.end && other.start < self.end
    }
}

/// A value, with the function that it belongs to as nesting depth: 0 is the method, 1 a branch in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Definition {
    /// Nesting depth of the value's function.
    pub depth: usize,
    /// The value, in logical order of dimensions.
    pub value: Value,
    /// Its layout in memory.
    pub form: Form<Extent>,
    /// The bytes that it occupies there, at its bound for run-time extents.
    pub bytes: u64,
}

/// The contents of bytes.
#[derive(Clone, PartialEq, Debug)]
pub enum Content {
    /// A definition.
    Defined(Rc<Definition>),
    /// Contents that cannot be read, with the reason.
    Unavailable(Fault),
}

/// Bytes `first..first + bytes` of a content.
#[derive(Clone, PartialEq, Debug)]
pub struct Piece {
    /// The content.
    pub content: Content,
    /// The first byte within the content.
    pub first: u64,
    /// The number of bytes.
    pub bytes: u64,
}

#[derive(Clone, Debug)]
struct Segment {
    end: u64,
    content: Content,
    first: u64,
}

/// The reaching definition of every byte.
#[derive(Clone, Default, Debug)]
pub struct Memory {
    segments: BTreeMap<(Area, u64), Segment>,
    /// Every range written since the log was last emptied.
    pub log: Vec<ByteRange>,
}

impl Memory {
    /// Defines a range. Its former contents are forgotten.
    pub fn write(&mut self, range: ByteRange, content: Content) {
        if range.start >= range.end {
            return;
        }
        self.clear(range);
        self.log.push(range);
        self.segments.insert((range.area, range.start), Segment { end: range.end, content, first: 0 });
    }

    fn clear(&mut self, range: ByteRange) {
        let ByteRange { area, start, end } = range;
        let before = self.segments.range(..(area, start)).next_back().map(|(key, _)| *key);
        let inside = self.segments.range((area, start)..(area, end)).map(|(key, _)| *key);
        let keys: Vec<_> = before.filter(|key| key.0 == area).into_iter().chain(inside).collect();
        for key in keys {
            if self.segments[&key].end <= start {
                continue;
            }
            let Some(old) = self.segments.remove(&key) else { continue };
            if old.end > end {
                let rest = Segment { end: old.end, content: old.content.clone(), first: old.first + (end - key.1) };
                self.segments.insert((area, end), rest);
            }
            if key.1 < start {
                self.segments.insert(key, Segment { end: start, ..old });
            }
        }
    }

    /// The pieces that make up a range, in order.
    ///
    /// # Errors
    /// When some byte was never written.
    pub fn pieces(&self, range: ByteRange) -> Result<Vec<Piece>, Fault> {
        let ByteRange { area, start, end } = range;
        let from = self.segments.range(..=(area, start)).next_back().map_or((area, start), |(key, _)| *key);
        let mut pieces = Vec::new();
        let mut at = start;
        for (&(_, first), segment) in self.segments.range(from..(area, end)).filter(|((a, _), s)| *a == area && s.end > start) {
            if first > at {
                break;
            }
            let until = segment.end.min(end);
            pieces.push(Piece { content: segment.content.clone(), first: segment.first + (at - first), bytes: until - at });
            at = until;
        }
        if at < end {
            return Err(Fault::invalid(format!("reads memory that nothing has written: byte {at} of {area}")));
        }
        Ok(pieces)
    }
}

/// A piece whose value belongs to the function being built.
pub struct Part {
    /// The whole value.
    pub value: Value,
    /// The layout of the whole value in memory.
    pub form: Form<Extent>,
    /// The bytes of the whole value.
    pub of: u64,
    /// The first byte of the piece within it.
    pub first: u64,
    /// The number of bytes.
    pub bytes: u64,
}

impl Part {
    fn is_whole(&self) -> bool {
        self.first == 0 && self.bytes == self.of
    }
}

/// Builds the tensor of form `want` that lies in the parts.
///
/// # Errors
/// A different element type, an element that lies across two parts, or a part of a tensor with run-time extents.
pub fn assemble(g: &mut Graph<'_>, parts: &[Part], want: &Form<Extent>) -> Result<Value, Fault> {
    if let [part] = parts
        && part.is_whole()
        && part.form == *want
    {
        return Ok(part.value);
    }
    if let Some(part) = parts.iter().find(|part| part.form.element != want.element) {
        return Err(Fault::unsupported("reads the bytes of a tensor as another element type")
            .expected(want.element.to_string(), part.form.element.to_string()));
    }
    if let [part] = parts
        && part.is_whole()
        && never_as_many(g, &part.form.shape, &want.shape)
    {
        return Err(Fault::unsupported("reads a tensor that another one has overwritten in part")
            .help("a program whose memory is planned so gives other results than the model that it was exported from"));
    }
    let joined = match parts {
        [part] if part.is_whole() => return Ok(g.reshape(part.value, &want.shape)?),
        [part] => flat_part(g, part)?,
        _ => {
            let flat = parts.iter().map(|part| flat_part(g, part)).collect::<Result<Vec<_>, _>>()?;
            g.concat(&flat, 0)?
        }
    };
    let physical = g.reshape(joined, &want.physical_shape())?;
    Ok(g.transpose(physical, &inverse(&want.order()))?)
}

/// Tests whether two shapes with run-time extents always have different numbers of elements.
fn never_as_many(g: &Graph<'_>, a: &[Extent], b: &[Extent]) -> bool {
    let is_dynamic = |shape: &[Extent]| shape.iter().any(|extent| extent.as_static().is_none());
    let sizes = (g.function().size(a), g.function().size(b));
    (is_dynamic(a) || is_dynamic(b)) && matches!(sizes, (Some(a), Some(b)) if a.extents == b.extents && a.known != b.known)
}

/// The elements of a part in the order of memory, as one dimension.
fn flat_part(g: &mut Graph<'_>, part: &Part) -> Result<Value, Fault> {
    let Some(form) = part.form.known() else {
        return Err(Fault::unsupported("reads a part of a tensor whose extents are known only when the program runs"));
    };
    let size = u64::from(form.element.bits() / 8).max(1);
    if !part.first.is_multiple_of(size) || !part.bytes.is_multiple_of(size) {
        return Err(Fault::unsupported("reads a tensor from the middle of an element"));
    }
    let physical = g.transpose(part.value, &form.order())?;
    let elements = form.elements();
    let flat = g.reshape(physical, &extents(&[elements]))?;
    let count = part.bytes / size;
    if count == elements {
        return Ok(flat);
    }
    Ok(g.slice(flat, &extents(&[part.first / size]), &extents(&[count]), &[1])?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{ElementType, Layout, Module, Op, TensorType, Type};

    fn range(start: u64, end: u64) -> ByteRange {
        ByteRange { area: Area::Planned(1), start, end }
    }

    fn form(shape: &[u64]) -> Form {
        Form::row_major(ElementType::F32, shape.to_vec())
    }

    fn define(g: &mut Graph<'_>, memory: &mut Memory, start: u64, form: Form) -> Value {
        let value = g.builder.param(Type::Tensor(TensorType::of(form.element, &form.shape)), None);
        let range = range(start, start + form.bytes());
        let bytes = form.bytes();
        memory.write(range, Content::Defined(Rc::new(Definition { depth: 0, value, form: form.on_extents(), bytes })));
        value
    }

    fn read(g: &mut Graph<'_>, memory: &Memory, start: u64, want: &Form) -> Result<Value, Fault> {
        let mut parts = Vec::new();
        for piece in memory.pieces(range(start, start + want.bytes()))? {
            let Content::Defined(d) = piece.content else { return Err(Fault::Consequence) };
            parts.push(Part { value: d.value, form: d.form.clone(), of: d.bytes, first: piece.first, bytes: piece.bytes });
        }
        assemble(g, &parts, &want.on_extents())
    }

    fn ops(g: &Graph<'_>) -> Vec<Op> {
        g.function().body.iter().map(|&inst| g.function().insts[inst].op()).collect()
    }

    #[test]
    fn a_whole_read_is_the_value_itself() {
        let (mut module, mut memory) = (Module::default(), Memory::default());
        let mut g = Graph::new(&mut module, "f");
        let x = define(&mut g, &mut memory, 64, form(&[2, 3]));
        assert_eq!(read(&mut g, &memory, 64, &form(&[2, 3])), Ok(x));
        assert!(ops(&g).is_empty());
    }

    #[test]
    fn another_shape_is_a_reshape() {
        let (mut module, mut memory) = (Module::default(), Memory::default());
        let mut g = Graph::new(&mut module, "f");
        define(&mut g, &mut memory, 0, form(&[2, 3]));
        let y = read(&mut g, &memory, 0, &form(&[3, 2])).unwrap();
        assert_eq!(g.shape(y).unwrap(), [3, 2]);
        assert_eq!(ops(&g), [Op::Reshape]);
    }

    #[test]
    fn a_view_in_another_dimension_order_has_the_elements_and_not_the_bytes() {
        let (mut module, mut memory) = (Module::default(), Memory::default());
        let mut g = Graph::new(&mut module, "f");
        let last = Form { layout: Layout::from_order(&[0, 2, 1]).unwrap(), ..form(&[1, 2, 3]) };
        let x = define(&mut g, &mut memory, 0, last.clone());
        assert_eq!(read(&mut g, &memory, 0, &form(&[1, 2, 3])), Ok(x));
        let y = read(&mut g, &memory, 0, &form(&[6])).unwrap();
        assert_eq!(g.shape(y).unwrap(), [6]);
        assert_eq!(ops(&g), [Op::Reshape]);
        // Reading it back as it was written needs nothing.
        assert_eq!(read(&mut g, &memory, 0, &last), Ok(x));
    }

    #[test]
    fn a_part_in_another_dimension_order_is_one_of_the_bytes() {
        let (mut module, mut memory) = (Module::default(), Memory::default());
        let mut g = Graph::new(&mut module, "f");
        define(&mut g, &mut memory, 0, Form { layout: Layout::from_order(&[0, 2, 1]).unwrap(), ..form(&[2, 2, 3]) });
        let y = read(&mut g, &memory, 24, &form(&[6])).unwrap();
        assert_eq!(g.shape(y).unwrap(), [6]);
        assert_eq!(ops(&g), [Op::Transpose, Op::Reshape, Op::Slice]);
    }

    #[test]
    fn a_part_is_a_slice() {
        let (mut module, mut memory) = (Module::default(), Memory::default());
        let mut g = Graph::new(&mut module, "f");
        define(&mut g, &mut memory, 0, form(&[4, 2]));
        let y = read(&mut g, &memory, 8, &form(&[2, 2])).unwrap();
        assert_eq!(g.shape(y).unwrap(), [2, 2]);
        assert_eq!(ops(&g), [Op::Reshape, Op::Slice, Op::Reshape]);
        assert!(read(&mut g, &memory, 2, &form(&[2])).is_err(), "the middle of an element");
    }

    #[test]
    fn an_overwritten_range_joins_what_is_left_and_what_is_new() {
        let (mut module, mut memory) = (Module::default(), Memory::default());
        let mut g = Graph::new(&mut module, "f");
        define(&mut g, &mut memory, 0, form(&[8]));
        define(&mut g, &mut memory, 8, form(&[2]));
        let pieces = memory.pieces(range(0, 32)).unwrap();
        assert_eq!(pieces.iter().map(|p| (p.first, p.bytes)).collect::<Vec<_>>(), [(0, 8), (0, 8), (16, 16)]);
        let y = read(&mut g, &memory, 0, &form(&[8])).unwrap();
        assert_eq!(g.shape(y).unwrap(), [8]);
        assert!(ops(&g).contains(&Op::Concat));
    }

    #[test]
    fn gaps_and_other_areas_are_unwritten() {
        let (mut module, mut memory) = (Module::default(), Memory::default());
        let mut g = Graph::new(&mut module, "f");
        define(&mut g, &mut memory, 0, form(&[2]));
        define(&mut g, &mut memory, 12, form(&[2]));
        assert!(memory.pieces(range(0, 20)).is_err());
        assert!(memory.pieces(range(4, 12)).is_err());
        assert!(memory.pieces(range(20, 24)).is_err());
        assert!(memory.pieces(ByteRange { area: Area::Planned(2), start: 0, end: 4 }).is_err());
        assert!(memory.pieces(ByteRange { area: Area::Private(0), start: 0, end: 4 }).is_err());
    }

    #[test]
    fn another_element_type_is_a_named_fault() {
        let (mut module, mut memory) = (Module::default(), Memory::default());
        let mut g = Graph::new(&mut module, "f");
        define(&mut g, &mut memory, 0, form(&[2]));
        let want = Form::row_major(ElementType::I32, vec![2]);
        assert!(matches!(read(&mut g, &memory, 0, &want), Err(Fault::Reported(_))));
    }
}
