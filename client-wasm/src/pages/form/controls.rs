//! The controls of a form: from an item to elements, and from those to its value.
//!
//! Every choice is a native control in a `fieldset`, so that keyboard and screen reader work as people know them.

mod parts;
mod ranking;
mod slider;

use std::rc::Rc;

use serde_json::{Value, json};
use survey::{FormItem, ItemChoice, ItemKind, NONE, key_of};
use wasm_bindgen::prelude::*;
use web_sys::{Event, HtmlElement, HtmlInputElement, HtmlSelectElement, HtmlTextAreaElement};

use super::Shared;
use crate::messages;
use crate::shell::dom;

pub(super) use parts::find as find_part;

/// An item as a `fieldset`; what asks nothing too, so that items and fieldsets have the same index.
pub(super) fn control(
    shared: &Shared,
    item: &FormItem,
    id: &str,
    value: Option<&Value>,
) -> HtmlElement {
    let field = dom::make_element("fieldset.item");
    if let ItemKind::Html(html) = &item.kind {
        field.class_list().add_1("plain").ok();
        dom::add_children(&field, &[&dom::make_prose(html)]);
        return field;
    }
    if item.kind == ItemKind::Heading {
        field.class_list().add_1("plain").ok();
        for (kind, text) in [("h2", &item.title), ("p.hint", &item.description)] {
            if !text.is_empty() {
                dom::add_children(&field, &[&dom::make_text(kind, text)]);
            }
        }
        return field;
    }
    let legend = dom::make_text("legend", title(item));
    mark_required(&legend, item);
    dom::add_children(&field, &[&legend]);
    if !item.description.is_empty() {
        dom::add_children(&field, &[&dom::make_text("p.hint", &item.description)]);
    }
    for element in answering(item, id, value, setter(shared, &item.name)) {
        dom::add_children(&field, &[&element]);
    }
    let problem = dom::make_element("p.problem");
    dom::set_attribute(&problem, "role", "alert");
    problem.set_hidden(true);
    dom::add_children(&field, &[&problem]);
    field
}

/// Marks what must be answered.
fn mark_required(title: &HtmlElement, item: &FormItem) {
    if item.required || item.required_if.is_some() {
        let star = dom::make_text("span.required", " *");
        dom::set_attribute(&star, "aria-hidden", "true");
        let words = format!(" ({})", messages::current_words().required);
        dom::add_children(title, &[&star, &dom::make_text("span.sr-only", &words)]);
    }
}

/// The elements with which an item, or a part of one, is answered.
fn answering(item: &FormItem, id: &str, value: Option<&Value>, set: Setter) -> Vec<HtmlElement> {
    let one = match &item.kind {
        ItemKind::One(choices) => radios(class_of(choices), id, choices, value, set),
        ItemKind::List(choices) => list(item, choices, value, set),
        ItemKind::Many { choices, .. } => checks(choices, value, &set),
        ItemKind::Rating { points, low, high } => {
            let scale = radios("div.choices.rating", id, points, value, set);
            let (low, high) = (
                dom::make_text("span.low", low),
                dom::make_text("span.high", high),
            );
            return vec![scale, low, high];
        }
        ItemKind::Boolean { yes, no } => {
            let choice = |value: bool, text: &String| ItemChoice {
                value: json!(value),
                text: text.clone(),
                picture: None,
            };
            let choices = [choice(true, yes), choice(false, no)];
            radios("div.choices", id, &choices, value, set)
        }
        ItemKind::Line { input } => line(item, input, value, set),
        ItemKind::Lines => lines(item, value, set),
        ItemKind::Matrix { columns, rows } => matrix(id, columns, rows, value, &set),
        ItemKind::Slider {
            min,
            max,
            step,
            range,
        } => {
            let scale = slider::Scale {
                min: *min,
                max: *max,
                step: *step,
            };
            slider::slider(item, scale, *range, value, set)
        }
        ItemKind::Ranking(choices) => ranking::ranking(choices, value, set),
        ItemKind::Parts(parts) => parts::parts(parts, id, value, &set),
        ItemKind::Html(_) | ItemKind::Heading => return Vec::new(),
    };
    vec![one]
}

/// The arrangement of choices.
fn class_of(choices: &[ItemChoice]) -> &'static str {
    match choices.iter().any(|choice| choice.picture.is_some()) {
        true => "div.choices.pictures",
        false => "div.choices",
    }
}

/// Returns the question; the question for a free text may have no words of the study.
fn title(item: &FormItem) -> &str {
    match item.title.as_str() {
        "" => messages::current_words().other,
        title => title,
    }
}

type Setter = Rc<dyn Fn(Option<Value>)>;

/// The function that writes the value of an item.
fn setter(shared: &Shared, name: &str) -> Setter {
    let (shared, name) = (Rc::clone(shared), name.to_owned());
    Rc::new(move |value| {
        {
            let values = &mut shared.borrow_mut().values;
            match value {
                Some(value) => drop(values.insert(name.clone(), value)),
                None => drop(values.remove(&name)),
            }
        }
        shared.borrow().refresh();
        shared.borrow().keep();
    })
}

/// A native radio button or checkbox inside its label.
fn choice(
    kind: &str,
    group: &str,
    choice: &ItemChoice,
    checked: bool,
) -> (HtmlElement, HtmlInputElement) {
    let label = dom::make_element("label.choice");
    let input: HtmlInputElement = dom::make_element("input").unchecked_into();
    input.set_type(kind);
    input.set_name(group);
    input.set_value(&key_of(&choice.value));
    input.set_checked(checked);
    dom::add_children(&label, &[&input]);
    let text = messages::text_of_choice(choice);
    if let Some(picture) = &choice.picture {
        let image = dom::make_element("img");
        dom::set_attribute(&image, "src", &picture.address);
        // A text below says the same.
        dom::set_attribute(&image, "alt", if picture.labelled { "" } else { text });
        dom::add_children(&label, &[&image]);
    }
    if choice
        .picture
        .as_ref()
        .is_none_or(|picture| picture.labelled)
    {
        dom::add_children(&label, &[&dom::make_text("span", text)]);
    }
    (label, input)
}

fn radios(
    class: &str,
    group: &str,
    choices: &[ItemChoice],
    value: Option<&Value>,
    set: Setter,
) -> HtmlElement {
    let list = dom::make_element(class);
    for one in choices {
        let (label, input) = choice("radio", group, one, value == Some(&one.value));
        let (set, chosen) = (Rc::clone(&set), one.value.clone());
        dom::add_listener(&input, "change", move |_: Event| set(Some(chosen.clone())));
        dom::add_children(&list, &[&label]);
    }
    list
}

fn checks(choices: &[ItemChoice], value: Option<&Value>, set: &Setter) -> HtmlElement {
    let list = dom::make_element(class_of(choices));
    let before: Vec<Value> = value.and_then(Value::as_array).cloned().unwrap_or_default();
    let mut inputs = Vec::new();
    for one in choices {
        let (label, input) = choice("checkbox", "", one, before.contains(&one.value));
        inputs.push((input, one.value.clone()));
        dom::add_children(&list, &[&label]);
    }
    let set = Rc::clone(set);
    dom::add_listener(&list, "change", move |event: Event| {
        let latest = event.target();
        let is_latest = |input: &HtmlInputElement| latest.as_deref() == Some(input.unchecked_ref());
        let none = inputs
            .iter()
            .any(|(input, value)| value == NONE && is_latest(input));
        // `none` goes with no other: whichever was checked last stands.
        for (input, value) in inputs.iter().filter(|(input, _)| !is_latest(input)) {
            if none || value == NONE {
                input.set_checked(false);
            }
        }
        let checked = inputs.iter().filter(|(input, _)| input.checked());
        let checked: Vec<Value> = checked.map(|(_, value)| value.clone()).collect();
        set(if checked.is_empty() {
            None
        } else {
            Some(Value::Array(checked))
        });
    });
    list
}

/// A native list that opens.
fn list(
    item: &FormItem,
    choices: &[ItemChoice],
    value: Option<&Value>,
    set: Setter,
) -> HtmlElement {
    let select: HtmlSelectElement = dom::make_element("select").unchecked_into();
    dom::set_attribute(&select, "aria-label", title(item));
    let nothing = match item.placeholder.as_str() {
        "" => messages::current_words().choose,
        placeholder => placeholder,
    };
    let nothing = dom::make_text("option", nothing);
    dom::set_attribute(&nothing, "value", "");
    dom::add_children(&select, &[&nothing]);
    for (index, choice) in choices.iter().enumerate() {
        let option = dom::make_text("option", messages::text_of_choice(choice));
        dom::set_attribute(&option, "value", &index.to_string());
        dom::add_children(&select, &[&option]);
    }
    let chosen = choices
        .iter()
        .position(|choice| Some(&choice.value) == value);
    select.set_value(&chosen.map(|index| index.to_string()).unwrap_or_default());
    let (source, choices) = (select.clone(), choices.to_vec());
    dom::add_listener(&select, "change", move |_: Event| {
        let index = source.value().parse::<usize>().ok();
        let chosen = index.and_then(|index| choices.get(index));
        set(chosen.map(|choice| choice.value.clone()))
    });
    select.unchecked_into()
}

fn line(item: &FormItem, kind: &str, value: Option<&Value>, set: Setter) -> HtmlElement {
    let input: HtmlInputElement = dom::make_element("input").unchecked_into();
    input.set_type(kind);
    if kind == "number" {
        dom::set_attribute(&input, "step", "any");
    }
    dom::set_attribute(&input, "aria-label", title(item));
    if !item.placeholder.is_empty() {
        dom::set_attribute(&input, "placeholder", &item.placeholder);
    }
    input.set_value(&value.map(key_of).unwrap_or_default());
    let (source, item) = (input.clone(), item.clone());
    dom::add_listener(&input, "input", move |_: Event| {
        set(item.value_of(&source.value()))
    });
    input.unchecked_into()
}

fn lines(item: &FormItem, value: Option<&Value>, set: Setter) -> HtmlElement {
    let area: HtmlTextAreaElement = dom::make_element("textarea").unchecked_into();
    area.set_rows(4);
    dom::set_attribute(&area, "aria-label", title(item));
    if !item.placeholder.is_empty() {
        dom::set_attribute(&area, "placeholder", &item.placeholder);
    }
    area.set_value(&value.map(key_of).unwrap_or_default());
    let (source, item) = (area.clone(), item.clone());
    dom::add_listener(&area, "input", move |_: Event| {
        set(item.value_of(&source.value()))
    });
    area.unchecked_into()
}

fn matrix(
    id: &str,
    columns: &[ItemChoice],
    rows: &[ItemChoice],
    value: Option<&Value>,
    set: &Setter,
) -> HtmlElement {
    let list = dom::make_element("div.matrix");
    let members = parts::Members::new(value, set);
    for (index, row) in rows.iter().enumerate() {
        let key = key_of(&row.value);
        let chosen = value.and_then(|value| value.get(&key));
        let group = format!("{id}-{index}");
        let options = radios("div.choices", &group, columns, chosen, members.setter(&key));
        dom::set_attribute(&options, "role", "radiogroup");
        dom::set_attribute(&options, "aria-label", &row.text);
        dom::add_children(&list, &[&dom::make_text("p.row", &row.text), &options]);
    }
    list
}
