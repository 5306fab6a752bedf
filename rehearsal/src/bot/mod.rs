//! One participant without a browser, sans-IO: the page that people's browsers run, and a person in front of it.
//!
//! The page is [`client_core::Page`]; the bot is its shell, with a native environment. Its datagrams travel over data
//! channels if its driver has WebRTC, else through the server. The person reads, answers, writes and plays by a seed,
//! and meets the faults. A driver gives the bot the time and the messages of its connections, and does what it asks
//! for: over real sockets, or in one process on a virtual clock.
//!
//! All times are the server's clock, microseconds. This module must not know of sockets, clocks and threads.

mod channels;
mod chat;
mod draft;
mod episode;
mod mishap;
mod person;
mod shell;
mod stage;
mod tab;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use client_core::{PageEffect, ShownStage};
use data_channels::ChannelRules;
use env_core::Spec;
use env_core::view::ViewFacts;
use policy::Partners;
use protocol::Tick;
use protocol::control::{ClientMessage, ServerMessage};
use protocol::hash::sha256_hex;
use study::assign::Rng;
use study::{EnvFactsByStage, Study};

use super::agent::Agent;
use super::entry::EntryWay;
use super::fault::Fault;
use super::hands::{AgentHands, Hands};
use super::record::{Phase, Shared};
use chat::BotChat;
use draft::Drafts;
use episode::Late;
use tab::Tab;

/// A second, microseconds.
const S: u64 = 1_000_000;

/// The time until the first of two tabs must show that the second one has the seat, seconds.
const TOLD_WITHIN_S: u64 = 60;

/// The study as all bots know it.
#[derive(Clone)]
pub(super) struct StudyInfo {
    /// The study.
    pub(super) study: Arc<Study>,
    /// The AI partners of its episodes.
    pub(super) partners: Partners,
    /// The facts of hosted worlds that pages get, by their SHA-256.
    pub(super) hosted: HostedSpecs,
    /// True if the driver has WebRTC.
    pub(super) has_webrtc: bool,
}

/// The facts of hosted worlds that pages get, by their SHA-256.
pub(super) type HostedSpecs = BTreeMap<String, Spec>;

/// Reads what pages know of the hosted worlds of a study.
pub(super) fn read_hosted_specs(facts: &EnvFactsByStage) -> HostedSpecs {
    let facts = facts.values().filter_map(|facts| facts.page_facts.as_ref());
    let read = facts.filter_map(|text| {
        let facts: ViewFacts = serde_json::from_str(text).ok()?;
        Some((sha256_hex(text.as_bytes()), facts.spec))
    });
    read.collect()
}

/// A bot that has not arrived yet.
#[derive(Clone, Debug)]
pub(super) struct Ticket {
    /// Its random numbers.
    pub(super) rng: Rng,
    /// How it enters.
    pub(super) way: EntryWay,
    /// When it arrives, microseconds.
    pub(super) arrives_us: u64,
    /// Its fault.
    pub(super) fault: Option<Fault>,
    /// The agent that plays instead of a person.
    pub(super) agent: Option<Arc<Agent>>,
    /// Its record.
    pub(super) record: Shared,
}

/// The number of a connection of a bot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct WireId(pub(super) u32);

/// A frame that no page sends.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum RawFrame {
    /// Bytes.
    Binary(Vec<u8>),
    /// Text.
    Text(String),
}

/// Work for the driver of a bot.
#[derive(Clone, Debug, PartialEq)]
#[allow(
    clippy::large_enum_variant,
    reason = "an effect is moved once, from a short queue to a socket"
)]
pub(super) enum BotEffect {
    /// Open a connection, and report its events under this number.
    Open(WireId),
    /// Send a message.
    Send(WireId, ClientMessage),
    /// Send what no page sends.
    SendRaw(WireId, RawFrame),
    /// Close a connection once everything is sent; nothing that comes of it counts any more.
    Close(WireId),
    /// Cut a connection, as a computer does that is switched off.
    Cut(WireId),
    /// Begin an episode: data channels are built by these rules from now on; earlier ones are closed.
    OpenChannels(ChannelRules),
    /// Close all data channels.
    CloseChannels,
    /// Do what the page asks of one data channel.
    Channel(PageEffect),
}

/// An expected event, and the time by which it is due.
#[derive(Clone, Debug)]
struct Deadline {
    at_us: u64,
    what: String,
    /// Grows with every deadline, and whenever one is put off.
    number: u64,
}

/// A participant.
pub(super) struct Bot {
    info: Arc<StudyInfo>,
    rng: Rng,
    way: EntryWay,
    fault: Option<Fault>,
    record: Shared,
    deadline: Deadline,
    is_server_up: bool,
    /// When the fault happens.
    mishap_us: Option<u64>,
    /// The tick of the running episode at which it happens.
    mishap_tick: Option<Tick>,
    mishaps: u32,

    /// The tab in front of the person; `None` while it is closed.
    tab: Option<Tab>,
    /// When the next tab opens.
    opens_us: Option<u64>,
    /// The tab that another one has superseded, and the time by which it must know, microseconds.
    old: Option<(Tab, u64)>,
    /// The network is away until then, microseconds.
    offline_us: Option<u64>,
    /// Numbers of tabs and of connections so far.
    tabs: u32,
    wires: u32,
    token: Option<String>,
    /// The ticket of the return from another site, for the next tab.
    ticket: Option<String>,

    /// The person's next act on this stage, and its time.
    act: Option<(u64, person::Act)>,
    /// The stage that the person is done with, until the server shows the next one.
    done: Option<ShownStage>,
    has_left: bool,
    drafts: Drafts,
    chat: BotChat,
    /// The time at which the person presses the next button that gives a directive to an AI partner.
    presses_us: u64,
    /// When the person has read the outcome of an episode.
    outcome_us: Option<u64>,
    hands: Hands,
    /// The hands of an agent, which play instead of a person's.
    agent: Option<AgentHands>,
    late: Late,
    lobby_us: Option<u64>,

    effects: VecDeque<BotEffect>,
    is_over: bool,
}

impl Bot {
    /// A bot that arrives now.
    pub(super) fn new(now_us: u64, info: Arc<StudyInfo>, ticket: Ticket) -> Self {
        let Ticket {
            mut rng,
            way,
            fault,
            agent,
            record,
            ..
        } = ticket;
        record.lock().phase = Phase::Here("coming in");
        let hands = Hands::new(Rng::of(rng.draw_bits(), &[]));
        Self {
            info,
            rng,
            way,
            fault,
            record,
            deadline: Deadline {
                at_us: now_us + 60 * S,
                what: "to be let in".to_owned(),
                number: 0,
            },
            is_server_up: true,
            mishap_us: None,
            mishap_tick: None,
            mishaps: 0,
            tab: None,
            opens_us: Some(now_us),
            old: None,
            offline_us: None,
            tabs: 0,
            wires: 0,
            token: None,
            ticket: None,
            act: None,
            done: None,
            has_left: false,
            drafts: Drafts::default(),
            chat: BotChat::default(),
            presses_us: 0,
            outcome_us: None,
            hands,
            agent: agent.map(AgentHands::new),
            late: Late::new(fault == Some(Fault::SlowNetwork)),
            lobby_us: None,
            effects: VecDeque::new(),
            is_over: false,
        }
    }

    /// The next work for the driver.
    pub(super) fn poll_effect(&mut self) -> Option<BotEffect> {
        self.effects.pop_front()
    }

    /// Returns true if it takes part no more.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// The time of the next [`Self::handle_timeout`] at the latest, and its reason; `None` if the bot is over.
    pub(super) fn poll_timeout(&mut self, now_us: u64) -> Option<(u64, &'static str)> {
        if self.is_over {
            return None;
        }
        let page = self.tab.as_mut().and_then(|tab| tab.poll_timeout(now_us));
        let old = self.old.as_mut();
        let old = old.and_then(|(tab, _)| tab.poll_timeout(now_us));
        let act_us = self.act.as_ref().map(|(at_us, _)| *at_us);
        let (overdue_us, _, _) = self.next_deadline();
        let times = [
            (self.opens_us, "open"),
            (self.mishap_us, "fault"),
            (act_us, "act"),
            (self.outcome_us, "outcome"),
            (self.late.due_us(), "datagram"),
            (self.drafts.due_us(), "draft"),
            (self.chat.due_us(), "message"),
            (Some(overdue_us + 1), "deadline"),
        ];
        let times = times.into_iter();
        let due = times.filter_map(|(due_us, reason)| Some((due_us?, reason)));
        due.chain(page).chain(old).min()
    }

    /// Returns the event for which the bot has waited without success by now, after the number of that wait. The driver
    /// knows whether a slow machine is the reason, and otherwise calls [`Self::give_up`].
    pub(super) fn overdue_stage(&self, now_us: u64) -> Option<(u64, String)> {
        let (at_us, number, what) = self.next_deadline();
        let is_overdue = now_us > at_us && !self.is_over;
        is_overdue.then(|| (number, what.to_owned()))
    }

    fn next_deadline(&self) -> (u64, u64, &str) {
        let Deadline {
            at_us,
            what,
            number,
        } = &self.deadline;
        let own = (*at_us, *number, what.as_str());
        match &self.old {
            Some((_, told_us)) if *told_us < *at_us => {
                let what = "for the first tab to be told that a second one plays on";
                (*told_us, *number, what)
            }
            _ => own,
        }
    }

    /// Ends the session as stuck.
    pub(super) fn give_up(&mut self, why: String) {
        self.end(Phase::Stuck(why));
    }

    /// The server is there, or not: nobody is to blame while it is down.
    pub(super) fn handle_server(&mut self, now_us: u64, is_up: bool) {
        self.is_server_up = is_up;
        if !is_up {
            let later_us = now_us + 60 * S;
            self.deadline.at_us = self.deadline.at_us.max(later_us);
            self.deadline.number += 1;
            if let Some((_, told_us)) = &mut self.old {
                *told_us = (*told_us).max(later_us);
            }
        }
    }

    /// Does whatever is due.
    pub(super) fn handle_timeout(&mut self, now_us: u64) {
        self.guard(|bot| bot.do_due(now_us));
    }

    fn do_due(&mut self, now_us: u64) -> Result<Option<Phase>, String> {
        self.offline_us.take_if(|until_us| *until_us <= now_us);
        if self.opens_us.take_if(|at_us| *at_us <= now_us).is_some() {
            self.open_tab(now_us);
        }
        self.play(now_us)?;
        if let Some((tab, _)) = &mut self.old
            && tab.is_due(now_us)
        {
            tab.call_page(now_us, |page, page_us| page.handle_timeout(page_us));
            self.drain_old(now_us);
        }
        self.draft(now_us);
        self.write_chat_message(now_us);
        if self.outcome_us.take_if(|at_us| *at_us <= now_us).is_some()
            && let Some(tab) = &mut self.tab
        {
            tab.call_page(now_us, |page, page_us| page.handle_outcome_read(page_us));
        }
        self.drain(now_us)?;
        if self.mishap_us.take_if(|at_us| *at_us <= now_us).is_some()
            && let Some(end) = self.go_wrong(now_us)
        {
            return Ok(Some(end));
        }
        self.drain(now_us)?;
        if let Some((_, act)) = self.act.take_if(|(at_us, _)| *at_us <= now_us)
            && let Some(end) = self.perform_act(now_us, act)
        {
            return Ok(Some(end));
        }
        self.drain(now_us)?;
        Ok(None)
    }

    /// A connection is open.
    pub(super) fn handle_opened(&mut self, now_us: u64, wire: WireId) {
        self.guard(|bot| {
            if let Some(tab) = &mut bot.tab
                && let Some(socket) = tab.socket_of(wire)
            {
                tab.call_page(now_us, |page, at_us| {
                    page.handle_socket_opened(at_us, socket)
                });
            }
            bot.drain(now_us)?;
            Ok(None)
        });
    }

    /// A message of the server came over a connection.
    pub(super) fn handle_message(&mut self, now_us: u64, wire: WireId, message: ServerMessage) {
        self.guard(|bot| {
            if let Some((tab, _)) = &mut bot.old
                && let Some(socket) = tab.socket_of(wire)
            {
                if message == ServerMessage::Superseded {
                    bot.note(now_us, "< Superseded, in the first tab");
                }
                if let Some((tab, _)) = &mut bot.old {
                    tab.call_page(now_us, |page, at_us| {
                        page.handle_socket_message(at_us, socket, message);
                    });
                }
                bot.drain_old(now_us);
            } else if bot
                .tab
                .as_ref()
                .is_some_and(|tab| tab.socket_of(wire).is_some())
            {
                bot.record.lock().trace.note_received(now_us, &message);
                bot.handle_news(now_us, wire, message)?;
            }
            Ok(None)
        });
    }

    /// Bytes came over a connection that are no message.
    pub(super) fn handle_garbled(&mut self, error: &str) {
        self.give_up(format!("a message that no page can read: {error}"));
    }

    /// A connection is gone, or was never opened.
    pub(super) fn handle_closed(&mut self, now_us: u64, wire: WireId) {
        self.guard(|bot| {
            if let Some((tab, _)) = &bot.old
                && tab.socket_of(wire).is_some()
            {
                let is_second_in = bot.tab.as_ref().is_some_and(|tab| tab.page.is_welcomed());
                if bot.is_server_up && is_second_in {
                    return Err("the first tab was closed without being told why".to_owned());
                }
                bot.old = None;
            } else {
                bot.lose(now_us, wire);
            }
            bot.drain(now_us)?;
            Ok(None)
        });
    }

    /// The connection of the tab is gone.
    fn lose(&mut self, now_us: u64, wire: WireId) {
        let Some(tab) = &mut self.tab else { return };
        let Some(socket) = tab.socket_of(wire) else {
            return;
        };
        tab.wire = None;
        let was_welcome = tab.page.is_welcomed();
        tab.call_page(now_us, |page, at_us| {
            page.handle_socket_closed(at_us, socket)
        });
        // They were under way through it; over another connection they would arrive before its first message.
        self.late.clear();
        if was_welcome {
            self.note(now_us, "the connection is gone");
        }
    }

    /// Runs a step, unless the bot is over, and ends it if the step does.
    fn guard(&mut self, step: impl FnOnce(&mut Self) -> Result<Option<Phase>, String>) {
        if self.is_over {
            return;
        }
        match step(self) {
            Ok(None) => {}
            Ok(Some(phase)) => self.end(phase),
            Err(why) => self.give_up(why),
        }
    }

    fn end(&mut self, phase: Phase) {
        let old = self.old.take().map(|(tab, _)| tab);
        for tab in self.tab.take().into_iter().chain(old) {
            if let Some((_, wire)) = tab.wire {
                self.effects.push_back(BotEffect::Close(wire));
            }
        }
        self.record.lock().phase = phase;
        self.is_over = true;
    }

    /// Expects something within `s` seconds.
    fn expect(&mut self, now_us: u64, s: u64, what: &str) {
        self.deadline = Deadline {
            at_us: now_us + s * S,
            what: what.to_owned(),
            number: self.deadline.number + 1,
        };
    }

    fn note(&self, now_us: u64, what: &str) {
        self.record.lock().trace.add_note(now_us, what);
    }

    /// The stage that is shown.
    fn stage(&self) -> Option<&ShownStage> {
        self.tab.as_ref()?.stage()
    }

    /// Sends a message of the person over the page.
    fn say(&mut self, message: ClientMessage) {
        if let Some(tab) = &mut self.tab {
            tab.page.send(message);
        }
    }
}
