//! Elements whose places may be anywhere: many cores trap loads and stores that are not at a multiple of their bytes.

use super::decoder::decode;
use crate::rv32::KERNELS;
use modelc_kernel::intervals::Assumed;
use modelc_kernel::passes::narrow;
use modelc_kernel::text::parse_kernel;
use modelc_machine::machine;

#[test]
fn elements_are_read_and_written_in_pieces_where_their_alignment_is_not_known() {
    let of = |x: u32, y: u32| {
        let text =
            format!("kernel @k(x: input i32[4] align {x}, y: output i32[4] align {y}) {{\n  %1: i32 = load x[1]\n  store y[1], %1\n}}\n");
        let kernel = narrow(&parse_kernel(&text).unwrap(), &Assumed::default());
        let lines = decode(&KERNELS.code(&kernel, machine("rv32imc").unwrap()).unwrap().bytes)?;
        let names = lines.iter().filter_map(|line| line.trim_start_matches("c.").split(' ').next());
        let accesses = ["lb", "lbu", "lh", "lhu", "lw", "sb", "sh", "sw"];
        Some(names.filter(|name| accesses.contains(name)).map(String::from).collect::<Vec<_>>())
    };
    let Some(aligned) = of(4, 8) else { return eprintln!("skipped: no decoder") };
    assert_eq!(aligned, ["lw", "sw"]);
    assert_eq!(of(2, 1).unwrap(), ["lh", "lhu", "sb", "sb", "sb", "sb"]);
    assert_eq!(of(1, 2).unwrap(), ["lb", "lbu", "lbu", "lbu", "sh", "sh"]);
}
