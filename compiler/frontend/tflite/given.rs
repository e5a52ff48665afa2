//! Users' settings of a method's inputs, for the method's subgraph.

use super::error::unsupported;
use super::tensor::{TensorInfo, checked_bytes};
use crate::diagnostic::{Diagnostic, codes};
use crate::frontend::given::{Sample, elements};
use crate::frontend::{Bound, LoadOptions};
use crate::ir::{Data, ElementType};
use crate::operators::graph::facts::Facts;
use std::collections::{BTreeMap, BTreeSet};

/// The maximum number of bytes of a fixed input value. Each call compares them.
const MAX_BYTES: u64 = 1 << 12;

/// An input of a method: its subgraph, and its number among the subgraph's inputs.
pub(super) type Input = (usize, usize);

/// Requirements of operators that an attempt to read a file has found.
#[derive(Default)]
pub(super) struct Found {
    /// Inputs of methods whose values operators asked for, but did not know.
    pub asked: BTreeSet<Input>,
    /// The facts about the extents of inputs, by subgraph.
    pub facts: BTreeMap<usize, Facts>,
}

/// Shapes and values of inputs.
pub(super) struct Given<'a> {
    options: &'a LoadOptions,
    /// The samples, by subgraph.
    samples: Vec<(usize, &'a Sample)>,
    /// Inputs that take the value of their sample.
    bound: BTreeSet<Input>,
    /// The facts about inputs' extents that operators required so far, by subgraph.
    facts: BTreeMap<usize, Facts>,
}

impl<'a> Given<'a> {
    /// Collects the options. Each sample belongs to a subgraph.
    pub fn new(options: &'a LoadOptions, samples: Vec<(usize, &'a Sample)>) -> Self {
        Self { options, samples, bound: BTreeSet::new(), facts: BTreeMap::new() }
    }

    /// Takes over what an attempt has found about the inputs. Returns `true` if something is new, so that the next attempt knows more.
    pub fn learn(&mut self, found: Found) -> bool {
        let is_renewed = found.facts.values().any(Facts::is_renewed);
        self.facts = found.facts;
        self.facts.values_mut().for_each(Facts::begin_again);
        self.bind(&found.asked) || is_renewed
    }

    /// The facts about the extents of a subgraph's inputs.
    pub fn facts(&self, subgraph: usize) -> Facts {
        self.facts.get(&subgraph).cloned().unwrap_or_default()
    }

    /// Takes the samples' values of inputs that operators asked for. Returns `true` if some were not taken before.
    fn bind(&mut self, asked: &BTreeSet<Input>) -> bool {
        let known = |&&(subgraph, input): &&Input| self.sample(subgraph).is_some_and(|sample| sample.input(input).is_some());
        let fresh: Vec<Input> = asked.difference(&self.bound).filter(known).copied().collect();
        self.bound.extend(&fresh);
        !fresh.is_empty()
    }

    fn sample(&self, subgraph: usize) -> Option<&'a Sample> {
        self.samples.iter().find(|(of, _)| *of == subgraph).map(|(_, sample)| *sample)
    }

    /// The bounds of an input's extents.
    pub fn bounds(&self, (_, input): Input) -> impl Iterator<Item = &Bound> {
        self.options.bounds.iter().filter(move |bound| !bound.is_output && bound.port == input)
    }

    /// The shape of an input: the user's, else the sample's if the file leaves it open, else the file's.
    pub fn shape(&self, (subgraph, input): Input, info: &TensorInfo) -> Result<Vec<u64>, Diagnostic> {
        let given = self.options.shapes.iter().find(|(number, _)| *number == input).map(|(_, shape)| shape);
        if let Some(wanted) = given {
            if wanted.len() != info.shape.len() && info.has_rank {
                let message = format!("the shape given for input {input} has the wrong number of dimensions");
                return Err(Diagnostic::new(codes::SHAPE_GIVEN, message).expected(format!("{:?}", info.shape), format!("{wanted:?}")));
            }
            checked_bytes(info.element, wanted)?;
            return Ok(wanted.clone());
        }
        let sample = self.sample(subgraph).and_then(|sample| sample.input(input)).map(|array| &array.shape);
        let is_open = |shape: &[u64]| {
            let rank = info.shape.len();
            !info.has_rank || (shape.len() == rank && (0..rank).all(|d| info.open[d] || shape[d] == info.shape[d]))
        };
        let mut shape = sample.filter(|shape| is_open(shape)).unwrap_or(&info.shape).clone();
        // An extent with a bound is the caller's.
        for bound in self.bounds((subgraph, input)).filter(|bound| bound.dimension < info.shape.len()) {
            shape[bound.dimension] = info.shape[bound.dimension];
        }
        Ok(shape)
    }

    /// The bytes of an input whose value is known.
    pub fn value(&self, (subgraph, input): Input, element: ElementType, shape: &[u64]) -> Result<Option<Data>, Diagnostic> {
        let bytes = if let Some((_, numbers)) = self.options.values.iter().find(|(number, _)| *number == input) {
            let wanted: u64 = shape.iter().product();
            if numbers.len() as u64 != wanted {
                let message = format!("the value given for input {input} has the wrong number of elements");
                return Err(Diagnostic::new(codes::VALUE_GIVEN, message).expected(format!("{wanted}"), numbers.len().to_string()));
            }
            elements(numbers, element)?
        } else if self.bound.contains(&(subgraph, input))
            && let Some(array) = self.sample(subgraph).and_then(|sample| sample.input(input))
            && (array.element, array.shape.as_slice()) == (element, shape)
        {
            array.bytes.clone()
        } else {
            return Ok(None);
        };
        if self.bounds((subgraph, input)).next().is_some() {
            let message = format!("input {input} has a dynamic dimension, so it cannot have a fixed value");
            return Err(Diagnostic::new(codes::VALUE_GIVEN, message));
        }
        if bytes.len() as u64 > MAX_BYTES {
            let error = unsupported("an input whose value must be known is too large");
            return Err(error.expected(format!("at most {MAX_BYTES} bytes"), bytes.len().to_string()));
        }
        Ok(Some(bytes.into()))
    }
}
