//! The page of an episode: figures, canvas, key hints, touch buttons, overlay.
//!
//! This module must not know of sessions; it is told what to show.

use env_core::Spec;
use web_sys::{HtmlElement, PointerEvent};

use crate::companions::Line;
use crate::dom;
use crate::keys::Keys;
use crate::post::{Input, Post};
use crate::sentences;

/// Pause between descriptions for screen readers, milliseconds.
const DESCRIBE_MS: f64 = 2_000.0;

/// How a link is shown.
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

/// How much of the world a sentence covers.
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
pub(crate) struct Scene {
    /// The page.
    pub(crate) page: HtmlElement,
    /// The canvas.
    pub(crate) canvas: HtmlElement,
    score: HtmlElement,
    time: HtmlElement,
    link: HtmlElement,
    words: HtmlElement,
    keys: HtmlElement,
    pad: HtmlElement,
    overlay: HtmlElement,
    news: HtmlElement,
    /// What the overlay shows.
    shown: String,
    /// What is told beside the world, and the elements that count down.
    told: Vec<(String, HtmlElement)>,
    described_ms: f64,
}

impl Scene {
    /// An empty page; `partner` is what the partner is called.
    pub(crate) fn new(partner: &str) -> Self {
        let page = dom::make("section.play");
        let hud = dom::make("div.hud");
        let (score, time) = (dom::make("div.score"), dom::make("div.time"));
        let (partner, link) = (dom::text("div.partner", partner), dom::make("div.link"));
        dom::fill(&hud, &[&score, &time, &partner, &link]);
        let canvas = dom::make("canvas");
        canvas.set_id("stage");
        dom::set(&canvas, "tabindex", "0");
        dom::set(&canvas, "role", "img");
        let words = dom::make("p.sr-only");
        dom::set(&words, "aria-live", "polite");
        let (keys, pad) = (dom::make("div.keys"), dom::make("div.pad"));
        let (overlay, news) = (dom::make("div.overlay"), dom::make("div.news"));
        for told in [&overlay, &news] {
            dom::set(told, "role", "status");
        }
        dom::fill(
            &page,
            &[&hud, &canvas, &words, &keys, &pad, &news, &overlay],
        );
        link.set_hidden(true);
        partner.set_hidden(partner.text_content().is_none_or(|name| name.is_empty()));
        let mut scene = Self {
            page,
            canvas,
            score,
            time,
            link,
            words,
            keys,
            pad,
            overlay,
            news,
            shown: String::new(),
            told: Vec::new(),
            described_ms: f64::NEG_INFINITY,
        };
        scene.overlay(Veil::Dark, sentences::LOADING, None);
        scene
    }

    /// Names the world and its controls.
    pub(crate) fn explain(&self, post: &Post, spec: &Spec, keys: &Keys) {
        dom::set(&self.canvas, "aria-label", &spec.title);
        for (index, action) in spec.actions.iter().enumerate() {
            let action_index = index as u16;
            // What no key reaches does nothing here.
            if keys.keys_of(action_index).next().is_none() {
                continue;
            }
            let hint = dom::make("span");
            for code in keys.keys_of(action_index).take(2) {
                dom::fill(&hint, &[&dom::text("kbd", &sentences::key_name(code))]);
            }
            dom::fill(
                &hint,
                &[&dom::text(
                    "span",
                    &format!(" {}", sentences::action_name(action)),
                )],
            );
            dom::fill(&self.keys, &[&hint]);
            let button = dom::text("button", &sentences::button_name(action));
            dom::set(&button, "type", "button");
            dom::set(&button, "data-action", &action.name);
            dom::set(&button, "aria-label", &sentences::action_name(action));
            touch(post, &button, action_index);
            dom::fill(&self.pad, &[&button]);
        }
        self.canvas.focus().ok();
    }

    /// Shows the score and the time left.
    pub(crate) fn figures(&self, score: i64, left_ms: u64) {
        dom::say(&self.score, &format!("Score {score}"));
        dom::say(&self.time, &sentences::clock_face(left_ms));
    }

    /// Shows how packets travel.
    pub(crate) fn badge(&self, badge: Badge) {
        let (class, text) = match badge {
            Badge::None => ("", ""),
            Badge::Direct => ("", "direct"),
            Badge::Relay => ("relay", "via server"),
            Badge::Lost => ("lost", "partner not heard"),
            Badge::Unsaved => ("lost", sentences::SAVING_PAUSED),
        };
        dom::say(&self.link, text);
        let class = format!("link {class}");
        if self.link.class_name() != class {
            self.link.set_class_name(&class);
        }
        dom::show(&self.link, badge != Badge::None);
    }

    /// Covers the world with a sentence, and a large number if there is one.
    pub(crate) fn overlay(&mut self, veil: Veil, sentence: &str, count: Option<u64>) {
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
            dom::fill(&self.overlay, &[&dom::text("p.count", &count.to_string())]);
        }
        if veil != Veil::None {
            dom::fill(&self.overlay, &[&dom::text("p", sentence)]);
        }
    }

    /// Covers the world with its outcome and the way on.
    pub(crate) fn outcome(&mut self, post: &Post, sentence: &str) {
        if !self.turns_to(format!("outcome {sentence}")) {
            return;
        }
        self.overlay.set_class_name("overlay");
        self.overlay.set_text_content(None);
        let post = post.clone();
        // It gets no focus: keys that were still hammered for the game must not skip what nobody has read.
        let on = dom::button("primary", "Continue", move || post.send(Input::Onward));
        let actions = dom::make("nav.actions");
        dom::fill(&actions, &[&on]);
        dom::fill(&self.overlay, &[&dom::text("p", sentence), &actions]);
    }

    /// Whether the overlay is to show something else from now on.
    fn turns_to(&mut self, shown: String) -> bool {
        let turns = self.shown != shown;
        self.shown = shown;
        turns
    }

    /// Tells something beside the world. Seconds that count down are not read aloud.
    pub(crate) fn news(&mut self, lines: &[Line]) {
        let told = self.told.iter().map(|(sentence, _)| sentence);
        if !told.eq(lines.iter().map(|line| &line.sentence)) {
            self.news.set_text_content(None);
            self.told.clear();
            for line in lines {
                let (entry, left) = (dom::text("p", &line.sentence), dom::make("span.left"));
                dom::set(&left, "aria-hidden", "true");
                dom::fill(&entry, &[&left]);
                dom::fill(&self.news, &[&entry]);
                self.told.push((line.sentence.clone(), left));
            }
        }
        for ((_, left), line) in self.told.iter().zip(lines) {
            let seconds = line.left_s.map(|left_s| format!("{left_s} s"));
            dom::say(left, &seconds.unwrap_or_default());
            dom::show(left, line.left_s.is_some());
        }
    }

    /// Whether it is time for another description.
    pub(crate) fn may_describe(&mut self, now_ms: f64) -> bool {
        let due = now_ms >= self.described_ms + DESCRIBE_MS;
        if due {
            self.described_ms = now_ms;
        }
        due
    }

    /// Tells the world in words.
    pub(crate) fn describe(&self, words: &str) {
        dom::say(&self.words, words);
    }
}

/// A touch button goes the same way as a key.
fn touch(post: &Post, button: &HtmlElement, action: u16) {
    let send = |down: bool| {
        let (post, button) = (post.clone(), button.clone());
        move |event: PointerEvent| {
            event.prevent_default();
            button.class_list().toggle_with_force("down", down).ok();
            post.send(Input::Pad {
                action,
                down,
                at_ms: event.time_stamp(),
            });
        }
    };
    dom::listen(button, "pointerdown", send(true));
    for end in ["pointerup", "pointercancel", "pointerleave"] {
        dom::listen(button, end, send(false));
    }
    // A long press must not open a menu.
    dom::listen(button, "contextmenu", |event: web_sys::Event| {
        event.prevent_default()
    });
}
