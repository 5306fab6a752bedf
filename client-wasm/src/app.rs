//! The browser's shell around one [`Page`]: inputs go in, and its events are shown and its effects carried out.
//!
//! The page decides; this module gives it what happens, and the elements, sockets and frames that it asks for.

mod chat;
mod episode;
mod help;
mod parent;
mod report;
mod stages;

use client_core::{Page, PageEffect, PageEvent, SocketId, StopReason, World};
use protocol::control::{Refusal, StageView};
use serde_json::Value;
use web_sys::HtmlElement;

use crate::episode::controls::KeyboardLayout;
use crate::episode::module;
use crate::episode::play::Play;
use crate::messages;
use crate::net::server_socket::ServerSocket;
use crate::shell::frames::Frames;
use crate::shell::inbox::{Inbox, Input, SocketNews};
use crate::shell::layout::{self, PageLayout};
use crate::shell::{credentials, dom, iframe};
use parent::ParentNews;
use stages::Card;

/// The longest time between two beats, microseconds.
const LONGEST_PAUSE_US: u64 = 40_000;

/// The shell of a page.
pub(crate) struct App {
    page: Page<Box<dyn World>>,
    inbox: Inbox,
    frames: Frames,
    layout: PageLayout,
    socket: ServerSocket,
    /// True if the person takes part in the frame of another site.
    stays_in_frame: bool,
    card: Card,
    play: Option<Play>,
    /// The report of the episode before, for tests.
    last_play: Value,
    /// True once the first stage was on the page.
    is_marked: bool,
    /// The names that are printed on the person's keys.
    keyboard: KeyboardLayout,
    parent: ParentNews,
}

impl App {
    /// The page inside the element with this id, not connected yet.
    ///
    /// # Errors
    /// A sentence, if there is no such element.
    pub(crate) fn new(inbox: Inbox, root: &str, url: String) -> Result<Self, String> {
        let known = credentials::read_credentials();
        messages::learn_sentences(&dom::read_sentences("texts").unwrap_or_default());
        // The script of the page has chosen it.
        let spoken = messages::choose_language(dom::read_page_language().as_deref());
        let mut layout = PageLayout::new(root, &inbox)?;
        layout.set_language(spoken);
        layout.turn_to(&connecting());
        let now_us = dom::page_us();
        let mut page = Page::new(now_us, known, dom::random_bytes()?);
        page.handle_hidden(now_us, dom::document().hidden());
        Ok(Self {
            page,
            socket: ServerSocket::new(url, inbox.clone()),
            frames: Frames::new(inbox.clone()),
            parent: ParentNews::new(&inbox),
            inbox,
            layout,
            stays_in_frame: false,
            card: Card::Plain,
            play: None,
            last_play: Value::Null,
            is_marked: false,
            keyboard: KeyboardLayout::new(),
        })
    }

    /// Returns the time at which the page wants its next beat, page clock, microseconds: when something is due, and
    /// from time to time for counters and typed text.
    pub(crate) fn next_beat_us(&mut self) -> u64 {
        let now_us = dom::page_us();
        let due = self.page.poll_timeout(now_us).map(|(due_us, _)| due_us);
        due.unwrap_or(u64::MAX).min(now_us + LONGEST_PAUSE_US)
    }

    /// Handles one input.
    pub(crate) fn handle_input(&mut self, input: Input) {
        let now_us = dom::page_us();
        match input {
            Input::Socket(id, news) => self.handle_socket(now_us, id, news),
            Input::Tick => self.handle_tick(now_us),
            Input::Frame(at_ms) => self.handle_frame(now_us, at_ms),
            Input::Loading(era, part) => self.handle_loading(era, part),
            Input::Loaded(era, loaded) => self.handle_loaded(now_us, era, *loaded),
            Input::Key { code, down, at_ms } => {
                self.with_play(now_us, |play, peer, now| {
                    play.handle_key(peer, now, (&code, down, at_ms))
                });
            }
            Input::Touch {
                finger,
                action,
                at_ms,
            } => {
                self.with_play(now_us, |play, peer, now| {
                    play.handle_touch(peer, now, (finger, action, at_ms))
                });
            }
            Input::Pointer {
                at,
                change,
                finger,
                at_ms,
            } => {
                self.with_play(now_us, |play, peer, now| {
                    play.handle_pointer(peer, now, (finger, at, change, at_ms))
                });
            }
            Input::Printed { code, name } => {
                self.keyboard.insert(code, name);
            }
            Input::Blurred => self.release_keys(now_us),
            Input::Hidden(is_hidden) => self.handle_hidden(now_us, is_hidden),
            Input::Leaving => {
                self.hand_over_drafts(now_us);
                self.page.handle_leaving(now_us);
            }
            Input::StageDone(answers, pages_ms) => {
                self.page.handle_done(now_us, answers, pages_ms);
            }
            Input::Drafted(draft) => self.page.handle_draft(now_us, draft),
            Input::Alive => self.page.handle_alive(now_us),
            Input::Say(message) => self.page.send(message),
            Input::Direct { seat, button } => {
                self.page.handle_button(seat, button);
            }
            Input::ToChat => self.turn_to_chat(),
            Input::Write => self.write_message(now_us),
            Input::ParentWrites(text) => self.write_for_parent(now_us, &text),
            Input::Help => self.layout.help.toggle(),
            Input::HelpNews => self.layout.help.open(),
            Input::HelpWritten => self.write_to_researchers(now_us),
            Input::HelpAnswered => self.answer_researchers(now_us),
            Input::Onward => self.handle_outcome_read(now_us),
            Input::Quit => self.page.handle_leave(now_us),
            Input::Here => self.take_part_here(now_us),
        }
        self.settle(now_us);
    }

    /// Shows the news of the page, and does what it asks for.
    fn settle(&mut self, now_us: u64) {
        loop {
            if let Some(event) = self.page.poll_event() {
                self.show_event(now_us, event);
            } else if let Some(effect) = self.page.poll_effect() {
                self.carry_out(now_us, effect);
            } else {
                break;
            }
        }
        self.show_episode(now_us);
        self.show_chat(now_us);
        self.show_help(now_us);
        self.tell_parent();
    }

    fn handle_socket(&mut self, now_us: u64, id: SocketId, news: SocketNews) {
        match news {
            SocketNews::Opened => self.page.handle_socket_opened(now_us, id),
            SocketNews::Bytes(bytes) => self.page.handle_socket_bytes(now_us, id, &bytes),
            SocketNews::Closed => self.page.handle_socket_closed(now_us, id),
        }
    }

    fn handle_tick(&mut self, now_us: u64) {
        self.hand_over_peer_news(now_us);
        self.hand_over_typed(now_us);
        self.page.handle_timeout(now_us);
        self.card.tick(now_us);
    }

    fn handle_hidden(&mut self, now_us: u64, is_hidden: bool) {
        match is_hidden {
            true => self.hand_over_drafts(now_us),
            false => dom::document().set_title(self.layout.study_title()),
        }
        self.release_keys(now_us);
        self.page.handle_hidden(now_us, is_hidden);
    }

    /// Gives the page the newest drafts of the person, because there may be no later moment.
    fn hand_over_drafts(&mut self, now_us: u64) {
        self.hand_over_typed(now_us);
        if let Some(draft) = self.card.make_draft(now_us) {
            self.page.handle_draft(now_us, draft);
        }
    }

    fn show_event(&mut self, now_us: u64, event: PageEvent<Box<dyn World>>) {
        match event {
            PageEvent::Welcomed {
                title,
                language,
                languages,
                contact,
                modules,
            } => {
                modules.into_iter().for_each(module::fetch_ahead);
                messages::choose_language([language.as_str()]);
                self.layout.set_language(&language);
                self.layout.offer_languages(&language, &languages);
                self.layout.name_study(&title, &contact);
                self.show_welcome();
            }
            PageEvent::ConnectionLost { failures } => self.show_loss(failures),
            PageEvent::ServerStopping => {
                let sentence = messages::say_refusal(Refusal::Stopping);
                self.layout.show_notice(Some(sentence));
            }
            // The server knows it, and the person can do nothing about it.
            PageEvent::Garbled(_) => {}
            PageEvent::Stopped(why) => self.show_stop(&why),
            PageEvent::StageShown { draft, again } => {
                self.show_stage(now_us, draft.as_ref(), again)
            }
            PageEvent::NotTaken => {
                let words = messages::current_words();
                let view = self.page.stage().map(|stage| &stage.view);
                let is_code = matches!(view, Some(StageView::External { code: true, .. }));
                let sentence = if is_code {
                    words.wrong_code
                } else {
                    words.not_taken
                };
                self.layout.show_notice(Some(sentence));
            }
            PageEvent::Waiting(waiting) => self.card.handle_waiting(dom::page_ms(), waiting),
            PageEvent::Missing {
                absent,
                of,
                left_ms,
            } => (self.card).handle_missing(dom::page_ms(), &absent, of, left_ms),
            PageEvent::EpisodeBegan { is_return } => {
                self.begin_episode(is_return);
                self.show_buttons();
            }
            PageEvent::ButtonsChanged => self.show_buttons(),
            PageEvent::PresenceChanged {
                seat,
                presence,
                left_ms,
            } => {
                if let Some(play) = &mut self.play {
                    (play.partners).handle_presence(now_us, seat, presence, left_ms);
                }
            }
            PageEvent::SeatsChanged(changes) => {
                if let Some(play) = &mut self.play {
                    play.partners.handle_changes(&changes);
                }
            }
            // The picture of the episode shows it itself: it asks the peer how things stand.
            PageEvent::Judged(verdict) => self.tell_episode(&verdict),
            PageEvent::EpisodeLeft(peer) => self.leave_episode(now_us, *peer),
            PageEvent::TypedRestored(text) => self.restore_typed(&text),
            PageEvent::ClockAnswered { sent_us } => self.card.handle_clock(sent_us, now_us),
        }
    }

    fn carry_out(&mut self, now_us: u64, effect: PageEffect) {
        match effect {
            PageEffect::OpenSocket(id) => self.socket.open(id),
            PageEffect::CloseSocket => self.socket.close(),
            PageEffect::Send(message) => self.socket.send(&message),
            PageEffect::RememberSession(session) => {
                credentials::remember_session(session.as_deref());
            }
            PageEffect::LoadWorld(era) => self.load_world(era),
            effect => self.carry_out_for_peers(now_us, effect),
        }
    }

    fn show_welcome(&mut self) {
        let address = credentials::window_address(self.page.credentials());
        match address.filter(|_| !self.stays_in_frame) {
            Some(address) => {
                self.page.disconnect();
                self.layout
                    .turn_to(&iframe::make_gate(&self.inbox, address));
            }
            None => self.layout.show_notice(None),
        }
    }

    /// The person takes part on this page, although it is in a frame.
    fn take_part_here(&mut self, now_us: u64) {
        if self.page.is_stopped() {
            self.stays_in_frame = true;
            self.page.connect_again(now_us);
            self.layout.turn_to(&connecting());
        }
    }

    fn show_loss(&self, failures: usize) {
        // An episode shows this itself, and the last page has nothing more to lose.
        if self.play.is_some() || self.page.is_at_end() {
            return;
        }
        match self.page.stage() {
            Some(_) => self
                .layout
                .show_notice(Some(messages::current_words().reconnecting)),
            None if failures > 2 => self
                .layout
                .show_notice(Some(messages::current_words().no_server)),
            None => {}
        }
    }

    /// Nothing more will happen on this page, unless the person loads it again.
    fn show_stop(&mut self, why: &StopReason) {
        let say = messages::current_words();
        let (heading, sentence, reload) = match why {
            StopReason::Superseded => (say.elsewhere, say.superseded, Some(say.play_here)),
            StopReason::Preview { title } => (title.as_str(), say.preview, None),
            &StopReason::Refused(why) => {
                let helps = !matches!(why, Refusal::UnknownLink | Refusal::Incomplete);
                let reload = helps.then_some(say.reload);
                (say.cannot_go_on, messages::say_refusal(why), reload)
            }
        };
        self.layout.may_leave(false);
        (self.play, self.card) = (None, Card::Plain);
        self.layout.show_notice(None);
        let page = layout::make_message_page(heading, sentence);
        if let Some(label) = reload {
            let actions = dom::make_element("div.actions");
            dom::add_children(
                &actions,
                &[&dom::make_button("primary", label, dom::reload_page)],
            );
            dom::add_children(&page, &[&actions]);
        }
        self.layout.turn_to(&page);
    }

    /// Something failed that the person can only meet by loading the page again.
    fn report_broken(&mut self, error: &str) {
        self.page.report_trouble(error);
        self.layout
            .show_notice(Some(messages::current_words().broken));
    }
}

fn connecting() -> HtmlElement {
    layout::make_message_page(
        messages::current_words().moment,
        messages::current_words().connecting,
    )
}
