//! The chat of a group on the page: the messages, the people who are there, and the field for one's own.
//!
//! It stands on its own page ([`Card`]), or beside the world. This module must not know how messages travel.

use client_core::chat::Chat;
use protocol::Seat;
use protocol::control::ChatMessage;
use web_sys::{Event, HtmlElement, HtmlTextAreaElement, KeyboardEvent};

use crate::messages;
use crate::shell::inbox::{Inbox, Input};
use crate::shell::{bubbles, dom, layout};

/// The number of remaining characters from which on it is shown.
const FEW: usize = 60;

/// The messages and the field.
pub(crate) struct Pane {
    /// All of it.
    pub(crate) element: HtmlElement,
    company: HtmlElement,
    scroll: HtmlElement,
    lines: HtmlElement,
    waiting: HtmlElement,
    field: HtmlTextAreaElement,
    send: HtmlElement,
    count: HtmlElement,
    toggle: HtmlElement,
    news: HtmlElement,
    /// Those of the lines that are shown.
    drawn: Vec<(Seat, u32)>,
    /// The number of them that the person has seen.
    read: usize,
    /// The state that is shown: changes of the chat, whether one can write, and whether the page is connected.
    shown: Option<(u64, bool, bool)>,
}

impl Pane {
    /// An empty one.
    pub(crate) fn new(inbox: &Inbox) -> Self {
        let element = dom::make_element("section.chat");
        dom::set_attribute(&element, "aria-label", messages::current_words().chat);
        let company = dom::make_element("p.company");
        dom::set_attribute(&company, "role", "status");
        let (scroll, lines, waiting) = (
            dom::make_element("div.scroll"),
            dom::make_element("ol.lines"),
            dom::make_element("ol.lines.waiting"),
        );
        dom::set_attribute(&scroll, "tabindex", "0");
        dom::set_attribute(&scroll, "role", "group");
        dom::set_attribute(&scroll, "aria-label", messages::current_words().messages);
        dom::set_attribute(&lines, "aria-live", "polite");
        dom::set_attribute(&lines, "aria-label", messages::current_words().messages);
        dom::add_children(&scroll, &[&lines, &waiting]);
        let (form, field, send, count) = form(inbox);
        let (toggle, news) = toggle(&element, &field);
        let body = dom::make_element("div.body");
        dom::add_children(&body, &[&company, &scroll, &form]);
        dom::add_children(&element, &[&toggle, &body]);
        Self {
            element,
            company,
            scroll,
            lines,
            waiting,
            field,
            send,
            count,
            toggle,
            news,
            drawn: Vec::new(),
            read: 0,
            shown: None,
        }
    }

    /// The way back to the world, for keys and fingers.
    pub(crate) fn put_beside(self, canvas: &HtmlElement) -> Self {
        let (element, canvas) = (self.element.clone(), canvas.clone());
        let back = move || {
            element.class_list().remove_1("open").ok();
            canvas.focus().ok();
        };
        let leave = back.clone();
        dom::add_listener(&self.element, "keydown", move |event: KeyboardEvent| {
            if event.key() == "Escape" && !event.is_composing() {
                event.prevent_default();
                leave();
            }
        });
        let button = dom::make_button("secondary.back", messages::current_words().to_game, back);
        let hint = dom::make_text("p.hint.typing", messages::current_words().chat_keys);
        if let Ok(Some(body)) = self.element.query_selector(".body") {
            dom::add_children(&body, &[&hint, &button]);
        }
        self
    }

    /// Lets the person write.
    pub(crate) fn focus_field(&self) {
        self.element.class_list().add_1("open").ok();
        self.field.focus().ok();
    }

    /// Takes the text that the person sends out of the field.
    pub(crate) fn take_text(&self) -> Option<String> {
        let text = self.field.value();
        let text = text.trim();
        if text.is_empty() {
            return None;
        }
        self.field.set_value("");
        self.counts();
        self.field.focus().ok();
        Some(text.to_owned())
    }

    /// The text in the field.
    pub(crate) fn typed_text(&self) -> String {
        self.field.value()
    }

    /// Puts the text of an earlier page into the field, unless the person writes already.
    pub(crate) fn restore_text(&self, typed: &str) {
        if self.field.value().is_empty() && !typed.is_empty() {
            self.field.set_value(typed);
            self.counts();
        }
    }

    /// Shows the state of the chat; `None` before the server has sent it.
    pub(crate) fn show(&mut self, chat: Option<&Chat>, is_connected: bool) {
        let revision = chat.map_or(0, |chat| chat.revision() + 1);
        let is_open = chat.is_some_and(Chat::is_heard);
        self.mark_read();
        if self.shown == Some((revision, is_open, is_connected)) {
            return;
        }
        self.shown = Some((revision, is_open, is_connected));
        // A field in use stays: nobody loses a text that they were about to send.
        if self.field.read_only() == is_open {
            self.field.set_read_only(!is_open);
            self.send
                .toggle_attribute_with_force("disabled", !is_open)
                .ok();
        }
        let Some(chat) = chat else {
            return dom::set_text(&self.company, messages::current_words().chat_not_yet);
        };
        self.field.set_max_length(i32::from(chat.view().max_length));
        let company = match (is_connected, chat.is_closed()) {
            (false, _) => messages::current_words().chat_lost.to_owned(),
            (true, true) => messages::current_words().chat_closed.to_owned(),
            (true, false) => messages::say_members(chat.view()),
        };
        dom::set_text(&self.company, &company);
        self.draw(chat);
    }

    fn draw(&mut self, chat: &Chat) {
        let at_end =
            self.scroll.scroll_height() - self.scroll.scroll_top() - self.scroll.client_height()
                < 80;
        let view = chat.view();
        let key = |message: &ChatMessage| (message.place, message.number);
        let all: Vec<_> = view.messages.iter().map(key).collect();
        if !all.starts_with(&self.drawn) {
            self.lines.set_text_content(None);
            self.drawn.clear();
        }
        for message in &view.messages[self.drawn.len()..] {
            let is_own = message.place == view.place;
            let name = messages::name_writer(view, message.place);
            let entry = bubbles::make_bubble(is_own, &name, &message.text, "");
            dom::add_children(&self.lines, &[&entry]);
            self.drawn.push(key(message));
        }
        self.waiting.set_text_content(None);
        let own = messages::name_writer(view, view.place);
        for draft in chat.unsent_messages() {
            let say = messages::current_words();
            let entry = bubbles::make_refused_bubble(&own, &draft.text, say.not_sent);
            dom::add_children(&self.waiting, &[&entry]);
        }
        for draft in chat.queue() {
            let say = messages::current_words();
            let entry = bubbles::make_bubble(true, &own, &draft.text, say.sending);
            dom::add_children(&self.waiting, &[&entry]);
        }
        if at_end {
            self.scroll.set_scroll_top(self.scroll.scroll_height());
        }
        self.mark_read();
        let last = view.messages.last();
        let last = last.map(|message| {
            format!(
                "{}: {}",
                messages::name_writer(view, message.place),
                message.text
            )
        });
        dom::set_text(
            &self.news,
            last.as_deref().unwrap_or(messages::current_words().chat),
        );
    }

    /// Notes the messages that the person sees, and shows the number of unread ones.
    fn mark_read(&mut self) {
        let is_seen = self.scroll.client_height() > 0 && !dom::document().hidden();
        if is_seen || self.read > self.drawn.len() {
            self.read = self.drawn.len();
        }
        let unread = self.drawn.len() - self.read;
        let label = match unread {
            0 => String::new(),
            unread => unread.to_string(),
        };
        if self.toggle.get_attribute("data-new").unwrap_or_default() != label {
            dom::set_attribute(&self.toggle, "data-new", &label);
            dom::set_attribute(&self.toggle, "aria-label", &messages::say_chat_news(unread));
        }
    }

    /// Tells how many characters are left, if they are few.
    fn counts(&self) {
        counts(&self.field, &self.count);
    }
}

fn counts(field: &HtmlTextAreaElement, count: &HtmlElement) {
    let most = usize::try_from(field.max_length()).unwrap_or(usize::MAX);
    let left = most.saturating_sub(field.value().encode_utf16().count());
    let told = match left <= FEW.min(most / 2) {
        true => messages::say_characters_left(left),
        false => String::new(),
    };
    dom::set_text(count, &told);
}

/// Makes the field with its button, and the count of remaining characters.
fn form(inbox: &Inbox) -> (HtmlElement, HtmlTextAreaElement, HtmlElement, HtmlElement) {
    let say = messages::current_words();
    let form = dom::make_element("form");
    let (label, field) = bubbles::make_message_field("message");
    dom::set_text(&label, say.your_message);
    field.set_read_only(true);
    let send = dom::make_text("button.primary", say.send);
    dom::set_attribute(&send, "type", "submit");
    dom::set_attribute(&send, "disabled", "");
    let count = dom::make_element("span.count");
    let row = dom::make_element("div.row");
    dom::add_children(&row, &[&field, &send]);
    dom::add_children(&form, &[&label, &row, &count]);
    let inbox = inbox.clone();
    bubbles::listen_for_sending(&form, &field, move || inbox.send(Input::Write));
    let (typed, told) = (field.clone(), count.clone());
    dom::add_listener(&field, "input", move |_: Event| counts(&typed, &told));
    (form, field, send, count)
}

/// Makes the button that opens the chat if there is no room for it beside the world, with the newest message on it.
fn toggle(element: &HtmlElement, field: &HtmlTextAreaElement) -> (HtmlElement, HtmlElement) {
    let (element, field) = (element.clone(), field.clone());
    let news = dom::make_text("span.newest", messages::current_words().chat);
    let button = dom::make_button("toggle", "", move || {
        element.class_list().add_1("open").ok();
        field.focus().ok();
    });
    dom::add_children(&button, &[&news]);
    (button, news)
}

/// The page of a chat.
pub(crate) struct Card {
    /// The page.
    pub(crate) page: HtmlElement,
    /// The messages.
    pub(crate) pane: Pane,
    time: HtmlElement,
    on: HtmlElement,
    hint: HtmlElement,
}

impl Card {
    /// A chat under a text, which may be empty.
    pub(crate) fn new(inbox: &Inbox, html: &str) -> Self {
        let page = dom::make_element("section.card.talk");
        dom::add_children(&page, &[&dom::make_prose(html)]);
        layout::ensure_heading(&page, messages::current_words().chat);
        let (time, hint) = (dom::make_element("p.time"), dom::make_element("p.hint"));
        dom::set_attribute(&time, "role", "timer");
        let pane = Pane::new(inbox);
        let done = inbox.clone();
        let on = dom::make_button(
            "secondary",
            messages::current_words().chat_done,
            move || done.send(Input::StageDone(Vec::new(), Vec::new())),
        );
        dom::set_attribute(&on, "disabled", "");
        let actions = dom::make_element("div.actions");
        dom::add_children(&actions, &[&hint, &on]);
        dom::add_children(&page, &[&time, &pane.element, &actions]);
        Self {
            page,
            pane,
            time,
            on,
            hint,
        }
    }

    /// Shows how things stand.
    pub(crate) fn show(&mut self, now_us: u64, chat: Option<&Chat>, is_connected: bool) {
        self.pane.show(chat, is_connected);
        let left = chat.and_then(|chat| Some((chat, chat.left_ms(now_us)?)));
        let Some((chat, (may_ms, all_ms))) = left else {
            return;
        };
        let must_s = match chat.has_company() {
            true => may_ms.div_ceil(1_000),
            false => 0,
        };
        dom::set_text(&self.time, &messages::say_time_left(all_ms));
        if (must_s > 0) != self.on.has_attribute("disabled") {
            self.on
                .toggle_attribute_with_force("disabled", must_s > 0)
                .ok();
        }
        let hint = match must_s {
            0 => String::new(),
            // A person who can only wait for the end sees the remaining time.
            _ if may_ms >= all_ms => messages::current_words().chat_to_the_end.to_owned(),
            must_s => messages::say_go_on_in(must_s as u32),
        };
        dom::set_text(&self.hint, &hint);
    }
}
