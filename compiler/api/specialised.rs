//! A model compiled for particular shapes of its inputs, with its instance.

use super::ArrayView;
use super::aligned::Aligned;
use super::engine::Engine;
use super::inputs::Input;
use super::outputs::Output;
use super::source::Loaded;
use crate::compile::Settings;
use crate::diagnostic::{Diagnostic, Diagnostics, codes};
use crate::jit::JitOptions;

/// The program for particular shapes.
pub struct Specialised {
    /// The compiled program and its memory.
    pub engine: Engine,
    methods: Vec<Ports>,
}

struct Ports {
    name: String,
    inputs: Vec<Input>,
    outputs: Vec<Output>,
}

impl Specialised {
    /// Compiles a model for this computer.
    ///
    /// # Errors
    /// The errors of [`Engine::new`].
    pub fn new(loaded: &Loaded, settings: &Settings) -> Result<Self, Diagnostics> {
        let options = JitOptions { profile: settings.profile, threads: settings.threads, ..JitOptions::default() };
        let engine = Engine::new(loaded, settings, options)?;
        let module = &loaded.module;
        let ports = |(number, compiled): (usize, &crate::program::Method)| {
            let outputs = module.methods[number].outputs.iter().zip(&compiled.outputs);
            Ports {
                name: module.methods[number].name.clone(),
                inputs: Input::of_method(module, number),
                outputs: outputs.map(|(port, compiled)| Output::new(port, compiled)).collect(),
            }
        };
        let methods = engine.program().methods.iter().enumerate().map(ports).collect();
        Ok(Self { engine, methods })
    }

    /// Returns the outputs of a method.
    pub fn outputs(&self, method: usize) -> &[Output] {
        self.methods.get(method).map_or(&[], |ports| &ports.outputs)
    }

    /// Returns the positions of a method's inputs among the inputs in the source.
    pub fn positions(&self, method: usize) -> Vec<usize> {
        let inputs = self.methods.get(method).into_iter().flat_map(|ports| ports.inputs.iter().enumerate());
        inputs.map(|(number, input)| input.port.position(number)).collect()
    }

    /// Checks the inputs of a call.
    ///
    /// # Errors
    /// MC0512, MC0510, or the errors of [`Taken::check`](crate::interface::Taken::check).
    pub fn check(&self, method: usize, given: &[ArrayView<'_>]) -> Result<(), Diagnostic> {
        let Some(ports) = self.methods.get(method) else {
            return Err(Diagnostic::new(codes::METHOD_INDEX, format!("there is no method {method}")));
        };
        if given.len() != ports.inputs.len() {
            let error = Diagnostic::new(codes::INPUT_COUNT, "the method takes another number of inputs").in_function(&ports.name);
            return Err(error.expected(ports.inputs.len().to_string(), given.len().to_string()));
        }
        let mut checks = ports.inputs.iter().zip(given).enumerate();
        checks.try_for_each(|(number, (input, given))| input.check(given, number)).map_err(|error| error.in_function(&ports.name))
    }

    /// Calls a method on checked inputs. Writes the outputs and their shapes.
    ///
    /// # Errors
    /// MC0510 and MC0511 if outputs do not fit; or a diagnostic if the call returns an error status.
    pub fn call(
        &mut self,
        method: usize,
        given: &[ArrayView<'_>],
        outputs: &mut [&mut [u8]],
        shapes: &mut Vec<Vec<u64>>,
    ) -> Result<(), Diagnostic> {
        let ports = &self.methods[method];
        check_outputs(ports, outputs)?;
        let inputs = converted(ports, given)?;
        let parts = given.iter().enumerate().map(|(number, given)| match inputs.get(number) {
            Some(Some((shape, buffer))) => (buffer.bytes(), shape.as_slice()),
            _ => (given.bytes, given.shape),
        });
        let instance = &mut self.engine.instance;
        let mut own = own_buffers(ports, outputs)?;
        if own.is_empty() {
            instance.call_on(method, parts, outputs)?;
        } else {
            let buffers = own.iter_mut().zip(outputs.iter_mut());
            let mut places: Vec<&mut [u8]> = buffers.map(|(own, given)| own.as_mut().map_or(&mut **given, Aligned::bytes_mut)).collect();
            instance.call_on(method, parts, &mut places)?;
        }
        shapes.resize_with(ports.outputs.len(), Vec::new);
        for (number, (output, shape)) in ports.outputs.iter().zip(shapes).enumerate() {
            instance.output_shape(method, number, shape);
            if let Some(Some(own)) = own.get(number) {
                let array = output.array(own.bytes(), shape);
                outputs[number][..array.len()].copy_from_slice(&array);
            }
        }
        Ok(())
    }
}

fn check_outputs(ports: &Ports, outputs: &[&mut [u8]]) -> Result<(), Diagnostic> {
    if outputs.len() != ports.outputs.len() {
        let error = Diagnostic::new(codes::INPUT_COUNT, "the method gives another number of outputs").in_function(&ports.name);
        return Err(error.expected(ports.outputs.len().to_string(), outputs.len().to_string()));
    }
    let short = ports.outputs.iter().zip(outputs).enumerate().find(|(_, (output, memory))| memory.len() < output.array_bytes);
    let Some((number, (output, memory))) = short else { return Ok(()) };
    let error = Diagnostic::new(codes::INPUT_SIZE, "the memory of an output is too small").in_function(&ports.name);
    Err(error.about_tensor(output.place(number)).expected(format!("{} bytes", output.array_bytes), format!("{} bytes", memory.len())))
}

/// Extents and memory of a converted input.
type Converted = (Vec<u64>, Aligned);

/// Returns buffers for inputs that code cannot read in place; empty if it can read all.
fn converted(ports: &Ports, given: &[ArrayView<'_>]) -> Result<Vec<Option<Converted>>, Diagnostic> {
    let mut buffers = Vec::new();
    for (number, (input, given)) in ports.inputs.iter().zip(given).enumerate().filter(|(_, (input, given))| !input.takes_as_is(given)) {
        buffers.resize_with(ports.inputs.len(), || None);
        let buffer = input.buffer(&given.to_tensor(), false, &input.place(number))?;
        buffers[number] = Some((buffer.shape, Aligned::new(buffer.bytes, input.element)?));
    }
    Ok(buffers)
}

/// Returns buffers for outputs that code cannot write in place; empty if it can write all.
fn own_buffers(ports: &Ports, outputs: &[&mut [u8]]) -> Result<Vec<Option<Aligned>>, Diagnostic> {
    let mut buffers = Vec::new();
    for (number, (output, _)) in
        ports.outputs.iter().zip(outputs).enumerate().filter(|(_, (output, memory))| !output.is_written_as_is(memory))
    {
        buffers.resize_with(ports.outputs.len(), || None);
        buffers[number] = Some(Aligned::new(vec![0; output.buffer_bytes], output.element)?);
    }
    Ok(buffers)
}
