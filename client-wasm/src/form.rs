//! The controls of a form: from [`crate::survey`] to elements and back to values.
//!
//! Every choice is a native control in a `fieldset`, so that keyboard and screen reader work as people know them.

use std::cell::RefCell;
use std::rc::Rc;

use protocol::control::{Answer, Draft};
use serde_json::{Value, json};
use wasm_bindgen::prelude::*;
use web_sys::{Element, Event, HtmlElement, HtmlInputElement, HtmlTextAreaElement};

use crate::drafts::Times;
use crate::post::{Input, Post};
use crate::survey::{Choice, Form, Item, Kind, Values, key_of};
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
    /// The answers so far.
    fn answers(&self) -> Vec<Answer> {
        let answer = |(name, value): (&String, &Value)| Answer {
            name: name.clone(),
            value: value.to_string(),
        };
        self.values.iter().map(answer).collect()
    }

    /// Has what is done kept.
    fn keep(&self) {
        let draft = Draft {
            page: self.times.page() as u16,
            pages_ms: self.times.all_ms(dom::page_ms()),
            answers: self.answers(),
        };
        self.post.send(Input::Drafted(draft));
    }
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
        values: draft.map_or_else(Values::new, |draft| form.values_of(&draft.answers)),
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
    let page = &filling.form.pages[at];
    let heading = [&page.title, &filling.form.title]
        .into_iter()
        .find(|title| !title.is_empty());
    dom::fill(
        card,
        &[&dom::text(
            "h1",
            heading.map_or(sentences::UNTITLED, String::as_str),
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
    let actions = dom::make("nav.actions");
    if at > 0 {
        let back = Rc::clone(shared);
        let button = dom::button("secondary", sentences::BACK_A_PAGE, move || turn(&back, -1));
        dom::fill(&actions, &[&button]);
    }
    let last = at + 1 == filling.form.pages.len();
    let label = if last {
        sentences::CONTINUE
    } else {
        sentences::NEXT
    };
    let next = dom::text("button.primary", label);
    dom::set(&next, "type", "submit");
    dom::fill(&actions, &[&next]);
    dom::fill(card, &[&actions]);
}

fn turn(shared: &Shared, by: isize) {
    shared.borrow_mut().times.turn(dom::page_ms(), by);
    draw(shared);
    let filling = shared.borrow();
    pages::focus_heading(&filling.card);
    filling.keep();
}

fn submit(shared: &Shared) {
    let (problems, last) = {
        let filling = shared.borrow();
        (
            filling.form.pages[filling.times.page()].problems(&filling.values),
            filling.times.page() + 1 == filling.form.pages.len(),
        )
    };
    show_problems(&shared.borrow().card, &problems);
    match (problems.is_empty(), last) {
        (false, _) => {}
        (true, false) => turn(shared, 1),
        (true, true) => {
            let filling = shared.borrow();
            let pages_ms = filling.times.all_ms(dom::page_ms());
            filling
                .post
                .send(Input::StageDone(filling.answers(), pages_ms));
        }
    }
}

fn show_problems(card: &Element, problems: &[(usize, &str)]) {
    let Ok(fields) = card.query_selector_all("fieldset.item") else {
        return;
    };
    for index in 0..fields.length() {
        let Some(field) = fields.get(index) else {
            continue;
        };
        let field: HtmlElement = field.unchecked_into();
        let sentence = problems
            .iter()
            .find(|(item, _)| *item == index as usize)
            .map(|(_, sentence)| *sentence);
        if let Ok(Some(problem)) = field.query_selector(".problem") {
            dom::say(&problem, sentence.unwrap_or_default());
            dom::show(problem.unchecked_ref(), sentence.is_some());
        }
        field
            .class_list()
            .toggle_with_force("missing", sentence.is_some())
            .ok();
    }
    if let Ok(Some(first)) =
        card.query_selector("fieldset.missing input, fieldset.missing textarea")
    {
        first.unchecked_into::<HtmlElement>().focus().ok();
    }
}

/// An item as a `fieldset`; HTML too, so that items and fieldsets have the same index.
fn control(shared: &Shared, item: &Item, id: &str, value: Option<&Value>) -> HtmlElement {
    let field = dom::make("fieldset.item");
    if let Kind::Html(html) = &item.kind {
        field.class_list().add_1("plain").ok();
        dom::fill(&field, &[&dom::prose(html)]);
        return field;
    }
    let legend = dom::text("legend", &item.title);
    if item.required {
        let star = dom::text("span.required", " *");
        dom::set(&star, "aria-label", "required");
        dom::fill(&legend, &[&star]);
    }
    dom::fill(&field, &[&legend]);
    if !item.description.is_empty() {
        dom::fill(&field, &[&dom::text("p.hint", &item.description)]);
    }
    let set = setter(shared, &item.name);
    match &item.kind {
        Kind::One(choices) => dom::fill(&field, &[&radios("div.choices", id, choices, value, set)]),
        Kind::Many(choices) => dom::fill(&field, &[&checks(choices, value, &set)]),
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
        Kind::Matrix { columns, rows } => {
            dom::fill(&field, &[&matrix(shared, item, id, columns, rows, value)])
        }
        Kind::Html(_) => {}
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
    dom::listen(&list, "change", move |_: Event| {
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

fn line(item: &Item, kind: &str, value: Option<&Value>, set: Setter) -> HtmlElement {
    let input: HtmlInputElement = dom::make("input").unchecked_into();
    input.set_type(kind);
    if kind == "number" {
        dom::set(&input, "step", "any");
    }
    dom::set(&input, "aria-label", &item.title);
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
        shared.borrow().keep();
    })
}
