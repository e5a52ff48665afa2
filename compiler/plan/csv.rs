//! Packing problems as text, in MiniMalloc's form: `id,lower,upper,size`, with half-open live ranges. `alignment` and `offset` are optional
//! columns.

use std::fmt;

use super::problem::{Block, Segment};

/// An error of a text, with its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CsvError {
    /// The line, from 1.
    pub line: usize,
    /// The text expected there.
    pub expected: &'static str,
}

impl fmt::Display for CsvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: expected {}", self.line, self.expected)
    }
}

impl std::error::Error for CsvError {}

/// Columns that can be read. The first four are required.
const COLUMNS: [&str; 6] = ["id", "lower", "upper", "size", "alignment", "offset"];

/// Reads a problem: the blocks in the order of the lines, with their ids. An `offset` is read as a fixed one, unless it is empty.
pub fn parse(text: &str) -> Result<Vec<(String, Block)>, CsvError> {
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let (_, header) = lines.next().ok_or(CsvError { line: 1, expected: "a header" })?;
    let names: Vec<&str> = header.split(',').map(str::trim).collect();
    let place = COLUMNS.map(|column| names.iter().position(|name| *name == column));
    if place[..4].iter().any(Option::is_none) {
        return Err(CsvError { line: 1, expected: "the columns id, lower, upper and size" });
    }
    let mut blocks = Vec::new();
    let mut sum = 0u64;
    for (index, line) in lines {
        let wrong = |expected| CsvError { line: index + 1, expected };
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        let cell = |column: usize| place[column].and_then(|at| cells.get(at)).copied().filter(|cell| !cell.is_empty());
        let number = |column: usize| cell(column).map(|cell| cell.parse::<u64>().map_err(|_| wrong("a number"))).transpose();
        let id = cell(0).ok_or(wrong("an id"))?.to_string();
        let start = number(1)?.ok_or(wrong("a lower end"))?;
        let end = number(2)?.filter(|end| *end > start).ok_or(wrong("an upper end above the lower one"))?;
        let bytes = number(3)?.ok_or(wrong("a size"))?;
        let alignment = number(4)?.unwrap_or(1);
        if !alignment.is_power_of_two() {
            return Err(wrong("an alignment that is a power of two"));
        }
        let fixed = number(5)?;
        let room = [bytes, alignment, fixed.unwrap_or(0)].iter().try_fold(sum, |sum, part| sum.checked_add(*part));
        sum = room.filter(|sum| *sum <= 1 << 62).ok_or(wrong("sizes and offsets that add up to less than 2^62"))?;
        blocks.push((id, Block { segments: vec![Segment { start, end, bytes }], alignment, fixed }));
    }
    Ok(blocks)
}

/// Writes a problem, and its solution if given. A block of changing height is written at its greatest height, which makes the problem stricter.
pub fn print(blocks: &[(String, Block)], offsets: Option<&[u64]>) -> String {
    let mut text = String::from("id,lower,upper,size,alignment,offset\n");
    for (index, (id, block)) in blocks.iter().enumerate() {
        let life = block.life();
        let offset = offsets.and_then(|offsets| offsets.get(index).copied()).or(block.fixed);
        let offset = offset.map_or(String::new(), |offset| offset.to_string());
        let id: String = id.chars().map(|letter| if letter == ',' || letter.is_control() { '_' } else { letter }).collect();
        text += &format!("{id},{},{},{},{},{offset}\n", life.start, life.end, block.height(), block.alignment);
    }
    text
}
