//! Reads questions with parts: several texts, and tables that ask the same in each row.

use std::collections::BTreeSet;

use ::survey::MOST;

use super::choices::{read_choices, rows_at};
use super::inputs::{input, read_rating, read_written, yes_and_no};
use super::part::{Part, Reading, Type, pass, texts as texts_of};
use super::rules::read_validators;
use crate::read::{Cursor, Fields};

/// Keys that say how SurveyJS draws several texts.
const TEXTS_LOOKS: &[&str] = &["itemErrorLocation", "itemTitleWidth"];

/// Keys that say how SurveyJS draws a table.
const TABLE_LOOKS: &[&str] = &[
    "alternateRows",
    "columnColCount",
    "columnMinWidth",
    "horizontalScroll",
    "showHeader",
    "transposeData",
    "verticalAlign",
];

/// Keys that say how SurveyJS draws a column.
const COLUMN_LOOKS: &[&str] = &["colCount", "maxWidth", "minWidth", "width"];

/// The cells of a table, and the type of element that each is like.
const CELLS: [(&str, Option<Type>); 8] = [
    ("default", None),
    ("dropdown", Some(Type::One)),
    ("radiogroup", Some(Type::One)),
    ("checkbox", Some(Type::Many)),
    ("text", Some(Type::Text)),
    ("comment", Some(Type::Comment)),
    ("boolean", Some(Type::Boolean)),
    ("rating", Some(Type::Rating)),
];

/// Reads what an element of several texts has beside what all have.
pub(super) fn texts<'a>(fields: &mut Fields<'a>, reading: &Reading<'_>) -> Option<Vec<Part<'a>>> {
    pass(fields, TEXTS_LOOKS, reading);
    let own = read_validators(fields, Type::Texts);
    let doc = "The text fields. Their names are the fields of the value.";
    let items = fields.key("items", doc);
    let items = items.require_key("[{name: first, title: First name}]", |place| {
        named_parts(&place, "texts", |place| {
            place.named("text", |place| text(place, reading))
        })
    });
    let mut all = own?;
    all.extend(items?);
    Some(all)
}

/// Reads a text among several.
fn text<'a>(place: &Cursor<'a>, reading: &Reading<'_>) -> Option<(String, Vec<Part<'a>>)> {
    let mut fields = place.fields("a text (`name` and `title`)")?;
    pass(&mut fields, &["size", "step"], reading);
    let name = asks(&mut fields);
    let own = input(&mut fields);
    let (written, rules) = (
        read_written(&mut fields),
        read_validators(&mut fields, Type::Text),
    );
    fields.done();
    own?;
    written?;
    name.zip(rules)
}

/// Reads the keys of a table that not all elements have.
pub(super) fn table<'a>(fields: &mut Fields<'a>, reading: &Reading<'_>) -> Option<Vec<Part<'a>>> {
    pass(fields, TABLE_LOOKS, reading);
    let own = read_validators(fields, Type::Table);
    let rows = rows_at(fields);
    let doc = "The choices of columns without `choices`.";
    let choices = (fields.key("choices", doc)).maybe(|place| read_choices(&place));
    let doc = "The type of the cells of columns without a `cellType`. `default` means `dropdown`.";
    let cell = (fields.key("cellType", doc)).maybe(|place| place.read_word("type of cell", &CELLS));
    let usual = Usual {
        cell: cell.map(|cell| cell.flatten().unwrap_or(Type::One)),
        has_choices: fields.whole.node.has("choices"),
    };
    let doc = "The questions of each row. Their names are the fields of the row's value.";
    let columns = fields.key("columns", doc);
    let example = "[{name: often, title: How often?, choices: [1, 2, 3]}]";
    let columns = columns.require_key(example, |place| {
        named_parts(&place, "columns", |place| {
            place.named("column", |place| column(place, reading, &usual))
        })
    });
    rows?;
    choices?;
    cell?;
    let mut all = own?;
    all.extend(columns?);
    Some(all)
}

/// Defaults of a table for its columns.
struct Usual {
    /// The type of the cells; `None` if it could not be read.
    cell: Option<Type>,
    /// True if it has choices.
    has_choices: bool,
}

fn column<'a>(
    place: &Cursor<'a>,
    reading: &Reading<'_>,
    usual: &Usual,
) -> Option<(String, Vec<Part<'a>>)> {
    let mut fields = place.fields("a column (`name` and `title`)")?;
    pass(&mut fields, COLUMN_LOOKS, reading);
    let name = asks(&mut fields);
    let doc = "The type of the cells. By default the `cellType` of the element.";
    let cell = (fields.key("cellType", doc)).maybe(|place| place.read_word("type of cell", &CELLS));
    let cell = cell.and_then(|cell| cell.flatten().or(usual.cell));
    let inner = match (cell, place.may(false)) {
        // In a sketch, the keys of all cells are described.
        (None, false) => {
            fields.forgive();
            None
        }
        (cell, _) => cell_keys(cell, &mut fields, reading, usual),
    };
    fields.done();
    name.zip(inner)
}

/// Reads the keys of a cell that only its type has; the keys of every type, if it has no type.
fn cell_keys<'a>(
    cell: Option<Type>,
    fields: &mut Fields<'a>,
    reading: &Reading<'_>,
    usual: &Usual,
) -> Option<Vec<Part<'a>>> {
    let is = |kinds: &[Type]| cell.is_none_or(|cell| kinds.contains(&cell));
    let mut whole = Some(());
    if is(&[Type::One, Type::Many]) {
        let key = fields.key(
            "choices",
            "The choices. By default the `choices` of the element.",
        );
        let is_there = key.place.is_some();
        whole = whole.and(key.maybe(|place| read_choices(&place)).map(drop));
        if !is_there && !usual.has_choices {
            let message =
                "nothing to choose; write `choices` here, or for all columns at the table";
            fields.whole.report_problem(message);
            whole = None;
        }
    }
    if is(&[Type::Rating]) {
        whole = whole.and(read_rating(fields).map(drop));
    }
    if is(&[Type::Boolean]) {
        yes_and_no(fields);
    }
    if is(&[Type::Text]) {
        pass(fields, &["step"], reading);
        whole = whole.and(input(fields));
    }
    if is(&[Type::Comment]) {
        pass(fields, &["rows"], reading);
    }
    if is(&[Type::Text, Type::Comment]) {
        whole = whole.and(read_written(fields));
    }
    let rules = is(&[Type::Text, Type::Comment, Type::Many])
        .then(|| read_validators(fields, cell.unwrap_or(Type::Text)));
    whole?;
    rules.unwrap_or_else(|| Some(Vec::new()))
}

/// Reads what every part has. Gives its name.
fn asks(fields: &mut Fields<'_>) -> Option<String> {
    let doc = "The name in the data, as a field of the element's value. Unique in the element.";
    let name = fields
        .key("name", doc)
        .require_key("first", |place| place.text(60));
    texts_of(
        fields,
        &[
            ("title", "The label. By default the name."),
            (
                "requiredErrorText",
                "The message if a required answer is missing.",
            ),
        ],
    );
    let doc = "Whether an answer is required, even if the element is optional.";
    let required = (fields.key("isRequired", doc)).or(false, |place| place.read_flag());
    required?;
    name
}

/// Reads parts whose names are different.
fn named_parts<'a>(
    place: &Cursor<'a>,
    what: &str,
    read: impl Fn(&Cursor<'a>) -> Option<(String, Vec<Part<'a>>)>,
) -> Option<Vec<Part<'a>>> {
    let mut names = BTreeSet::new();
    let mut all = Some(Vec::new());
    for place in &place.list(what, MOST)? {
        let Some((name, parts)) = read(place) else {
            all = None;
            continue;
        };
        if !names.insert(name.clone()) {
            place.wrong_at("name", format!("`{name}` is already the name of another of these {what}; names tell their values apart"));
            all = None;
        }
        if let Some(all) = &mut all {
            all.extend(parts);
        }
    }
    all
}
