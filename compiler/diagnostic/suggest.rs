//! Suggestions for misspelled names.

/// Returns the nearest name to a word, if it is similar: one letter omitted, doubled, changed or swapped, or more in longer words.
pub fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let most = 1 + word.chars().count() / 4;
    let distances = names.into_iter().map(|name| (strsim::osa_distance(word, name), name));
    distances.filter(|(distance, name)| *distance <= most && *distance < name.chars().count()).min().map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn near_words_are_found_and_far_ones_are_not() {
        let names = ["run", "bench", "verify", "inspect", "ops", "targets", "weights"];
        for (word, meant) in
            [("insepct", "inspect"), ("inspec", "inspect"), ("bnech", "bench"), ("verfy", "verify"), ("op", "ops"), ("rnu", "run")]
        {
            assert_eq!(nearest(word, names), Some(meant), "{word}");
        }
        for word in ["model", "compile", "x", "net", ""] {
            assert_eq!(nearest(word, names), None, "{word}");
        }
    }
}
