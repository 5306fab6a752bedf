//! The page as one state machine: what comes in ([`Input`]) is handled one after the other, never nested.
//!
//! The server owns the participant's place in the study; this module shows it, and gives an episode what it needs.

mod report;
mod stages;
mod talk;

use peer::Now;
use peer::chat::Chat;
use peer::clock::Clock;
use policy::Partners;
use protocol::Era;
use protocol::control::{ClientMessage, Draft, Plan, Refusal, ServerMessage};
use serde_json::Value;
use web_sys::{Element, HtmlElement};

use crate::episode::controls::Layout;
use crate::episode::module::{self, Module};
use crate::episode::play::Play;
use crate::episode::sound;
use crate::messages;
use crate::net::server_socket::Socket;
use crate::pages::drafts::Drafts;
use crate::shell::credentials::Credentials;
use crate::shell::frames::Frames;
use crate::shell::inbox::{Inbox, Input, ServerNews};
use crate::shell::layout::{self, Shell};
use crate::shell::{dom, iframe, panic_handler};

use stages::{Before, Card, Stage};

/// How long the outcome of an episode stays before the next stage comes by itself, milliseconds.
const OUTCOME_MS: f64 = 6_000.0;

/// The page.
pub(crate) struct App {
    inbox: Inbox,
    frames: Frames,
    shell: Shell,
    socket: Socket,
    credentials: Credentials,
    clock: Clock,
    welcomed: bool,
    stopped: bool,
    stage: Option<Stage>,
    since_ms: f64,
    /// What the server has not yet answered with another stage.
    done: Option<ClientMessage>,
    /// Whether it went out over this connection.
    is_done_sent: bool,
    card: Card,
    drafts: Drafts,
    play: Option<Play>,
    /// What the group writes, where it does.
    chat: Option<Chat>,
    /// What is written and not sent, as the server was told it last.
    unsent: Draft,
    /// The same of the page before this one, until there is a field for it.
    unsent_before: Option<Draft>,
    /// The outcome of an episode is shown until then; the stage that waits for it.
    outcome_ms: Option<f64>,
    /// Whether the server's word on the end of the episode is there.
    is_judged: bool,
    next: Option<(Stage, Before)>,
    /// What the server has said of that stage.
    next_messages: Vec<ServerMessage>,
    /// Whether the person has left, and the server has not said so yet.
    quits: bool,
    /// The report of the episode before, for tests.
    last_play: Value,
    is_marked: bool,
    layout: Layout,
}

impl App {
    /// The page inside the element with this id, not connected yet.
    ///
    /// # Errors
    /// A sentence, if there is no such element.
    pub(crate) fn new(
        inbox: Inbox,
        root: &str,
        url: String,
        credentials: Credentials,
    ) -> Result<Self, String> {
        let spoken = messages::speak(credentials.languages());
        let mut shell = Shell::new(root, &inbox)?;
        shell.speak(spoken);
        shell.turn_to(&connecting());
        Ok(Self {
            socket: Socket::new(url, inbox.clone()),
            frames: Frames::new(inbox.clone()),
            inbox,
            shell,
            credentials,
            clock: Clock::default(),
            welcomed: false,
            stopped: false,
            stage: None,
            since_ms: 0.0,
            done: None,
            is_done_sent: false,
            card: Card::Plain,
            drafts: Drafts::default(),
            play: None,
            chat: None,
            unsent: Draft::default(),
            unsent_before: None,
            outcome_ms: None,
            is_judged: false,
            next: None,
            next_messages: Vec::new(),
            quits: false,
            last_play: Value::Null,
            is_marked: false,
            layout: Layout::new(),
        })
    }

    /// Whether a key belongs to a world now, rather than to the page.
    pub(crate) fn owns(&mut self, code: &str) -> bool {
        let now = self.now();
        (self.play.as_ref()).is_some_and(|play| play.owns(now, code))
    }

    /// Handles one input.
    pub(crate) fn handle(&mut self, input: Input) {
        match input {
            Input::Socket(generation, news) if self.socket.is_current(generation) => {
                self.news(news)
            }
            Input::Socket(..) => {}
            Input::Tick => self.tick(),
            Input::Frame(at_ms) => self.frame(at_ms),
            Input::Loaded(era, loaded) => self.loaded(era, *loaded),
            Input::Key { code, down, at_ms } => {
                self.with_play(|play, now| play.key(now, &code, down, at_ms));
            }
            Input::Pad {
                finger,
                action,
                at_ms,
            } => self.with_play(|play, now| play.touch(now, finger, action, at_ms)),
            Input::Printed { code, name } => {
                self.layout.insert(code, name);
            }
            Input::Blurred => self.with_play(Play::blurred),
            Input::Hidden(hidden) => self.hidden(hidden),
            Input::Leaving => self.leaving(),
            Input::StageDone(answers, pages_ms) => self.stage_done(answers, pages_ms),
            Input::Drafted(draft) => self.drafts.change(dom::page_ms(), draft),
            Input::Alive => self.alive(),
            Input::Say(message) => self.socket.send(&message),
            Input::ToChat => self.to_chat(),
            Input::Write => self.write(),
            Input::Onward => self.onward(),
            Input::Quit => self.quit(),
            Input::Here => self.go_on_here(),
        }
    }

    fn now(&mut self) -> Now {
        let page_us = dom::page_us();
        Now {
            page_us,
            server_us: self.clock.server_us(page_us),
            is_set: self.clock.is_set(),
        }
    }

    fn with_play(&mut self, action: impl FnOnce(&mut Play, Now)) {
        let now = self.now();
        if let Some(play) = &mut self.play {
            action(play, now);
            play.settle(now, &self.socket);
        }
    }

    fn tick(&mut self) {
        if self.stopped {
            return;
        }
        let now_ms = dom::page_ms();
        self.socket.tick(now_ms);
        if self.welcomed && self.clock.ask(dom::page_us()) {
            self.socket.send(&ClientMessage::Clock {
                sent_us: dom::page_us(),
            });
        }
        self.card.tick(now_ms);
        self.keep_draft(now_ms);
        self.with_play(Play::tick);
        self.show_chat();
        if self.outcome_ms.is_some_and(|until| now_ms > until) && self.next.is_some() {
            self.onward();
        }
    }

    /// Draws. Frames are wanted for as long as an episode is on the page.
    fn frame(&mut self, at_ms: f64) {
        self.with_play(|play, now| play.frame(now, at_ms));
        if self.play.is_some() {
            self.frames.request();
        }
    }

    fn news(&mut self, news: ServerNews) {
        match news {
            ServerNews::Open => {
                let playing = self.play.as_ref().and_then(Play::playing);
                self.socket.send(&self.credentials.hello(playing));
            }
            ServerNews::Message(message) => self.message(message),
            ServerNews::Garbled(error) => {
                self.trouble(&format!("a message that cannot be read: {error}"))
            }
            ServerNews::OtherVersion => self.refused(Refusal::OldPage),
            ServerNews::Closed => self.closed(),
        }
    }

    fn closed(&mut self) {
        (self.welcomed, self.is_done_sent) = (false, false);
        self.drafts.lost();
        self.socket.lost(dom::page_ms());
        if self.play.is_some() {
            return self.with_play(|play, now| play.connection(now, false));
        }
        match self.stage {
            _ if self.is_at_end() => {}
            Some(_) => self.shell.notice(Some(messages::say().reconnecting)),
            None if self.socket.failures() > 2 => {
                self.shell.notice(Some(messages::say().no_server))
            }
            None => {}
        }
    }

    fn is_at_end(&self) -> bool {
        let stage = self.stage.as_ref();
        stage.is_some_and(|stage| stage.kind() == "end")
    }

    fn message(&mut self, message: ServerMessage) {
        match message {
            ServerMessage::Welcome {
                session,
                title,
                language,
                languages,
                contact,
                modules,
            } => {
                modules.into_iter().for_each(module::fetch_ahead);
                messages::speak([language.as_str()]);
                self.shell.speak(&language);
                self.shell.offer(&language, &languages);
                self.shell.name(&title, &contact);
                self.welcome(session);
            }
            ServerMessage::Refused { why } => self.refused(why),
            ServerMessage::Preview { title } => self.stop(&title, messages::say().preview, None),
            // The last page has nothing more to lose.
            ServerMessage::Superseded if self.is_at_end() => self.socket.stop(),
            ServerMessage::Superseded => self.stop(
                messages::say().elsewhere,
                messages::say().superseded,
                Some(messages::say().play_here),
            ),
            ServerMessage::Clock { sent_us, server_us } => {
                let now_us = dom::page_us();
                self.clock.answer(sent_us, server_us, now_us);
                if let Card::Screening(screening) = &self.card {
                    screening.answered(sent_us, now_us);
                }
            }
            ServerMessage::Stage {
                index,
                count,
                id,
                view,
                draft,
                again,
            } => {
                let stage = Stage {
                    index,
                    count,
                    id,
                    view,
                };
                self.stage(stage, Before { draft, again });
            }
            // The outcome of the episode before stays on the page until the person goes on.
            message if self.next.is_some() => self.next_messages.push(message),
            ServerMessage::DraftKept { number } => self.drafts.kept(number),
            ServerMessage::Waiting(waiting) => {
                if let Card::Lobby(lobby) = &mut self.card {
                    lobby.waiting(dom::page_ms(), waiting);
                }
                if let Card::Rest(rest) = &mut self.card {
                    rest.wait();
                }
            }
            ServerMessage::Match(plan) => self.matched(plan),
            ServerMessage::Missing {
                absent,
                of,
                left_ms,
            } => {
                if let Card::Regroup(regroup) = &mut self.card {
                    regroup.missing(dom::page_ms(), &absent, of, left_ms);
                }
            }
            message if self.hears_chat(&message) => {}
            message => self.episode(message),
        }
    }

    /// A message about an episode; one about another episode than this page plays is late and void.
    fn episode(&mut self, message: ServerMessage) {
        self.with_play(|play, now| play.message(now, message));
        let now = self.now();
        let is_judged = self.play.as_ref().is_some_and(|play| play.is_judged(now));
        if is_judged && !std::mem::replace(&mut self.is_judged, is_judged) {
            self.outcome_ms = Some(dom::page_ms() + OUTCOME_MS);
            if let Some(chat) = &mut self.chat {
                chat.close();
            }
        }
    }

    fn welcome(&mut self, token: String) {
        self.credentials.welcomed(token);
        self.socket.welcomed();
        if let Some(address) = self.credentials.window() {
            return self.offer(&iframe::gate(&self.inbox, address));
        }
        self.welcomed = true;
        self.shell.notice(None);
        if self.quits {
            self.socket.send(&ClientMessage::Leave);
        }
        self.with_play(|play, now| play.connection(now, true));
    }

    fn refused(&mut self, why: Refusal) {
        match why {
            // The server comes back; the socket goes on trying.
            Refusal::Stopping => self.shell.notice(Some(messages::refusal(why))),
            Refusal::UnknownLink if self.credentials.forget() => self.socket.lost(dom::page_ms()),
            Refusal::OldPage | Refusal::Malformed | Refusal::Full => {
                let heading = messages::say().cannot_go_on;
                self.stop(
                    heading,
                    messages::refusal(why),
                    Some(messages::say().reload),
                );
            }
            Refusal::UnknownLink | Refusal::Incomplete => {
                self.stop(messages::say().cannot_go_on, messages::refusal(why), None)
            }
        }
    }

    /// Offers something else than to take part on this page, which is not connected meanwhile.
    fn offer(&mut self, page: &Element) {
        self.stopped = true;
        self.socket.stop();
        self.shell.turn_to(page);
    }

    /// The person takes part on this page, although it is in a frame.
    fn go_on_here(&mut self) {
        if !self.stopped {
            return;
        }
        self.credentials.stay();
        self.stopped = false;
        self.socket.start();
        self.shell.turn_to(&connecting());
    }

    /// Nothing more will happen on this page, unless the person loads it again.
    fn stop(&mut self, heading: &str, sentence: &str, reload: Option<&str>) {
        self.stopped = true;
        self.socket.stop();
        self.shell.may_leave(false);
        (self.play, self.card) = (None, Card::Plain);
        self.shell.notice(None);
        let page = layout::message(heading, sentence);
        if let Some(label) = reload {
            let actions = dom::make("div.actions");
            dom::fill(&actions, &[&dom::button("primary", label, dom::reload)]);
            dom::fill(&page, &[&actions]);
        }
        self.shell.turn_to(&page);
    }

    fn matched(&mut self, plan: Plan) {
        let (era, url, params) = (plan.era, module::url(&plan.module), plan.params.clone());
        let networks = plan.networks.clone();
        let goes_on = |play: &Play| play.era() == era && plan.running;
        if self.play.as_ref().is_some_and(goes_on) && !self.is_judged {
            // What the part before saw goes out first.
            self.with_play(Play::lose);
            self.with_play(|play, now| play.begin_again(plan, now));
        } else {
            self.begin(plan);
        }
        if let Some(play) = &self.play {
            panic_handler::keep_recorder(play.recorder());
        }
        let inbox = self.inbox.clone();
        wasm_bindgen_futures::spawn_local(async move {
            let partners = module::partners(&networks).await;
            let loaded = match partners {
                Ok(partners) => module::load(&url, &params).await.map(|it| (it, partners)),
                Err(error) => Err(error),
            };
            inbox.send(Input::Loaded(era, Box::new(loaded)));
        });
    }

    /// An episode in which this page has had no part.
    fn begin(&mut self, plan: Plan) {
        self.leave_play();
        if matches!(self.card, Card::Lobby(_) | Card::Regroup(_)) {
            sound::matched();
        }
        self.card = Card::Plain;
        if dom::document().hidden() {
            dom::document().set_title(messages::say().matched_title);
        }
        let play = Play::new(self.inbox.clone(), plan, self.now());
        self.shell.turn_to(&play.screen.whole);
        self.play = Some(play);
        self.frames.request();
    }

    fn loaded(&mut self, era: Era, loaded: Result<(Module, Partners), String>) {
        if self.play.as_ref().is_none_or(|play| play.era() != era) {
            return;
        }
        let mut outcome = Ok(());
        let layout = std::mem::take(&mut self.layout);
        self.with_play(|play, now| {
            outcome =
                loaded.and_then(|(module, partners)| play.loaded(now, module, partners, &layout));
        });
        self.layout = layout;
        if let Err(error) = outcome {
            self.trouble(&error);
            self.shell.notice(Some(messages::say().no_module));
        }
    }

    /// The page may be about to go. It may also stay, or come back.
    fn leaving(&mut self) {
        self.with_play(Play::flush);
        self.flush_draft();
        self.socket.send(&ClientMessage::Unloading);
    }

    /// The person leaves the study. What was played goes out first; after a lost connection the server is told again.
    fn quit(&mut self) {
        self.quits = true;
        self.with_play(Play::flush);
        self.socket.send(&ClientMessage::Leave);
    }

    fn leave_play(&mut self) {
        let now = self.now();
        if let Some(mut play) = self.play.take() {
            self.last_play = play.report(now);
        }
        (self.outcome_ms, self.is_judged) = (None, false);
    }

    /// The person did something: who waits in a lobby is there.
    fn alive(&mut self) {
        if let Card::Lobby(lobby) = &mut self.card
            && lobby.is_news_of_life(dom::page_ms())
        {
            self.socket.send(&ClientMessage::Here);
        }
    }

    fn hidden(&mut self, hidden: bool) {
        if hidden {
            self.flush_draft();
        } else {
            dom::document().set_title(self.shell.title());
            self.alive();
        }
        self.with_play(|play, now| play.hidden(now, hidden));
    }

    /// Something failed that the person can only meet by loading the page again.
    fn broken(&mut self, error: &str) {
        self.trouble(error);
        self.shell.notice(Some(messages::say().broken));
    }

    fn trouble(&self, error: &str) {
        self.socket.send(&ClientMessage::Trouble {
            message: error.to_owned(),
        });
    }
}

fn connecting() -> HtmlElement {
    layout::message(messages::say().moment, messages::say().connecting)
}
