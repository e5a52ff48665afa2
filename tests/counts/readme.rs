//! README's table of microcontrollers: figures of `docs/MICROCONTROLLERS.md`, with instructions in millions.

use crate::support::{self, bless};

/// Labels of the rows, and their models.
const ROWS: [(&str, &str); 4] = [
    ("keyword spotting (kws)", "mlperftiny-kws_ref_model"),
    ("image classification (resnet8)", "mlperftiny-pretrainedResnet_quant"),
    ("visual wake words (vww_96)", "mlperftiny-vww_96_int8"),
    ("anomaly detection (ad01)", "mlperftiny-ad01_int8"),
];

/// Columns of the page: modelc's core, and TFLite Micro on it.
const COLUMNS: [&str; 2] = ["cortex-m4f", "TFLite Micro, M4F"];

/// Returns the cells of a line of a table.
fn cells(line: &str) -> Vec<&str> {
    line.trim_matches('|').split('|').map(str::trim).collect()
}

/// Returns a cell of the page: by the title of its section, the first cell of its row, and the head of its column.
fn cell<'p>(page: &'p str, title: &str, row: &str, column: &str) -> Option<&'p str> {
    let (_, section) = page.split_once(&format!("## {title}\n"))?;
    let mut lines = section.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|')).map(cells);
    let position = lines.next()?.iter().position(|head| *head == column)?;
    lines.find(|line| line[0] == row)?.get(position).copied()
}

/// Formats thousands of instructions as millions, with three digits.
fn millions(thousands: &str) -> Option<String> {
    let millions = thousands.replace(',', "").parse::<f64>().ok()? / 1e3;
    Some(match millions {
        0.0..0.9995 => format!("{millions:.3}"),
        0.9995..9.995 => format!("{millions:.2}"),
        _ => format!("{millions:.1}"),
    })
}

/// Returns the row of README for a model.
fn row(page: &str, label: &str, model: &str) -> Option<String> {
    let mut text = format!("| {label} |");
    let first = |title, separator: &str| {
        let cells = COLUMNS.map(|column| cell(page, title, model, column).and_then(|cell| cell.split(separator).next()));
        cells.into_iter().collect::<Option<Vec<&str>>>().map(|cells| cells.join(" | "))
    };
    text += &format!(" {} | {} |", first("RAM", " + ")?, first("Flash", " / ")?);
    for column in COLUMNS {
        text += &format!(" {} |", millions(cell(page, "Instructions", model, column)?)?);
    }
    Some(text)
}

/// Returns README with the figures of a page.
pub fn with_figures(page: &str) -> String {
    let mut readme = read("README.md");
    for (label, model) in ROWS {
        let old = readme.lines().find(|line| line.starts_with(&format!("| {label} |"))).unwrap_or_else(|| panic!("README has no {label}"));
        let new = row(page, label, model).unwrap_or_else(|| panic!("the page has no figures of {model}"));
        readme = readme.replace(old, &new);
    }
    readme
}

fn read(name: &str) -> String {
    std::fs::read_to_string(support::own(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Compares README with the page of the repository.
pub fn the_table_of_readme_holds() {
    // The page may change at this moment if it is written. Its test then writes README, too.
    if !bless::is_wanted() {
        bless::text("README.md", &with_figures(&read("docs/MICROCONTROLLERS.md")));
    }
}
