//! Several questions under one: texts below each other, and tables whose rows ask the same.

use std::cell::RefCell;
use std::rc::Rc;

use serde_json::{Map, Value};
use survey::{FormItem, ItemKind};
use wasm_bindgen::prelude::*;
use web_sys::HtmlElement;

use super::{Setter, answering, mark_required, title};
use crate::shell::dom;

/// The attribute that says which part of its answer an element is for.
const PART: &str = "data-part";

/// A value that has a member for each part, as far as it is answered.
pub(super) struct Members {
    map: Rc<RefCell<Map<String, Value>>>,
    set: Setter,
}

impl Members {
    pub(super) fn new(value: Option<&Value>, set: &Setter) -> Self {
        let map = value.and_then(Value::as_object).cloned();
        Self {
            map: Rc::new(RefCell::new(map.unwrap_or_default())),
            set: Rc::clone(set),
        }
    }

    /// The function that writes one member.
    pub(super) fn setter(&self, name: &str) -> Setter {
        let (map, set, name) = (Rc::clone(&self.map), Rc::clone(&self.set), name.to_owned());
        Rc::new(move |value| {
            match value {
                Some(value) => drop(map.borrow_mut().insert(name.clone(), value)),
                None => drop(map.borrow_mut().remove(&name)),
            }
            let whole = map.borrow().clone();
            set((!whole.is_empty()).then_some(Value::Object(whole)));
        })
    }
}

/// Makes the questions under one question, each with its name.
pub(super) fn parts(
    parts: &[FormItem],
    id: &str,
    value: Option<&Value>,
    set: &Setter,
) -> HtmlElement {
    let is_table = parts
        .iter()
        .any(|part| matches!(part.kind, ItemKind::Parts(_)));
    let list = dom::make_element(if is_table { "div.table" } else { "div.parts" });
    let members = Members::new(value, set);
    for (index, part) in parts.iter().enumerate() {
        let (id, set) = (format!("{id}-{index}"), members.setter(&part.name));
        let value = value.and_then(|value| value.get(&part.name));
        dom::add_children(&list, &[&drawn(part, &id, value, set)]);
    }
    list
}

/// Makes a part: a label around a single field, or a group of fields.
fn drawn(part: &FormItem, id: &str, value: Option<&Value>, set: Setter) -> HtmlElement {
    let is_field = matches!(
        part.kind,
        ItemKind::Line { .. } | ItemKind::Lines | ItemKind::List(_)
    );
    let element = dom::make_element(if is_field { "label.part" } else { "div.part" });
    dom::set_attribute(&element, PART, &part.name);
    let called = dom::make_text("span.called", title(part));
    mark_required(&called, part);
    dom::add_children(&element, &[&called]);
    for inner in answering(part, id, value, set) {
        dom::add_children(&element, &[&inner]);
    }
    if !is_field {
        dom::set_attribute(&element, "role", "group");
        dom::set_attribute(&element, "aria-label", title(part));
    }
    element
}

/// The element of a part, by the names of the parts from outside in.
pub(in crate::pages::form) fn find(field: &HtmlElement, path: &[String]) -> Option<HtmlElement> {
    let mut at: HtmlElement = field.clone();
    for name in path {
        let all = at.query_selector_all(&format!("[{PART}]")).ok()?;
        let mut inner = (0..all.length()).filter_map(|index| all.get(index));
        at = inner.find_map(|node| {
            let element: HtmlElement = node.unchecked_into();
            (element.get_attribute(PART).as_ref() == Some(name)).then_some(element)
        })?;
    }
    Some(at)
}
