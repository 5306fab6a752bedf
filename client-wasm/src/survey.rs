//! A form: the part of SurveyJS JSON that this page can show, its values, and what is missing in them.
//!
//! Values have the shapes that SurveyJS gives, so that data read the same whoever rendered the form.
//! This module must not know how a form is drawn.
//!
//! Source: the SurveyJS form library, JSON schema of version 2.

use std::collections::BTreeMap;

use protocol::control::Answer;
use serde_json::{Value, json};

/// The most columns, rows or choices of an item; what is beyond is cut.
const MOST: usize = 200;

/// One choice: the value recorded and the text shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// What is recorded.
    pub value: Value,
    /// What is shown.
    pub text: String,
}

/// What an item asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// One of several, shown one below the other.
    One(Vec<Choice>),
    /// Any of several.
    Many(Vec<Choice>),
    /// A point on a scale.
    Rating {
        /// The points.
        points: Vec<Choice>,
        /// What the first point means.
        low: String,
        /// What the last point means.
        high: String,
    },
    /// Yes or no.
    Boolean {
        /// The text for yes.
        yes: String,
        /// The text for no.
        no: String,
    },
    /// A line of text of an HTML input type.
    Line {
        /// `text`, `number`, `email`, `date` and so on.
        input: String,
    },
    /// Several lines of text.
    Lines,
    /// Sanitised HTML; asks nothing.
    Html(String),
    /// One choice of the same columns for each row.
    Matrix {
        /// The columns.
        columns: Vec<Choice>,
        /// The rows; the value is the name of the row.
        rows: Vec<Choice>,
    },
}

/// One item of a form.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// Name of its value.
    pub name: String,
    /// The question.
    pub title: String,
    /// A smaller text below the question.
    pub description: String,
    /// Whether it must be answered.
    pub required: bool,
    /// What it asks for.
    pub kind: Kind,
}

/// One page of a form.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// Title of the page; may be empty.
    pub title: String,
    /// The items.
    pub items: Vec<Item>,
}

/// A form.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Form {
    /// Title of the form; may be empty.
    pub title: String,
    /// Text below it; may be empty.
    pub description: String,
    /// At least one page.
    pub pages: Vec<Page>,
}

/// Answers by the name of their item.
pub type Values = BTreeMap<String, Value>;

impl Form {
    /// Reads a form. What this page has no control for becomes a field of text, so that nobody is stuck.
    ///
    /// # Errors
    /// The message of the JSON reader.
    pub fn read(json: &str) -> Result<Self, String> {
        let root: Value = serde_json::from_str(json).map_err(|error| error.to_string())?;
        let mut pages: Vec<Page> = match root.get("pages").and_then(Value::as_array) {
            Some(pages) => pages.iter().map(page).collect(),
            None => vec![page(&root)],
        };
        pages.retain(|page| !page.items.is_empty());
        if root.get("pages").is_none() {
            pages.iter_mut().for_each(|page| page.title.clear());
        }
        if pages.is_empty() {
            pages.push(Page::default());
        }
        Ok(Self {
            title: text(&root, "title"),
            description: text(&root, "description"),
            pages,
        })
    }
}

impl Form {
    /// The values of answers that the form asks for.
    pub fn values_of(&self, answers: &[Answer]) -> Values {
        let items = || self.pages.iter().flat_map(|page| &page.items);
        let value = |answer: &Answer| {
            let asked = items().any(|item| item.name == answer.name);
            let value = serde_json::from_str(&answer.value).ok().filter(|_| asked)?;
            Some((answer.name.clone(), value))
        };
        answers.iter().filter_map(value).collect()
    }
}

impl Page {
    /// What keeps the person on this page: the index of an item and a sentence.
    pub fn problems(&self, values: &Values) -> Vec<(usize, &'static str)> {
        let problem =
            |(index, item): (usize, &Item)| Some((index, item.problem(values.get(&item.name))?));
        self.items.iter().enumerate().filter_map(problem).collect()
    }
}

impl Item {
    fn problem(&self, value: Option<&Value>) -> Option<&'static str> {
        match (&self.kind, value) {
            (Kind::Html(_), _) => None,
            (Kind::Matrix { rows, .. }, value) if self.required => {
                let answered = |row: &Choice| {
                    value
                        .and_then(|value| value.get(key_of(&row.value)))
                        .is_some()
                };
                (!rows.iter().all(answered)).then_some("Please answer every row.")
            }
            (_, None) if self.required => Some("Please answer this question."),
            (Kind::Line { input }, Some(value)) if input == "number" && !value.is_number() => {
                Some("Please write a number.")
            }
            (Kind::Line { input }, Some(Value::String(text)))
                if input == "email" && !text.contains('@') =>
            {
                Some("Please write an e-mail address.")
            }
            _ => None,
        }
    }

    /// The value that a text typed into the item means; none if it is empty.
    pub fn value_of(&self, typed: &str) -> Option<Value> {
        let typed = typed.trim();
        if typed.is_empty() {
            return None;
        }
        let number =
            matches!(&self.kind, Kind::Line { input } if input == "number" || input == "range");
        let parsed = typed.parse::<f64>().ok().filter(|_| number);
        Some(match (typed.parse::<i64>(), parsed) {
            (Ok(whole), Some(_)) => json!(whole),
            (_, Some(float)) => json!(float),
            _ => json!(typed),
        })
    }
}

/// A value as the name of a member: matrix answers are objects keyed by row.
pub fn key_of(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

fn page(json: &Value) -> Page {
    let elements = json
        .get("elements")
        .or_else(|| json.get("questions"))
        .and_then(Value::as_array);
    let mut items = Vec::new();
    for element in elements.into_iter().flatten() {
        // A panel only groups; its items join the page.
        if kind_name(element) == "panel" {
            items.extend(page(element).items);
        } else {
            items.extend(item(element));
        }
    }
    Page {
        title: text(json, "title"),
        items,
    }
}

fn item(json: &Value) -> Option<Item> {
    let name = json.get("name").and_then(Value::as_str)?.to_owned();
    let titled = text(json, "title");
    let title = if titled.is_empty() {
        name.clone()
    } else {
        titled
    };
    let says = |key| json.get(key).and_then(Value::as_bool).unwrap_or(false);
    let required = says("isRequired") || says("isAllRowRequired");
    Some(Item {
        name,
        title,
        description: text(json, "description"),
        required,
        kind: kind(json),
    })
}

fn kind(json: &Value) -> Kind {
    match kind_name(json) {
        "radiogroup" | "dropdown" | "buttongroup" => Kind::One(choices(json, "choices")),
        "checkbox" | "tagbox" => Kind::Many(choices(json, "choices")),
        "rating" => Kind::Rating {
            points: points(json),
            low: text(json, "minRateDescription"),
            high: text(json, "maxRateDescription"),
        },
        "boolean" => Kind::Boolean {
            yes: text_or(json, "labelTrue", "Yes"),
            no: text_or(json, "labelFalse", "No"),
        },
        "comment" => Kind::Lines,
        "html" => Kind::Html(text(json, "html")),
        "matrix" => Kind::Matrix {
            columns: choices(json, "columns"),
            rows: choices(json, "rows"),
        },
        _ => Kind::Line {
            input: text_or(json, "inputType", "text"),
        },
    }
}

fn kind_name(json: &Value) -> &str {
    json.get("type").and_then(Value::as_str).unwrap_or("text")
}

fn points(json: &Value) -> Vec<Choice> {
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
        .map(|point| Choice {
            value: json!(point),
            text: point.to_string(),
        })
        .collect()
}

fn choices(json: &Value, name: &str) -> Vec<Choice> {
    let list = json.get(name).and_then(Value::as_array);
    list.into_iter()
        .flatten()
        .take(MOST)
        .filter_map(choice)
        .collect()
}

fn choice(json: &Value) -> Option<Choice> {
    match json {
        Value::Object(object) => {
            let value = object.get("value")?.clone();
            let text = text_or(json, "text", &key_of(&value));
            Some(Choice { value, text })
        }
        Value::Null | Value::Array(_) => None,
        plain => Some(Choice {
            value: plain.clone(),
            text: key_of(plain),
        }),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn form() -> Form {
        let json = r#"{ "title": "After the game", "pages": [
          { "elements": [
            { "type": "rating", "name": "fun", "title": "How much fun?", "isRequired": true, "rateMax": 7 },
            { "type": "panel", "elements": [
              { "type": "radiogroup", "name": "who", "choices": ["person", { "value": 2, "text": "machine" }] } ] },
            { "type": "html", "name": "note", "html": "<p>Thanks</p>" } ] },
          { "elements": [] },
          { "elements": [
            { "type": "text", "name": "age", "inputType": "number" },
            { "type": "signaturepad", "name": "odd" },
            { "type": "matrix", "name": "m", "isRequired": true, "columns": [1, 2], "rows": ["a", "b"] } ] } ] }"#;
        Form::read(json).unwrap()
    }

    #[test]
    fn pages_panels_and_choices_are_read() {
        let form = form();
        assert_eq!(
            (form.title.as_str(), form.pages.len()),
            ("After the game", 2)
        );
        let names: Vec<_> = form.pages[0]
            .items
            .iter()
            .map(|item| item.name.as_str())
            .collect();
        assert_eq!(names, ["fun", "who", "note"]);
        let Kind::Rating { points, .. } = &form.pages[0].items[0].kind else {
            panic!("not a rating")
        };
        assert_eq!((points.len(), &points[6].value), (7, &json!(7)));
        let Kind::One(choices) = &form.pages[0].items[1].kind else {
            panic!("not a choice")
        };
        assert_eq!(
            choices[1],
            Choice {
                value: json!(2),
                text: "machine".to_owned()
            }
        );
    }

    #[test]
    fn an_unknown_kind_is_a_line_of_text() {
        assert_eq!(
            form().pages[1].items[1].kind,
            Kind::Line {
                input: "text".to_owned()
            }
        );
    }

    #[test]
    fn what_is_required_keeps_the_person_here() {
        let form = form();
        let mut values = Values::new();
        assert_eq!(
            form.pages[0].problems(&values),
            [(0, "Please answer this question.")]
        );
        values.insert("fun".to_owned(), json!(3));
        assert_eq!(form.pages[0].problems(&values), []);
        assert_eq!(
            form.pages[1].problems(&values),
            [(2, "Please answer every row.")]
        );
        values.insert("m".to_owned(), json!({ "a": 1, "b": 2 }));
        values.insert("age".to_owned(), json!("old"));
        assert_eq!(
            form.pages[1].problems(&values),
            [(0, "Please write a number.")]
        );
    }

    #[test]
    fn a_draft_gives_the_values_that_the_form_asks_for() {
        let answer = |name: &str, value: &str| Answer {
            name: name.to_owned(),
            value: value.to_owned(),
        };
        let answers = [
            answer("fun", "3"),
            answer("m", "{\"a\":1}"),
            answer("gone", "1"),
            answer("who", "{"),
        ];
        let values = form().values_of(&answers);
        let expected = [("fun", json!(3)), ("m", json!({ "a": 1 }))];
        let expected = expected.map(|(name, value)| (name.to_owned(), value));
        assert_eq!(values, Values::from(expected));
    }

    #[test]
    fn typed_numbers_are_numbers_and_blanks_are_nothing() {
        let form = form();
        let [age, odd] = [&form.pages[1].items[0], &form.pages[1].items[1]];
        assert_eq!(age.value_of(" 30 "), Some(json!(30)));
        assert_eq!(age.value_of("1.5"), Some(json!(1.5)));
        assert_eq!(age.value_of("old"), Some(json!("old")));
        assert_eq!(odd.value_of("30"), Some(json!("30")));
        assert_eq!(odd.value_of("  "), None);
    }

    #[test]
    fn items_without_pages_and_malformed_json() {
        let form =
            Form::read(r#"{ "title": "T", "elements": [{ "type": "comment", "name": "c" }] }"#)
                .unwrap();
        assert_eq!(
            (form.title.as_str(), form.pages[0].title.as_str()),
            ("T", "")
        );
        assert_eq!(form.pages[0].items[0].kind, Kind::Lines);
        assert!(Form::read("{").is_err());
        assert_eq!(Form::read("[]").unwrap().pages, [Page::default()]);
    }
}
