//! From SurveyJS JSON to a form. What is not known becomes a line of text, so that nobody is stuck.

use serde_json::{Value, json};

use crate::check::{Check, Pattern, Rule};
use crate::{
    Condition, Form, FormItem, FormPage, ItemChoice, ItemKind, MOST, NONE, OTHER, Picture,
    TIME_LIMIT, key_of,
};

impl Form {
    /// Reads a form from a document.
    pub fn of(root: &Value) -> Self {
        let list = root.get("pages").and_then(Value::as_array);
        let mut pages: Vec<FormPage> = match list {
            Some(pages) => pages.iter().map(page).collect(),
            None => vec![page(root)],
        };
        pages.retain(|page| !page.items.is_empty());
        if list.is_none() {
            pages.iter_mut().for_each(|page| page.title.clear());
        }
        if pages.is_empty() {
            pages.push(FormPage::default());
        }
        Self {
            title: text(root, "title"),
            description: text(root, "description"),
            pages,
            time_limit_s: (root.get(TIME_LIMIT).and_then(Value::as_u64))
                .and_then(|seconds| u32::try_from(seconds).ok()),
        }
    }
}

fn page(json: &Value) -> FormPage {
    let mut items = Vec::new();
    elements(json, &conditions(json, "visibleIf", &[]), &mut items);
    FormPage {
        title: text(json, "title"),
        items,
    }
}

/// Returns the conditions of the elements around it, and its own.
fn conditions(json: &Value, key: &str, around: &[Condition]) -> Vec<Condition> {
    let mut all = around.to_vec();
    all.extend(condition(json, key));
    all
}

fn condition(json: &Value, key: &str) -> Option<Condition> {
    Condition::read(json.get(key)?.as_str()?).ok()
}

fn elements(of: &Value, around: &[Condition], items: &mut Vec<FormItem>) {
    let list = of.get("elements").or_else(|| of.get("questions"));
    for element in list.and_then(Value::as_array).into_iter().flatten() {
        let visible_if = conditions(element, "visibleIf", around);
        if kind_name(element) == "panel" {
            items.extend(heading(element, &visible_if));
            elements(element, &visible_if, items);
        } else if let Some(item) = item(element, visible_if) {
            let own = own_text(element, &item);
            items.push(item);
            items.extend(own);
        }
    }
}

/// The heading of a panel.
fn heading(json: &Value, visible_if: &[Condition]) -> Option<FormItem> {
    let (title, description) = (text(json, "title"), text(json, "description"));
    let is_there = !title.is_empty() || !description.is_empty();
    is_there.then(|| FormItem {
        title,
        description,
        visible_if: visible_if.to_vec(),
        ..blank(String::new(), ItemKind::Heading)
    })
}

fn blank(name: String, kind: ItemKind) -> FormItem {
    FormItem {
        name,
        title: String::new(),
        description: String::new(),
        placeholder: String::new(),
        kind,
        required: false,
        required_if: None,
        required_text: String::new(),
        visible_if: Vec::new(),
        enable_if: None,
        checks: Vec::new(),
        default: None,
    }
}

fn item(json: &Value, visible_if: Vec<Condition>) -> Option<FormItem> {
    let name = json.get("name").and_then(Value::as_str)?.to_owned();
    let title = text_or(json, "title", &name);
    let item = FormItem {
        title,
        description: text(json, "description"),
        placeholder: text(json, "placeholder"),
        // If a table must be answered, every row of it must.
        required: ["isRequired", "isAllRowRequired", "eachRowRequired"]
            .iter()
            .any(|key| says(json, key)),
        required_if: condition(json, "requiredIf"),
        required_text: text(json, "requiredErrorText"),
        visible_if,
        enable_if: condition(json, "enableIf"),
        checks: checks(json),
        ..blank(name, kind(json))
    };
    let default = json.get("defaultValue").cloned();
    let default = default.filter(|value| item.is_taken(value));
    Some(FormItem { default, ..item })
}

/// Makes the field for a free text, under the name that SurveyJS gives it.
fn own_text(json: &Value, item: &FormItem) -> Option<FormItem> {
    let has = has_other(json)
        && matches!(
            item.kind,
            ItemKind::One(_) | ItemKind::List(_) | ItemKind::Many { .. }
        );
    let name = format!("{}-Comment", item.name);
    let mut visible_if = item.visible_if.clone();
    visible_if.push(Condition::has(&item.name, OTHER));
    has.then(|| FormItem {
        title: text(json, "otherText"),
        placeholder: text(json, "otherPlaceholder"),
        required: true,
        required_text: text(json, "otherErrorText"),
        visible_if,
        ..blank(
            name,
            ItemKind::Line {
                input: "text".to_owned(),
            },
        )
    })
}

fn says(json: &Value, key: &str) -> bool {
    json.get(key).and_then(Value::as_bool).unwrap_or(false)
}

fn has_other(json: &Value) -> bool {
    says(json, "hasOther") || says(json, "showOtherItem")
}

fn has_none(json: &Value) -> bool {
    says(json, "hasNone") || says(json, "showNoneItem")
}

fn kind(json: &Value) -> ItemKind {
    match kind_name(json) {
        "radiogroup" | "buttongroup" => ItemKind::One(with_extras(json)),
        "dropdown" => ItemKind::List(with_extras(json)),
        "checkbox" | "tagbox" => ItemKind::Many {
            choices: with_extras(json),
            none: has_none(json),
        },
        "rating" => ItemKind::Rating {
            points: points(json),
            low: text(json, "minRateDescription"),
            high: text(json, "maxRateDescription"),
        },
        "boolean" => ItemKind::Boolean {
            yes: text(json, "labelTrue"),
            no: text(json, "labelFalse"),
        },
        "comment" => ItemKind::Lines,
        "html" => ItemKind::Html(text(json, "html")),
        "imagepicker" if says(json, "multiSelect") => ItemKind::Many {
            choices: pictures(json),
            none: false,
        },
        "imagepicker" => ItemKind::One(pictures(json)),
        "ranking" => ItemKind::Ranking(choices(json, "choices")),
        "slider" => slider(json),
        "text" if is_range(json) => slider(json),
        "multipletext" => ItemKind::Parts(parts(json, "items")),
        "matrixdropdown" => ItemKind::Parts(rows(json)),
        "matrix" => ItemKind::Matrix {
            columns: choices(json, "columns"),
            rows: choices(json, "rows"),
        },
        _ => ItemKind::Line {
            input: text_or(json, "inputType", "text"),
        },
    }
}

/// The choices of pictures.
fn pictures(json: &Value) -> Vec<ItemChoice> {
    let list = json.get("choices").and_then(Value::as_array);
    let labelled = says(json, "showLabel");
    let picture = |json: &Value| {
        let address = json.get("imageLink").and_then(Value::as_str)?.to_owned();
        let picture = Some(Picture { address, labelled });
        Some(ItemChoice {
            picture,
            ..choice(json)?
        })
    };
    let all = list.into_iter().flatten().take(MOST);
    all.filter_map(picture).collect()
}

/// Returns whether a text is a slider in the older words of SurveyJS.
fn is_range(json: &Value) -> bool {
    json.get("inputType").and_then(Value::as_str) == Some("range")
}

fn slider(json: &Value) -> ItemKind {
    let number = |key: &str, default: f64| json.get(key).and_then(Value::as_f64).unwrap_or(default);
    ItemKind::Slider {
        min: number("min", 0.0),
        max: number("max", 100.0),
        step: Some(number("step", 1.0))
            .filter(|step| *step > 0.0)
            .unwrap_or(1.0),
        range: json.get("sliderType").and_then(Value::as_str) == Some("range"),
    }
}

/// The questions of a list under one.
fn parts(json: &Value, list: &str) -> Vec<FormItem> {
    let list = json.get(list).and_then(Value::as_array);
    let list = list.into_iter().flatten().take(MOST);
    list.filter_map(|part| item(part, Vec::new())).collect()
}

/// The rows of a table that asks the same in each.
fn rows(json: &Value) -> Vec<FormItem> {
    let columns = json.get("columns").and_then(Value::as_array);
    let cells = columns.into_iter().flatten().take(MOST);
    let cells: Vec<FormItem> = cells
        .filter_map(|column| item(&cell(json, column), Vec::new()))
        .collect();
    let row = |row: ItemChoice| FormItem {
        title: row.text,
        ..blank(key_of(&row.value), ItemKind::Parts(cells.clone()))
    };
    choices(json, "rows").into_iter().map(row).collect()
}

/// The types of cells of a table.
const CELLS: [&str; 7] = [
    "dropdown",
    "radiogroup",
    "checkbox",
    "text",
    "comment",
    "boolean",
    "rating",
];

/// Makes an element of a table into a separate one: keys that the column omits come from the table.
fn cell(table: &Value, column: &Value) -> Value {
    let said = |json: &Value| {
        json.get("cellType")
            .filter(|kind| *kind != "default")
            .cloned()
    };
    let kind = said(column).or_else(|| said(table));
    let kind = kind.filter(|kind| CELLS.iter().any(|known| kind == known));
    let mut cell = column.as_object().cloned().unwrap_or_default();
    cell.insert("type".to_owned(), kind.unwrap_or_else(|| json!(CELLS[0])));
    let choices = table.get("choices").cloned().unwrap_or_default();
    cell.entry("choices").or_insert(choices);
    Value::Object(cell)
}

fn kind_name(json: &Value) -> &str {
    json.get("type").and_then(Value::as_str).unwrap_or("text")
}

/// The choices, and those that SurveyJS adds.
fn with_extras(json: &Value) -> Vec<ItemChoice> {
    let mut all = choices(json, "choices");
    let mut add = |has: bool, value: &str, key: &str| {
        if has {
            all.push(ItemChoice {
                value: Value::from(value),
                text: text(json, key),
                ..ItemChoice::default()
            });
        }
    };
    add(has_none(json), NONE, "noneText");
    add(has_other(json), OTHER, "otherText");
    all
}

fn points(json: &Value) -> Vec<ItemChoice> {
    let named = choices(json, "rateValues");
    if !named.is_empty() {
        return named;
    }
    let whole =
        |name: &str, default: i64| json.get(name).and_then(Value::as_i64).unwrap_or(default);
    let min = whole("rateMin", 1);
    let max = whole(
        "rateMax",
        min.saturating_add(whole("rateCount", 5).saturating_sub(1)),
    );
    let step = usize::try_from(whole("rateStep", 1)).unwrap_or(1).max(1);
    (min..=max)
        .step_by(step)
        .take(MOST)
        .map(|point| ItemChoice {
            value: json!(point),
            text: point.to_string(),
            ..ItemChoice::default()
        })
        .collect()
}

fn choices(json: &Value, name: &str) -> Vec<ItemChoice> {
    let list = json.get(name).and_then(Value::as_array);
    list.into_iter()
        .flatten()
        .take(MOST)
        .filter_map(choice)
        .collect()
}

fn choice(json: &Value) -> Option<ItemChoice> {
    match json {
        Value::Object(object) => {
            let value = object.get("value")?.clone();
            let text = text_or(json, "text", &key_of(&value));
            Some(ItemChoice {
                value,
                text,
                picture: None,
            })
        }
        Value::Null | Value::Array(_) => None,
        plain => Some(ItemChoice {
            value: plain.clone(),
            text: key_of(plain),
            ..ItemChoice::default()
        }),
    }
}

/// The rules for an answer: those of the element itself, and its validators.
fn checks(json: &Value) -> Vec<Check> {
    let mut all = Vec::new();
    let mut add = |rule: Rule, text: String| all.push(Check { rule, text });
    let input = text_or(json, "inputType", "text");
    let is_text = matches!(kind_name(json), "text" | "comment");
    let (min, max) = (json.get("min"), json.get("max"));
    if is_text && input != "range" && (min.is_some() || max.is_some()) {
        let is_number = input == "number";
        let bounds = |min: Option<&Value>, max: Option<&Value>| {
            let float = |value: Option<&Value>| value.and_then(Value::as_f64);
            let written = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
            match is_number {
                true => Rule::Numeric {
                    min: float(min),
                    max: float(max),
                },
                false => Rule::Between {
                    min: written(min),
                    max: written(max),
                },
            }
        };
        add(bounds(min, None), text(json, "minErrorText"));
        add(bounds(None, max), text(json, "maxErrorText"));
    }
    if let Some(max) = count(json, "maxLength").filter(|_| is_text) {
        let rule = Rule::Text {
            min: 0,
            max: Some(max),
            digits: true,
        };
        add(rule, String::new());
    }
    if input == "email" && kind_name(json) == "text" {
        add(Rule::Email, String::new());
    }
    let (min, max) = (
        count(json, "minSelectedChoices"),
        count(json, "maxSelectedChoices"),
    );
    if min.is_some() || max.is_some() {
        let min = min.unwrap_or(0);
        add(Rule::Count { min, max }, String::new());
    }
    let validators = json.get("validators").and_then(Value::as_array);
    for validator in validators.into_iter().flatten().take(MOST) {
        if let Some(rule) = rule(validator) {
            add(rule, text(validator, "text"));
        }
    }
    all
}

fn rule(json: &Value) -> Option<Rule> {
    let float = |key: &str| json.get(key).and_then(Value::as_f64);
    Some(match kind_name(json) {
        "numeric" => Rule::Numeric {
            min: float("minValue"),
            max: float("maxValue"),
        },
        "text" => Rule::Text {
            min: count(json, "minLength").unwrap_or(0),
            max: count(json, "maxLength"),
            digits: json
                .get("allowDigits")
                .and_then(Value::as_bool)
                .unwrap_or(true),
        },
        "regex" => {
            let fold = says(json, "caseInsensitive");
            Rule::Pattern(Pattern::read(json.get("regex")?.as_str()?, fold).ok()?)
        }
        "email" => Rule::Email,
        "answercount" => Rule::Count {
            min: count(json, "minCount").unwrap_or(0),
            max: count(json, "maxCount"),
        },
        "expression" => Rule::Holds(condition(json, "expression")?),
        _ => return None,
    })
}

/// A number of things; SurveyJS writes 0 or -1 for none.
fn count(json: &Value, key: &str) -> Option<usize> {
    let count = json.get(key)?.as_i64()?;
    usize::try_from(count).ok().filter(|count| *count > 0)
}

/// A text that may be given in several languages; the default one is taken.
fn text(json: &Value, name: &str) -> String {
    match json.get(name) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Object(languages)) => {
            let chosen = languages.get("default").or_else(|| languages.get("en"));
            chosen
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        }
        _ => String::new(),
    }
}

fn text_or(json: &Value, name: &str, default: &str) -> String {
    Some(text(json, name))
        .filter(|text| !text.is_empty())
        .unwrap_or_else(|| default.to_owned())
}
