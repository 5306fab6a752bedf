//! Figures: read from the programs that measure, shown as a table, kept in a document.

use std::fmt::Write as _;
use std::fs;

use serde_json::{Value, json};

/// One measured value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Figure {
    /// Where it was measured, such as `browser`.
    pub(crate) group: &'static str,
    pub(crate) name: String,
    pub(crate) value: f64,
    unit: String,
}

impl Figure {
    /// A figure that follows from others.
    pub(crate) fn new(group: &'static str, name: String, value: f64, unit: &str) -> Self {
        let unit = unit.to_owned();
        Self {
            group,
            name,
            value,
            unit,
        }
    }

    /// Reads a line `{"name", "value", "unit"}`; any other line is none, and so is a point of a curve.
    pub(crate) fn read(group: &'static str, line: &str) -> Option<Self> {
        let line: Value = serde_json::from_str(line).ok()?;
        if line.get("series").is_some() {
            return None;
        }
        let text = |key: &str| line[key].as_str().map(str::to_owned);
        Some(Self {
            group,
            name: text("name")?,
            value: line["value"].as_f64()?,
            unit: text("unit")?,
        })
    }

    /// Its row in a table: group, name and unit, as cells.
    pub(crate) fn row(&self) -> String {
        format!("{} | {} | {}", self.group, self.name, self.unit)
    }

    pub(crate) fn unit(&self) -> &str {
        &self.unit
    }

    pub(crate) fn shown(&self) -> String {
        let digits = match self.value.abs() {
            size if size >= 100.0 || size.fract() == 0.0 => 0,
            size if size >= 10.0 => 1,
            size if size >= 1.0 => 2,
            _ => 3,
        };
        group_digits(&format!("{:.digits$}", self.value))
    }
}

/// A number with its thousands apart.
pub(crate) fn group_digits(number: &str) -> String {
    let (whole, fraction) = number
        .split_once('.')
        .map_or((number, ""), |(whole, fraction)| (whole, fraction));
    let (sign, whole) = whole
        .strip_prefix('-')
        .map_or(("", whole), |whole| ("-", whole));
    let mut text = sign.to_owned();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if fraction.is_empty() {
        text
    } else {
        format!("{text}.{fraction}")
    }
}

/// A table for the terminal.
pub(crate) fn table(figures: &[Figure]) -> String {
    let width = figures
        .iter()
        .map(|figure| figure.name.chars().count())
        .max()
        .unwrap_or(0);
    let mut text = String::new();
    let mut group = "";
    for figure in figures {
        if figure.group != group {
            group = figure.group;
            text += &format!("\n{group}\n");
        }
        text += &format!(
            "    {:<width$}  {:>14} {}\n",
            figure.name,
            figure.shown(),
            figure.unit
        );
    }
    text
}

/// One object for programs.
pub(crate) fn as_object(figures: &[Figure], machine: &str, date: &str) -> Value {
    let figures: Vec<_> = figures
        .iter()
        .map(|f| json!({"group": f.group, "name": f.name, "value": f.value, "unit": f.unit}))
        .collect();
    json!({"machine": machine, "date": date, "figures": figures})
}

/// Puts the figures into the document, newest first; those with the same title (machine and day) are replaced.
pub(crate) fn record(document: &str, figures: &[Figure], title: &str) -> String {
    let mut body = "| Where | What | Value | Unit |\n| --- | --- | ---: | --- |\n".to_owned();
    for figure in figures {
        let Figure {
            group, name, unit, ..
        } = figure;
        let _ = writeln!(body, "| {group} | {name} | {} | {unit} |", figure.shown());
    }
    make_section(document, title, &body)
}

/// Puts a section into the document, before all others; one with the same title is replaced.
pub(crate) fn make_section(document: &str, title: &str, body: &str) -> String {
    let title = format!("## {title}");
    let mut parts = document.split("\n## ");
    let mut text = parts.next().unwrap_or_default().trim_end().to_owned();
    text += &format!("\n\n{title}\n\n{body}");
    for old in parts
        .map(|part| format!("## {part}"))
        .filter(|part| part.lines().next() != Some(title.as_str()))
    {
        text += &format!("\n{}\n", old.trim_end());
    }
    text
}

/// Replaces the body of a section where it stands, or puts the section at the end of the document.
pub(crate) fn replace_section(document: &str, title: &str, body: &str) -> String {
    let title = format!("## {title}");
    let mut parts: Vec<String> = document
        .trim_end()
        .split("\n## ")
        .enumerate()
        .map(|(at, part)| format!("{}{}", if at > 0 { "## " } else { "" }, part.trim_end()))
        .collect();
    let new = format!("{title}\n\n{}", body.trim_end());
    match parts
        .iter_mut()
        .find(|part| part.lines().next() == Some(title.as_str()))
    {
        Some(part) => *part = new,
        None => parts.push(new),
    }
    parts.join("\n\n") + "\n"
}

/// Describes the machine: processor, cores, memory.
pub(crate) fn describe_machine() -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let field = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let model = field(&read("/proc/cpuinfo"), "model name")
        .unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let memory = field(&read("/proc/meminfo"), "MemTotal")
        .and_then(|text| text.split(' ').next()?.parse::<u64>().ok());
    let memory = memory.map_or_else(String::new, |kib| {
        format!(", {} GiB", kib.div_ceil(1 << 20))
    });
    format!("{model}, {cores} cores{memory}, {}", std::env::consts::OS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(value: f64) -> Figure {
        Figure {
            group: "native",
            name: "step".to_owned(),
            value,
            unit: "ns".to_owned(),
        }
    }

    #[test]
    fn only_a_line_with_all_three_parts_is_a_figure() {
        let line = r#"{"name": "step", "value": 92.5, "unit": "ns"}"#;
        assert_eq!(Figure::read("native", line), Some(figure(92.5)));
        assert_eq!(Figure::read("native", r#"{"name": "step"}"#), None);
        assert_eq!(Figure::read("native", "running 3 benches"), None);
    }

    #[test]
    fn numbers_are_readable() {
        assert_eq!(figure(12_345_678.4).shown(), "12,345,678");
        assert_eq!(figure(92.54).shown(), "92.5");
        assert_eq!(figure(0.1234).shown(), "0.123");
        assert_eq!(figure(2.0).shown(), "2");
    }

    #[test]
    fn a_section_is_replaced_where_it_stands() {
        let page = "# Page\n\n## One\n\nOld.\n\n## Two\n\nKept.\n";
        let new = "# Page\n\n## One\n\nNew.\n\n## Two\n\nKept.\n";
        assert_eq!(replace_section(page, "One", "New.\n"), new);
        assert_eq!(replace_section(new, "One", "New."), new);
        let more = replace_section(page, "Three", "More.");
        assert_eq!(more, format!("{page}\n## Three\n\nMore.\n"));
    }

    #[test]
    fn a_second_run_on_a_day_replaces_the_first_and_keeps_the_others() {
        let first = record("# Benchmarks\n\nHow.\n", &[figure(1.0)], "2026-01-01, m");
        let other = record(&first, &[figure(2.0)], "2026-01-02, m");
        let again = record(&other, &[figure(3.0)], "2026-01-02, m");
        assert!(again.starts_with("# Benchmarks\n\nHow.\n\n## 2026-01-02, m\n"));
        assert_eq!(again.matches("## ").count(), 2);
        assert!(
            again.contains("| 3 | ns |")
                && again.contains("| 1 | ns |")
                && !again.contains("| 2 | ns |")
        );
    }
}
