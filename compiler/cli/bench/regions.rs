//! Times of the device in its regions, for `bench --profile`.

use crate::api::engine::Engine;
use crate::cli::output::{microseconds, numbered, table};
use crate::codegen::driver::measured_as;
use crate::program::Dispatch;
use serde_json::{Value, json};

/// Median times of a region, in nanoseconds.
pub struct RegionProfile {
    number: usize,
    /// Time on the host, from submission to the end.
    whole: f64,
    /// Times of the device with the operators: copies in, each dispatch, copies out. Empty if the device does not measure time.
    parts: Vec<(String, f64, Vec<String>)>,
}

/// Returns the regions that ran on the device.
pub fn regions(engine: &Engine) -> Vec<RegionProfile> {
    let (program, times) = (engine.program(), engine.instance.kernel_times());
    let Some(device) = &program.device else { return vec![] };
    let dispatched = |dispatch: &Dispatch| (device.kernels[dispatch.kernel].kernel.name.clone(), numbered(&dispatch.origin.operators));
    let region = |(number, region): (usize, &crate::program::DeviceRegion)| {
        let whole = times.get(measured_as(program, number) as usize).filter(|time| time.runs > 0)?;
        let measured = engine.instance.region_times().get(number).filter(|times| times.enter.runs > 0);
        let parts = measured.map(|times| {
            let copies = |name: &str, time: u64| (name.to_owned(), time as f64, vec![]);
            let dispatches = region.dispatches().map(dispatched).zip(&times.dispatches);
            let dispatches = dispatches.map(|((name, operators), time)| (name, time.median() as f64, operators));
            let (enter, leave) = (copies("copies in", times.enter.median()), copies("copies out", times.leave.median()));
            [enter].into_iter().chain(dispatches).chain([leave]).collect()
        });
        Some(RegionProfile { number, whole: whole.median() as f64, parts: parts.unwrap_or_default() })
    };
    device.regions.iter().enumerate().filter_map(region).collect()
}

impl RegionProfile {
    /// Returns the time outside the device: submission, waiting, and copies by the host.
    fn host(&self) -> f64 {
        (self.whole - self.parts.iter().map(|part| part.1).sum::<f64>()).max(0.0)
    }

    fn rows(&self, total: f64) -> Vec<Vec<String>> {
        let row = |name: String, time: f64, operators: String| {
            vec![name, microseconds(time, total), format!("{:.1}", 100.0 * time / total.max(1.0)), operators]
        };
        let mut rows = vec![row(format!("region {}", self.number), self.whole, String::new())];
        rows.extend(self.parts.iter().map(|(name, time, operators)| row(format!("  {name}"), *time, operators.join(" "))));
        if !self.parts.is_empty() {
            rows.push(row("  submission, host".into(), self.host(), String::new()));
        }
        rows
    }

    fn json(&self) -> Value {
        let part =
            |(name, time, operators): &(String, f64, Vec<String>)| json!({ "name": name, "median_ns": time, "operators": operators });
        json!({ "region": self.number, "median_ns": self.whole, "host_ns": self.host(), "device": self.parts.iter().map(part).collect::<Vec<_>>() })
    }
}

/// Formats the regions as a table; empty if no region ran on a device.
pub fn text(regions: &[RegionProfile]) -> String {
    if regions.is_empty() {
        return String::new();
    }
    let total: f64 = regions.iter().map(|region| region.whole).sum();
    let head = ["on the GPU", "µs", "%", "operators"].map(String::from).to_vec();
    let rows: Vec<_> = std::iter::once(head).chain(regions.iter().flat_map(|region| region.rows(total))).collect();
    format!("\n{}While they are measured, dispatches run one after the other.\n", table(&rows, &[1, 2]))
}

/// Returns the regions as JSON.
pub fn json(regions: &[RegionProfile]) -> Value {
    regions.iter().map(RegionProfile::json).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_device_does_not_take_is_the_hosts() {
        let parts =
            vec![("copies in".into(), 1e3, vec![]), ("relu".into(), 5e3, vec!["0:RELU".into()]), ("copies out".into(), 2e3, vec![])];
        let region = RegionProfile { number: 3, whole: 10e3, parts };
        assert_eq!(region.host(), 2e3);
        assert_eq!(region.json()["host_ns"], json!(2e3));
        let text = text(&[region]);
        assert!(text.contains("region 3") && text.contains("50.0") && text.contains("0:RELU"), "{text}");
        assert_eq!(super::text(&[]), "");
    }
}
