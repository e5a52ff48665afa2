//! `inspect --schedules`: the schedules that were possible for each group of operators, with their estimates.

use crate::cli::output::{grouped, table};
use crate::lower::possible::{Cost, Estimate, Possible, Processor};
use crate::program::Level;
use serde_json::{Value, json};

/// Formats the schedules of a method. Each group has a row for the chosen one of each level. Below it is a row for each technique that changes it. A
/// second table has the schedules for a GPU.
pub fn text(levels: &[Level<'_>], list: &[Possible]) -> String {
    let (on_gpu, on_cpus): (Vec<&Possible>, Vec<&Possible>) = list.iter().partition(|possible| matches!(possible.of, Processor::Gpu(_)));
    let mut tables = vec![];
    if !on_cpus.is_empty() {
        let heads = ["  operators", "level", "instructions", "scratch B", "schedule"];
        tables.push(table(&rows(levels, &heads, &on_cpus), &[2, 3]));
    }
    if !on_gpu.is_empty() {
        let heads = ["  operators", "profile", "dispatches", "positions", "instructions of positions", "scratch B", "schedule"];
        tables.push(table(&rows(levels, &heads, &on_gpu), &[2, 3, 4, 5]));
    }
    tables.join("\n")
}

/// Returns the rows of a table below its heads.
fn rows(levels: &[Level<'_>], heads: &[&str], list: &[&Possible]) -> Vec<Vec<String>> {
    let mut rows = vec![heads.iter().map(|&head| head.to_owned()).collect()];
    for possible in list {
        let operators: Vec<String> = possible.operators.iter().map(|(i, name)| format!("{i}:{name}")).collect();
        rows.push(row(format!("  {}", operators.join(" ")), name(levels, possible), &possible.chosen));
        rows.extend(possible.others.iter().map(|other| row(format!("    without {}", other.technique), "", &other.estimate)));
    }
    rows
}

/// Returns the name of a CPU level or a GPU profile.
fn name<'a>(levels: &[Level<'a>], possible: &Possible) -> &'a str {
    match possible.of {
        Processor::Cpu(level) => levels[level].machine.level,
        Processor::Gpu(profile) => profile,
    }
}

fn row(first: String, processor: &str, Estimate { schedule, cost, scratch_bytes }: &Estimate) -> Vec<String> {
    let (numbers, schedule) = match cost {
        Cost::Instructions(instructions) => (vec![grouped(*instructions)], schedule.clone()),
        Cost::Positions { dispatches, positions, instructions } => {
            ([dispatches, positions, instructions].map(|&number| grouped(number)).to_vec(), schedule.clone())
        }
        Cost::OnHost(reason) => (vec![String::new(); 3], format!("on the CPU: {reason}")),
    };
    [vec![first, processor.into()], numbers, vec![grouped(*scratch_bytes), schedule]].concat()
}

/// Returns the schedules of a method as JSON.
pub fn json(levels: &[Level<'_>], list: &[Possible]) -> Value {
    let possible = |possible: &Possible| {
        let without: Vec<Value> = possible
            .others
            .iter()
            .map(|other| {
                let mut json = estimate(&other.estimate);
                json["technique"] = json!(other.technique);
                json
            })
            .collect();
        let processor = if matches!(possible.of, Processor::Gpu(_)) { "gpu_profile" } else { "cpu_level" };
        json!({ "operators": possible.operators, processor: name(levels, possible), "chosen": estimate(&possible.chosen), "without": without })
    };
    list.iter().map(possible).collect()
}

fn estimate(Estimate { schedule, cost, scratch_bytes }: &Estimate) -> Value {
    match cost {
        Cost::Instructions(instructions) => {
            json!({ "schedule": schedule, "instructions": instructions, "scratch_bytes": scratch_bytes })
        }
        Cost::Positions { dispatches, positions, instructions } => json!({
            "schedule": schedule, "dispatches": dispatches, "positions": positions, "instructions_of_positions": instructions,
            "scratch_bytes": scratch_bytes
        }),
        Cost::OnHost(reason) => json!({ "schedule": schedule, "on_host": reason.to_string(), "scratch_bytes": scratch_bytes }),
    }
}
