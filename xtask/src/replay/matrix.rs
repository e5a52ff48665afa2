//! The configurations for which models are compiled.

/// A target of `modelc targets`.
pub struct Target {
    /// First spelling.
    pub triple: String,
    /// CPU levels.
    pub levels: Vec<String>,
}

/// The options of one compilation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Configuration {
    /// The words on the command line.
    pub options: Vec<String>,
}

impl Configuration {
    /// Returns the options as one line, to read and to repeat.
    pub fn text(&self) -> String {
        self.options.join(" ")
    }
}

/// Threads, goals and GPUs for every machine. `--gpu-ops all` assigns every possible operator to a GPU.
const THREADS: &[&str] = &["--threads 1", "--threads 2", "--threads 4"];
const GOALS: &[&str] = &["--optimize speed", "--optimize size"];
const GPUS: &[&str] = &[
    "--gpu off",
    "--gpu auto --gpu-ops all --vk-profile vulkan1.1",
    "--gpu auto --gpu-ops all --vk-profile vulkan1.1+bytes",
    "--gpu auto --gpu-ops all --vk-profile vulkan1.3",
];

/// Returns all combinations of targets, CPU levels (each alone, and all in one object), threads, goals and GPUs. Options must contain `only`.
pub fn configurations(targets: &[Target], only: Option<&str>) -> Vec<Configuration> {
    let machines = targets.iter().flat_map(|target| {
        let together = (target.levels.len() > 1).then(|| target.levels.join(","));
        target.levels.iter().cloned().chain(together).map(|levels| format!("--target {} --cpu {levels}", target.triple))
    });
    let product = |one: Vec<String>, axis: &[&str]| -> Vec<String> {
        one.iter().flat_map(|options| axis.iter().map(move |value| format!("{options} {value}"))).collect()
    };
    let all = [THREADS, GOALS, GPUS].into_iter().fold(machines.collect(), product);
    let wanted = all.into_iter().filter(|options| only.is_none_or(|text| options.contains(text)));
    wanted.map(|options| Configuration { options: options.split(' ').map(str::to_owned).collect() }).collect()
}

/// Returns the configurations of one model: all, or a sample. Models take different samples, so that together they cover all configurations as
/// soon as possible.
pub fn spread(all: &[Configuration], sample: Option<usize>, model: usize) -> impl Iterator<Item = &Configuration> {
    let count = sample.unwrap_or(all.len()).min(all.len());
    let stride = stride(all.len());
    (0..count).map(move |number| &all[(model * count + number) * stride % all.len()])
}

/// Returns a step that visits all of `count` indices with long jumps: near the golden section of `count`, and coprime to it.
fn stride(count: usize) -> usize {
    let near = count * 618 / 1000;
    (near..=count).find(|&step| step > 0 && divisor(step, count) == 1).unwrap_or(1)
}

/// Returns the greatest common divisor.
fn divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn targets() -> Vec<Target> {
        let target =
            |triple: &str, levels: &[&str]| Target { triple: triple.into(), levels: levels.iter().map(|&level| level.into()).collect() };
        vec![target("x86_64", &["v2", "v3"]), target("riscv64", &["riscv64"])]
    }

    #[test]
    fn levels_are_met_alone_and_together() {
        let all = configurations(&targets(), Some("--threads 2 --optimize size --gpu off"));
        let lines: Vec<String> = all.iter().map(Configuration::text).collect();
        let machines = ["x86_64 --cpu v2", "x86_64 --cpu v3", "x86_64 --cpu v2,v3", "riscv64 --cpu riscv64"];
        assert_eq!(lines, machines.map(|machine| format!("--target {machine} --threads 2 --optimize size --gpu off")));
    }

    #[test]
    fn samples_of_enough_models_meet_all_configurations() {
        let all = configurations(&targets(), None);
        assert_eq!(all.len(), 4 * 3 * 2 * 4);
        let met =
            |models: usize| (0..models).flat_map(|model| spread(&all, Some(8), model)).map(Configuration::text).collect::<BTreeSet<_>>();
        assert_eq!((met(1).len(), met(12).len()), (8, 96));
        assert_eq!(spread(&all, None, 3).count(), 96);
    }
}
