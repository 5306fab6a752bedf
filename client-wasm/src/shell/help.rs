//! Help: the button on every page, the messages between the person and the researchers, and the news of one.
//!
//! Nothing of it takes the focus by itself, and keys that are pressed in it are not the world's. This module must not know
//! how messages travel.

mod question;

use std::cell::Cell;
use std::rc::Rc;

use client_core::exchange::DeskExchange;
use protocol::control::{DeskMessage, MAX_DESK_TEXT};
use wasm_bindgen::JsCast as _;
use web_sys::{Element, HtmlElement, HtmlTextAreaElement, KeyboardEvent};

use self::question::Question;
use crate::messages;
use crate::shell::inbox::{Inbox, Input};
use crate::shell::{bubbles, dom};

/// The button, the messages, and the news.
pub(crate) struct Help {
    /// The button, for the bar.
    pub(crate) button: HtmlElement,
    /// A line while there is news, for the place under the bar.
    pub(crate) news: HtmlElement,
    /// The messages and the field, at the end of the page while they are open.
    panel: HtmlElement,
    /// The element to whose end they belong.
    root: Element,
    title: HtmlElement,
    close: HtmlElement,
    hint: HtmlElement,
    scroll: HtmlElement,
    lines: HtmlElement,
    question: Question,
    form: HtmlElement,
    label: HtmlElement,
    field: HtmlTextAreaElement,
    send: HtmlElement,
    told: HtmlElement,
    open: HtmlElement,
    put_away: HtmlElement,
    unread: Unread,
    /// The state that is shown: changes of the exchange, whether the page is connected, and the number of the open question.
    shown: Option<(u64, bool, Option<u32>)>,
}

/// Numbers of messages that the person has not read.
#[derive(Clone, Default)]
struct Unread {
    now: Rc<Cell<usize>>,
    /// Those of which the person has put the news away.
    put_away: Rc<Cell<usize>>,
}

impl Unread {
    /// Takes the number of now. Returns true if it is news for the person.
    fn update(&self, now: usize) -> bool {
        self.now.set(now);
        self.put_away.set(self.put_away.get().min(now));
        now > self.put_away.get()
    }
}

impl Help {
    /// All of it, hidden until the server offers it, for a page inside of an element.
    pub(crate) fn new(inbox: &Inbox, root: &Element) -> Self {
        let panel = dom::make_element("section.chat.help");
        dom::set_attribute(&panel, "role", "dialog");
        let (title, close) = (dom::make_element("h2"), make_close(&panel));
        let hint = dom::make_element("p.hint");
        let (scroll, lines) = (
            dom::make_element("div.scroll"),
            dom::make_element("ol.lines"),
        );
        dom::set_attribute(&scroll, "tabindex", "0");
        dom::set_attribute(&scroll, "role", "group");
        dom::add_children(&scroll, &[&hint, &lines]);
        let question = Question::new(inbox);
        let (form, label, field, send) = make_form(inbox);
        let head = dom::make_element("div.head");
        dom::add_children(&head, &[&title, &close]);
        dom::add_children(&panel, &[&head, &scroll, &question.element, &form]);
        let away = panel.clone();
        dom::add_listener(&panel, "keydown", move |event: KeyboardEvent| {
            if event.key() == "Escape" && !event.is_composing() {
                close_panel(&away);
            }
        });
        let (button, news) = (
            make_opener("help", inbox),
            dom::make_element("div.help-news"),
        );
        button.set_hidden(true);
        news.set_hidden(true);
        dom::set_attribute(&news, "role", "status");
        let (told, open) = (dom::make_element("p"), make_opener("lead", inbox));
        let unread = Unread::default();
        let put_away = make_put_away(&news, &unread);
        dom::add_children(&news, &[&told, &open, &put_away]);
        Self {
            button,
            news,
            panel,
            root: root.clone(),
            title,
            close,
            hint,
            scroll,
            lines,
            question,
            form,
            label,
            field,
            send,
            told,
            open,
            put_away,
            unread,
            shown: None,
        }
    }

    /// Says everything in the language of the page.
    pub(crate) fn set_language(&mut self) {
        let say = messages::current_words();
        for (element, words) in [
            (&self.button, say.help),
            (&self.title, say.help_title),
            (&self.close, say.help_close),
            (&self.hint, say.help_hint),
            (&self.label, say.help_label),
            (&self.send, say.send),
        ] {
            dom::set_text(element, words);
        }
        dom::set_attribute(&self.panel, "aria-label", say.help_title);
        dom::set_attribute(&self.scroll, "aria-label", say.messages);
        dom::set_attribute(&self.put_away, "aria-label", say.help_close);
        self.shown = None;
    }

    /// Opens or closes the messages.
    pub(crate) fn toggle(&self) {
        if self.panel.is_connected() {
            return close_panel(&self.panel);
        }
        dom::add_children(&self.root, &[&self.panel]);
        self.scroll.set_scroll_top(self.scroll.scroll_height());
        if !self.question.focus_field() && !self.form.hidden() {
            self.field.focus().ok();
        }
    }

    /// Opens them, so that they are read.
    pub(crate) fn open(&self) {
        if !self.panel.is_connected() {
            self.toggle();
        }
    }

    /// Takes everything away: the page has stopped.
    pub(crate) fn hide(&self) {
        dom::show_element(&self.button, false);
        dom::show_element(&self.news, false);
        self.panel.remove();
    }

    /// True if the person has the messages before their eyes.
    pub(crate) fn is_read(&self) -> bool {
        self.panel.is_connected() && !dom::document().hidden()
    }

    /// Takes the text that the person sends out of the field.
    pub(crate) fn take_text(&self) -> Option<String> {
        let text = self.field.value();
        let text = text.trim();
        if text.is_empty() {
            return None;
        }
        self.field.set_value("");
        self.field.focus().ok();
        Some(text.to_owned())
    }

    /// Takes the answer that the person sends, with the number of its question.
    pub(crate) fn take_answer(&self) -> Option<(u32, String)> {
        self.question.take_answer()
    }

    /// Shows how things stand, at a time on the server's clock, microseconds.
    pub(crate) fn show(&mut self, server_us: u64, exchange: &DeskExchange, is_connected: bool) {
        let check = exchange.open_check(server_us);
        let left_ms = check.map(|(.., left_ms)| left_ms);
        self.question
            .show(check.map(|(number, check, _)| (number, check)));
        let unread = exchange.unread_count();
        let is_news = self.unread.update(unread);
        let say = messages::current_words();
        let news = match left_ms {
            Some(left_ms) => Some((messages::say_check(left_ms), say.help_answer)),
            None if is_news => Some((say.help_news.to_owned(), say.help_open)),
            None => None,
        };
        let is_shown = news.is_some() && !self.panel.is_connected();
        if let Some((told, open)) = news {
            dom::set_text(&self.told, &told);
            dom::set_text(&self.open, open);
            self.question.show_time(left_ms);
            // A question has a time; what is written can be read later.
            dom::show_element(&self.put_away, left_ms.is_none());
        }
        dom::show_element(&self.news, is_shown);
        let number = check.map(|(number, ..)| number);
        let state = (exchange.revision(), is_connected, number);
        if self.shown == Some(state) {
            return;
        }
        self.shown = Some(state);
        self.show_button(exchange.is_there(), unread);
        dom::show_element(&self.form, exchange.is_open());
        self.draw(server_us, exchange, is_connected);
    }

    fn show_button(&self, is_there: bool, unread: usize) {
        dom::show_element(&self.button, is_there);
        if !is_there {
            self.panel.remove();
        }
        let count = match unread {
            0 => String::new(),
            unread => unread.to_string(),
        };
        dom::set_attribute(&self.button, "data-new", &count);
        dom::set_attribute(&self.button, "aria-label", &messages::say_help_news(unread));
    }

    fn draw(&self, server_us: u64, exchange: &DeskExchange, is_connected: bool) {
        let scroll = &self.scroll;
        let below = scroll.scroll_height() - scroll.scroll_top() - scroll.client_height();
        self.lines.set_text_content(None);
        for message in exchange.messages() {
            dom::add_children(&self.lines, &[&make_line(server_us, message)]);
        }
        let say = messages::current_words();
        for text in exchange.refused_texts() {
            let entry = bubbles::make_refused_bubble(say.you, text, say.not_sent);
            dom::add_children(&self.lines, &[&entry]);
        }
        let sending = if is_connected {
            say.sending
        } else {
            say.chat_lost
        };
        for text in exchange.queue() {
            let entry = bubbles::make_bubble(true, say.you, text, sending);
            dom::add_children(&self.lines, &[&entry]);
        }
        dom::show_element(&self.hint, self.lines.child_element_count() == 0);
        if below < 80 {
            scroll.set_scroll_top(scroll.scroll_height());
        }
    }
}

fn close_panel(panel: &HtmlElement) {
    panel.remove();
    return_focus();
}

/// The focus goes back to the world, or else to the button.
fn return_focus() {
    let find = |place| dom::document().query_selector(place).ok().flatten();
    if let Some(place) = find("#stage").or_else(|| find("button.help")) {
        let place: HtmlElement = place.unchecked_into();
        place.focus().ok();
    }
}

fn make_close(panel: &HtmlElement) -> HtmlElement {
    let away = panel.clone();
    dom::make_button("secondary", "", move || close_panel(&away))
}

/// The button that hides the news of the messages until there are more: they may cover what the person needs.
fn make_put_away(news: &HtmlElement, unread: &Unread) -> HtmlElement {
    let (news, unread) = (news.clone(), unread.clone());
    dom::make_button("put-away", "×", move || {
        unread.put_away.set(unread.now.get());
        dom::show_element(&news, false);
        return_focus();
    })
}

fn make_opener(class: &str, inbox: &Inbox) -> HtmlElement {
    let (inbox, is_button) = (inbox.clone(), class == "help");
    dom::make_button(class, "", move || {
        inbox.send(match is_button {
            true => Input::Help,
            false => Input::HelpNews,
        });
    })
}

fn make_form(inbox: &Inbox) -> (HtmlElement, HtmlElement, HtmlTextAreaElement, HtmlElement) {
    let form = dom::make_element("form");
    let (label, field) = bubbles::make_message_field("help-message");
    field.set_max_length(MAX_DESK_TEXT as i32);
    let send = dom::make_element("button.lead");
    dom::set_attribute(&send, "type", "submit");
    let row = dom::make_element("div.row");
    dom::add_children(&row, &[&field, &send]);
    dom::add_children(&form, &[&label, &row]);
    let inbox = inbox.clone();
    bubbles::listen_for_sending(&form, &field, move || inbox.send(Input::HelpWritten));
    (form, label, field, send)
}

fn make_line(server_us: u64, message: &DeskMessage) -> HtmlElement {
    let say = messages::current_words();
    let state = match (&message.check, message.is_own) {
        (Some(check), _) => match &check.answer {
            Some(answer) => messages::say_answered(answer),
            None if server_us >= message.at_us + u64::from(check.within_s) * 1_000_000 => {
                say.help_missed.to_owned()
            }
            None => String::new(),
        },
        (None, true) if message.is_read => say.help_read.to_owned(),
        (None, true) => say.help_sent.to_owned(),
        (None, false) => String::new(),
    };
    let name = match message.is_own {
        true => say.you,
        false => say.help_researchers,
    };
    bubbles::make_bubble(message.is_own, name, &message.text, &state)
}
