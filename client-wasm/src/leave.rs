//! The way out that is on every page: a quiet button, and a question before it is taken.

use std::cell::RefCell;
use std::rc::Rc;

use web_sys::{Element, Event, HtmlElement, KeyboardEvent};

use crate::post::{Input, Post};
use crate::{dom, sentences};

/// The button and its question.
pub(crate) struct Leave {
    /// The button, for the bar.
    pub(crate) button: HtmlElement,
    question: Rc<RefCell<Option<HtmlElement>>>,
}

impl Leave {
    /// A button that nobody sees yet; its question comes `after` an element.
    pub(crate) fn new(post: &Post, after: &Element) -> Self {
        let question: Rc<RefCell<Option<HtmlElement>>> = Rc::default();
        let (asked, post, after) = (Rc::clone(&question), post.clone(), after.clone());
        let button = dom::button("leave", sentences::LEAVE, move || {
            if asked.borrow().is_none() {
                ask(&asked, &post, &after);
            }
        });
        button.set_hidden(true);
        Self { button, question }
    }

    /// Shows the button, or takes it and its question away.
    pub(crate) fn show(&self, shown: bool) {
        dom::show(&self.button, shown);
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

fn ask(asked: &Rc<RefCell<Option<HtmlElement>>>, post: &Post, after: &Element) {
    let card = dom::make("section.confirm");
    dom::set(&card, "role", "alertdialog");
    dom::set(&card, "aria-label", sentences::LEAVE);
    let (stay, leave) = (Rc::clone(asked), Rc::clone(asked));
    let post = post.clone();
    let no = dom::button("primary", sentences::GO_ON, move || close(&stay));
    let yes = dom::button("secondary", sentences::LEAVE, move || {
        close(&leave);
        post.send(Input::Quit);
    });
    let actions = dom::make("nav.actions");
    dom::fill(&actions, &[&yes, &no]);
    dom::fill(&card, &[&dom::text("p", sentences::LEAVE_ASKED), &actions]);
    let escape = Rc::clone(asked);
    dom::listen(&card, "keydown", move |event: KeyboardEvent| {
        // What is pressed here is not for the world behind.
        AsRef::<Event>::as_ref(&event).stop_propagation();
        if event.key() == "Escape" {
            close(&escape);
        }
    });
    after
        .insert_adjacent_element("afterend", &card)
        .expect("the bar is on the page");
    no.focus().ok();
    *asked.borrow_mut() = Some(card);
}
