//! Sessions: models that run in this process.

use super::source::{Known, Source};
use super::specialised::Specialised;
use super::state::layout_hash;
use super::{Array, ArrayView, Error, KernelTime, Method, State};
use crate::compile::Settings;
use crate::diagnostic::{Diagnostic, Diagnostics, codes};
use crate::frontend::given;
use crate::ir::{Tensor, has_room};
use std::fmt;

/// Limit of the programs for different shapes in a session.
const MOST_PROGRAMS: usize = 8;

/// A model compiled for this computer, with its own memory. Sessions of the same model are independent.
///
/// A session can move to another thread. A call needs exclusive access.
///
/// ```
/// # fn main() -> Result<(), modelc::Error> {
/// use modelc::{Array, Model, Settings};
/// let model = Model::open("tests/models/softmax_untrained_i8.tflite")?;
/// let mut session = model.load(&Settings::new())?;
/// let shape: Vec<u64> = session.methods()[0].inputs[0].extents.iter().map(|extent| *extent.end()).collect();
/// let error = session.call(&[Array::from_slice(&[1], &[0.5f32])?]).unwrap_err();
/// assert_eq!(error.code(), "MC0502");
/// let zeros = vec![0i8; shape.iter().product::<u64>() as usize];
/// let outputs = std::thread::spawn(move || session.call(&[Array::from_slice(&shape, &zeros)?])).join().unwrap()?;
/// assert_eq!(outputs.len(), 1);
/// # Ok(())
/// # }
/// ```
pub struct Session {
    source: Source,
    settings: Settings,
    /// Programs in the order of their last use. Empty before the first call of a model that must know its inputs.
    programs: Vec<Specialised>,
    methods: Vec<Method>,
    keeps_state: bool,
    /// `true` if a call was made since the last reset of the state.
    is_called: bool,
    /// Shapes of the outputs of the last call.
    shapes: Vec<Vec<u64>>,
}

impl Session {
    pub(super) fn new(source: Source, settings: Settings) -> Result<Self, Error> {
        let mut session =
            Self { source, settings, programs: vec![], methods: vec![], keeps_state: false, is_called: false, shapes: vec![] };
        match session.specialise(vec![]) {
            Err(error) if !given::asks_for_values(&error) => Err(error.into()),
            _ => Ok(session),
        }
    }

    /// Returns the methods. The list is empty before the first call of a model that must know the values of its inputs.
    pub fn methods(&self) -> &[Method] {
        &self.methods
    }

    /// Returns the number of a method, for [`Session::call_method`].
    ///
    /// # Errors
    /// MC0512 if the model has no method of this name.
    pub fn method(&self, name: &str) -> Result<usize, Error> {
        self.methods.iter().position(|method| method.name == name).ok_or_else(|| {
            let known: Vec<&str> = self.methods.iter().map(|method| method.name.as_str()).collect();
            let error = Diagnostic::new(codes::METHOD_INDEX, format!("the model has no method {name:?}"));
            crate::diagnostic::did_you_mean(error.expected(known.join(", "), name), name, known).into()
        })
    }

    /// Calls the first method.
    ///
    /// # Errors
    /// The errors of [`Session::call_into`].
    pub fn call(&mut self, inputs: &[Array]) -> Result<Vec<Array>, Error> {
        self.call_method(0, inputs)
    }

    /// Calls a method by its number.
    ///
    /// # Errors
    /// The errors of [`Session::call_into`].
    pub fn call_method(&mut self, method: usize, inputs: &[Array]) -> Result<Vec<Array>, Error> {
        let views: Vec<ArrayView<'_>> = inputs.iter().map(Array::view).collect();
        self.fit(method, &views)?;
        let Some(program) = self.programs.last() else { return Ok(vec![]) };
        let wanted: Vec<_> = program.outputs(method).iter().map(|output| (output.array_element(), output.array_bytes)).collect();
        let mut arrays: Vec<Vec<u8>> = Vec::with_capacity(wanted.len());
        for &(element, bytes) in &wanted {
            if !has_room(bytes) {
                return Err(super::inputs::no_memory(element, &[bytes as u64]).into());
            }
            arrays.push(vec![0; bytes]);
        }
        let mut places: Vec<&mut [u8]> = arrays.iter_mut().map(Vec::as_mut_slice).collect();
        self.run(method, &views, &mut places)?;
        let array = |((mut bytes, (element, _)), shape): ((Vec<u8>, _), &Vec<u64>)| {
            let elements = shape.iter().fold(1u64, |n, &extent| n.saturating_mul(extent));
            bytes.truncate(crate::ir::ElementType::bytes_for(element, elements).map_or(usize::MAX, |bytes| bytes as usize));
            Array::from(Tensor { element, shape: shape.clone(), bytes })
        };
        Ok(arrays.into_iter().zip(wanted).zip(&self.shapes).map(array).collect())
    }

    /// Calls a method on memory of the caller. Each output needs [`Port::max_bytes`](crate::Port::max_bytes). [`Session::output_shape`] returns
    /// its shape after the call.
    ///
    /// Nothing is copied, and nothing is allocated after the first call of a method. Exceptions are copied: memory that is not aligned to its
    /// elements, and elements of less than a byte. So are ports of ExecuTorch programs that are not in row-major order.
    ///
    /// ```
    /// # fn main() -> Result<(), modelc::Error> {
    /// use modelc::{ArrayView, ElementType, Model, Settings};
    /// let mut session = Model::open("examples/digits/digits_int8.tflite")?.load(&Settings::new())?;
    /// let (image, mut scores) = ([0; 64], [0; 10]);
    /// let view = ArrayView { element: ElementType::I8, shape: &[1, 8, 8, 1], bytes: &image };
    /// session.call_into(0, &[view], &mut [&mut scores])?;
    /// assert_eq!(session.output_shape(0), [1, 10]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// - MC0510 for another number of inputs
    /// - MC0503 for another element type
    /// - MC0502 for another rank or extent
    /// - MC0507 for another value than the one compiled for
    /// - MC0511 for memory of another size
    /// - MC0513 if the call itself fails
    pub fn call_into(&mut self, method: usize, inputs: &[ArrayView<'_>], outputs: &mut [&mut [u8]]) -> Result<(), Error> {
        self.fit(method, inputs)?;
        Ok(self.run(method, inputs, outputs)?)
    }

    /// Returns the shape of an output of the last call.
    pub fn output_shape(&self, output: usize) -> &[u64] {
        self.shapes.get(output).map_or(&[], Vec::as_slice)
    }

    /// Returns the bytes that each output needs in [`Session::call_into`], after a call of the same shapes.
    #[doc(hidden)]
    pub fn output_bytes(&mut self, method: usize, inputs: &[ArrayView<'_>]) -> Result<Vec<(crate::ir::ElementType, usize)>, Error> {
        self.fit(method, inputs)?;
        let outputs = self.programs.last().map_or(&[][..], |program| program.outputs(method));
        Ok(outputs.iter().map(|output| (output.array_element(), output.array_bytes)).collect())
    }

    /// Returns the variables that the model keeps between calls.
    pub fn state(&self) -> State {
        self.programs
            .last()
            .map_or(State::new(0, &[]), |program| State::new(layout_hash(program.engine.program()), program.engine.instance.variables()))
    }

    /// Restores variables from [`Session::state`].
    ///
    /// # Errors
    /// MC0513 if they belong to another model.
    pub fn set_state(&mut self, state: &State) -> Result<(), Error> {
        let program = self.programs.last_mut();
        let hash = program.as_ref().map_or(0, |program| layout_hash(program.engine.program()));
        let own = program.map_or(&mut [][..], |program| program.engine.instance.variables_mut());
        own.copy_from_slice(state.variables(hash, own.len())?);
        self.is_called = true;
        Ok(())
    }

    /// Resets the variables to their initial contents.
    ///
    /// # Errors
    /// Never, unless the code corrupted the state.
    pub fn reset(&mut self) -> Result<(), Error> {
        self.is_called = false;
        Ok(self.programs.iter_mut().try_for_each(|program| program.engine.instance.reset())?)
    }

    /// Returns the times of the kernels; empty without [`Settings::profile`](crate::Settings::profile).
    pub fn profile(&self) -> Vec<KernelTime> {
        self.programs.last().map_or(vec![], |program| KernelTime::all(&program.engine))
    }

    /// Ensures that the last program accepts these inputs.
    fn fit(&mut self, method: usize, inputs: &[ArrayView<'_>]) -> Result<(), Diagnostics> {
        match self.programs.last().map(|program| program.check(method, inputs)) {
            Some(Ok(())) => return Ok(()),
            Some(Err(error)) if !self.may_fit_another(&error) => return Err(error.into()),
            _ => {}
        }
        if let Some(known) = self.programs.iter().rposition(|program| program.check(method, inputs).is_ok()) {
            self.check_change()?;
            let program = self.programs.remove(known);
            self.programs.push(program);
            return Ok(());
        }
        let (before, methods) = (self.programs.len(), self.methods.clone());
        let refused = match self.specialise(vec![self.sample(method, inputs)]) {
            Err(error) => Some(error),
            Ok(()) => self.programs.last().and_then(|program| program.check(method, inputs).err()).map(Diagnostics::from),
        };
        if let Some(refused) = refused {
            self.programs.truncate(before);
            self.methods = methods;
            return Err(refused);
        }
        if let Err(error) = self.check_change() {
            self.programs.truncate(before);
            self.methods = methods;
            return Err(error.into());
        }
        if self.programs.len() > MOST_PROGRAMS {
            self.programs.remove(0);
        }
        Ok(())
    }

    /// Tells if rejected inputs may fit a program for other shapes or values.
    fn may_fit_another(&self, error: &Diagnostic) -> bool {
        [codes::ARRAY_SHAPE, codes::KNOWN_VALUE].contains(&error.code) && self.source.may_leave_open()
    }

    /// Rejects a change of program after a call, because another program has separate variables.
    fn check_change(&self) -> Result<(), Diagnostic> {
        if !(self.keeps_state && self.is_called) {
            return Ok(());
        }
        let message = "calls of other shapes or values need another model, and this one keeps state from call to call";
        Err(Diagnostic::new(codes::STATE_BETWEEN_MODELS, message).help("reset the state before this call"))
    }

    /// Returns the arrays of a call, by positions in the source.
    fn sample(&self, method: usize, inputs: &[ArrayView<'_>]) -> given::Sample {
        let positions = self.programs.last().map_or_else(|| (0..inputs.len()).collect(), |program| program.positions(method));
        let arrays = positions.into_iter().zip(inputs.iter().map(|input| input.to_tensor())).collect();
        given::Sample { method: self.methods.get(method).map(|method| method.name.clone()), inputs: arrays }
    }

    /// Compiles the model for the shapes and values of samples.
    fn specialise(&mut self, samples: Vec<given::Sample>) -> Result<(), Diagnostics> {
        let loaded = self.source.read(&self.settings, Known { samples, bounds: vec![] })?;
        self.programs.push(Specialised::new(&loaded, &self.settings)?);
        self.methods = Method::all(&loaded.module, &self.source.labels());
        self.keeps_state = !loaded.module.states.is_empty();
        Ok(())
    }

    fn run(&mut self, method: usize, inputs: &[ArrayView<'_>], outputs: &mut [&mut [u8]]) -> Result<(), Diagnostic> {
        let Some(program) = self.programs.last_mut() else { return Ok(()) };
        self.is_called = true;
        program.call(method, inputs, outputs, &mut self.shapes)
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("path", &self.source.path).field("methods", &self.methods).finish_non_exhaustive()
    }
}
