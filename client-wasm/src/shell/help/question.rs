//! A question of the researchers with a time limit: buttons for its choices, or a field.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use protocol::control::AttentionCheck;
use wasm_bindgen::JsCast as _;
use web_sys::{Event, HtmlElement, HtmlInputElement};

use crate::messages;
use crate::shell::dom;
use crate::shell::inbox::{Inbox, Input};

/// The question that is open, if there is one.
pub(super) struct Question {
    /// All of it.
    pub(super) element: HtmlElement,
    time: HtmlElement,
    answers: HtmlElement,
    inbox: Inbox,
    /// The number of its message; `None` if no question is open.
    number: Cell<Option<u32>>,
    /// The answer to send.
    given: Rc<RefCell<Option<String>>>,
}

impl Question {
    /// Creates the element without a question.
    pub(super) fn new(inbox: &Inbox) -> Self {
        let element = dom::make_element("div.question");
        element.set_hidden(true);
        let (time, answers) = (
            dom::make_element("p.time"),
            dom::make_element("div.answers"),
        );
        dom::add_children(&element, &[&time, &answers]);
        Self {
            element,
            time,
            answers,
            inbox: inbox.clone(),
            number: Cell::new(None),
            given: Rc::default(),
        }
    }

    /// Takes the answer that the person gave, with the number of the question.
    pub(super) fn take_answer(&self) -> Option<(u32, String)> {
        let answer = self.given.borrow_mut().take()?;
        Some((self.number.get()?, answer))
    }

    /// Puts the focus where the person answers; false if there is no question.
    pub(super) fn focus_field(&self) -> bool {
        let found = self.answers.query_selector("input, button").ok().flatten();
        let Some(first) = found.filter(|_| self.number.get().is_some()) else {
            return false;
        };
        first.unchecked_into::<HtmlElement>().focus().ok();
        true
    }

    /// Shows how much time is left.
    pub(super) fn show_time(&self, left_ms: Option<u64>) {
        let told = left_ms.map(messages::say_time_left).unwrap_or_default();
        dom::set_text(&self.time, &told);
    }

    /// Shows the open question, with the number of its message. A shown question does not change.
    pub(super) fn show(&self, open: Option<(u32, &AttentionCheck)>) {
        let number = open.map(|(number, _)| number);
        if self.number.replace(number) == number {
            return;
        }
        self.answers.set_text_content(None);
        self.given.borrow_mut().take();
        if let Some((_, check)) = open {
            match check.choices.is_empty() {
                true => self.make_field(),
                false => check.choices.iter().for_each(|it| self.make_choice(it)),
            }
        }
        dom::show_element(&self.element, open.is_some());
    }

    fn make_choice(&self, choice: &str) {
        let (inbox, given) = (self.inbox.clone(), Rc::clone(&self.given));
        let answer = choice.to_owned();
        let button = dom::make_button("secondary", choice, move || {
            given.replace(Some(answer.clone()));
            inbox.send(Input::HelpAnswered);
        });
        dom::add_children(&self.answers, &[&button]);
    }

    fn make_field(&self) {
        let say = messages::current_words();
        let form = dom::make_element("form");
        let label = dom::make_text("label", say.help_your_answer);
        dom::set_attribute(&label, "for", "help-answer");
        let field: HtmlInputElement = dom::make_element("input").unchecked_into();
        field.set_id("help-answer");
        for (name, value) in [
            ("maxlength", "80"),
            ("autocomplete", "off"),
            ("dir", "auto"),
        ] {
            dom::set_attribute(&field, name, value);
        }
        let send = dom::make_text("button.lead", say.help_answer);
        dom::set_attribute(&send, "type", "submit");
        let row = dom::make_element("div.row");
        dom::add_children(&row, &[&field, &send]);
        dom::add_children(&form, &[&label, &row]);
        let (inbox, given) = (self.inbox.clone(), Rc::clone(&self.given));
        dom::add_listener(&form, "submit", move |event: Event| {
            event.prevent_default();
            let answer = field.value().trim().to_owned();
            if !answer.is_empty() {
                given.replace(Some(answer));
                inbox.send(Input::HelpAnswered);
            }
        });
        dom::add_children(&self.answers, &[&form]);
    }
}
