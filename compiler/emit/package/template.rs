//! Templates: texts with words between `@`, and blocks of lines that are repeated.

/// Words and their values.
pub type Words = Vec<(&'static str, String)>;

/// Fills in a template. `@WORD@` becomes its value. The lines between `@each@` and `@end@` are repeated for each item, with its words.
pub fn fill(template: &str, words: &Words, items: &[Words]) -> String {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("@each@\n") {
        let (block, after) = after.split_once("@end@\n").unwrap_or((after, ""));
        text.push_str(&replaced(before, words));
        for item in items {
            text.push_str(&replaced(&replaced(block, item), words));
        }
        rest = after;
    }
    text + &replaced(rest, words)
}

fn replaced(text: &str, words: &Words) -> String {
    words.iter().fold(text.to_owned(), |text, (word, value)| text.replace(&format!("@{word}@"), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_repeated_with_their_words() {
        let items = [vec![("ITEM", "a".into())], vec![("ITEM", "b".into())]];
        let words = vec![("NAME", "net".to_owned())];
        let text = fill("x @NAME@\n@each@\n@ITEM@ @NAME@\n@end@\n${y}\n@each@\n-@ITEM@\n@end@\n", &words, &items);
        assert_eq!(text, "x net\na net\nb net\n${y}\n-a\n-b\n");
    }
}
