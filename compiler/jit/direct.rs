//! Calls on the caller's buffers: nothing is copied, and nothing is allocated after the first call of a method.

use super::arguments::{Arguments, Side};
use super::instance::{Instance, check_status};
use super::{Loaded, failed};
use crate::diagnostic::{Diagnostic, codes};
use crate::interface::{Field, has_shape};
use crate::program::Port;

/// Bytes and shape of an input.
pub type Given<'a> = (&'a [u8], &'a [u64]);

impl Instance {
    /// Calls a method on buffers of the caller, each aligned to its element. An output buffer has the bytes of its largest shape. It may hold
    /// other tensors before its result is written.
    ///
    /// # Errors
    /// A diagnostic if there is no such method, if buffers do not fit it, or if the call returns an error status.
    pub fn call_on<'a>(
        &mut self,
        method: usize,
        inputs: impl ExactSizeIterator<Item = Given<'a>>,
        outputs: &mut [&mut [u8]],
    ) -> Result<(), Diagnostic> {
        let mut arguments = match self.direct.get_mut(method).map(Option::take) {
            Some(Some(arguments)) => arguments,
            Some(None) => structs(&self.model, method)?,
            None => return Err(Diagnostic::new(codes::METHOD_INDEX, format!("there is no method {method}"))),
        };
        let status = point_inputs(&self.model, method, &mut arguments.inputs, inputs)
            .and_then(|()| point_outputs(&self.model, method, &mut arguments.outputs, outputs))
            .map(|()| self.run_on(method, &mut arguments).0);
        let done = status.and_then(|status| check_status(&self.model.methods[method].name, status));
        if done.is_ok() {
            copy_numbers(&self.model, method, &mut arguments.outputs, outputs);
        }
        self.direct[method] = Some(arguments);
        done
    }

    /// Writes the shape of an output in the last call of [`Instance::call_on`] into a list.
    pub fn output_shape(&self, method: usize, output: usize, shape: &mut Vec<u64>) {
        let Some(Some(arguments)) = self.direct.get(method) else { return shape.clear() };
        let (port, field) = (&self.model.methods[method].outputs[output], &self.model.interface.methods[method].outputs[output]);
        arguments.outputs.shape_into(field, port, shape);
    }

    /// Returns the contents of the variables that a model keeps between calls.
    pub fn variables(&self) -> &[u8] {
        let part = self.model.interface.state.variables;
        &self.state.contents()[part.offset as usize..][..part.bytes as usize]
    }

    /// Returns the contents of the variables for writing.
    pub fn variables_mut(&mut self) -> &mut [u8] {
        let part = self.model.interface.state.variables;
        &mut self.state.contents_mut()[part.offset as usize..][..part.bytes as usize]
    }
}

/// Allocates the structs of a method.
fn structs(model: &Loaded, method: usize) -> Result<Arguments, Diagnostic> {
    let (ports, fields) = (&model.methods[method], &model.interface.methods[method]);
    Ok(Arguments {
        inputs: Side::without_buffers(&ports.inputs, &fields.inputs)?,
        outputs: Side::without_buffers(&ports.outputs, &fields.outputs)?,
    })
}

fn point_inputs<'a>(
    model: &Loaded,
    method: usize,
    side: &mut Side,
    given: impl ExactSizeIterator<Item = Given<'a>>,
) -> Result<(), Diagnostic> {
    let ports = &model.methods[method].inputs;
    if given.len() != ports.len() {
        return Err(Diagnostic::new(codes::INPUT_COUNT, format!("method {} takes another number of inputs", model.methods[method].name))
            .expected(ports.len().to_string(), given.len().to_string()));
    }
    for ((port, field), (bytes, shape)) in ports.iter().zip(&model.interface.methods[method].inputs).zip(given) {
        let wanted = shape.iter().try_fold(1u64, |n, &extent| n.checked_mul(extent)).and_then(|n| port.element.bytes_for(n));
        if shape.len() != port.shape.len() || wanted != Some(bytes.len() as u64) || bytes.len() as u64 > port.bytes {
            return Err(misfit(port, "an input", bytes));
        }
        point(side, (port, field), (bytes.as_ptr(), bytes.len()))?;
        if port.scalar {
            side.number(field, port).copy_from_slice(bytes);
        }
        if has_shape(port) {
            side.set_shape(field, shape);
        }
    }
    Ok(())
}

fn point_outputs(model: &Loaded, method: usize, side: &mut Side, outputs: &mut [&mut [u8]]) -> Result<(), Diagnostic> {
    let ports = &model.methods[method].outputs;
    if outputs.len() != ports.len() {
        return Err(Diagnostic::new(codes::INPUT_COUNT, format!("method {} gives another number of outputs", model.methods[method].name))
            .expected(ports.len().to_string(), outputs.len().to_string()));
    }
    for ((port, field), buffer) in ports.iter().zip(&model.interface.methods[method].outputs).zip(outputs) {
        if (buffer.len() as u64) < port.bytes {
            return Err(misfit(port, "an output", buffer));
        }
        point(side, (port, field), (buffer.as_mut_ptr().cast_const(), buffer.len()))?;
    }
    Ok(())
}

/// Sets a pointer to a buffer; a scalar is in the struct itself.
fn point(side: &mut Side, (port, field): (&Port, &Field), (address, bytes): (*const u8, usize)) -> Result<(), Diagnostic> {
    if port.scalar {
        return Ok(());
    }
    // The address of an empty slice is arbitrary.
    let address = if bytes == 0 { side.record.address().cast_const() } else { address };
    if !(address as u64).is_multiple_of(port.element.alignment()) {
        return Err(failed(&"a buffer is not aligned"));
    }
    side.point(field, address);
    Ok(())
}

/// Copies scalar outputs from the struct.
fn copy_numbers(model: &Loaded, method: usize, side: &mut Side, outputs: &mut [&mut [u8]]) {
    let ports = model.methods[method].outputs.iter().zip(&model.interface.methods[method].outputs);
    for ((port, field), buffer) in ports.zip(outputs).filter(|((port, _), _)| port.scalar) {
        let number = side.number(field, port);
        buffer[..number.len()].copy_from_slice(number);
    }
}

fn misfit(port: &Port, what: &str, bytes: &[u8]) -> Diagnostic {
    Diagnostic::new(codes::INPUT_SIZE, format!("the buffer of {what} has the wrong size"))
        .about_tensor(&port.name)
        .expected(format!("{} bytes", port.bytes), format!("{} bytes", bytes.len()))
}
