//! The GPU part of a model in its header and its report.

use crate::interface::{ABI, GPU_INFO, HOST};
use crate::program::{Device, DeviceRegion, HostCall, Method, Residents, Variable, regions};
use serde_json::{Value, json};
use std::fmt::Write;

/// Returns the shared block of GPU types. It is the same, byte for byte, in every header of this ABI that has it.
pub fn shared() -> String {
    format!(
        "#ifndef MODELC_ABI_{ABI}_GPU\n#define MODELC_ABI_{ABI}_GPU\n\
         /* A Vulkan device of the application, or the way to the library: modelc_config.vk. Handles are Vulkan's. */\n{}\
         /* Which side runs, and why. */\n{}#endif\n",
        HOST.c_struct(),
        GPU_INFO.c_type()
    )
}

/// Returns a sentence for the header about variables that a copy of the state does not contain. It is empty if the copy contains all.
pub fn not_in_a_snapshot(device: &Device) -> String {
    let Some(residents) = &device.residents else { return String::new() };
    format!(" of all but {} B of variables, which\n   live on the GPU and stay what they are when it is put back", residents.bytes())
}

/// Declares the function that tells on which side the model runs.
pub fn declare(text: &mut String, name: &str) {
    let _ = write!(
        text,
        "/* Part of the model is for a GPU. {name}_init looks for one; if there is none, or it fails, see what for. {name}_deinit frees what\n   \
         it took. */\nint {name}_gpu(void *arena, modelc_gpu_info *info);\n\n"
    );
}

/// Returns the GPU part of the report: the profile, memory, code, and the work of each region.
pub fn report(device: &Device, methods: &[Method], module_bytes: &[u64]) -> Value {
    let method = |number: usize| methods.iter().find(|method| regions(&method.steps).contains(&number));
    let region = |(number, region): (usize, &DeviceRegion)| {
        json!({
            "method": method(number).map(|method| &method.name),
            "dispatches": region.dispatches().count(),
            "dispatches_counted_at_run_time": region.counted(),
            "barriers": region.barriers(),
            "bytes_in": region.bytes_in(),
            "bytes_out": region.bytes_out(),
        })
    };
    let variable = |variable: &Variable| json!({ "name": variable.name, "bytes": variable.bytes });
    let residents = device.residents.iter().flat_map(|residents| &residents.variables);
    json!({
        "profile": device.machine.level,
        "kernels": device.kernels.len(),
        "spirv_bytes": module_bytes.iter().sum::<u64>(),
        "area_bytes": device.area_bytes,
        "constant_bytes": device.constant_bytes,
        "staging_bytes": device.staging_bytes,
        "variable_bytes": device.residents.as_ref().map_or(0, Residents::bytes),
        "variables": residents.map(variable).collect::<Vec<_>>(),
        "regions": device.regions_of_calls().iter().enumerate().map(region).collect::<Vec<_>>(),
        "estimate": device.estimate.as_ref().map(|estimate| json!({ "cpu_ns": estimate.host_ns, "gpu_ns": estimate.device_ns })),
        "host_calls": device.host_calls.iter().map(host_call).collect::<Vec<_>>(),
    })
}

fn host_call(call: &HostCall) -> Value {
    json!({ "method": call.method, "call": call.call, "reason": call.reason.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::GPUS;
    use crate::program::{Address, Crossing, DeviceStep, HostReason};

    #[test]
    fn regions_are_counted() {
        let crossing = Crossing { host: Address::Input(0, 0), staging: 16, device: 256, bytes: 30, is_extent: false };
        let device = Device {
            area_bytes: 512,
            staging_bytes: 64,
            host_calls: vec![HostCall { method: 1, call: 2, reason: HostReason::Operands { operands: 5, most: 4 } }],
            regions: vec![DeviceRegion { enter: vec![crossing; 2], steps: vec![DeviceStep::Barrier], leave: vec![crossing] }],
            ..Device::idle(&GPUS[0])
        };
        let found = report(&device, &[], &[1000, 24]);
        assert_eq!((&found["profile"], &found["area_bytes"], &found["spirv_bytes"]), (&json!("vulkan1.1"), &json!(512), &json!(1024)));
        assert_eq!(
            found["regions"],
            json!([{
                "method": null, "dispatches": 0, "dispatches_counted_at_run_time": 0, "barriers": 1, "bytes_in": 60, "bytes_out": 30
            }])
        );
        let reason = "it has operands in 5 ranges and the profile binds 4";
        assert_eq!(found["host_calls"], json!([{ "method": 1, "call": 2, "reason": reason }]));
    }

    #[test]
    fn variables_of_the_device_are_told_and_their_first_contents_are_no_region_of_calls() {
        let variable = |name: &str, offset, bytes| Variable { name: name.into(), offset, bytes, initial: None, is_copy: false };
        let variables = vec![variable("keys", 256, 1000), variable("values", 1280, 24)];
        let alike = Device { regions: vec![DeviceRegion::default(); 2], ..Device::idle(&GPUS[0]) };
        let device = Device { residents: Some(Residents { variables, region: 1 }), ..alike.clone() };
        let [without, with] = [&alike, &device].map(|device| report(device, &[], &[]));
        let counts = |found: &Value| (found["regions"].as_array().map(Vec::len), found["variable_bytes"].clone());
        assert_eq!((counts(&without), counts(&with)), ((Some(2), json!(0)), (Some(1), json!(1024))));
        assert_eq!(with["variables"], json!([{ "name": "keys", "bytes": 1000 }, { "name": "values", "bytes": 24 }]));
        assert!(not_in_a_snapshot(&device).contains("1024 B of variables") && not_in_a_snapshot(&alike).is_empty());
    }
}
