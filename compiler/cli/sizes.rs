//! Memory of a compiled model, as text.

use super::output::grouped;
use crate::interface::{Footprint, MethodMemory};
use crate::machine::Alignment;
use crate::plan::Plan;
use crate::program::{AreaUse, InAreas};

/// Formats `11,232 B: 64 B state, 11,168 B scratch`.
pub fn arena(footprint: &Footprint) -> String {
    let [arena, state, scratch] = [footprint.arena_bytes(), footprint.state_bytes, footprint.scratch_bytes].map(grouped);
    format!("{arena} B: {state} B state, {scratch} B scratch")
}

/// Formats `; AREA0 1,024 B, AREA1 480 B`, if the application provides areas beside the arena. If it has named them: ` in dtcm; AREA0 sram 1,024 B`.
pub fn areas(footprint: &Footprint) -> String {
    let names = &footprint.area_names;
    let name = |number: usize| names.get(number).map_or(String::new(), |name| format!("{name} "));
    let area = |(number, &bytes): (usize, &u64)| format!("AREA{number} {}{} B", name(number + 1), grouped(bytes));
    let areas: Vec<String> = footprint.area_bytes.iter().enumerate().map(area).collect();
    let first = names.first().map_or(String::new(), |name| format!(" in {name}"));
    if areas.is_empty() { first } else { format!("{first}; {}", areas.join(", ")) }
}

/// Formats a line for each area of a method: its size, what the method needs there, and the bytes that move there.
pub fn in_areas(known: &InAreas) -> String {
    let all = known.moved().max(1) as f64;
    let line = |area: &AreaUse| {
        let rank = if area.rank.is_empty() { String::new() } else { format!(", {}", area.rank) };
        let share = 100.0 * area.moved as f64 / all;
        let [bytes, size, moved] = [area.bytes, area.size, area.moved].map(grouped);
        let weights = if area.weights > 0 { format!(" and {} B of weights", grouped(area.weights)) } else { String::new() };
        format!("  {}: {bytes} B{weights} of {size} B{rank}; {moved} B move there, {share:.1} %\n", area.name)
    };
    let proof = match (known.optimal, known.lower_bound) {
        (true, _) => "least cost for this order".to_owned(),
        (false, bound) => format!("cost {}, lower bound {}", grouped(known.cost), grouped(bound)),
    };
    known.areas.iter().map(line).chain([format!("  areas: {proof}\n")]).collect()
}

/// Formats `; enough for each of x86-64-v2, x86-64-v3`, if an object has code for several CPU levels. They share one arena size, and a single
/// level may need less.
pub fn levels(levels: &str) -> String {
    if levels.contains(',') { format!("; enough for each of {}", levels.replace(',', ", ")) } else { String::new() }
}

/// Formats `3,500 B: 1,000 B constants, 2,500 B code (1,100 B x86-64-v2, 1,200 B x86-64-v3, 200 B shared)`. `levels` are names with commas.
pub fn flash(footprint: &Footprint, levels: &str) -> String {
    let [all, constants, code] = [footprint.flash_bytes(), footprint.weights_bytes, footprint.code_bytes].map(grouped);
    let mut text = format!("{all} B: {constants} B constants, {code} B code");
    if footprint.level_code_bytes.len() > 1 {
        let of_levels = levels.split(',').zip(&footprint.level_code_bytes).map(|(level, &bytes)| format!("{} B {level}", grouped(bytes)));
        let parts: Vec<String> = of_levels.chain([format!("{} B shared", grouped(footprint.shared_code_bytes()))]).collect();
        text.push_str(&format!(" ({})", parts.join(", ")));
    }
    if footprint.table_bytes > 0 {
        text.push_str(&format!(", {} B tables", grouped(footprint.table_bytes)));
    }
    text
}

/// Formats the quality of a method's plan: `scratch 11,168 B = lower bound (optimal for this order)`, or the gap. If tensors lie in callers'
/// buffers, it adds `; 2,048 B of tensors lie in outputs before these are written`.
pub fn plan(plan: &Plan, alignment: Alignment) -> String {
    let lent = match plan.lent_bytes {
        0 => String::new(),
        bytes => format!("; {} B of tensors lie in outputs before these are written", grouped(bytes)),
    };
    format!("scratch {} B{}{lent}", grouped(alignment.up(plan.arena_bytes)), proof(plan, alignment))
}

/// Returns the part of [`plan`] after the number.
pub fn proof(plan: &Plan, alignment: Alignment) -> String {
    let bound = grouped(alignment.up(plan.lower_bound));
    if plan.arena_bytes == plan.lower_bound {
        " = lower bound (optimal for this order)".into()
    } else if plan.optimal {
        format!(" (optimal for this order by exhaustive search; lower bound {bound} B)")
    } else {
        let nodes = grouped(plan.explored_nodes);
        format!(", lower bound {bound} B (gap {:.1} %, {nodes} nodes explored)", plan.gap() * 100.0)
    }
}

/// Formats `with state, inputs and outputs 82,000 B; the file plans 194,080 B`.
pub fn with_ports(memory: &MethodMemory) -> String {
    let planned = memory.planned_bytes().map_or_else(String::new, |bytes| format!("; the file plans {} B", grouped(bytes)));
    format!("with state, inputs and outputs {} B{planned}", grouped(memory.total()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_file_plans_stands_beside_ours() {
        let memory = MethodMemory { state_bytes: 64, scratch_bytes: 1024, input_bytes: 12, output_bytes: 4, planned: vec![0, 2000] };
        assert_eq!(with_ports(&memory), "with state, inputs and outputs 1,104 B; the file plans 2,000 B");
        assert_eq!(with_ports(&MethodMemory { planned: vec![], ..memory }), "with state, inputs and outputs 1,104 B");
    }

    #[test]
    fn sizes_of_several_levels_name_them() {
        assert_eq!(levels("x86-64-v2,x86-64-v3"), "; enough for each of x86-64-v2, x86-64-v3");
        assert_eq!(levels("aarch64"), "");
    }

    #[test]
    fn sums_and_parts_are_named() {
        let footprint = Footprint {
            state_bytes: 64,
            scratch_bytes: 11_168,
            area_bytes: vec![],
            area_names: vec![],
            stack_bytes: 80,
            weights_bytes: 1000,
            code_bytes: 2500,
            level_code_bytes: vec![1100, 1200],
            table_bytes: 0,
        };
        assert_eq!(arena(&footprint), "11,232 B: 64 B state, 11,168 B scratch");
        let with_areas = Footprint { area_bytes: vec![1024, 0], ..footprint.clone() };
        assert_eq!((areas(&footprint), areas(&with_areas)), (String::new(), "; AREA0 1,024 B, AREA1 0 B".into()));
        let named = Footprint { area_names: ["dtcm", "sram", "psram"].map(String::from).into(), ..with_areas };
        assert_eq!(areas(&named), " in dtcm; AREA0 sram 1,024 B, AREA1 psram 0 B");
        assert_eq!(["dtcm", "sram", "flash"].map(|name| named.bytes_of_area(name)), [Some(11_232), Some(1024), None]);
        let text = "3,500 B: 1,000 B constants, 2,500 B code (1,100 B x86-64-v2, 1,200 B x86-64-v3, 200 B shared)";
        assert_eq!(flash(&footprint, "x86-64-v2,x86-64-v3"), text);
        let one = Footprint { level_code_bytes: vec![2400], ..footprint };
        assert_eq!(flash(&one, "aarch64"), "3,500 B: 1,000 B constants, 2,500 B code");
        let with_tables = Footprint { table_bytes: 70, ..one };
        assert_eq!(flash(&with_tables, "aarch64"), "3,570 B: 1,000 B constants, 2,500 B code, 70 B tables");
    }
}
