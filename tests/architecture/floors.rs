//! The table of floors in `docs/ARCHITECTURE.md`: what each floor may use beside itself and `diagnostic`.

/// A floor of the table.
#[derive(PartialEq, Eq, Debug)]
pub struct Floor {
    /// Name of its folder or file.
    pub name: String,
    /// Floors that it may use; `None` for all.
    pub may_use: Option<Vec<String>>,
}

/// Returns the floors of the page. A row may have several, all of which may use the same floors.
pub fn of_page(page: &str) -> Vec<Floor> {
    let rows = page.lines().skip_while(|line| !line.starts_with("| floor |")).skip(2).take_while(|line| line.starts_with('|'));
    rows.flat_map(|row| {
        let cells: Vec<&str> = row.split('|').collect();
        let [_, floors, _, may_use, _] = cells[..] else { panic!("a row has three cells: {row}") };
        let may_use = match may_use.trim() {
            "everything" => None,
            "nothing" => Some(vec![]),
            list => Some(names(list)).filter(|names| !names.is_empty()).or_else(|| panic!("no floors are named: {row}")),
        };
        names(floors).into_iter().map(move |name| Floor { name, may_use: may_use.clone() })
    })
    .collect()
}

/// Returns the names between backquotes.
fn names(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_the_table() {
        let page = "# Page\n\n| a | b |\n|---|---|\n\n| floor | holds | may use |\n|---|---|---|\n| [`a`](a.md), `b` | two `things` | nothing |\n\
                    | `c` | one | `a`, `b` |\n| `d` | | everything |\n\n| `e` | | `a` |\n";
        let floor = |name: &str, may_use: Option<&[&str]>| Floor {
            name: name.into(),
            may_use: may_use.map(|list| list.iter().map(ToString::to_string).collect()),
        };
        let expected = [floor("a", Some(&[])), floor("b", Some(&[])), floor("c", Some(&["a", "b"])), floor("d", None)];
        assert_eq!(of_page(page), expected);
    }
}
