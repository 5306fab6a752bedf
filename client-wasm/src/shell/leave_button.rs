//! The way out that is on every page: a quiet button, and a question before it is taken.

use std::cell::RefCell;
use std::rc::Rc;

use wasm_bindgen::JsCast as _;
use web_sys::{Element, Event, HtmlElement, KeyboardEvent};

use crate::messages;
use crate::shell::dom;
use crate::shell::inbox::{Inbox, Input};

/// The button and its question.
pub(crate) struct Leave {
    /// The button, for the bar.
    pub(crate) button: HtmlElement,
    question: Rc<RefCell<Option<HtmlElement>>>,
}

impl Leave {
    /// A button that nobody sees yet; its question comes `after` an element.
    pub(crate) fn new(inbox: &Inbox, after: &Element) -> Self {
        let question: Rc<RefCell<Option<HtmlElement>>> = Rc::default();
        let (asked, inbox, after) = (Rc::clone(&question), inbox.clone(), after.clone());
        let button = dom::make_button("leave", messages::current_words().leave, move || {
            if asked.borrow().is_none() {
                ask(&asked, &inbox, &after);
            }
        });
        button.set_hidden(true);
        Self { button, question }
    }

    /// Shows the button, or takes it and its question away.
    pub(crate) fn show_button(&self, shown: bool) {
        dom::show_element(&self.button, shown);
        if !shown {
            close(&self.question);
        }
    }
}

fn close(question: &RefCell<Option<HtmlElement>>) {
    if let Some(question) = question.borrow_mut().take() {
        question.remove();
    }
}

/// The person stays: the focus goes back to the world, or else to the button.
fn stays(question: &RefCell<Option<HtmlElement>>) {
    close(question);
    let find = |place| dom::document().query_selector(place).ok().flatten();
    if let Some(place) = find("#stage").or_else(|| find("button.leave")) {
        let place: HtmlElement = place.unchecked_into();
        place.focus().ok();
    }
}

fn ask(asked: &Rc<RefCell<Option<HtmlElement>>>, inbox: &Inbox, after: &Element) {
    let card = dom::make_element("section.confirm");
    dom::set_attribute(&card, "role", "alertdialog");
    dom::set_attribute(&card, "aria-label", messages::current_words().leave);
    let (stay, leave) = (Rc::clone(asked), Rc::clone(asked));
    let inbox = inbox.clone();
    let no = dom::make_button("primary", messages::current_words().go_on, move || {
        stays(&stay)
    });
    let yes = dom::make_button("secondary", messages::current_words().leave, move || {
        close(&leave);
        inbox.send(Input::Quit);
    });
    let actions = dom::make_element("div.actions");
    dom::add_children(&actions, &[&yes, &no]);
    dom::add_children(
        &card,
        &[
            &dom::make_text("p", messages::current_words().leave_asked),
            &actions,
        ],
    );
    let escape = Rc::clone(asked);
    dom::add_listener(&card, "keydown", move |event: KeyboardEvent| {
        // What is pressed here is not for the world behind.
        AsRef::<Event>::as_ref(&event).stop_propagation();
        if event.key() == "Escape" {
            stays(&escape);
        }
    });
    after
        .insert_adjacent_element("afterend", &card)
        .expect("the bar is on the page");
    no.focus().ok();
    *asked.borrow_mut() = Some(card);
}
