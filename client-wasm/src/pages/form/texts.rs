//! Texts of a form that show answers to the same form, filled in while one answers.

use survey::{AnswerWords, Form, Values, names_in_braces};
use wasm_bindgen::JsCast;
use web_sys::{Element, Node};

use crate::messages;

/// The texts of the page of a form that have names in braces, as they were written.
#[derive(Debug, Default)]
pub(super) struct FilledTexts {
    texts: Vec<(Node, String)>,
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
        for (node, text) in &self.texts {
            let filled = form.fill_text(text, values, words);
            if node.node_value().as_deref() != Some(&filled) {
                node.set_node_value(Some(&filled));
            }
        }
    }

    /// Finds the texts below a node that are not known yet: a text that was filled in shows what the person wrote, braces
    /// or not.
    fn find(&mut self, node: &Node) {
        // What the person writes is no text of the form.
        let is_own = node.dyn_ref::<Element>().is_some_and(|element| {
            element.tag_name() == "TEXTAREA" || element.class_list().contains("problem")
        });
        if is_own {
            return;
        }
        if node.node_type() == Node::TEXT_NODE {
            let text = node.node_value().unwrap_or_default();
            let is_known = || {
                self.texts
                    .iter()
                    .any(|(known, _)| known.is_same_node(Some(node)))
            };
            if names_in_braces(&text).next().is_some() && !is_known() {
                self.texts.push((node.clone(), text));
            }
            return;
        }
        let children = node.child_nodes();
        for index in 0..children.length() {
            if let Some(child) = children.get(index) {
                self.find(&child);
            }
        }
    }
}
