//! Checks an array against the input that it is given for. The command line, the Rust API and readers of archives all use this check.

use modelc_diagnostic::{Diagnostic, codes};
use modelc_ir::{ElementType, Function, Tensor, TensorType, packed};
use modelc_program::Port;
use std::borrow::Cow;
use std::ops::RangeInclusive;

/// Requirements for the arrays of an input.
#[derive(Clone, Debug)]
pub struct Taken<'a> {
    /// Type of the elements.
    pub element: ElementType,
    /// The smallest and the largest extent of each dimension.
    pub extents: Cow<'a, [RangeInclusive<u64>]>,
    /// The only permitted value, as bytes.
    pub value: Option<&'a [u8]>,
}

impl<'a> Taken<'a> {
    /// Accepts arrays of one shape.
    pub fn of_shape(element: ElementType, shape: &[u64]) -> Self {
        Self { element, extents: shape.iter().map(|&extent| extent..=extent).collect(), value: None }
    }

    /// Accepts arrays of a type of the tensor language; a run-time extent has the interval of its value.
    pub fn of_type(function: &Function, ty: &TensorType, value: Option<&'a [u8]>) -> Self {
        Self { element: ty.element, extents: extents_of(function, ty).into(), value }
    }

    /// Accepts arrays for an input of a compiled method. Lower bounds are unknown here; the method itself rejects smaller extents.
    pub fn of_port(port: &'a Port) -> Self {
        let dynamic = |dimension: usize| port.dynamic.get(dimension).copied().unwrap_or(false);
        let extents = port.shape.iter().enumerate().map(|(dimension, &most)| if dynamic(dimension) { 0..=most } else { most..=most });
        Self { element: port.element, extents: extents.collect(), value: port.value.as_ref().map(modelc_ir::Data::bytes) }
    }

    /// Checks shape, element type, size and value of an array.
    ///
    /// # Errors
    /// The errors of [`Self::check_parts`].
    pub fn check(&self, given: &Tensor) -> Result<(), Diagnostic> {
        self.check_parts(given.element, &given.shape, &given.bytes)
    }

    /// Checks an array by its parts. It allocates nothing for a valid array.
    ///
    /// # Errors
    /// MC0502 for another rank or extent, MC0503 for another element type, MC0511 if the bytes do not fill the shape. MC0507 for another value than
    /// the one compiled for.
    pub fn check_parts(&self, element: ElementType, shape: &[u64], bytes: &[u8]) -> Result<(), Diagnostic> {
        let fits = shape.len() == self.extents.len() && self.extents.iter().zip(shape).all(|(range, n)| range.contains(n));
        if !fits {
            let error = Diagnostic::new(codes::ARRAY_SHAPE, "the array does not have the input's shape");
            return Err(error.expected(self.shape_text(), format!("{shape:?}")));
        }
        if element != self.element {
            let error = Diagnostic::new(codes::ARRAY_TYPE, "the array does not have the input's type");
            return Err(error.expected(self.element.numpy_name(), element.numpy_name()));
        }
        let wanted = shape.iter().try_fold(1u64, |n, &extent| n.checked_mul(extent)).and_then(|n| element.bytes_for(n));
        if wanted != Some(bytes.len() as u64) {
            let expected = wanted.map_or_else(|| "fewer elements".into(), |bytes| format!("{bytes} bytes"));
            let error = Diagnostic::new(codes::INPUT_SIZE, "the bytes of the array do not fill its shape");
            return Err(error.expected(expected, format!("{} bytes", bytes.len())));
        }
        if self.value.is_some_and(|value| value != bytes) {
            return Err(Diagnostic::new(codes::KNOWN_VALUE, "the array does not have the value that the model is compiled for"));
        }
        Ok(())
    }

    /// Converts an array to the tensor that the input takes; errors contain `name`. NumPy represents bfloat16 as its bits in uint16, and 4-bit
    /// integers as int8.
    ///
    /// # Errors
    /// The errors of [`Self::check_parts`].
    pub fn fitting(&self, array: &Tensor, name: &str) -> Result<Tensor, Diagnostic> {
        let tensor = match (array.element, self.element) {
            (ElementType::U16, element @ ElementType::Bf16) => Tensor { element, ..array.clone() },
            (have, want) if want.is_packed() && have == want.unpacked() => {
                Tensor { element: want, shape: array.shape.clone(), bytes: packed::pack(want, &array.bytes) }
            }
            _ => array.clone(),
        };
        self.check(&tensor).map(|()| tensor).map_err(|error| error.about_tensor(name))
    }

    /// Formats the accepted shapes: `[1 to 40, 3]`.
    fn shape_text(&self) -> String {
        let extent = |range: &RangeInclusive<u64>| match (*range.start(), *range.end()) {
            (low, high) if low == high => low.to_string(),
            (0, high) => format!("at most {high}"),
            (low, high) => format!("{low} to {high}"),
        };
        format!("[{}]", self.extents.iter().map(extent).collect::<Vec<_>>().join(", "))
    }
}

/// Returns the smallest and the largest extent of each dimension of a value.
pub fn extents_of(function: &Function, ty: &TensorType) -> Vec<RangeInclusive<u64>> {
    let extent = |&extent| {
        let interval = function.interval(extent);
        let [low, high] = [interval.low, interval.high].map(|n| u64::try_from(n).unwrap_or(0));
        low..=high
    };
    ty.shape.iter().map(extent).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zeros(element: ElementType, shape: &[u64]) -> Tensor {
        Tensor::zeros(element, shape).expect("a small tensor")
    }

    #[test]
    fn type_rank_extents_size_and_value_are_checked() {
        let taken = Taken { element: ElementType::I8, extents: vec![1..=4, 8..=8].into(), value: None };
        assert_eq!(taken.check(&zeros(ElementType::I8, &[3, 8])), Ok(()));
        let refused = |given: &Tensor| taken.check(given).expect_err("it does not fit");
        for shape in [&[8][..], &[0, 8], &[5, 8], &[2, 4], &[1, 8, 1]] {
            let error = refused(&zeros(ElementType::I8, shape));
            assert_eq!((error.code, error.expected.as_deref()), (codes::ARRAY_SHAPE, Some("[1 to 4, 8]")), "{shape:?}");
        }
        let error = refused(&zeros(ElementType::U8, &[1, 8]));
        assert_eq!((error.code, error.expected.as_deref(), error.found.as_deref()), (codes::ARRAY_TYPE, Some("int8"), Some("uint8")));
        let short = Tensor { bytes: vec![0; 7], ..zeros(ElementType::I8, &[1, 8]) };
        assert_eq!(refused(&short).code, codes::INPUT_SIZE);
        let known = Taken { value: Some(&[1; 8]), ..Taken::of_shape(ElementType::I8, &[8]) };
        assert_eq!(known.check(&zeros(ElementType::I8, &[8])).map_err(|error| error.code), Err(codes::KNOWN_VALUE));
    }
}
