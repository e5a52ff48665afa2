//! Names that users give to inputs and outputs: `--port-name in0=image`. ExecuTorch programs have no names.

use super::options::PortName;
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::{Method, Module, Port};

/// Names the ports of all methods that have them.
///
/// # Errors
/// When no method has such a port, a method has the name already, or a port gets two names.
pub fn apply(module: &mut Module, names: &[PortName]) -> Result<(), Diagnostic> {
    for (number, given) in names.iter().enumerate() {
        let PortName { is_output, port, name } = given;
        let side = if *is_output { "output" } else { "input" };
        let is_same_port = |other: &&PortName| (other.is_output, other.port) == (*is_output, *port);
        if let Some(other) = names[..number].iter().find(is_same_port).filter(|other| other.name != *name) {
            return Err(Diagnostic::new(codes::OPTION, format!("{side} {port} has two names: {:?} and {name:?}", other.name)));
        }
        let mut found = false;
        for method in &mut module.methods {
            let Some(place) = ports(method, *is_output).get_mut(*port) else { continue };
            found = true;
            place.name.clone_from(name);
            place.notes.alias = Some(name.clone());
            let count = |ports: &[Port]| ports.iter().filter(|port| port.name == *name).count();
            // An input and an output may have the same name: they are in two structs.
            if count(ports(method, *is_output)) > 1 {
                return Err(Diagnostic::new(codes::OPTION, format!("method {} has two {side}s called {name:?}", method.name)));
            }
        }
        if !found {
            return Err(Diagnostic::new(codes::OPTION, format!("a name is given for {side} {port}, which the model does not have")));
        }
    }
    Ok(())
}

fn ports(method: &mut Method, is_output: bool) -> &mut Vec<Port> {
    if is_output { &mut method.outputs } else { &mut method.inputs }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Func;

    fn module() -> Module {
        let port = |name: &str| Port { name: name.into(), ..Port::default() };
        let method = |inputs: &[&str]| Method {
            name: "forward".into(),
            function: Func::default(),
            inputs: inputs.iter().map(|name| port(name)).collect(),
            outputs: vec![port("")],
        };
        Module { methods: vec![method(&["", "mask"]), method(&[""])], ..Module::default() }
    }

    fn name(is_output: bool, port: usize, name: &str) -> PortName {
        PortName { is_output, port, name: name.into() }
    }

    #[test]
    fn ports_of_all_methods_are_named() {
        let mut module = module();
        apply(&mut module, &[name(false, 0, "image"), name(true, 0, "image")]).expect("names");
        assert!(module.methods.iter().all(|method| method.inputs[0].name == "image" && method.outputs[0].notes.alias.is_some()));
    }

    #[test]
    fn names_are_of_ports_and_of_one_each() {
        assert!(apply(&mut module(), &[name(false, 2, "x")]).is_err());
        assert!(apply(&mut module(), &[name(false, 0, "mask")]).is_err());
        let error = apply(&mut module(), &[name(false, 0, "x"), name(true, 0, "y"), name(false, 0, "z")]).unwrap_err();
        assert_eq!(error.message, "input 0 has two names: \"x\" and \"z\"");
        apply(&mut module(), &[name(false, 0, "x"), name(false, 0, "x")]).expect("one name");
    }
}
