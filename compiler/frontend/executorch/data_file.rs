//! Files of named tensors that a program refers to (`.ptd`).

use super::program::{Form, element_type};
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::{Data, ElementType};
use crate::schema::{flat_tensor as schema, flatbuffer_part, verifier_options};
use std::collections::HashMap;

/// The tensors of one file, by name.
pub struct DataFile {
    tensors: HashMap<String, Named>,
}

struct Named {
    data: Data,
    layout: Option<Layout>,
}

/// The description of a tensor in the file.
struct Layout {
    element: ElementType,
    sizes: Vec<u64>,
    order: Vec<u8>,
}

impl DataFile {
    /// Reads a file without copying its bytes.
    ///
    /// # Errors
    /// A file of another format, or a segment that reaches past its end.
    pub fn open(file: &Data) -> Result<Self, Diagnostic> {
        let bytes = file.bytes();
        let buffer = flatbuffer_part(bytes);
        let options = verifier_options(buffer.len());
        let root = schema::root_as_flat_tensor_with_opts(&options, buffer).map_err(|error| {
            invalid(format!("the file of tensors is damaged: {}", error.to_string().lines().next().unwrap_or_default()))
        })?;
        let base = segment_base(bytes).ok_or_else(|| invalid("the file of tensors has no header").expected("FH01 at byte 8", "none"))?;
        let segment = |index: u32| {
            let segment = root.segments().filter(|list| (index as usize) < list.len()).map(|list| list.get(index as usize));
            let segment = segment.ok_or_else(|| invalid(format!("the file of tensors has no segment {index}")))?;
            let start = base.checked_add(segment.offset());
            let range = start.zip(start.and_then(|start| start.checked_add(segment.size())));
            let range = range.and_then(|(start, end)| Some(usize::try_from(start).ok()?..usize::try_from(end).ok()?));
            let data = range.and_then(|range| file.slice(range));
            data.ok_or_else(|| invalid(format!("segment {index} extends beyond the end of the tensor file")))
        };
        let mut tensors = HashMap::new();
        for named in root.named_data().into_iter().flatten() {
            let layout = named.tensor_layout().map(layout).transpose()?;
            let name = named.key().unwrap_or_default().to_owned();
            tensors.insert(name, Named { data: segment(named.segment_index())?, layout });
        }
        Ok(Self { tensors })
    }

    /// Makes a file of tensors without descriptions.
    #[cfg(test)]
    pub fn of(tensors: impl Iterator<Item = (String, Data)>) -> Self {
        Self { tensors: tensors.map(|(name, data)| (name, Named { data, layout: None })).collect() }
    }

    /// The bytes of a name, of any kind.
    pub fn bytes(&self, name: &str) -> Option<Data> {
        self.tensors.get(name).map(|named| named.data.clone())
    }

    /// The bytes of a tensor, and which of some forms they have: the one that the file says, else the first. `None` when the file has no tensor of the
    /// name.
    ///
    /// # Errors
    /// When it has one that is another.
    pub fn tensor<'f>(&self, name: &str, forms: &'f [Form]) -> Result<Option<(&'f Form, Data)>, Diagnostic> {
        let (Some(named), Some(first)) = (self.tensors.get(name), forms.first()) else { return Ok(None) };
        let fits = |form: &&Form| named.layout.as_ref().is_none_or(|layout| layout.is_of(form));
        let form = forms.iter().find(fits).ok_or_else(|| {
            let layout = named.layout.as_ref().map_or_else(String::new, |l| format!("{} {:?} in order {:?}", l.element, l.sizes, l.order));
            invalid("the tensor in the tensor file does not match the program")
                .expected(format!("{} {:?} in order {:?}", first.element, first.shape, order(first)), layout)
        })?;
        let bytes = usize::try_from(form.bytes()).ok().and_then(|length| named.data.slice(0..length));
        let found = named.data.len();
        bytes.map(|bytes| Some((form, bytes))).ok_or_else(|| {
            invalid("the tensor in the file of tensors is too short").expected(format!("{} bytes", form.bytes()), found.to_string())
        })
    }
}

impl Layout {
    fn is_of(&self, form: &Form) -> bool {
        (self.element, &self.sizes, &self.order) == (form.element, &form.shape, &order(form))
    }
}

/// The order of dimensions as files write it.
fn order(form: &Form) -> Vec<u8> {
    let row_major = || (0..form.shape.len() as u8).collect();
    form.layout.order().map_or_else(row_major, <[u8]>::to_vec)
}

/// The position of the first segment, from the header after the identifier.
fn segment_base(bytes: &[u8]) -> Option<u64> {
    if bytes.get(8..12)? != b"FH01" {
        return None;
    }
    Some(u64::from_le_bytes(bytes.get(32..40)?.try_into().ok()?))
}

fn layout(record: schema::TensorLayout<'_>) -> Result<Layout, Diagnostic> {
    let sizes = record.sizes().into_iter().flatten().map(|n| u64::try_from(n).map_err(|_| invalid("a tensor has a negative extent")));
    Ok(Layout {
        element: element_type(record.scalar_type())?,
        sizes: sizes.collect::<Result<_, _>>()?,
        order: record.dim_order().into_iter().flatten().collect(),
    })
}

fn invalid(message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(codes::DAMAGED_DATA_FILE, message)
}
