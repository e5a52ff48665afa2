//! Damage to texts of the tensor language: words are changed.

/// Replacements for numbers: small ones that may fit, and ones that overflow.
const NUMBERS: &[&str] = &["0", "1", "2", "3", "4", "7", "-1", "-2", "255", "65536", "2147483647", "4294967296", "-9223372036854775808"];

/// Characters that end a word.
const ENDS: [char; 8] = [' ', ',', '[', ']', '\n', '=', '(', ')'];

/// Changes one to three words of a text.
pub fn damage_text(text: &str, random: &mut dyn FnMut(usize) -> usize) -> String {
    let mut words: Vec<String> = text.split_inclusive(ENDS).map(str::to_owned).collect();
    if words.is_empty() {
        return String::new();
    }
    for _ in 0..1 + random(3) {
        let at = random(words.len());
        let core = words[at].trim_end_matches(ENDS).to_owned();
        let rest = words[at][core.len()..].to_owned();
        let other = words[random(words.len())].clone();
        words[at] = match random(4) {
            0 => other,
            1 => rest,
            _ if core.parse::<f64>().is_ok() => NUMBERS[random(NUMBERS.len())].to_owned() + &rest,
            _ => {
                // A value, node or constant replaces another one.
                let name = core.trim_end_matches(|c: char| c.is_ascii_digit());
                let number: u64 = core[name.len()..].parse().unwrap_or(0);
                format!("{name}{}{rest}", number.saturating_add(4).saturating_sub(random(8) as u64))
            }
        };
    }
    words.concat()
}
