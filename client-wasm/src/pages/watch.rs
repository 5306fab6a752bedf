//! The page of replays: the component in `web/film.js` shows them, and reports the answers here.

use std::cell::RefCell;
use std::rc::Rc;

use protocol::control::{Answer, Draft};
use serde_json::{Value, json};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::spawn_local;
use web_sys::{HtmlElement, MessageEvent};

use crate::messages;
use crate::shell::inbox::{Inbox, Input};
use crate::shell::{dom, layout};

#[wasm_bindgen]
extern "C" {
    /// Opens replays in an element: the questions, the words of the page, and the asking session, as JSON.
    #[wasm_bindgen(catch, js_name = coplayOpenFilm)]
    async fn open_film(host: &HtmlElement, order: &str) -> Result<JsValue, JsValue>;
}

/// The request of a page for the replays of a stage.
pub(crate) struct FilmRequest<'a> {
    /// The token of the session.
    pub(crate) session: Option<&'a str>,
    /// The id of the stage.
    pub(crate) stage: &'a str,
    /// The text above, sanitised HTML.
    pub(crate) page: &'a str,
    /// The task, as JSON.
    pub(crate) task: &'a str,
}

/// The page of replays.
pub(crate) struct Watch {
    /// The page.
    pub(crate) page: HtmlElement,
    answers: Rc<RefCell<Vec<Answer>>>,
}

impl Watch {
    /// Makes the page, with earlier answers.
    pub(crate) fn new(
        inbox: &Inbox,
        title: &str,
        request: &FilmRequest<'_>,
        draft: Option<&Draft>,
    ) -> Self {
        let card = dom::make_element("section.card.watch");
        if !request.page.is_empty() {
            dom::add_children(&card, &[&dom::make_prose(request.page)]);
        }
        let host = dom::make_element("div.film");
        dom::add_children(&card, &[&host]);
        layout::ensure_heading(&card, title);
        let given = draft.map_or(Vec::new(), |draft| draft.answers.clone());
        let answers = Rc::new(RefCell::new(given));
        let kept = Rc::clone(&answers);
        let drafts = inbox.clone();
        dom::add_listener(&host, "film-draft", move |event: MessageEvent| {
            let given = read_answers(&event);
            if *kept.borrow() != given {
                kept.replace(given.clone());
                drafts.send(Input::Drafted(make_draft(given)));
            }
        });
        let done = inbox.clone();
        dom::add_listener(&host, "film-done", move |event: MessageEvent| {
            done.send(Input::StageDone(read_answers(&event), Vec::new()));
        });
        let task: Value = serde_json::from_str(request.task).unwrap_or_default();
        let order = json!({
            "session": request.session, "stage": request.stage, "task": task, "words": words(),
            "draft": list_answers(&answers.borrow()),
        });
        let loading = dom::make_text("p", messages::current_words().film_loading);
        dom::set_attribute(&loading, "role", "status");
        dom::add_children(&host, &[&loading]);
        let inbox = inbox.clone();
        spawn_local(async move {
            if open_film(&host, &order.to_string()).await.is_err() {
                show_missing(&inbox, &host);
            }
        });
        Self {
            page: card,
            answers,
        }
    }

    /// The answers so far.
    pub(crate) fn draft(&self) -> Draft {
        make_draft(self.answers.borrow().clone())
    }
}

/// Nobody is kept from going on by a replay that cannot be shown.
fn show_missing(inbox: &Inbox, host: &HtmlElement) {
    let say = messages::current_words();
    let sentence = dom::make_text("p", say.film_missing);
    dom::set_attribute(&sentence, "role", "status");
    let missing = Answer {
        name: "missing".to_owned(),
        value: "true".to_owned(),
    };
    let inbox = inbox.clone();
    let next = dom::make_button("primary", say.onward, move || {
        inbox.send(Input::StageDone(vec![missing.clone()], Vec::new()));
    });
    let actions = dom::make_element("div.actions");
    dom::add_children(&actions, &[&next]);
    host.set_text_content(None);
    dom::add_children(host, &[&sentence, &actions]);
}

fn make_draft(answers: Vec<Answer>) -> Draft {
    Draft {
        answers,
        ..Draft::default()
    }
}

fn read_answers(event: &MessageEvent) -> Vec<Answer> {
    let text = event.data().as_string().unwrap_or_default();
    let all: Vec<Value> = serde_json::from_str(&text).unwrap_or_default();
    let answer = |it: &Value| {
        Some(Answer {
            name: it["name"].as_str()?.to_owned(),
            value: it["value"].as_str()?.to_owned(),
        })
    };
    all.iter().filter_map(answer).collect()
}

fn list_answers(answers: &[Answer]) -> Vec<Value> {
    let answer = |it: &Answer| json!({ "name": it.name, "value": it.value });
    answers.iter().map(answer).collect()
}

/// The words of the component, in the language of the page.
fn words() -> Value {
    let say = messages::current_words();
    json!({
        "onward": say.onward, "film_picture": say.film_picture, "film_position": say.film_position, "film_play": say.film_play,
        "film_pause": say.film_pause, "film_left": say.film_left, "film_right": say.film_right,
        "film_same": say.film_same, "film_watch_left": say.film_watch_left,
        "film_choose_left": say.film_choose_left, "film_rate_hint": say.film_rate_hint,
        "film_rate_left": say.film_rate_left, "film_mark_begin": say.film_mark_begin,
        "film_mark_end": say.film_mark_end, "film_mark_hint": say.film_mark_hint,
        "film_mark_show": say.film_mark_show, "film_mark_label": say.film_mark_label,
        "film_mark_remove": say.film_mark_remove, "film_marks_left": say.film_marks_left,
    })
}
