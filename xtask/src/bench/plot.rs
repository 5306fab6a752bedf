//! Curves: read from the programs that measure, drawn as SVG with two logarithmic axes.

use std::fmt::Write as _;

use serde_json::{Value, json};

/// One measured point of a curve.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Point {
    /// The quantity that grows, which names the picture.
    series: String,
    /// The thing measured, which names the curve.
    name: String,
    x: f64,
    value: f64,
    unit: String,
}

impl Point {
    /// Reads a line `{"series", "name", "x", "value", "unit"}`; any other line is none.
    pub(super) fn read(line: &str) -> Option<Self> {
        let line: Value = serde_json::from_str(line).ok()?;
        let text = |key: &str| line[key].as_str().map(str::to_owned);
        Some(Self {
            series: text("series")?,
            name: text("name")?,
            x: line["x"].as_f64()?,
            value: line["value"].as_f64()?,
            unit: text("unit")?,
        })
    }

    pub(super) fn json(&self) -> Value {
        json!({"series": self.series, "name": self.name, "x": self.x, "value": self.value, "unit": self.unit})
    }
}

/// The names that `of` gives, each once, in order.
fn distinct<'a>(points: &'a [Point], of: impl Fn(&'a Point) -> &'a str) -> Vec<&'a str> {
    let mut names = Vec::new();
    for name in points.iter().map(of) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// The points as text.
pub(super) fn table(points: &[Point]) -> String {
    let mut text = String::new();
    for series in distinct(points, |point| &point.series) {
        let _ = writeln!(text, "\n{series}");
        for point in points.iter().filter(|point| point.series == series) {
            let _ = writeln!(
                text,
                "    {:<24} {:>8} {:>16.0} {}",
                point.name, point.x, point.value, point.unit
            );
        }
    }
    text
}

/// A file name and a picture for each series.
pub(super) fn pictures(points: &[Point], caption: &str) -> Vec<(String, String)> {
    let series = distinct(points, |point| &point.series);
    let picture = |series: &str| {
        let points: Vec<_> = points
            .iter()
            .filter(|point| point.series == series)
            .cloned()
            .collect();
        (
            format!("bench-{}.svg", series.replace(' ', "-")),
            draw(series, &points, caption),
        )
    };
    series.into_iter().map(picture).collect()
}

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 360.0;
/// Left, top, right, bottom of the axes.
const BOX: [f64; 4] = [70.0, 48.0, 620.0, 300.0];
/// Told apart by people who see few colours, on light and on dark ground.
const COLORS: [&str; 4] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7"];
const STYLE: &str = "svg{font:12px system-ui,sans-serif;background:#fff}text{fill:#222}.grid{stroke:#ddd}.axis{stroke:#777}\
    @media(prefers-color-scheme:dark){svg{background:#16181d}text{fill:#ddd}.grid{stroke:#333}.axis{stroke:#888}}";

/// A logarithmic axis from one power of ten or two to another.
struct Axis {
    base: f64,
    from: f64,
    to: f64,
    pixels: [f64; 2],
}

impl Axis {
    fn new(base: f64, values: impl Iterator<Item = f64> + Clone, pixels: [f64; 2]) -> Self {
        // A power of the base is a bit beside its whole number.
        const NEAR: f64 = 1e-9;
        let log = values.map(|value| value.max(f64::MIN_POSITIVE).ln() / base.ln());
        let from = (log.clone().fold(f64::INFINITY, f64::min) + NEAR).floor();
        let to = (log.fold(f64::NEG_INFINITY, f64::max) - NEAR)
            .ceil()
            .max(from + 1.0);
        Self {
            base,
            from,
            to,
            pixels,
        }
    }

    fn at(&self, value: f64) -> f64 {
        let part = (value.ln() / self.base.ln() - self.from) / (self.to - self.from);
        self.pixels[0] + part * (self.pixels[1] - self.pixels[0])
    }

    /// The values that have a line: not more than there is room for.
    fn ticks(&self) -> impl Iterator<Item = f64> {
        let step = ((self.to - self.from) / 9.0).ceil().max(1.0) as usize;
        (self.from as i32..=self.to as i32)
            .step_by(step)
            .map(|power| self.base.powi(power))
    }
}

/// A number with a letter for its thousands.
fn short(value: f64) -> String {
    match value {
        v if v >= 1e9 => format!("{} G", v / 1e9),
        v if v >= 1e6 => format!("{} M", v / 1e6),
        v if v >= 1e5 => format!("{} k", v / 1e3),
        v => format!("{v}"),
    }
}

fn draw(series: &str, points: &[Point], caption: &str) -> String {
    let [left, top, right, bottom] = BOX;
    let x = Axis::new(2.0, points.iter().map(|point| point.x), [left, right]);
    let y = Axis::new(10.0, points.iter().map(|point| point.value), [bottom, top]);
    let unit = points.first().map_or("", |point| &point.unit);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
         aria-label=\"{unit} over {series}\"><style>{STYLE}</style>\n"
    );
    for tick in x.ticks() {
        let (at, label) = (x.at(tick), short(tick));
        let _ = writeln!(svg, "<path class=\"grid\" d=\"M{at:.1} {top}V{bottom}\"/>");
        let _ = writeln!(
            svg,
            "<text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{label}</text>",
            bottom + 18.0
        );
    }
    for tick in y.ticks() {
        let (at, label) = (y.at(tick), short(tick));
        let _ = writeln!(svg, "<path class=\"grid\" d=\"M{left} {at:.1}H{right}\"/>");
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
            left - 8.0,
            at + 4.0
        );
    }
    let _ = writeln!(
        svg,
        "<path class=\"axis\" fill=\"none\" d=\"M{left} {top}V{bottom}H{right}\"/>"
    );
    for (index, name) in distinct(points, |point| &point.name)
        .into_iter()
        .enumerate()
    {
        curve(&mut svg, index, name, points, &x, &y);
    }
    let _ = writeln!(
        svg,
        "<text x=\"{left}\" y=\"20\" font-weight=\"600\">{unit} over {series}</text>"
    );
    let _ = writeln!(
        svg,
        "<text x=\"{left}\" y=\"{}\">{}</text>\n</svg>",
        HEIGHT - 12.0,
        escaped(caption)
    );
    svg
}

fn curve(svg: &mut String, index: usize, name: &str, points: &[Point], x: &Axis, y: &Axis) {
    let color = COLORS[index % COLORS.len()];
    let of_name = points.iter().filter(|point| point.name == name);
    let places: Vec<_> = of_name
        .map(|point| (x.at(point.x), y.at(point.value)))
        .collect();
    let line: Vec<_> = places
        .iter()
        .map(|(x, y)| format!("{x:.1},{y:.1}"))
        .collect();
    let _ = writeln!(
        svg,
        "<polyline fill=\"none\" stroke=\"{color}\" stroke-width=\"2\" points=\"{}\"/>",
        line.join(" ")
    );
    for (x, y) in &places {
        let _ = writeln!(
            svg,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{color}\"/>"
        );
    }
    let at = BOX[0] + 170.0 * index as f64;
    let _ = writeln!(
        svg,
        "<rect x=\"{at}\" y=\"30\" width=\"12\" height=\"4\" fill=\"{color}\"/>"
    );
    let _ = writeln!(
        svg,
        "<text x=\"{}\" y=\"37\">{}</text>",
        at + 18.0,
        escaped(name)
    );
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points() -> Vec<Point> {
        let line = |x: u32, value: u32| {
            format!(
                r#"{{"series":"batch size","name":"rules <only>","x":{x},"value":{value},"unit":"steps/s"}}"#
            )
        };
        let lines = [line(1, 1_000), line(64, 100_000), line(4096, 90_000)];
        lines.iter().filter_map(|line| Point::read(line)).collect()
    }

    #[test]
    fn a_figure_is_no_point() {
        assert_eq!(
            Point::read(r#"{"name": "step", "value": 92.5, "unit": "ns"}"#),
            None
        );
        assert_eq!(points().len(), 3);
    }

    #[test]
    fn greater_values_are_higher_and_further_right() {
        let [(file, picture)] = &pictures(&points(), "a machine")[..] else {
            panic!("one series makes one picture");
        };
        assert_eq!(file, "bench-batch-size.svg");
        assert!(
            picture.contains("points=\"70.0,300.0 345.0,48.0 620.0,"),
            "{picture}"
        );
        assert!(picture.contains("rules &lt;only>") && picture.ends_with("</svg>\n"));
    }
}
