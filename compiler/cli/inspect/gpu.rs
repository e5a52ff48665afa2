//! The GPU part of a compiled model.

use crate::cli::output::{grouped, table};
use crate::program::{Device, DeviceRegion, Method, regions};

/// Formats the profile, kernels and memory, as one line.
pub fn summary(device: &Device, module_bytes: &[u64]) -> String {
    let bytes = [module_bytes.iter().sum(), device.area_bytes, device.constant_bytes, device.staging_bytes].map(grouped);
    let [code, area, constants, staging] = bytes;
    let (profile, kernels) = (device.machine.level, grouped(device.kernels.len() as u64));
    let variables = device.residents.as_ref().map_or(String::new(), |residents| format!(" (variables {} B)", grouped(residents.bytes())));
    format!("{profile}: {kernels} kernels, {code} B of SPIR-V; area {area} B{variables}, constants {constants} B, staging {staging} B")
}

/// Formats the work of each region of a method, indented below the method's name. Empty if it has none.
pub fn method(device: &Device, method: &Method) -> String {
    let numbers = regions(&method.steps);
    let of_method: Vec<&DeviceRegion> = numbers.iter().filter_map(|&number| device.regions.get(number)).collect();
    if of_method.is_empty() {
        return String::new();
    }
    let row = |name: String, region: &DeviceRegion| {
        let counts =
            [region.dispatches().count() as u64, region.counted() as u64, region.barriers() as u64, region.bytes_in(), region.bytes_out()];
        [name].into_iter().chain(counts.map(grouped)).collect()
    };
    let mut rows: Vec<Vec<String>> =
        vec![["  submission", "dispatches", "as extents say", "barriers", "bytes in", "bytes out"].map(String::from).to_vec()];
    rows.extend(numbers.iter().zip(&of_method).map(|(number, region)| row(format!("  region {number}"), region)));
    table(&rows, &[1, 2, 3, 4, 5])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::GPUS;
    use crate::program::{Address, Crossing, DeviceStep, MemoryMap, Moving, Residents, Step, Variable};

    #[test]
    fn regions_are_those_of_the_method() {
        let crossing = Crossing { host: Address::Input(0, 0), staging: 16, device: 256, bytes: 3000, is_extent: false };
        let region = DeviceRegion { enter: vec![crossing], steps: vec![DeviceStep::Barrier], leave: vec![] };
        let device = Device { area_bytes: 4096, regions: vec![region; 2], ..Device::idle(&GPUS[0]) };
        let steps = vec![Step::Region { region: 1, otherwise: vec![] }];
        let one = Method {
            name: "forward".into(),
            inputs: vec![],
            outputs: vec![],
            input_extents: vec![],
            output_extents: vec![],
            steps,
            scratch_bytes: 0,
            lower_bound: 0,
            optimal: true,
            memory_map: MemoryMap::default(),
            scratch_bytes_alone: None,
            area_bytes: vec![],
            in_areas: None,
            moving: Moving::default(),
        };
        let text = method(&device, &one);
        assert!(text.contains("region 1") && !text.contains("region 0") && text.contains("3,000"), "{text}");
        assert_eq!(method(&device, &Method { steps: vec![], ..one }), "");
        assert!(summary(&device, &[1000, 24]).starts_with("vulkan1.1: 0 kernels, 1,024 B of SPIR-V; area 4,096 B, constants"));
        let variable = Variable { name: "cache".into(), offset: 256, bytes: 1024, initial: None, is_copy: false };
        let keeps = Device { residents: Some(Residents { variables: vec![variable], region: 1 }), ..device };
        assert!(summary(&keeps, &[]).contains("area 4,096 B (variables 1,024 B), constants"));
    }
}
