//! A form as a page: its visible items, page by page, and whether it can be submitted.

mod controls;
mod texts;
mod time;

use std::cell::RefCell;
use std::rc::Rc;

use client_core::drafts::PageTimes;
use client_core::time_limit::TimeLimitDue;
use protocol::control::{Answer, Draft};
use serde_json::Value;
use survey::{AnswerProblem, Form, FormPage, Values};
use wasm_bindgen::prelude::*;
use web_sys::{Element, Event, HtmlElement};

use crate::messages;
use crate::shell::inbox::{Inbox, Input};
use crate::shell::{dom, layout};
use controls::control;
use texts::FilledTexts;
use time::Time;

/// A form on its way to be answered.
struct Filling {
    form: Form,
    values: Values,
    times: PageTimes,
    card: HtmlElement,
    /// The line below the heading.
    hint: Option<String>,
    inbox: Inbox,
    /// The time limit for the answers.
    time: Option<Time>,
    /// The texts that show answers to the same form.
    texts: RefCell<FilledTexts>,
}

type Shared = Rc<RefCell<Filling>>;

impl Filling {
    /// The page that is shown.
    fn page(&self) -> &FormPage {
        &self.form.pages[self.times.page()]
    }

    /// The distance to the next page of which something is shown, that way; `None` if there is none.
    fn way(&self, by: isize) -> Option<isize> {
        let (shown, _) = self.form.shown_items(&self.values);
        let at = |way: isize| self.times.page().checked_add_signed(way);
        let mut ways = (1..).map(|count| count * by).map_while(|way| {
            let page = shown.get(at(way)?)?;
            Some((way, page.contains(&true)))
        });
        ways.find_map(|(way, is_shown)| is_shown.then_some(way))
    }

    /// Shows the items that follow from the answers so far, and locks those that cannot be answered.
    fn refresh(&self) {
        let (shown, kept) = self.form.shown_items(&self.values);
        let items = self.page().items.iter().zip(&shown[self.times.page()]);
        for ((item, is_shown), field) in items.zip(fields(&self.card)) {
            dom::show_element(&field, *is_shown);
            let is_locked = !item.is_enabled(&kept);
            field
                .toggle_attribute_with_force("disabled", is_locked)
                .ok();
            if item.find_problem(&kept).is_none() {
                clear_problem(&field);
            }
            let needed = field
                .query_selector(":scope > legend .required")
                .ok()
                .flatten();
            if let Some(needed) = needed {
                dom::show_element(needed.unchecked_ref(), item.is_required(&kept));
            }
        }
        if let Ok(Some(next)) = self.card.query_selector("button.primary") {
            dom::set_text(&next, self.onward());
        }
        (self.texts.borrow_mut()).refresh(&self.card, &self.form, &kept);
    }

    /// The time on each page, milliseconds.
    fn pages_ms(&self) -> Vec<u32> {
        let now_us = dom::page_us();
        let time = self.time.as_ref();
        let counted_us = time.map_or(now_us, |time| time.limit.counted_us(now_us));
        self.times.all_ms(counted_us)
    }

    /// True if nothing can be answered any more.
    fn is_over(&self) -> bool {
        let time = self.time.as_ref();
        time.is_some_and(|time| time.limit.is_over(dom::page_us()))
    }

    /// The label of the button that leads on.
    fn onward(&self) -> &'static str {
        match self.way(1) {
            None => messages::current_words().onward,
            Some(_) => messages::current_words().next,
        }
    }

    /// Returns the distance to the page with the first problem, and its problems; `None` if there are none up to here.
    fn problem(&self) -> Option<(isize, Vec<(usize, AnswerProblem)>)> {
        let here = self.times.page();
        let mut all = self.form.list_problems(&self.values);
        let first = match self.way(1) {
            Some(_) => Some(here).filter(|here| !all[*here].is_empty()),
            // What was fine as its page was left may contradict a later answer.
            None => all.iter().position(|page| !page.is_empty()),
        };
        first.map(|first| {
            (
                first as isize - here as isize,
                std::mem::take(&mut all[first]),
            )
        })
    }

    /// The answers given by now.
    fn draft(&self) -> Draft {
        Draft {
            page: self.times.page() as u16,
            pages_ms: self.pages_ms(),
            answers: answers(&self.values),
        }
    }

    /// Ends the stage with these answers.
    fn hand_in(&self, values: &Values) {
        let done = Input::StageDone(answers(values), self.pages_ms());
        self.inbox.send(done);
    }

    /// Lets the draft be stored.
    fn keep(&self) {
        self.inbox.send(Input::Drafted(self.draft()));
    }
}

fn answers(values: &Values) -> Vec<Answer> {
    let answer = |(name, value): (&String, &Value)| Answer {
        name: name.clone(),
        value: value.to_string(),
    };
    values.iter().map(answer).collect()
}

/// The values of answers that the form asks for.
fn values_of(form: &Form, answers: &[Answer]) -> Values {
    let value = |answer: &Answer| {
        let value = serde_json::from_str(&answer.value).ok();
        let value = value.filter(|_| form.item(&answer.name).is_some())?;
        Some((answer.name.clone(), value))
    };
    answers.iter().filter_map(value).collect()
}

/// The items of a page as they are drawn.
fn fields(card: &Element) -> Vec<HtmlElement> {
    let Ok(all) = card.query_selector_all("fieldset.item") else {
        return Vec::new();
    };
    let field = |index| Some(all.get(index)?.unchecked_into());
    (0..all.length()).filter_map(field).collect()
}

/// A form to be answered; then the stage is done.
pub(crate) struct Questions {
    /// The page.
    pub(crate) page: HtmlElement,
    filling: Shared,
}

impl Questions {
    /// Makes a form as a page, with the answers of a draft.
    pub(crate) fn new(
        inbox: &Inbox,
        form: Form,
        hint: Option<String>,
        draft: Option<&Draft>,
    ) -> Self {
        let card = dom::make_element("form.card.survey");
        dom::set_attribute(&card, "novalidate", "");
        let now_us = dom::page_us();
        let time = form
            .time_limit_s
            .map(|limit_s| Time::new(now_us, limit_s, draft));
        let filling = Filling {
            values: draft.map_or_else(|| form.defaults(), |draft| values_of(&form, &draft.answers)),
            times: PageTimes::new(now_us, form.pages.len(), draft),
            form,
            card: card.clone(),
            hint,
            inbox: inbox.clone(),
            time,
            texts: RefCell::default(),
        };
        let shared: Shared = Rc::new(RefCell::new(filling));
        draw(&shared);
        let submitted = Rc::clone(&shared);
        dom::add_listener(&card, "submit", move |event: Event| {
            event.prevent_default();
            submit(&submitted);
        });
        Self {
            page: card,
            filling: shared,
        }
    }

    /// The answers given by now.
    pub(crate) fn draft(&self) -> Draft {
        self.filling.borrow().draft()
    }

    /// Shows that time passes, and hands in what there is when it is up.
    pub(crate) fn tick(&self, now_us: u64) {
        let mut filling = self.filling.borrow_mut();
        let Some(time) = &mut filling.time else {
            return;
        };
        time.tick(now_us);
        match time.limit.poll_due(now_us) {
            TimeLimitDue::Nothing => {}
            TimeLimitDue::Keep => filling.keep(),
            TimeLimitDue::HandIn => {
                dom::set_attribute(&filling.card, "inert", "");
                filling.hand_in(&filling.form.keep_fitting(&filling.values));
            }
        }
    }
}

fn draw(shared: &Shared) {
    let filling = shared.borrow();
    let card = &filling.card;
    card.set_text_content(None);
    filling.texts.borrow_mut().clear();
    if let Some(time) = &filling.time {
        dom::add_children(card, &[&time.element]);
    }
    let at = filling.times.page();
    let page = filling.page();
    let heading = [&page.title, &filling.form.title]
        .into_iter()
        .find(|title| !title.is_empty());
    dom::add_children(
        card,
        &[&dom::make_text(
            "h1",
            heading.map_or(messages::current_words().untitled, String::as_str),
        )],
    );
    if let Some(hint) = &filling.hint {
        dom::add_children(card, &[&dom::make_text("p.hint", hint)]);
    }
    if at == 0 && !filling.form.description.is_empty() {
        dom::add_children(card, &[&dom::make_text("p", &filling.form.description)]);
    }
    for (index, item) in page.items.iter().enumerate() {
        dom::add_children(
            card,
            &[&control(
                shared,
                item,
                &format!("item-{index}"),
                filling.values.get(&item.name),
            )],
        );
    }
    let actions = dom::make_element("div.actions");
    if let Some(way) = filling.way(-1) {
        let back = Rc::clone(shared);
        let button = dom::make_button(
            "secondary",
            messages::current_words().back_a_page,
            move || turn(&back, way),
        );
        dom::add_children(&actions, &[&button]);
    }
    let next = dom::make_text("button.primary", filling.onward());
    dom::set_attribute(&next, "type", "submit");
    dom::add_children(&actions, &[&next]);
    dom::add_children(card, &[&actions]);
    filling.refresh();
}

fn turn(shared: &Shared, by: isize) {
    shared.borrow_mut().times.turn_page(dom::page_us(), by);
    draw(shared);
    let filling = shared.borrow();
    layout::focus_heading(&filling.card);
    filling.keep();
}

fn submit(shared: &Shared) {
    if shared.borrow().is_over() {
        return;
    }
    let problem = shared.borrow().problem();
    let on = shared.borrow().way(1);
    match (problem, on) {
        (Some((way, problems)), _) => {
            if way != 0 {
                turn(shared, way);
            }
            show_problems(&shared.borrow().card, &problems);
        }
        (None, Some(way)) => turn(shared, way),
        (None, None) => {
            show_problems(&shared.borrow().card, &[]);
            let filling = shared.borrow();
            let (_, kept) = filling.form.shown_items(&filling.values);
            filling.hand_in(&kept);
        }
    }
}

/// Removes the message about an answer that has no problem any more.
fn clear_problem(field: &HtmlElement) {
    let place = field.query_selector(".problem").ok().flatten();
    if let Some(place) = place.filter(|place| !place.has_attribute("hidden")) {
        dom::set_text(&place, "");
        dom::show_element(place.unchecked_ref(), false);
        mark(field, None);
    }
}

/// Marks an item that has a problem, or the part of it that has.
fn mark(field: &HtmlElement, problem: Option<&AnswerProblem>) {
    if let Ok(before) = field.query_selector_all("[data-part].missing") {
        for node in (0..before.length()).filter_map(|index| before.get(index)) {
            let part: Element = node.unchecked_into();
            part.class_list().remove_1("missing").ok();
        }
    }
    let part = match problem {
        Some(AnswerProblem::Part { path, .. }) => controls::find_part(field, path),
        _ => None,
    };
    let is_whole = problem.is_some() && part.is_none();
    field
        .class_list()
        .toggle_with_force("missing", is_whole)
        .ok();
    if let Some(part) = part {
        part.class_list().add_1("missing").ok();
    }
}

fn show_problems(card: &Element, problems: &[(usize, AnswerProblem)]) {
    for (index, field) in fields(card).into_iter().enumerate() {
        let problem = problems.iter().find(|(item, _)| *item == index);
        let sentence = problem.map(|(_, problem)| messages::say_problem(problem));
        if let Ok(Some(place)) = field.query_selector(".problem") {
            dom::set_text(&place, sentence.as_deref().unwrap_or_default());
            dom::show_element(place.unchecked_ref(), sentence.is_some());
        }
        mark(&field, problem.map(|(_, problem)| problem));
    }
    if let Ok(Some(first)) =
        card.query_selector(".missing :is(input, textarea, select, button:not([disabled]))")
    {
        first.unchecked_into::<HtmlElement>().focus().ok();
    }
}
