//! Conversion of names in a schema to Rust names.

/// Words that cannot be identifiers in Rust 2024.
const KEYWORDS: &[&str] = &[
    "Self", "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn", "else", "enum",
    "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro", "match", "mod", "move", "mut", "override",
    "priv", "pub", "ref", "return", "self", "static", "struct", "super", "trait", "true", "try", "type", "typeof", "unsafe", "unsized",
    "use", "virtual", "where", "while", "yield",
];

/// Returns `name`, with `_` after it if it is a keyword of Rust.
pub(crate) fn identifier(name: &str) -> String {
    if KEYWORDS.contains(&name) { format!("{name}_") } else { name.to_string() }
}

/// Converts `Conv2DOptions` to `conv2d_options`, and `LSTMOptions` to `lstm_options`; snake case stays as it is.
///
/// A word starts at a capital after a small letter, and at a capital before a small letter unless
/// one has just started.
pub(crate) fn snake_case(name: &str) -> String {
    let characters: Vec<char> = name.chars().collect();
    let mut snake = String::new();
    for (index, &character) in characters.iter().enumerate() {
        let before = index.checked_sub(1).map(|index| characters[index]);
        let after = characters.get(index + 1);
        let starts_word = character.is_ascii_uppercase()
            && before.is_some_and(|before| before.is_ascii_lowercase() || before != '_' && after.is_some_and(char::is_ascii_lowercase));
        if starts_word {
            snake.push('_');
        }
        snake.push(character.to_ascii_lowercase());
    }
    snake
}

/// Converts to `snake_case` in capitals, for constants.
pub(crate) fn upper_snake_case(name: &str) -> String {
    snake_case(name).to_ascii_uppercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snake_case_keeps_acronyms_and_numbers_together() {
        for (name, snake) in [
            ("Conv2DOptions", "conv2d_options"),
            ("DepthwiseConv2DOptions", "depthwise_conv2d_options"),
            ("L2NormOptions", "l2_norm_options"),
            ("LSHProjectionOptions", "lsh_projection_options"),
            ("TopKV2Options", "top_kv2_options"),
            ("ATan2Options", "a_tan2_options"),
            ("StableHLOCompositeOptions", "stable_hlo_composite_options"),
            ("RNNOptions", "rnn_options"),
            ("EValue", "e_value"),
            ("builtin_options_2", "builtin_options_2"),
            ("_XNNCat", "_xnn_cat"),
        ] {
            assert_eq!(snake_case(name), snake);
        }
    }

    #[test]
    fn keywords_get_an_underscore() {
        assert_eq!(identifier("type"), "type_");
        assert_eq!(identifier("types"), "types");
    }
}
