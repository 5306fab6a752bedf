//! Texts of a form that show answers to the same form, filled in while one answers.

use survey::{AnswerWords, Form, Values, names_in_braces};
use wasm_bindgen::JsCast;
use web_sys::{Element, Node};

use crate::messages;
use crate::shell::dom;

/// The attributes that people read or hear.
const ATTRIBUTES: [&str; 3] = ["aria-label", "alt", "placeholder"];

/// A text of a page.
#[derive(Debug)]
enum Place {
    Text(Node),
    Attribute(Element, &'static str),
}

impl Place {
    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Text(one), Self::Text(other)) => one.is_same_node(Some(other)),
            (Self::Attribute(one, name), Self::Attribute(other, of)) => {
                name == of && one.is_same_node(Some(other))
            }
            _ => false,
        }
    }

    fn read(&self) -> Option<String> {
        match self {
            Self::Text(node) => node.node_value(),
            Self::Attribute(element, name) => element.get_attribute(name),
        }
    }

    fn write(&self, text: &str) {
        if self.read().as_deref() == Some(text) {
            return;
        }
        match self {
            Self::Text(node) => node.set_node_value(Some(text)),
            Self::Attribute(element, name) => dom::set_attribute(element, name, text),
        }
    }
}

/// The texts of the page of a form that have names in braces, as they were written.
#[derive(Debug, Default)]
pub(super) struct FilledTexts {
    texts: Vec<(Place, String)>,
}

impl FilledTexts {
    /// Forgets the texts of a page that is left.
    pub(super) fn clear(&mut self) {
        self.texts.clear();
    }

    /// Shows the answers by now.
    pub(super) fn refresh(&mut self, card: &Element, form: &Form, values: &Values) {
        self.find(card);
        let say = messages::current_words();
        let words = AnswerWords {
            yes: say.yes,
            no: say.no,
            none: say.none,
            other: say.other,
            decimal: say.decimal,
        };
        for (place, text) in &self.texts {
            place.write(&form.fill_text(text, values, words));
        }
    }

    /// Finds the texts at and below a node that are not known yet: a filled-in text shows what the person wrote, with
    /// braces or without.
    fn find(&mut self, node: &Node) {
        if node.node_type() == Node::TEXT_NODE {
            return self.add(Place::Text(node.clone()));
        }
        let Some(element) = node.dyn_ref::<Element>() else {
            return;
        };
        for name in ATTRIBUTES {
            self.add(Place::Attribute(element.clone(), name));
        }
        // What the person writes is no text of the form.
        if element.tag_name() == "TEXTAREA" || element.class_list().contains("problem") {
            return;
        }
        let children = node.child_nodes();
        for index in 0..children.length() {
            if let Some(child) = children.get(index) {
                self.find(&child);
            }
        }
    }

    fn add(&mut self, place: Place) {
        let text = place.read().unwrap_or_default();
        if names_in_braces(&text).next().is_some()
            && !self.texts.iter().any(|(known, _)| known.is(&place))
        {
            self.texts.push((place, text));
        }
    }
}
