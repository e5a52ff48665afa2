//! `inspect --schedules`: the schedules that were possible for each group of operators, with their estimates.

use crate::cli::output::{grouped, table};
use crate::lower::possible::{Estimate, Possible};
use crate::program::Level;
use serde_json::{Value, json};

/// Formats the schedules of a method. Each group has a row for the chosen one of each level. Below it is a row for each technique that changes it.
pub fn text(levels: &[Level<'_>], list: &[Possible]) -> String {
    let mut rows = vec![["  operators", "level", "instructions", "scratch B", "schedule"].map(String::from).to_vec()];
    let row = |first: String, level: &str, estimate: &Estimate| {
        vec![first, level.into(), grouped(estimate.instructions), grouped(estimate.scratch_bytes), estimate.schedule.clone()]
    };
    for possible in list {
        let operators: Vec<String> = possible.operators.iter().map(|(i, name)| format!("{i}:{name}")).collect();
        rows.push(row(format!("  {}", operators.join(" ")), levels[possible.level].machine.level, &possible.chosen));
        rows.extend(possible.others.iter().map(|other| row(format!("    without {}", other.technique), "", &other.estimate)));
    }
    table(&rows, &[2, 3])
}

/// Returns the schedules of a method as JSON.
pub fn json(levels: &[Level<'_>], list: &[Possible]) -> Value {
    let estimate = |estimate: &Estimate| json!({ "schedule": estimate.schedule, "instructions": estimate.instructions, "scratch_bytes": estimate.scratch_bytes });
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
        json!({ "operators": possible.operators, "cpu_level": levels[possible.level].machine.level, "chosen": estimate(&possible.chosen),
                "without": without })
    };
    list.iter().map(possible).collect()
}
