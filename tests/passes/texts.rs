//! Kernels before and after passes: `tests/passes/*.kernel`. Each has directives and kernels, and after `; ---` the expected results. Directives are
//! carried out in order:
//!
//! - `; pass = NAME, …`: passes over each kernel;
//! - `; narrow = LOW..HIGH, …, BUFFER: LOW..HIGH, …`: indices of fewer bits, with intervals of the first integer parameters and of the integers of
//!   buffers;
//! - `; numbers = BYTES, …`: the kernels are merged. A number takes so many bytes in memory. `shifts` and `indices` may be numbers, too;
//! - `; members`: the kernels that each member of the merged kernel gets again.
//!
//! `MODELC_BLESS=1` rewrites the results.

use super::{passes, support};
use modelc::kernel::Kernel;
use modelc::kernel::dependence::apart;
use modelc::kernel::intervals::{Assumed, Interval};
use modelc::kernel::passes::numbers::{Number, Reading, Slots, outline};
use modelc::kernel::passes::{grid, narrow, range, renumbered, with_copies};
use modelc::kernel::text::parse_kernels;
use modelc::kernel::verify::verify;
use std::collections::BTreeSet;
use support::bless::Blessing;

/// Line between kernels and results.
const SEPARATOR: &str = "; ---\n";

/// Bytes of shared memory that a workgroup may use.
const SHARED_BYTES: u64 = 32 << 10;

#[test]
fn passes_do_what_their_texts_say() {
    let mut blessing = Blessing::default();
    for path in support::models_in(&support::own("tests/passes"), "kernel") {
        let text = std::fs::read_to_string(&path).expect("a text");
        let (test, _) = text.split_once(SEPARATOR).unwrap_or((&text, ""));
        blessing.text(&path, &format!("{test}{SEPARATOR}{}", Run::of(test).text()));
    }
    blessing.finish();
}

#[test]
fn every_pass_has_a_text() {
    let texts =
        support::models_in(&support::own("tests/passes"), "kernel").into_iter().map(|path| std::fs::read_to_string(path).expect("a text"));
    let named: BTreeSet<String> =
        texts.flat_map(|text| directives(&text).flat_map(|(word, list)| names(word, list)).collect::<Vec<_>>()).collect();
    let files = std::fs::read_dir(support::own("compiler/kernel/passes")).expect("the passes");
    let files = files.map(|entry| support::stem(&entry.expect("a pass").path())).chain(["team", "shared_rows"].map(String::from));
    // Values are what passes share.
    let lacking: Vec<String> = files.filter(|name| !["mod", "values"].contains(&&name[..]) && !named.contains(name)).collect();
    assert!(lacking.is_empty(), "tests/passes has no text of {}", lacking.join(", "));
    let lacking: Vec<&str> = passes().map(|pass| pass.name).filter(|name| !named.contains(*name)).collect();
    assert!(lacking.is_empty(), "tests/passes has no text of {}", lacking.join(", "));
}

/// Returns the directives of a text: their words and lists.
fn directives(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("; "));
    lines.filter_map(|line| if line == "members" { Some((line, "")) } else { line.split_once(" = ") })
}

/// Returns the names of the passes that a directive runs.
fn names(word: &str, list: &str) -> Vec<String> {
    let names = if word == "pass" { list } else { word };
    names.split(", ").map(String::from).collect()
}

/// The kernels of a text, changed by its directives.
struct Run {
    kernels: Vec<Kernel>,
    /// Lines before the kernels.
    notes: String,
}

impl Run {
    /// Carries out the directives of a test.
    fn of(test: &str) -> Self {
        let kernels = parse_kernels(test).unwrap_or_else(|error| panic!("{error}\n{test}"));
        let mut run = Self { kernels, notes: String::new() };
        run.verify();
        for (word, list) in directives(test) {
            run.directive(word, list);
            run.verify();
        }
        run
    }

    fn verify(&self) {
        self.kernels.iter().for_each(|kernel| assert_eq!(verify(kernel), Ok(()), "{kernel}"));
    }

    fn text(&self) -> String {
        self.notes.clone() + &self.kernels.iter().map(ToString::to_string).collect::<String>()
    }

    fn directive(&mut self, word: &str, list: &str) {
        match word {
            "pass" => {
                for name in list.split(", ") {
                    self.kernels = self.kernels.iter().flat_map(|kernel| after(name, kernel)).collect();
                }
            }
            "narrow" => self.kernels = self.kernels.iter().map(|kernel| narrow(kernel, &assumed(kernel, list))).collect(),
            "numbers" => self.merge(list),
            "members" => self.take_apart(),
            _ => panic!("unknown directive {word}"),
        }
    }

    /// Replaces kernels by the merged one, and notes the numbers of each.
    fn merge(&mut self, list: &str) {
        let has = |name: &str| list.split(", ").any(|item| item == name);
        let stored = list.split(", ").next().and_then(|bytes| bytes.parse().ok()).expect("a number of bytes");
        let reading = Reading { stored, shifts_by_lane: has("shifts"), indices: has("indices") };
        let outlines: Vec<_> = self.kernels.iter().map(|kernel| outline(kernel, reading)).collect();
        assert!(outlines.iter().all(|(outline, _)| *outline == outlines[0].0), "the kernels differ in more than numbers");
        let members: Vec<_> = self.kernels.iter().zip(&outlines).map(|(kernel, (_, numbers))| (kernel, &numbers[..])).collect();
        let slots = Slots::new(&members, reading);
        let note = |&(kernel, numbers): &(&Kernel, &[Number])| format!("; numbers of {}: {:?}\n", kernel.name, slots.contents(numbers));
        self.notes = members.iter().map(note).collect();
        self.kernels = vec![slots.kernel(&members)];
    }

    /// Replaces the merged kernel by that of each member.
    fn take_apart(&mut self) {
        let [merged] = &self.kernels[..] else { panic!("one merged kernel") };
        let members = merged.members().expect("a merged kernel that reads indices");
        self.kernels = members.list.iter().map(|member| merged.of_member(members.buffer, member)).collect();
    }
}

/// Returns the facts of a directive.
fn assumed(kernel: &Kernel, list: &str) -> Assumed {
    let mut assumed = Assumed::default();
    for item in list.split(", ") {
        match item.split_once(": ") {
            None => assumed.parameters.push(interval(item)),
            Some((name, ends)) => {
                let buffer = kernel.buffers.iter().position(|buffer| buffer.name == name).expect("a buffer");
                assumed.elements.insert(buffer, interval(ends));
            }
        }
    }
    assumed
}

fn interval(text: &str) -> Interval {
    let (low, high) = text.split_once("..").expect("an interval");
    Interval { low: low.parse().expect("a number"), high: high.parse().expect("a number") }
}

/// Returns the kernels that a pass makes of a kernel.
fn after(pass: &str, kernel: &Kernel) -> Vec<Kernel> {
    let places = apart(kernel.pointer_params().count());
    match pass {
        "private" => vec![copied(kernel)],
        "range" => {
            let ranges = range::of_divide(kernel).or_else(|| range::of_rounds(kernel, &places));
            vec![ranges.expect("a kernel that ranges divide").kernel]
        }
        "renumbered" => vec![renumbered(kernel)],
        "grid" => {
            let launches = grid::launches(kernel, &[], &Assumed::default(), &places).expect("few positions");
            launches.into_iter().map(|launch| launch.kernel).collect()
        }
        "team" => vec![grid::team(kernel, &places).expect("few positions with long rows")],
        "shared_rows" => vec![grid::with_shared_rows(kernel, &places, SHARED_BYTES).expect("rows that lanes read")],
        name => vec![passes().find(|pass| pass.name == name).unwrap_or_else(|| panic!("there is no pass {name}")).of(kernel)],
    }
}

/// Returns a kernel whose rounds have copies of their private buffers.
fn copied(kernel: &Kernel) -> Kernel {
    let mut copied = kernel.clone();
    with_copies(&mut copied, &[], &Assumed::default());
    copied
}
