//! A page of Markdown: its headings, their anchors, its links, and its first paragraph.

use std::collections::BTreeMap;

/// A link or an image, as byte ranges of the page.
struct Link {
    /// Position of `[`, or of `!` before it.
    start: usize,
    label: std::ops::Range<usize>,
    target: std::ops::Range<usize>,
}

/// A replacement of a link.
#[derive(Debug, PartialEq, Eq)]
pub enum Relink {
    /// Leaves the link.
    Keep,
    /// Keeps the label, with another target.
    To(String),
    /// Leaves the label alone.
    Label,
}

/// The lines outside fenced blocks of code.
pub fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().filter(move |line| {
        let fence = line.starts_with("```");
        is_code ^= fence;
        !fence && !is_code
    })
}

/// The level and the text of a heading.
pub fn heading(line: &str) -> Option<(usize, &str)> {
    let text = line.trim_start_matches('#');
    let level = line.len() - text.len();
    (1..=6).contains(&level).then(|| text.strip_prefix(' ')).flatten().map(|text| (level, text.trim()))
}

/// The text of the first heading.
pub fn title(text: &str) -> Option<&str> {
    lines(text).find_map(heading).map(|(_, title)| title)
}

/// The first paragraph in one line, with labels in place of links.
pub fn summary(text: &str) -> String {
    let is_prose = |line: &&str| !line.is_empty() && heading(line).is_none();
    let paragraph: Vec<&str> = lines(text).skip_while(|line| !is_prose(line)).take_while(|line| !line.is_empty()).collect();
    relinked(&paragraph.join(" "), |_| Relink::Label)
}

/// The anchors of headings, as GitHub and mdBook make them: lower case, words joined by hyphens, a number after a repetition.
pub fn anchors(text: &str) -> Vec<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let anchor = |(_, title): (usize, &str)| {
        let plain = relinked(title, |_| Relink::Label);
        let kept = plain.chars().filter(|c| c.is_alphanumeric() || c.is_whitespace() || "-_".contains(*c));
        let name: String = kept.map(|c| if c.is_whitespace() { '-' } else { c }).flat_map(char::to_lowercase).collect();
        let count = seen.entry(name.clone()).or_default();
        *count += 1;
        if *count == 1 { name } else { format!("{name}-{}", *count - 1) }
    };
    lines(text).filter_map(heading).map(anchor).collect()
}

/// The targets of links and images outside code.
pub fn targets(text: &str) -> Vec<&str> {
    links(text).into_iter().map(|link| &text[link.target]).collect()
}

/// The page with other links: `choose` gets each target.
pub fn relinked(text: &str, choose: impl Fn(&str) -> Relink) -> String {
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for link in links(text) {
        let end = link.target.end + 1;
        let (from, to) = match choose(&text[link.target.clone()]) {
            Relink::Keep => continue,
            Relink::To(target) => (link.target.start..link.target.end, target),
            Relink::Label => (link.start..end, text[link.label].to_owned()),
        };
        out.extend([&text[done..from.start], &to]);
        done = from.end;
    }
    out + &text[done..]
}

/// The links in their order. A link in the label of another one is none.
fn links(text: &str) -> Vec<Link> {
    let bytes = text.as_bytes();
    let (mut found, mut open, mut at) = (vec![], vec![], 0);
    while at < bytes.len() {
        match bytes[at] {
            b'`' => {
                at = after_code(text, at);
                continue;
            }
            b'[' => open.push(at),
            b']' => {
                let target = text[at + 1..].strip_prefix('(').and_then(|rest| rest.find(')')).map(|length| at + 2..at + 2 + length);
                if let (Some(start), Some(target)) = (open.pop(), target) {
                    let is_image = start > 0 && bytes[start - 1] == b'!';
                    at = target.end;
                    found.push(Link { start: start - usize::from(is_image), label: start + 1..target.start - 2, target });
                }
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// The end of a span or a block of code that begins here: after as many backticks as it begins with.
fn after_code(text: &str, at: usize) -> usize {
    let rest = &text[at..];
    let fence = &rest[..rest.len() - rest.trim_start_matches('`').len()];
    let inside = at + fence.len();
    text[inside..].find(fence).map_or(inside, |length| inside + length + fence.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# A page\n\nIt has [one `x](y)`\nlink](there.md#a), and `[no](link)`.\n\n```\n# none [no](link)\n```\n\n## Two: `--emit`\n## A page\n![i](i.png)";

    #[test]
    fn code_has_no_headings_and_no_links() {
        assert_eq!(targets(PAGE), ["there.md#a", "i.png"]);
        assert_eq!(anchors(PAGE), ["a-page", "two---emit", "a-page-1"]);
        assert_eq!((title(PAGE), &*summary(PAGE)), (Some("A page"), "It has one `x](y)` link, and `[no](link)`."));
    }

    #[test]
    fn links_are_replaced() {
        let other = relinked(PAGE, |target| if target == "i.png" { Relink::Label } else { Relink::To("z".into()) });
        assert_eq!(other, PAGE.replace("there.md#a", "z").replace("![i](i.png)", "i"));
        assert_eq!(relinked(PAGE, |_| Relink::Keep), PAGE);
    }

    #[test]
    fn code_that_never_ends_is_text() {
        assert_eq!(targets("a ` b [c](d)"), ["d"]);
    }
}
