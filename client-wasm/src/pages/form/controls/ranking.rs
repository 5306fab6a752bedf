//! Choices that are put in order: by the buttons of each, or by moving it with finger or mouse.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use serde_json::Value;
use survey::ItemChoice;
use wasm_bindgen::prelude::*;
use web_sys::{HtmlElement, PointerEvent};

use super::Setter;
use crate::messages;
use crate::shell::dom;

/// The choices as they stand.
struct Ranking {
    list: HtmlElement,
    /// The rows with their values and texts, best first.
    rows: RefCell<Vec<Row>>,
    /// The hint that is there until there is an answer.
    open: HtmlElement,
    /// Says to people who do not see it where a choice has gone.
    news: HtmlElement,
    set: Setter,
}

#[derive(Clone)]
struct Row {
    element: HtmlElement,
    value: Value,
    text: String,
}

/// A list to be put in order.
pub(super) fn ranking(choices: &[ItemChoice], value: Option<&Value>, set: Setter) -> HtmlElement {
    let whole = dom::make_element("div.ranking");
    let order = value.and_then(Value::as_array);
    let place = |choice: &&ItemChoice| {
        order.and_then(|order| order.iter().position(|it| *it == choice.value))
    };
    let mut sorted: Vec<&ItemChoice> = choices.iter().collect();
    sorted.sort_by_key(place);
    let ranking = Rc::new(Ranking {
        list: dom::make_element("ol"),
        rows: RefCell::default(),
        open: dom::make_element("div.open"),
        news: dom::make_element("p.sr-only"),
        set,
    });
    dom::set_attribute(&ranking.news, "aria-live", "polite");
    for choice in sorted {
        let row = row(&ranking, choice);
        dom::add_children(&ranking.list, &[&row.element]);
        ranking.rows.borrow_mut().push(row);
    }
    let keeping = Rc::clone(&ranking);
    let keep = dom::make_button(
        "secondary",
        messages::current_words().keep_order,
        move || keeping.answer(),
    );
    dom::add_children(
        &ranking.open,
        &[
            &dom::make_text("p.hint", messages::current_words().no_order),
            &keep,
        ],
    );
    dom::show_element(&ranking.open, order.is_none());
    dom::add_children(&whole, &[&ranking.list, &ranking.open, &ranking.news]);
    ranking.lock_ends();
    whole
}

fn row(ranking: &Rc<Ranking>, choice: &ItemChoice) -> Row {
    let element = dom::make_element("li");
    let text = messages::text_of_choice(choice).to_owned();
    let grip = dom::make_text("span.grip", "⠿");
    dom::set_attribute(&grip, "aria-hidden", "true");
    dom::add_children(&element, &[&grip, &dom::make_text("span.text", &text)]);
    let row = Row {
        element,
        value: choice.value.clone(),
        text,
    };
    let words = [
        (-1, "▲", messages::current_words().move_up),
        (1, "▼", messages::current_words().move_down),
    ];
    for (way, sign, label) in words {
        let (ranking, value) = (Rc::clone(ranking), row.value.clone());
        let button = dom::make_button("move", sign, move || ranking.step(&value, way));
        dom::set_attribute(
            &button,
            "aria-label",
            &messages::fill_in(label, &[("choice", &row.text)]),
        );
        dom::add_children(&row.element, &[&button]);
    }
    drag(ranking, &grip, &row);
    row
}

/// Has a choice follow finger or mouse.
fn drag(ranking: &Rc<Ranking>, grip: &HtmlElement, row: &Row) {
    let is_held = Rc::new(Cell::new(false));
    let (held, source) = (Rc::clone(&is_held), grip.clone());
    dom::add_listener(grip, "pointerdown", move |event: PointerEvent| {
        event.prevent_default();
        // It is no control that would be locked with the others.
        if let Ok(true) = source.matches("fieldset:disabled *") {
            return;
        }
        source.set_pointer_capture(event.pointer_id()).ok();
        held.set(true);
    });
    let (held, moving, of) = (Rc::clone(&is_held), Rc::clone(ranking), row.clone());
    dom::add_listener(grip, "pointermove", move |event: PointerEvent| {
        if held.get() {
            moving.follow(&of, f64::from(event.client_y()));
        }
    });
    for end in ["pointerup", "pointercancel"] {
        let (held, moved, of) = (Rc::clone(&is_held), Rc::clone(ranking), row.clone());
        dom::add_listener(grip, end, move |_: PointerEvent| {
            if held.replace(false) {
                of.element.class_list().remove_1("held").ok();
                moved.answer();
            }
        });
    }
}

impl Ranking {
    fn place(&self, value: &Value) -> Option<usize> {
        self.rows
            .borrow()
            .iter()
            .position(|row| row.value == *value)
    }

    /// Moves a choice by its own button, which keeps the focus as long as it leads anywhere.
    fn step(&self, value: &Value, way: isize) {
        let Some(from) = self.place(value) else {
            return;
        };
        let count = self.rows.borrow().len();
        let Some(to) = from.checked_add_signed(way).filter(|to| *to < count) else {
            return;
        };
        self.put(from, to);
        let row = self.rows.borrow()[to].clone();
        let place = [
            ("choice", &row.text as &dyn std::fmt::Display),
            ("place", &(to + 1)),
            ("count", &count),
        ];
        dom::set_text(
            &self.news,
            &messages::fill_in(messages::current_words().ranked, &place),
        );
        self.answer();
        let is_last = to == 0 || to + 1 == count;
        let button = match (way < 0) != is_last {
            true => "button.move:first-of-type",
            false => "button.move:last-of-type",
        };
        if let Ok(Some(button)) = row.element.query_selector(button) {
            button.unchecked_into::<HtmlElement>().focus().ok();
        }
    }

    /// Moves a choice to where a finger or mouse is.
    fn follow(&self, row: &Row, y: f64) {
        row.element.class_list().add_1("held").ok();
        let Some(from) = self.place(&row.value) else {
            return;
        };
        let is_above = |row: &&Row| {
            let of = row.element.get_bounding_client_rect();
            of.top() + of.height() / 2.0 < y
        };
        let others: Vec<Row> = self
            .rows
            .borrow()
            .iter()
            .filter(|it| it.value != row.value)
            .cloned()
            .collect();
        let to = others.iter().filter(is_above).count();
        if from != to {
            self.put(from, to);
        }
    }

    /// Has the others make way: one that left the page for a moment would lose the finger, and the focus.
    fn put(&self, from: usize, to: usize) {
        let mut rows = self.rows.borrow_mut();
        let row = rows.remove(from);
        let held = &row.element;
        for passed in rows.get(from..to).unwrap_or_default() {
            self.list.insert_before(&passed.element, Some(held)).ok();
        }
        for passed in rows.get(to..from).unwrap_or_default().iter().rev() {
            let after = held.next_sibling();
            self.list
                .insert_before(&passed.element, after.as_ref())
                .ok();
        }
        rows.insert(to, row);
        drop(rows);
        self.lock_ends();
    }

    /// The first one has no way up, the last one none down.
    fn lock_ends(&self) {
        let rows = self.rows.borrow();
        for (at, row) in rows.iter().enumerate() {
            for (end, button) in [(0, "first"), (rows.len() - 1, "last")] {
                let button = row
                    .element
                    .query_selector(&format!("button.move:{button}-of-type"));
                if let Ok(Some(button)) = button {
                    button
                        .toggle_attribute_with_force("disabled", at == end)
                        .ok();
                }
            }
        }
    }

    /// Takes the order that is shown as the answer.
    fn answer(&self) {
        dom::show_element(&self.open, false);
        let order = self
            .rows
            .borrow()
            .iter()
            .map(|row| row.value.clone())
            .collect();
        (self.set)(Some(Value::Array(order)));
    }
}
