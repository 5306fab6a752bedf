//! Numbers on a line: a native slider, or two of them. It has no answer before somebody has touched it, and it says so.

use std::cell::RefCell;
use std::rc::Rc;

use serde_json::{Value, json};
use survey::FormItem;
use wasm_bindgen::prelude::*;
use web_sys::{Event, HtmlElement, HtmlInputElement, KeyboardEvent};

use super::{Setter, title};
use crate::messages;
use crate::shell::dom;

/// The numbers that a slider has.
#[derive(Clone, Copy)]
pub(super) struct Scale {
    pub(super) min: f64,
    pub(super) max: f64,
    pub(super) step: f64,
}

impl Scale {
    /// The number nearest to the middle.
    fn middle(self) -> f64 {
        let steps = ((self.max - self.min) / self.step / 2.0).floor();
        self.min + steps * self.step
    }
}

/// The sliders of an item, and where they stand.
struct Sliders {
    inputs: Vec<HtmlInputElement>,
    /// The element that says the value.
    told: HtmlElement,
    is_answered: bool,
    set: Setter,
}

/// One slider, or two for a range.
pub(super) fn slider(
    item: &FormItem,
    scale: Scale,
    range: bool,
    value: Option<&Value>,
    set: Setter,
) -> HtmlElement {
    let whole = dom::make_element("div.slider");
    let numbers: Vec<f64> = match value {
        Some(Value::Array(values)) => values.iter().filter_map(Value::as_f64).collect(),
        value => value.and_then(Value::as_f64).into_iter().collect(),
    };
    let labels = match range {
        true => vec![
            messages::current_words().range_from,
            messages::current_words().range_to,
        ],
        false => vec![title(item)],
    };
    let usual = match range {
        true => vec![scale.min, scale.max],
        false => vec![scale.middle()],
    };
    let is_answered = numbers.len() == labels.len();
    let told = dom::make_element("output.told");
    let mut inputs = Vec::new();
    for (index, label) in labels.iter().enumerate() {
        let input: HtmlInputElement = dom::make_element("input").unchecked_into();
        input.set_type("range");
        for (name, number) in [("min", scale.min), ("max", scale.max), ("step", scale.step)] {
            dom::set_attribute(&input, name, &number.to_string());
        }
        dom::set_attribute(&input, "aria-label", label);
        input.set_value(&(if is_answered { &numbers } else { &usual })[index].to_string());
        dom::add_children(&whole, &[&input]);
        inputs.push(input);
    }
    let ends = dom::make_element("div.ends");
    let [low, high] =
        [scale.min, scale.max].map(|end| dom::make_text("span", &messages::format_number(end)));
    dom::add_children(&ends, &[&low, &told, &high]);
    dom::add_children(&whole, &[&ends]);
    let sliders = Rc::new(RefCell::new(Sliders {
        inputs,
        told,
        is_answered,
        set,
    }));
    listen(&sliders);
    sliders.borrow().tell();
    whole
}

fn listen(sliders: &Rc<RefCell<Sliders>>) {
    let inputs = sliders.borrow().inputs.clone();
    for (index, input) in inputs.iter().enumerate() {
        let touched = Rc::clone(sliders);
        dom::add_listener(input, "input", move |_: Event| touch(&touched, index));
        // Its present value may be the intended one; a finger makes no click there.
        let (touched, source) = (Rc::clone(sliders), input.clone());
        dom::add_listener(input, "pointerup", move |_: Event| {
            if let Ok(false) = source.matches(":disabled") {
                touch(&touched, index);
            }
        });
        let touched = Rc::clone(sliders);
        dom::add_listener(input, "keydown", move |event: KeyboardEvent| {
            if event.key() == " " {
                event.prevent_default();
                touch(&touched, index);
            }
        });
    }
}

/// A slider was moved, or is meant as it stands; the other one gives way.
fn touch(sliders: &RefCell<Sliders>, index: usize) {
    sliders.borrow_mut().is_answered = true;
    let (set, value) = {
        let sliders = sliders.borrow();
        let moved = sliders.inputs[index].value_as_number();
        for (other, input) in sliders.inputs.iter().enumerate() {
            let number = input.value_as_number();
            if (other < index && number > moved) || (other > index && number < moved) {
                input.set_value_as_number(moved);
            }
        }
        sliders.tell();
        let numbers: Vec<Value> = sliders.numbers().into_iter().map(number).collect();
        let value = match numbers.as_slice() {
            [one] => one.clone(),
            _ => Value::Array(numbers),
        };
        (Rc::clone(&sliders.set), value)
    };
    set(Some(value));
}

/// A number as it is recorded: whole if it is.
fn number(number: f64) -> Value {
    // The sums of the slider may differ from the written value by a rounding error.
    let number: f64 = format!("{number:.9}").parse().unwrap_or(number);
    match number.fract() == 0.0 {
        true => json!(number as i64),
        false => json!(number),
    }
}

impl Sliders {
    fn numbers(&self) -> Vec<f64> {
        self.inputs
            .iter()
            .map(HtmlInputElement::value_as_number)
            .collect()
    }

    /// Says where they stand, or that nothing is answered yet.
    fn tell(&self) {
        let numbers: Vec<String> = (self.numbers().iter())
            .map(messages::format_number)
            .collect();
        let words = match self.is_answered {
            true => numbers.join(" – "),
            false => messages::current_words().slide.to_owned(),
        };
        dom::set_text(&self.told, &words);
        for input in &self.inputs {
            let classes = input.class_list();
            classes
                .toggle_with_force("untouched", !self.is_answered)
                .ok();
            // Who does not see it hears a number otherwise.
            match self.is_answered {
                true => drop(input.remove_attribute("aria-valuetext")),
                false => dom::set_attribute(input, "aria-valuetext", &words),
            }
        }
    }
}
