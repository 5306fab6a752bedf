//! The controls of a form: from the crate `survey` to elements and back to values.
//!
//! Every choice is a native control in a `fieldset`, so that keyboard and screen reader work as people know them.

use std::cell::RefCell;
use std::rc::Rc;

use protocol::control::{Answer, Draft};
use serde_json::{Value, json};
use survey::{Choice, Form, Item, Kind, NONE, Page, Problem, Values, key_of};
use wasm_bindgen::prelude::*;
use web_sys::{
    Element, Event, HtmlElement, HtmlInputElement, HtmlSelectElement, HtmlTextAreaElement,
};

use crate::drafts::Times;
use crate::post::{Input, Post};
use crate::{dom, pages, sentences};

/// A form on its way to be answered.
struct Filling {
    form: Form,
    values: Values,
    times: Times,
    card: HtmlElement,
    /// What stands below the heading.
    hint: Option<String>,
    post: Post,
}

type Shared = Rc<RefCell<Filling>>;

impl Filling {
    /// The page that is shown.
    fn page(&self) -> &Page {
        &self.form.pages[self.times.page()]
    }

    /// How far it is to the next page of which something is shown, that way; none if there is none.
    fn way(&self, by: isize) -> Option<isize> {
        let (shown, _) = self.form.shown(&self.values);
        let at = |way: isize| self.times.page().checked_add_signed(way);
        let mut ways = (1..).map(|count| count * by).map_while(|way| {
            let page = shown.get(at(way)?)?;
            Some((way, page.contains(&true)))
        });
        ways.find_map(|(way, is_shown)| is_shown.then_some(way))
    }

    /// Shows what the answers so far lead to, and locks what cannot be answered.
    fn refresh(&self) {
        let (shown, kept) = self.form.shown(&self.values);
        let items = self.page().items.iter().zip(&shown[self.times.page()]);
        for ((item, is_shown), field) in items.zip(fields(&self.card)) {
            dom::show(&field, *is_shown);
            let is_locked = !item.is_enabled(&kept);
            field
                .toggle_attribute_with_force("disabled", is_locked)
                .ok();
            let needed = field.query_selector(".required").ok().flatten();
            if let Some(needed) = needed {
                dom::show(needed.unchecked_ref(), item.is_required(&kept));
            }
        }
        if let Ok(Some(next)) = self.card.query_selector("button.primary") {
            dom::say(&next, self.onward());
        }
    }

    /// What the button says that goes on.
    fn onward(&self) -> &'static str {
        match self.way(1) {
            None => sentences::say().onward,
            Some(_) => sentences::say().next,
        }
    }

    /// The first problem's way from here, and the problems of that page; none if there are none from here back.
    fn problem(&self) -> Option<(isize, Vec<(usize, Problem)>)> {
        let here = self.times.page();
        let mut all = self.form.problems(&self.values);
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

    /// Has what is done kept.
    fn keep(&self) {
        let draft = Draft {
            page: self.times.page() as u16,
            pages_ms: self.times.all_ms(dom::page_ms()),
            answers: answers(&self.values),
        };
        self.post.send(Input::Drafted(draft));
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

/// A form as a page, with what a draft has of it; when it is answered, the stage is done.
pub(crate) fn form(
    post: &Post,
    form: Form,
    hint: Option<String>,
    draft: Option<&Draft>,
) -> HtmlElement {
    let card = dom::make("form.card.survey");
    dom::set(&card, "novalidate", "");
    let filling = Filling {
        values: draft.map_or_else(|| form.defaults(), |draft| values_of(&form, &draft.answers)),
        times: Times::new(dom::page_ms(), form.pages.len(), draft),
        form,
        card: card.clone(),
        hint,
        post: post.clone(),
    };
    let shared: Shared = Rc::new(RefCell::new(filling));
    draw(&shared);
    let submitted = Rc::clone(&shared);
    dom::listen(&card, "submit", move |event: Event| {
        event.prevent_default();
        submit(&submitted);
    });
    card
}

fn draw(shared: &Shared) {
    let filling = shared.borrow();
    let card = &filling.card;
    card.set_text_content(None);
    let at = filling.times.page();
    let page = filling.page();
    let heading = [&page.title, &filling.form.title]
        .into_iter()
        .find(|title| !title.is_empty());
    dom::fill(
        card,
        &[&dom::text(
            "h1",
            heading.map_or(sentences::say().untitled, String::as_str),
        )],
    );
    if let Some(hint) = &filling.hint {
        dom::fill(card, &[&dom::text("p.hint", hint)]);
    }
    if at == 0 && !filling.form.description.is_empty() {
        dom::fill(card, &[&dom::text("p", &filling.form.description)]);
    }
    for (index, item) in page.items.iter().enumerate() {
        dom::fill(
            card,
            &[&control(
                shared,
                item,
                &format!("item-{index}"),
                filling.values.get(&item.name),
            )],
        );
    }
    let actions = dom::make("div.actions");
    if let Some(way) = filling.way(-1) {
        let back = Rc::clone(shared);
        let button = dom::button("secondary", sentences::say().back_a_page, move || {
            turn(&back, way)
        });
        dom::fill(&actions, &[&button]);
    }
    let next = dom::text("button.primary", filling.onward());
    dom::set(&next, "type", "submit");
    dom::fill(&actions, &[&next]);
    dom::fill(card, &[&actions]);
    filling.refresh();
}

fn turn(shared: &Shared, by: isize) {
    shared.borrow_mut().times.turn(dom::page_ms(), by);
    draw(shared);
    let filling = shared.borrow();
    pages::focus_heading(&filling.card);
    filling.keep();
}

fn submit(shared: &Shared) {
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
            let pages_ms = filling.times.all_ms(dom::page_ms());
            let (_, kept) = filling.form.shown(&filling.values);
            filling
                .post
                .send(Input::StageDone(answers(&kept), pages_ms));
        }
    }
}

fn show_problems(card: &Element, problems: &[(usize, Problem)]) {
    for (index, field) in fields(card).into_iter().enumerate() {
        let problem = problems.iter().find(|(item, _)| *item == index);
        let sentence = problem.map(|(_, problem)| problem.to_string());
        if let Ok(Some(place)) = field.query_selector(".problem") {
            dom::say(&place, sentence.as_deref().unwrap_or_default());
            dom::show(place.unchecked_ref(), sentence.is_some());
        }
        field
            .class_list()
            .toggle_with_force("missing", sentence.is_some())
            .ok();
    }
    if let Ok(Some(first)) = card.query_selector(
        "fieldset.missing input, fieldset.missing textarea, fieldset.missing select",
    ) {
        first.unchecked_into::<HtmlElement>().focus().ok();
    }
}

/// An item as a `fieldset`; what asks nothing too, so that items and fieldsets have the same index.
fn control(shared: &Shared, item: &Item, id: &str, value: Option<&Value>) -> HtmlElement {
    let field = dom::make("fieldset.item");
    if let Kind::Html(html) = &item.kind {
        field.class_list().add_1("plain").ok();
        dom::fill(&field, &[&dom::prose(html)]);
        return field;
    }
    if item.kind == Kind::Heading {
        field.class_list().add_1("plain").ok();
        for (kind, text) in [("h2", &item.title), ("p.hint", &item.description)] {
            if !text.is_empty() {
                dom::fill(&field, &[&dom::text(kind, text)]);
            }
        }
        return field;
    }
    let legend = dom::text("legend", &item.title);
    if item.required || item.required_if.is_some() {
        let star = dom::text("span.required", " *");
        dom::set(&star, "aria-hidden", "true");
        let words = format!(" ({})", sentences::say().required);
        dom::fill(&legend, &[&star, &dom::text("span.sr-only", &words)]);
    }
    dom::fill(&field, &[&legend]);
    if !item.description.is_empty() {
        dom::fill(&field, &[&dom::text("p.hint", &item.description)]);
    }
    let set = setter(shared, &item.name);
    match &item.kind {
        Kind::One(choices) => dom::fill(&field, &[&radios("div.choices", id, choices, value, set)]),
        Kind::List(choices) => dom::fill(&field, &[&list(item, choices, value, set)]),
        Kind::Many { choices, .. } => dom::fill(&field, &[&checks(choices, value, &set)]),
        Kind::Rating { points, low, high } => {
            let scale = radios("div.choices.rating", id, points, value, set);
            let (low, high) = (dom::text("span.low", low), dom::text("span.high", high));
            dom::fill(&field, &[&scale, &low, &high]);
        }
        Kind::Boolean { yes, no } => {
            let choice = |value: bool, text: &String| Choice {
                value: json!(value),
                text: text.clone(),
            };
            let choices = [choice(true, yes), choice(false, no)];
            dom::fill(&field, &[&radios("div.choices", id, &choices, value, set)]);
        }
        Kind::Line { input } => dom::fill(&field, &[&line(item, input, value, set)]),
        Kind::Lines => dom::fill(&field, &[&lines(item, value, set)]),
        Kind::Matrix { columns, rows, .. } => {
            dom::fill(&field, &[&matrix(shared, item, id, columns, rows, value)])
        }
        Kind::Html(_) | Kind::Heading => {}
    }
    let problem = dom::make("p.problem");
    dom::set(&problem, "role", "alert");
    problem.set_hidden(true);
    dom::fill(&field, &[&problem]);
    field
}

type Setter = Rc<dyn Fn(Option<Value>)>;

/// What writes the value of an item.
fn setter(shared: &Shared, name: &str) -> Setter {
    let (shared, name) = (Rc::clone(shared), name.to_owned());
    Rc::new(move |value| {
        {
            let values = &mut shared.borrow_mut().values;
            match value {
                Some(value) => drop(values.insert(name.clone(), value)),
                None => drop(values.remove(&name)),
            }
        }
        shared.borrow().refresh();
        shared.borrow().keep();
    })
}

/// A native radio button or checkbox inside its label.
fn choice(
    kind: &str,
    group: &str,
    choice: &Choice,
    checked: bool,
) -> (HtmlElement, HtmlInputElement) {
    let label = dom::make("label.choice");
    let input: HtmlInputElement = dom::make("input").unchecked_into();
    input.set_type(kind);
    input.set_name(group);
    input.set_value(&key_of(&choice.value));
    input.set_checked(checked);
    dom::fill(&label, &[&input, &dom::text("span", &choice.text)]);
    (label, input)
}

fn radios(
    class: &str,
    group: &str,
    choices: &[Choice],
    value: Option<&Value>,
    set: Setter,
) -> HtmlElement {
    let list = dom::make(class);
    for one in choices {
        let (label, input) = choice("radio", group, one, value == Some(&one.value));
        let (set, chosen) = (Rc::clone(&set), one.value.clone());
        dom::listen(&input, "change", move |_: Event| set(Some(chosen.clone())));
        dom::fill(&list, &[&label]);
    }
    list
}

fn checks(choices: &[Choice], value: Option<&Value>, set: &Setter) -> HtmlElement {
    let list = dom::make("div.choices");
    let before: Vec<Value> = value.and_then(Value::as_array).cloned().unwrap_or_default();
    let mut inputs = Vec::new();
    for one in choices {
        let (label, input) = choice("checkbox", "", one, before.contains(&one.value));
        inputs.push((input, one.value.clone()));
        dom::fill(&list, &[&label]);
    }
    let set = Rc::clone(set);
    dom::listen(&list, "change", move |event: Event| {
        let latest = event.target();
        let is_latest = |input: &HtmlInputElement| latest.as_deref() == Some(input.unchecked_ref());
        let none = inputs
            .iter()
            .any(|(input, value)| value == NONE && is_latest(input));
        // `none` goes with no other: whichever was checked last stands.
        for (input, value) in inputs.iter().filter(|(input, _)| !is_latest(input)) {
            if none || value == NONE {
                input.set_checked(false);
            }
        }
        let checked = inputs.iter().filter(|(input, _)| input.checked());
        let checked: Vec<Value> = checked.map(|(_, value)| value.clone()).collect();
        set(if checked.is_empty() {
            None
        } else {
            Some(Value::Array(checked))
        });
    });
    list
}

/// A native list that opens.
fn list(item: &Item, choices: &[Choice], value: Option<&Value>, set: Setter) -> HtmlElement {
    let select: HtmlSelectElement = dom::make("select").unchecked_into();
    dom::set(&select, "aria-label", &item.title);
    let nothing = dom::text("option", &item.placeholder);
    dom::set(&nothing, "value", "");
    dom::fill(&select, &[&nothing]);
    for (index, choice) in choices.iter().enumerate() {
        let option = dom::text("option", &choice.text);
        dom::set(&option, "value", &index.to_string());
        dom::fill(&select, &[&option]);
    }
    let chosen = choices
        .iter()
        .position(|choice| Some(&choice.value) == value);
    select.set_value(&chosen.map(|index| index.to_string()).unwrap_or_default());
    let (source, choices) = (select.clone(), choices.to_vec());
    dom::listen(&select, "change", move |_: Event| {
        let index = source.value().parse::<usize>().ok();
        let chosen = index.and_then(|index| choices.get(index));
        set(chosen.map(|choice| choice.value.clone()))
    });
    select.unchecked_into()
}

fn line(item: &Item, kind: &str, value: Option<&Value>, set: Setter) -> HtmlElement {
    let input: HtmlInputElement = dom::make("input").unchecked_into();
    input.set_type(kind);
    if kind == "number" {
        dom::set(&input, "step", "any");
    }
    dom::set(&input, "aria-label", &item.title);
    if !item.placeholder.is_empty() {
        dom::set(&input, "placeholder", &item.placeholder);
    }
    input.set_value(&value.map(key_of).unwrap_or_default());
    let (source, item) = (input.clone(), item.clone());
    dom::listen(&input, "input", move |_: Event| {
        set(item.value_of(&source.value()))
    });
    input.unchecked_into()
}

fn lines(item: &Item, value: Option<&Value>, set: Setter) -> HtmlElement {
    let area: HtmlTextAreaElement = dom::make("textarea").unchecked_into();
    area.set_rows(4);
    dom::set(&area, "aria-label", &item.title);
    if !item.placeholder.is_empty() {
        dom::set(&area, "placeholder", &item.placeholder);
    }
    area.set_value(&value.map(key_of).unwrap_or_default());
    let (source, item) = (area.clone(), item.clone());
    dom::listen(&area, "input", move |_: Event| {
        set(item.value_of(&source.value()))
    });
    area.unchecked_into()
}

fn matrix(
    shared: &Shared,
    item: &Item,
    id: &str,
    columns: &[Choice],
    rows: &[Choice],
    value: Option<&Value>,
) -> HtmlElement {
    let list = dom::make("div.matrix");
    for (index, row) in rows.iter().enumerate() {
        let key = key_of(&row.value);
        let chosen = value.and_then(|value| value.get(&key));
        let set = member_setter(shared, &item.name, key.clone());
        let options = radios(
            "div.choices",
            &format!("{id}-{index}"),
            columns,
            chosen,
            set,
        );
        dom::set(&options, "role", "radiogroup");
        dom::set(&options, "aria-label", &row.text);
        dom::fill(&list, &[&dom::text("p.row", &row.text), &options]);
    }
    list
}

/// What writes one member of the value of a matrix.
fn member_setter(shared: &Shared, name: &str, member: String) -> Setter {
    let (shared, name) = (Rc::clone(shared), name.to_owned());
    Rc::new(move |chosen| {
        let mut filling = shared.borrow_mut();
        let answers = filling
            .values
            .entry(name.clone())
            .or_insert_with(|| json!({}));
        if let (Some(answers), Some(chosen)) = (answers.as_object_mut(), chosen) {
            answers.insert(member.clone(), chosen);
        }
        drop(filling);
        shared.borrow().refresh();
        shared.borrow().keep();
    })
}
