//! The form of a table of encodings.

/// Defines a constant for each row of an instruction set, and the list of all rows.
macro_rules! rows {
    ($($(#[$doc:meta])* $name:ident = $row:expr;)*) => {
        $($(#[$doc])* pub(super) const $name: Row = $row;)*

        /// All rows.
        #[cfg(test)]
        pub(super) const ALL: &[&Row] = &[$(&$name),*];
    };
}

pub(crate) use rows;
