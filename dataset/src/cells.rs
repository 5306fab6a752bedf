//! Cells of CSV files that spreadsheets do not execute.
//!
//! Source: OWASP, CSV Injection: a cell is a formula if it begins with one of a few characters, also within quotes.

use std::borrow::Cow;
use std::io::Write;

/// The characters with which a formula begins, in every width.
const FORMULA: [char; 11] = ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'];

/// The characters at which a program may split a cell. A spreadsheet whose language separates cells by semicolons, or
/// one that is set to split at tabs, ignores our quotes and what they hold together.
const SPLITS: [char; 4] = [';', '\t', '\r', '\n'];

/// Returns a cell as it is written: an apostrophe comes before text that a spreadsheet would execute, and before text
/// that already looks like this; also inside the cell, where it may be split. Numbers stay as they are.
pub fn quote_formula(cell: &str) -> Cow<'_, str> {
    let parts = split(cell).enumerate();
    let quoted = parts.map(|(number, part)| match is_live(cell, number, part) {
        true => format!("'{part}"),
        false => part.to_owned(),
    });
    let quoted: String = quoted.collect();
    match quoted.len() == cell.len() {
        true => Cow::Borrowed(cell),
        false => Cow::Owned(quoted),
    }
}

/// The text of a cell that was written so.
pub fn unquote_formula(cell: &str) -> Cow<'_, str> {
    let parts = split(cell).enumerate();
    let plain = parts.map(|(number, part)| match part.strip_prefix('\'') {
        Some(bare) if is_live(cell, number, part) => bare,
        _ => part,
    });
    let plain: String = plain.collect();
    match plain.len() == cell.len() {
        true => Cow::Borrowed(cell),
        false => Cow::Owned(plain),
    }
}

/// Texts that table programs take for a missing value.
///
/// Source: pandas 2.3, `pandas._libs.parsers.STR_NA_VALUES`; R, `read.csv`, `na.strings`.
const MISSING: [&str; 17] = [
    "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>",
    "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan",
];

/// Returns a cell of a table as it is written: as [`quote_formula`] writes it. An apostrophe also comes before text
/// that table programs would take for a missing value, and before text that already looks like this. An empty cell is a
/// missing value.
pub fn quote_cell(cell: &str) -> Cow<'_, str> {
    match is_missing(cell.trim_start_matches('\'')) {
        true => Cow::Owned(format!("'{cell}")),
        false => quote_formula(cell),
    }
}

/// The text of a cell that [`quote_cell`] wrote.
pub fn unquote_cell(cell: &str) -> Cow<'_, str> {
    match cell.strip_prefix('\'') {
        Some(bare) if is_missing(bare.trim_start_matches('\'')) => Cow::Borrowed(bare),
        _ => unquote_formula(cell),
    }
}

fn is_missing(cell: &str) -> bool {
    cell.is_empty() || cell == "null" || MISSING.contains(&cell)
}

/// The parts of a cell, each with the character at its end that splits.
fn split(cell: &str) -> impl Iterator<Item = &str> {
    // An empty cell is one part, and so is the text after the last split.
    cell.split_inclusive(SPLITS)
}

/// True if a part of a cell is a formula, apart from apostrophes before it; the first part as the whole cell is one.
fn is_live(cell: &str, number: usize, part: &str) -> bool {
    let text = match number {
        0 => cell,
        _ => part.trim_end_matches(SPLITS),
    };
    is_formula(text.trim_start_matches('\''))
}

fn is_formula(cell: &str) -> bool {
    // A program that splits a cell may take a quotation mark in it for the beginning of a quoted cell.
    cell.trim_start_matches([' ', '"']).starts_with(FORMULA) && !is_number(cell)
}

/// Writes one record of text.
pub(crate) fn write_cells<W: Write>(
    writer: &mut csv::Writer<W>,
    cells: impl IntoIterator<Item = impl AsRef<str>>,
) -> csv::Result<()> {
    for cell in cells {
        writer.write_field(&*quote_formula(cell.as_ref()))?;
    }
    writer.write_record(None::<&[u8]>)
}

fn is_number(cell: &str) -> bool {
    let is_part =
        |byte: u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-');
    cell.bytes().all(is_part) && cell.parse::<f64>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_be_read_as_missing_is_quoted() {
        for text in ["", "NA", "None", "null", "nan", "=1+1", "'NA", "'", "''"] {
            assert_eq!(quote_cell(text), format!("'{text}"));
            assert_eq!(unquote_cell(&quote_cell(text)), text);
        }
        for text in ["none", "Nana", "N/A?", "-1", "'tis", "0"] {
            assert_eq!(quote_cell(text), text);
            assert_eq!(unquote_cell(text), text);
        }
    }

    #[test]
    fn a_formula_is_quoted_and_a_number_is_not() {
        for formula in [
            "=HYPERLINK(\"http://evil.example\",\"pay\")",
            "+cmd|' /C calc'!A0",
            "-2+3",
            "@SUM(1)",
            "\tSUM",
            "\r1",
            "  =1+1",
            "＝1+1",
            "\"=1+1",
            "-",
            "-inf",
        ] {
            let quoted = quote_formula(formula);
            assert_eq!(quoted, format!("'{formula}"), "{formula}");
            assert_eq!(unquote_formula(&quoted), formula);
            let again = quote_formula(&quoted);
            assert_eq!(unquote_formula(&again), quoted, "what was typed so");
        }
        for plain in [
            "",
            "P-ABC",
            "-1",
            "+1",
            "-0.25",
            "-1e-7",
            "a=b",
            "{\"a\":1}",
            "'tis",
        ] {
            assert_eq!(quote_formula(plain), plain);
            assert_eq!(unquote_formula(plain), plain);
        }
    }

    #[test]
    fn what_becomes_a_formula_where_a_cell_is_split_is_quoted_there() {
        for (cell, written) in [
            ("hello;=1+1;", "hello;'=1+1;"),
            ("hello; +cmd|' /C calc'!A0", "hello;' +cmd|' /C calc'!A0"),
            ("one\n=1+1\r\n@SUM(1)", "one\n'=1+1\r\n'@SUM(1)"),
            ("one\t=1+1", "one\t'=1+1"),
            ("\t=1+1", "'\t'=1+1"),
            ("=1;=2", "'=1;'=2"),
            ("-1;-2", "'-1;-2"),
            ("a;'=1", "a;''=1"),
            ("a;\"=1+1;b", "a;'\"=1+1;b"),
            ("a\n\" =1+1\"", "a\n'\" =1+1\""),
            ("a;\"b=1\"", "a;\"b=1\""),
            ("a;-2;b; 3", "a;-2;b; 3"),
            ("a;'tis; b=c\n", "a;'tis; b=c\n"),
            (";;", ";;"),
        ] {
            let quoted = quote_formula(cell);
            assert_eq!(quoted, written);
            assert_eq!(unquote_formula(&quoted), cell, "{written}");
        }
    }
}
