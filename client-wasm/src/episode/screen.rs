//! The page of an episode: figures, canvas, key hints, touch buttons, overlay, and the button for the full screen.
//!
//! This module must not know of sessions; its caller says what to show.

use env_core::{Action, Spec};
use web_sys::{HtmlElement, PointerEvent};

use crate::episode::controls::{self, Hint, KeyboardLayout};
use crate::episode::keys::Keys;
use crate::episode::partners::PartnerNotice;
use crate::episode::touch_buttons;
use crate::messages;
use crate::pages::chat::Pane;
use crate::shell::dom;
use crate::shell::inbox::{Inbox, Input};

/// Pause between descriptions for screen readers, milliseconds.
const DESCRIBE_MS: f64 = 2_000.0;

/// The display of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Badge {
    /// Alone, or not linked yet: nothing.
    None,
    /// Over the data channel.
    Direct,
    /// Through the server.
    Relay,
    /// The partner is not heard.
    Lost,
    /// The server is away: rows wait here.
    Unsaved,
}

/// The part of the world that a sentence covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Veil {
    /// Nothing is covered, and nothing is said.
    None,
    /// The world shows through and moves.
    Light,
    /// The world is out of reach.
    Dark,
}

/// The elements of the page.
pub(crate) struct Screen {
    /// The page: the world, and the chat beside it if there is one.
    pub(crate) whole: HtmlElement,
    /// The chat beside the world.
    pub(crate) chat: Option<Pane>,
    page: HtmlElement,
    heading: HtmlElement,
    /// The canvas.
    pub(crate) canvas: HtmlElement,
    hud: HtmlElement,
    partner: HtmlElement,
    gauges: Vec<Figure>,
    link: HtmlElement,
    words: HtmlElement,
    spoken: HtmlElement,
    keys: HtmlElement,
    /// The explained keys, each with its action.
    caps: Vec<(Action, HtmlElement)>,
    overlay: HtmlElement,
    ask: HtmlElement,
    asked: HtmlElement,
    news: HtmlElement,
    /// The content of the overlay.
    shown: String,
    /// The notices beside the world, and their elements that count down.
    told: Vec<(String, HtmlElement)>,
    described_ms: f64,
}

impl Screen {
    /// An empty page; `partner` names everybody else. With `chat` people write beside it.
    pub(crate) fn new(inbox: &Inbox, partner: &str, chat: bool) -> Self {
        let page = dom::make_element("section.play");
        let heading = dom::make_text("h1.sr-only", messages::current_words().get_ready);
        let hud = dom::make_element("div.hud");
        let (name, link) = (
            dom::make_element("div.partner"),
            dom::make_element("div.link"),
        );
        dom::add_children(&hud, &[&name, &link]);
        let canvas = dom::make_element("canvas");
        canvas.set_id("stage");
        dom::set_attribute(&canvas, "tabindex", "0");
        dom::set_attribute(&canvas, "role", "application");
        let (words, spoken) = (
            dom::make_element("p.sr-only"),
            dom::make_element("p.sr-only"),
        );
        words.set_id("words");
        dom::set_attribute(&canvas, "aria-describedby", "words");
        dom::set_attribute(&spoken, "aria-live", "polite");
        let keys = dom::make_element("div.keys");
        let (ask, asked) = ask(&canvas);
        let (overlay, news) = (
            dom::make_element("div.overlay"),
            dom::make_element("div.news"),
        );
        for told in [&overlay, &news] {
            dom::set_attribute(told, "role", "status");
        }
        dom::add_children(
            &page,
            &[
                &heading, &hud, &canvas, &words, &spoken, &keys, &news, &overlay, &ask,
            ],
        );
        link.set_hidden(true);
        let chat = chat.then(|| Pane::new(inbox).put_beside(&canvas));
        let whole = match &chat {
            None => page.clone(),
            Some(pane) => {
                let whole = dom::make_element("div.both");
                dom::add_children(&whole, &[&page, &pane.element]);
                whole
            }
        };
        let mut screen = Self {
            whole,
            chat,
            page,
            heading,
            canvas,
            hud,
            partner: name,
            gauges: Vec::new(),
            link,
            words,
            spoken,
            keys,
            caps: Vec::new(),
            overlay,
            ask,
            asked,
            news,
            shown: String::new(),
            told: Vec::new(),
            described_ms: f64::NEG_INFINITY,
        };
        screen.show_partner(partner);
        screen.show_overlay(Veil::Dark, messages::current_words().loading, None);
        screen
    }

    /// Names everybody else.
    pub(crate) fn show_partner(&self, partner: &str) {
        dom::set_text(&self.partner, partner);
        self.partner.set_hidden(partner.is_empty());
    }

    /// Keeps room for the touch buttons: where fingers are what people have, or as soon as one touches the page.
    pub(crate) fn make_room_for_touch(&self) {
        // Machines that have both a mouse and a screen to touch show the buttons once they are of use.
        let page = self.page.clone();
        let touched = move || drop(page.class_list().add_1("touched"));
        if dom::matches_media("(pointer: coarse)") {
            touched();
        }
        dom::add_listener(&self.page, "pointerdown", move |event: PointerEvent| {
            if event.pointer_type() == "touch" {
                touched();
            }
        });
    }

    /// Names the world and its controls; `layout` is that of the person's keyboard. With `touch`, there are buttons.
    pub(crate) fn explain_keys(
        &mut self,
        inbox: &Inbox,
        spec: &Spec,
        keys: &Keys,
        layout: &KeyboardLayout,
        touch: bool,
    ) {
        dom::set_text(&self.heading, &spec.title);
        dom::set_attribute(&self.canvas, "aria-label", &spec.title);
        for hint in controls::explain_keys(spec, keys, layout) {
            let element = tell(&hint, &mut self.caps);
            dom::add_children(&self.keys, &[&element]);
        }
        if touch {
            let pad = touch_buttons::make_pad(inbox, &controls::lay_buttons(spec, keys));
            dom::add_children(&self.page, &[&pad]);
        }
        self.canvas.focus().ok();
    }

    /// Immediately shows which actions have a key, a button or a pointer down, even if the picture comes from a host.
    pub(crate) fn show_held(&self, held: impl Iterator<Item = Action> + Clone) {
        for (action, cap) in &self.caps {
            let is_held = held.clone().any(|held| held == *action);
            cap.class_list().toggle_with_force("down", is_held).ok();
        }
    }

    /// Adds a line below the figures.
    pub(crate) fn add_line(&self, line: &HtmlElement) {
        dom::add_children(&self.hud, &[line]);
    }

    /// Shows the meaning of the point under the pointer: the name of an action, or nothing.
    pub(crate) fn show_pointed(&self, action: Option<&str>) {
        let name = action.unwrap_or_default();
        if self.canvas.title() != name {
            self.canvas.set_title(name);
            self.canvas
                .class_list()
                .toggle_with_force("means", !name.is_empty())
                .ok();
        }
    }

    /// Asks for the whole screen, in other words once the world runs; or not at all.
    pub(crate) fn ask_for_screen(&self, asks: bool, runs: bool) {
        dom::show_element(&self.ask, asks);
        let sentence = match runs {
            true => messages::current_words().fullscreen_left,
            false => messages::current_words().ask_fullscreen,
        };
        dom::set_text(&self.asked, sentence);
    }

    /// Shows figures: their labels and present values. They keep the greatest room that they had, so that nothing
    /// jumps.
    pub(crate) fn show_figures(&mut self, figures: &[(String, String)]) {
        let labels = self.gauges.iter().map(|gauge| &gauge.label);
        if !labels.eq(figures.iter().map(|(label, _)| label)) {
            self.gauges
                .drain(..)
                .for_each(|gauge| gauge.element.remove());
            let before = self.hud.first_child();
            for (label, _) in figures {
                let figure = Figure::new(label);
                self.hud
                    .insert_before(&figure.element, before.as_ref())
                    .expect("a new element can be added");
                self.gauges.push(figure);
            }
        }
        for (figure, (_, value)) in self.gauges.iter_mut().zip(figures) {
            figure.show(value);
        }
    }

    /// Shows how packets travel.
    pub(crate) fn show_badge(&self, badge: Badge) {
        let (class, text) = match badge {
            Badge::None => ("", ""),
            Badge::Direct => ("", messages::current_words().direct),
            Badge::Relay => ("relay", messages::current_words().via_server),
            Badge::Lost => ("lost", messages::current_words().partner_lost),
            Badge::Unsaved => ("lost", messages::current_words().saving_paused),
        };
        dom::set_text(&self.link, text);
        let class = format!("link {class}");
        if self.link.class_name() != class {
            self.link.set_class_name(&class);
        }
        // A study hides the sign by an empty sentence.
        dom::show_element(&self.link, badge != Badge::None && !text.is_empty());
    }

    /// Covers the world with a sentence, and a large number if there is one.
    pub(crate) fn show_overlay(&mut self, veil: Veil, sentence: &str, count: Option<u64>) {
        if !self.turns_to(format!("{veil:?} {sentence} {count:?}")) {
            return;
        }
        let class = match veil {
            Veil::Light => "overlay light",
            Veil::None | Veil::Dark => "overlay",
        };
        self.overlay.set_class_name(class);
        self.overlay.set_text_content(None);
        if let Some(count) = count {
            dom::add_children(
                &self.overlay,
                &[&dom::make_text("p.count", &count.to_string())],
            );
        }
        if veil != Veil::None {
            dom::add_children(&self.overlay, &[&dom::make_text("p", sentence)]);
        }
    }

    /// Covers the world with its outcome and the way on.
    pub(crate) fn show_outcome(&mut self, inbox: &Inbox, sentence: &str) {
        if !self.turns_to(format!("outcome {sentence}")) {
            return;
        }
        self.overlay.set_class_name("overlay");
        self.overlay.set_text_content(None);
        let inbox = inbox.clone();
        // It gets no focus: keys that a person still presses for the game must not skip a text that nobody has read.
        let on = dom::make_button("primary", messages::current_words().onward, move || {
            inbox.send(Input::Onward)
        });
        let actions = dom::make_element("div.actions");
        dom::add_children(&actions, &[&on]);
        dom::add_children(&self.overlay, &[&dom::make_text("p", sentence), &actions]);
    }

    /// Notes the content of the overlay; true if it is another one.
    fn turns_to(&mut self, shown: String) -> bool {
        let turns = self.shown != shown;
        self.shown = shown;
        turns
    }

    /// Tells something beside the world. Seconds that count down are not read aloud.
    pub(crate) fn show_notices(&mut self, lines: &[PartnerNotice]) {
        let told = self.told.iter().map(|(sentence, _)| sentence);
        if !told.eq(lines.iter().map(|line| &line.sentence)) {
            self.news.set_text_content(None);
            self.told.clear();
            for line in lines {
                let (entry, left) = (
                    dom::make_text("p", &line.sentence),
                    dom::make_element("span.left"),
                );
                dom::set_attribute(&left, "aria-hidden", "true");
                dom::add_children(&entry, &[&left]);
                dom::add_children(&self.news, &[&entry]);
                self.told.push((line.sentence.clone(), left));
            }
        }
        for ((_, left), line) in self.told.iter().zip(lines) {
            let seconds = line.left_s.map(|left_s| format!("{left_s} s"));
            dom::set_text(left, &seconds.unwrap_or_default());
            dom::show_element(left, line.left_s.is_some());
        }
    }

    /// True if it is time for another description.
    pub(crate) fn may_describe(&mut self, now_ms: f64) -> bool {
        let due = now_ms >= self.described_ms + DESCRIBE_MS;
        if due {
            self.described_ms = now_ms;
        }
        due
    }

    /// Describes the world in words: everything for people who ask for it, and news aloud.
    pub(crate) fn describe_world(&self, words: &str) {
        let before = self.words.text_content().unwrap_or_default();
        let news = messages::find_news(&before, words);
        if !news.is_empty() {
            dom::set_text(&self.spoken, &news);
        }
        dom::set_text(&self.words, words);
    }
}

/// A figure beside the picture.
struct Figure {
    element: HtmlElement,
    label: String,
    value: HtmlElement,
    /// Characters of the longest value so far.
    widest: usize,
}

impl Figure {
    fn new(label: &str) -> Self {
        let (element, value) = (
            dom::make_element("div.figure"),
            dom::make_element("span.value"),
        );
        dom::add_children(&element, &[&dom::make_text("span.label", label), &value]);
        Self {
            element,
            label: label.to_owned(),
            value,
            widest: 0,
        }
    }

    fn show(&mut self, value: &str) {
        dom::set_text(&self.value, value);
        let width = value.chars().count();
        if width > self.widest {
            self.widest = width;
            // A style that the browser refuses costs only the room; the page's own policy refuses attributes.
            let style = self.value.style();
            style.set_property("min-width", &format!("{width}ch")).ok();
        }
    }
}

/// The explanation of keys as an element; the keys themselves are added to `caps`, with their actions.
fn tell(hint: &Hint, caps: &mut Vec<(Action, HtmlElement)>) -> HtmlElement {
    let element = dom::make_element("span");
    for press in &hint.keys {
        let together = dom::make_element(if press.is_chord {
            "span.chord"
        } else {
            "span.group"
        });
        for (at, (name, action)) in press.names.iter().zip(&press.actions).enumerate() {
            if press.is_chord && at > 0 {
                dom::add_children(&together, &[&dom::make_text("span", "+")]);
            }
            let cap = dom::make_text("kbd", name);
            dom::add_children(&together, &[&cap]);
            caps.push((*action, cap));
        }
        dom::add_children(&element, &[&together]);
    }
    dom::add_children(&element, &[&dom::make_text("span", &hint.label)]);
    element
}

/// The question for the whole screen, and its sentence.
fn ask(canvas: &HtmlElement) -> (HtmlElement, HtmlElement) {
    let (ask, asked) = (dom::make_element("div.ask"), dom::make_element("p"));
    dom::set_attribute(&ask, "role", "status");
    ask.set_hidden(true);
    let canvas = canvas.clone();
    let button = dom::make_button("primary", messages::current_words().fullscreen, move || {
        dom::fill_screen();
        // The keys belong to the world again.
        canvas.focus().ok();
    });
    dom::add_children(&ask, &[&asked, &button]);
    (ask, asked)
}
