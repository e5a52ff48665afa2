//! A chart of the results: for each model the peers' times relative to ours, on a logarithmic scale.

use super::Row;
use super::suites::Suite;

const LEFT: f64 = 330.0;
const WIDTH: f64 = 900.0;
const ROW: f64 = 22.0;
const TOP: f64 = 64.0;
/// The scale extends from one part in this many to this factor.
const LIMIT: f64 = 16.0;
const COLOURS: [&str; 2] = ["#c06c2b", "#3d6fb0"];

/// Returns the position of a ratio; ratios beyond the scale are at its ends.
fn x(ratio: f64) -> f64 {
    let part = ratio.clamp(1.0 / LIMIT, LIMIT).log2() / (2.0 * LIMIT.log2()) + 0.5;
    LEFT + part * (WIDTH - LEFT - 40.0)
}

/// Returns an SVG picture.
pub fn chart(suite: &Suite, rows: &[Row], conditions: &str) -> String {
    let height = TOP + ROW * rows.len() as f64 + 40.0;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n\
         <text x=\"12\" y=\"20\" font-size=\"13\">{}</text>\n",
        escape(conditions)
    );
    for (number, (colour, peer)) in COLOURS.iter().zip(&suite.contenders[1..]).enumerate() {
        let at = 12.0 + 200.0 * number as f64;
        text.push_str(&format!("<circle cx=\"{}\" cy=\"40\" r=\"5\" fill=\"{colour}\"/>", at + 5.0));
        text.push_str(&format!("<text x=\"{}\" y=\"44\">{} over modelc</text>\n", at + 16.0, peer.name()));
    }
    let mut ratio = 1.0 / LIMIT;
    while ratio <= LIMIT {
        let (at, strong) = (x(ratio), ratio == 1.0);
        let colour = if strong { "#333333" } else { "#dddddd" };
        let label = if ratio < 1.0 { format!("1/{:.0}", 1.0 / ratio) } else { format!("{ratio:.0}") };
        text.push_str(&format!("<line x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{TOP}\" y2=\"{}\" stroke=\"{colour}\"/>", height - 30.0));
        text.push_str(&format!("<text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{label}</text>\n", height - 14.0));
        ratio *= 2.0;
    }
    for (number, row) in rows.iter().enumerate() {
        let y = TOP + ROW * (number as f64 + 0.5);
        let end = LEFT - 10.0;
        text.push_str(&format!("<text x=\"{end}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>", y + 4.0, escape(&row.name)));
        for (contender, colour) in (1..suite.contenders.len()).zip(COLOURS) {
            if let Some(ratio) = row.ratio(contender) {
                let (from, to) = (x(1.0), x(ratio));
                text.push_str(&format!(
                    "<line x1=\"{from:.1}\" x2=\"{to:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"{colour}\" stroke-opacity=\"0.4\"/>\
                     <circle cx=\"{to:.1}\" cy=\"{y:.1}\" r=\"5\" fill=\"{colour}\"><title>{} {}: {ratio:.2}</title></circle>",
                    escape(&row.name),
                    suite.contenders[contender].name()
                ));
            }
        }
        text.push('\n');
    }
    text.push_str("</svg>\n");
    text
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::super::Class;
    use super::super::suites::SUITES;
    use super::super::tests::row;
    use super::*;

    #[test]
    fn faster_stands_to_the_right_and_missing_figures_are_left_out() {
        assert!(x(2.0) > x(1.0) && x(1.0) > x(0.5) && x(1e9) == x(LIMIT));
        let rows = [row("a<b", Class::Float, [Some(1e6), Some(2e6), None])];
        let text = chart(&SUITES[0], &rows, "here & now");
        assert!(text.contains("a&lt;b") && text.contains("here &amp; now"));
        // Two circles are in the legend, one is a result.
        assert_eq!(text.matches("<circle").count(), 3);
    }

    #[test]
    fn every_suite_has_a_chart() {
        for suite in SUITES {
            let mut row = row("a", Class::Float, [Some(1e6), Some(2e6), Some(3e6)]);
            row.latency.truncate(suite.contenders.len());
            let peers = suite.contenders.len() - 1;
            assert_eq!(chart(suite, &[row], "here").matches("<circle").count(), 2 * peers, "{}", suite.name);
        }
    }
}
