//! `net_ports`: the methods of a shared library and their ports as JSON, for programs that load it without the header. Schema `modelc.ports/1`.

use crate::codegen::CompiledModel;
use crate::codegen::driver::ImportKind;
use crate::emit::add_normalization;
use crate::emit::info::{ModelRecord, abi_hash};
use crate::emit::options::ModelInfo;
use crate::interface::{Field, MethodInterface};
use crate::ir::{self, Module};
use crate::program::{Method, Port, PortExtent, Program};
use serde_json::{Value, json};

/// Returns the description of a compiled model. `module` has the order of dimensions in the model file.
pub fn description(program: &Program, module: &Module, model: &ModelInfo, compiled: &CompiledModel, record: &ModelRecord) -> String {
    let interface = &compiled.interface;
    let methods = program.methods.iter().zip(&interface.methods).enumerate();
    let customs = compiled.imports.iter().filter(|import| import.kind == ImportKind::Custom).map(|import| &import.symbol);
    let mut text = json!({
        "schema": "modelc.ports/1",
        "name": interface.name,
        "abi": record.abi,
        "abi_hash": abi_hash(record.abi_hash),
        "version": record.version,
        "target": record.target,
        "cpu_levels": record.levels.split(',').collect::<Vec<_>>(),
        "model": model.file_name(),
        "state_bytes": interface.state_bytes,
        "scratch_bytes": interface.scratch_bytes,
        "area_bytes": interface.area_bytes,
        "alignment": program.alignment.bytes(),
        "weights_bytes": compiled.external.as_ref().map(|(header, _)| header.file_bytes()),
        "custom_operators": customs.collect::<Vec<_>>(),
        "methods": methods.map(|(number, (method, names))| self::method(method, names, module.methods.get(number))).collect::<Vec<_>>(),
    });
    if let Some((_, labels)) = &model.labels {
        text["labels"] = json!(labels);
    }
    text.to_string()
}

fn method(method: &Method, names: &MethodInterface, source: Option<&ir::Method>) -> Value {
    let ports = |ports: &[Port], fields: &[Field], sources: Option<&Vec<ir::Port>>, extents: &[PortExtent]| {
        let one = |(number, (port, field)): (usize, _)| {
            let source = sources.and_then(|sources| sources.get(number));
            self::port(port, field, source, (number, extents))
        };
        ports.iter().zip(fields).enumerate().map(one).collect::<Vec<_>>()
    };
    json!({
        "name": method.name,
        "function": names.identifier,
        "inputs": ports(&method.inputs, &names.inputs, source.map(|source| &source.inputs), &method.input_extents),
        "outputs": ports(&method.outputs, &names.outputs, source.map(|source| &source.outputs), &method.output_extents),
    })
}

/// Describes a port. `shape` is the buffer's; for an extent with `dynamic` it is the bound. `dim_order` has the model tensor's dimension for
/// each one.
fn port(port: &Port, field: &Field, source: Option<&ir::Port>, (number, extents): (usize, &[PortExtent])) -> Value {
    let mut json = json!({
        "name": port.name,
        "type": port.element.unpacked().numpy_name(),
        "bits": port.element.bits(),
        "shape": port.shape,
        "bytes": port.bytes,
        "scalar": port.scalar,
        "offset": field.offset,
    });
    if let Some(offset) = field.shape_offset {
        let own = |dimension: usize| extents.iter().find(|extent| (extent.port as usize, extent.dimension as usize) == (number, dimension));
        let [least, multiples]: [Vec<u64>; 2] = [
            port.shape.iter().enumerate().map(|(dimension, &most)| own(dimension).map_or(most, |own| own.low)).collect(),
            (0..port.shape.len()).map(|dimension| own(dimension).map_or(1, |own| own.multiple)).collect(),
        ];
        json["dynamic"] = json!(port.dynamic);
        json["least"] = json!(least);
        json["multiples"] = json!(multiples);
        json["shape_offset"] = json!(offset);
    }
    if let Some(order) = source.and_then(|source| source.dim_order.order()) {
        json["dim_order"] = json!(order);
    }
    if let Some(quantization) = &port.quantization {
        json["scales"] = json!(quantization.scales);
        json["zero_points"] = json!(quantization.zero_points);
        json["axis"] = json!(quantization.axis);
    }
    add_normalization(&mut json, port);
    json
}
