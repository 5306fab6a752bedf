//! Pages to read, back and next; each may have a least time, which the button shows.

use std::cell::RefCell;
use std::rc::Rc;

use client_core::drafts::PageTimes;
use protocol::control::Draft;
use web_sys::HtmlElement;

use crate::messages;
use crate::shell::inbox::{Inbox, Input};
use crate::shell::{dom, layout};

/// Pages to read; after the last one the stage is done.
pub(crate) struct Instructions {
    /// The page.
    pub(crate) page: HtmlElement,
    book: Rc<RefCell<Book>>,
}

struct Book {
    card: HtmlElement,
    inbox: Inbox,
    title: String,
    pages: Vec<String>,
    least_us: u64,
    times: PageTimes,
    /// The button that leads on, and the element with the remaining time; `None` once the button is open.
    wait: Option<Wait>,
}

struct Wait {
    next: HtmlElement,
    hint: HtmlElement,
    /// The news for a screen reader; not every second.
    status: HtmlElement,
}

type Shared = Rc<RefCell<Book>>;

impl Instructions {
    /// Pages of sanitised HTML, each for this many seconds at least, from the page of a draft on.
    pub(crate) fn new(
        inbox: &Inbox,
        title: &str,
        pages: Vec<String>,
        min_s: u32,
        draft: Option<&Draft>,
    ) -> Self {
        let card = dom::make_element("section.card.instructions");
        let book = Book {
            card: card.clone(),
            inbox: inbox.clone(),
            title: title.to_owned(),
            least_us: u64::from(min_s) * 1_000_000,
            times: PageTimes::new(dom::page_us(), pages.len(), draft),
            pages,
            wait: None,
        };
        let book = Rc::new(RefCell::new(book));
        draw(&book);
        Self { page: card, book }
    }

    /// The pages read by now.
    pub(crate) fn draft(&self, now_us: u64) -> Draft {
        self.book.borrow().draft(now_us)
    }

    /// Counts down.
    pub(crate) fn tick(&self, now_us: u64) {
        let mut book = self.book.borrow_mut();
        let left_s = book.left_s(now_us);
        let Some(wait) = &book.wait else { return };
        if left_s > 0 {
            dom::set_text(&wait.hint, &messages::say_go_on_in(left_s));
            return;
        }
        wait.next.remove_attribute("aria-disabled").ok();
        dom::set_text(&wait.hint, "");
        dom::set_text(&wait.status, messages::current_words().go_on_now);
        book.wait = None;
    }
}

impl Book {
    /// The pages read by now.
    fn draft(&self, now_us: u64) -> Draft {
        Draft {
            page: self.times.page() as u16,
            pages_ms: self.times.all_ms(now_us),
            answers: Vec::new(),
        }
    }

    /// Whole seconds until the page that is shown can be left.
    fn left_s(&self, now_us: u64) -> u32 {
        let left_us = self.least_us.saturating_sub(self.times.here_us(now_us));
        left_us.div_ceil(1_000_000) as u32
    }

    fn is_last(&self) -> bool {
        self.times.page() + 1 >= self.pages.len()
    }
}

fn draw(shared: &Shared) {
    let mut book = shared.borrow_mut();
    let card = book.card.clone();
    card.set_text_content(None);
    let page = book.pages.get(book.times.page());
    dom::add_children(&card, &[&dom::make_prose(page.map_or("", String::as_str))]);
    layout::ensure_heading(&card, &book.title);
    let actions = dom::make_element("div.actions");
    if book.times.page() > 0 {
        let back = Rc::clone(shared);
        let button = dom::make_button(
            "secondary",
            messages::current_words().back_a_page,
            move || turn(&back, -1),
        );
        dom::add_children(&actions, &[&button]);
    }
    let label = if book.is_last() {
        messages::current_words().onward
    } else {
        messages::current_words().next
    };
    let on = Rc::clone(shared);
    let next = dom::make_button("primary", label, move || go_on(&on));
    dom::add_children(&actions, &[&next]);
    let left_s = book.left_s(dom::page_us());
    book.wait = (left_s > 0).then(|| {
        let hint = dom::make_text("p.hint.wait", &messages::say_go_on_in(left_s));
        let status = dom::make_element("p.sr-only");
        dom::set_attribute(&hint, "id", "wait");
        dom::set_attribute(&status, "role", "status");
        dom::set_attribute(&next, "aria-disabled", "true");
        dom::set_attribute(&next, "aria-describedby", "wait");
        dom::add_children(&card, &[&hint, &status]);
        Wait { next, hint, status }
    });
    dom::add_children(&card, &[&actions]);
}

fn go_on(shared: &Shared) {
    let now_us = dom::page_us();
    let (left_s, is_last) = {
        let book = shared.borrow();
        let left_s = book.left_s(now_us);
        if let Some(wait) = book.wait.as_ref().filter(|_| left_s > 0) {
            dom::set_text(&wait.status, &messages::say_go_on_in(left_s));
        }
        (left_s, book.is_last())
    };
    match (left_s, is_last) {
        (0, false) => turn(shared, 1),
        (0, true) => {
            let book = shared.borrow();
            let pages_ms = book.times.all_ms(now_us);
            let done = Input::StageDone(Vec::new(), pages_ms);
            book.inbox.send(done);
        }
        _ => {}
    }
}

fn turn(shared: &Shared, by: isize) {
    let now_us = dom::page_us();
    shared.borrow_mut().times.turn_page(now_us, by);
    draw(shared);
    let book = shared.borrow();
    layout::focus_heading(&book.card);
    book.inbox.send(Input::Drafted(book.draft(now_us)));
}
