//! The report as a page: one file without references to other files, so that it can be mailed and kept.
//!
//! The page contains the report as JSON, and its script draws it. Names come from model files. They are in the JSON with every `<` escaped, and
//! the script inserts them as text, never as markup. The page's policy forbids it to load anything.

use serde_json::Value;

/// The script, one file a part of the page.
const SCRIPT: &str = concat!(
    include_str!("html/base.js"),
    include_str!("html/memory.js"),
    include_str!("html/operators.js"),
    include_str!("html/graph_layout.js"),
    include_str!("html/graph.js"),
    include_str!("html/time.js"),
    include_str!("html/script.js"),
);

/// Returns the page of a report of schema `modelc.report/1`.
pub fn page(report: &Value) -> String {
    // Nothing inside the script element can end it.
    let data = report.to_string().replace('<', "\\u003c");
    let parts = [
        include_str!("html/head.html"),
        "<style>\n",
        include_str!("html/style.css"),
        "</style>\n</head>\n",
        include_str!("html/body.html"),
        "<script type=\"application/json\" id=\"report\">",
        &data,
        "</script>\n<script>\n",
        SCRIPT,
        "</script>\n</body>\n</html>\n",
    ];
    parts.concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_cannot_leave_the_data() {
        let page = page(&json!({ "name": "</script><script>alert(1)</script><!--" }));
        assert_eq!(page.matches("</script>").count(), 2);
        assert_eq!(page.matches("<!--").count(), 0);
        assert!(page.contains(r"\u003c/script>\u003cscript>alert(1)"));
    }
}
