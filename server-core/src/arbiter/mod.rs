//! The arbiter: the sessions, the progress of each participant, groups, and the start and end of episodes.
//!
//! [`Arbiter`] is a state machine: events go in with the time, and effects come out, which the shell carries out in their
//! order. It must not know of sockets, files, databases or clocks. Its random numbers come from a given source.
//!
//! It coordinates machines that do not know each other: `Sessions`, `Lobbies`, `Groups` and `Episodes` own their tables,
//! and say when and why they want to be called. `session`, `group`, `episode` and `rows` are plain data.

mod absence_rules;
mod answers;
mod assignment;
mod attendance;
mod blind_waits;
mod bucket;
mod button_play;
mod chat;
mod clients;
mod datagram_paths;
mod descriptions;
mod desk_messages;
mod directive_buttons;
mod entry;
mod episode;
mod episode_lifecycle;
mod episode_setup;
mod episodes;
mod events;
mod exchanges;
mod flow;
mod group;
mod group_chat;
mod group_visits;
mod groups;
mod hosting;
mod identity;
mod known_time;
mod lag;
mod language_models;
mod linking_times;
mod lobbies;
mod meeting_times;
mod model_chat;
mod model_play;
mod model_spending;
mod model_words;
mod orders;
mod overview;
mod page_faults;
mod path_table;
mod recruiter_identity;
mod rest;
mod restore;
mod retention;
mod room_orders;
mod rows;
mod screening;
mod seat_changes;
mod seat_network;
mod seat_orders;
mod seat_transfer;
mod seats;
mod session;
mod sessions;
mod signal_rates;
mod signals;
mod silence;
mod simulated_waits;
#[cfg(test)]
mod tests;
mod timeouts;
mod uploads;
mod visit;
mod waiting;
mod worked_time;
mod writes;

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;

use protocol::Seat;
use protocol::control::{ClientMessage, IceServer, Refusal, ServerMessage};
use study::design::Design;
use study::{EnvFacts, StageKind, Study};

use crate::desk::RecruitmentState;
use crate::limits::Limits;

use blind_waits::MeetingTimes;
pub use clients::ClientKey;
use clients::{Clients, LimitedAction};
pub use descriptions::{Description, Directed, OfferedDirective};
use episode::Ready;
use episodes::Episodes;
pub use events::{
    Appended, Effect, EpisodeEnd, Event, HostWork, HostedReport, KnownInputs, PointOrder, Recheck,
    RecordWork, Snapshot, ViewOrder, Work,
};
use exchanges::Exchanges;
pub use group::DepartureReason;
use group_chat::SentChatMessage;
use groups::Groups;
use linking_times::LinkingTimes;
use lobbies::Lobbies;
use model_spending::ModelSpending;
pub use recruiter_identity::{Identity, completion_url};
pub use restore::{Restored, RestoredEpisode, RestoredSession};
pub use rows::{
    DeskCheckRow, DeskMessageRow, EpisodeRow, GroupRow, MessageRow, ModelCallCost, ModelCallRow,
    PlaceRow, StageAnswers, WaitEnd, WaitRow, WaitedFor,
};
use session::Place;
pub use session::{ConnId, SessionId};
use sessions::Sessions;
pub use worked_time::Attendance;
use worked_time::Unsaved;
pub use writes::Write;

/// True if a message is answered or passed on, and decides nothing. There are many of these.
fn is_passed_on(message: &ClientMessage) -> bool {
    matches!(
        message,
        ClientMessage::Clock { .. }
            | ClientMessage::Signal { .. }
            | ClientMessage::Relay { .. }
            | ClientMessage::LinkChanged { .. }
            | ClientMessage::Trouble { .. }
    )
}

/// True if a message comes of something that a person does, or of an episode that they play.
fn is_sign_of_life(message: &ClientMessage) -> bool {
    matches!(
        message,
        ClientMessage::StageDone { .. }
            | ClientMessage::Draft { .. }
            | ClientMessage::Upload(_)
            | ClientMessage::Here
            | ClientMessage::Choose(_)
            | ClientMessage::WriteToGroup { .. }
            | ClientMessage::TakeBack { .. }
            | ClientMessage::WriteToDesk { .. }
            | ClientMessage::AnswerCheck { .. }
            | ClientMessage::Direct { .. }
    )
}

/// Fills bytes with random ones.
pub type Random = Box<dyn FnMut(&mut [u8]) + Send>;

/// Gives the ICE servers for a page, by the time in microseconds, the id of its episode, and its seat.
pub type Ice = Box<dyn Fn(u64, &str, Seat) -> Vec<IceServer> + Send>;

/// The environment of each env stage, by its index and its parameters.
pub type EnvStages = BTreeMap<(u16, String), EnvStage>;

/// The environment of an env stage.
#[derive(Clone, Debug)]
pub struct EnvStage {
    /// Facts of its environment.
    pub facts: EnvFacts,
    /// SHA-256 of the module, lower-case hex; empty if the front end is not built.
    pub module: String,
}

/// The arbiter.
pub struct Arbiter {
    study: Arc<Study>,
    limits: Limits,
    stages: EnvStages,
    random: Random,
    ice: Ice,
    /// The address of the TURN server's relayed addresses.
    relay_address: Option<IpAddr>,
    /// The secret under which links are signed.
    signature_key: Option<Vec<u8>>,
    open: bool,
    /// The state of recruitment.
    recruitment: RecruitmentState,
    /// The study's design, with as many places as a researcher wants.
    design: Design,
    stopping: bool,
    /// The time of the event that is handled.
    now_us: u64,
    /// The latest time that is known and believed, microseconds: of the data, and since the start.
    known_us: u64,
    sessions: Sessions,
    unsaved: Unsaved,
    clients: Clients,
    lobbies: Lobbies,
    /// The seed of every random draw.
    seed: u64,
    groups: Groups,
    episodes: Episodes,
    linking_times: LinkingTimes,
    meeting_times: MeetingTimes,
    spending: ModelSpending,
    /// True if researchers have a dashboard.
    has_desk: bool,
    exchanges: Exchanges,
    effects: VecDeque<Effect>,
    /// Datagrams to pages, which wait for no effect.
    relays: VecDeque<(ConnId, ServerMessage)>,
    /// The time at which an episode was last found to be too slow on its host, server clock, microseconds.
    slow_world_us: u64,
}

impl Arbiter {
    /// Takes an event.
    pub fn handle_event(&mut self, now_us: u64, event: Event) {
        let event = match event {
            Event::Message(conn, message) if is_passed_on(&message) => {
                return self.handle_message(now_us, conn, message);
            }
            Event::Connected(conn, client) => return self.clients.add_connection(conn, client),
            event => event,
        };
        self.now_us = now_us;
        self.end_expired(now_us);
        self.touch(&event);
        let conn = event.find_conn();
        match event {
            Event::Message(conn, message) => self.handle_message(now_us, conn, message),
            Event::Connected(..) => {}
            Event::Closed(conn) => {
                self.clients.remove_connection(conn);
                self.handle_closed(now_us, conn);
            }
            Event::Malformed(conn) => {
                let who = self.sessions.find_by_conn(conn);
                who.into_iter().for_each(|who| self.note_fault(now_us, who));
            }
            Event::Opened(era, ok) => self.handle_opened(now_us, era, ok),
            Event::Appended(era, seat, appended) => {
                self.handle_appended(now_us, era, seat, appended)
            }
            Event::Ended(era, ending) => self.handle_ended(now_us, era, ending),
            Event::Changed(era, _, change) => self.handle_changed(now_us, era, change, None),
            Event::Given(era, _, given) => {
                let (change, snapshot) = given.map(|given| *given).unzip();
                self.handle_changed(now_us, era, change, snapshot);
            }
            Event::Inputs(era, to, known) => {
                for (seat, part) in to
                    .iter()
                    .flat_map(|to| known.iter().map(move |part| (*to, part)))
                {
                    self.tell_inputs(era, seat, part.clone());
                }
            }
            Event::Recheck(era, seat, recheck) => self.ask_again(era, seat, recheck),
            Event::Hosted(era, report) => self.handle_hosted(now_us, era, report),
            Event::Described(era, number, described) => {
                self.handle_described(now_us, era, number, described);
            }
            Event::Billed(era, number, tries) => self.note_billed(era, number, tries),
            Event::Answered(era, number, reply) => {
                self.handle_answered(now_us, era, number, reply);
            }
            Event::Directed(era, seat, directed) => self.handle_directed(era, seat, directed),
            Event::Noted => {}
            Event::AlreadyPaid(participant, payment) => {
                self.take_correction_back(now_us, &participant, *payment);
            }
            Event::Stop => {
                self.stopping = true;
                self.store_attendance(now_us);
            }
        }
        conn.into_iter()
            .for_each(|conn| self.touch_episode_of(conn));
        self.settle_all(now_us);
        self.save_attendance(now_us);
    }

    /// Has the group that an event may change settled with it.
    fn touch(&mut self, event: &Event) {
        match event {
            Event::Message(conn, _)
            | Event::Connected(conn, _)
            | Event::Malformed(conn)
            | Event::Closed(conn) => {
                self.touch_episode_of(*conn);
            }
            Event::Opened(era, _)
            | Event::Appended(era, ..)
            | Event::Ended(era, _)
            | Event::Changed(era, ..)
            | Event::Hosted(era, _)
            | Event::Described(era, ..)
            | Event::Answered(era, ..)
            | Event::Directed(era, ..)
            | Event::Given(era, ..) => self.episodes.touch_episode(*era),
            Event::Inputs(..)
            | Event::Recheck(..)
            | Event::Billed(..)
            | Event::Noted
            | Event::AlreadyPaid(..)
            | Event::Stop => {}
        }
    }

    fn touch_episode_of(&mut self, conn: ConnId) {
        let who = self.sessions.find_by_conn(conn);
        if let Some(Place::Episode(era, _)) = who.map(|who| self.sessions[who].place) {
            self.episodes.touch_episode(era);
        }
    }

    /// Does what is due by time alone.
    pub fn handle_timeout(&mut self, now_us: u64) {
        self.now_us = now_us;
        self.end_expired(now_us);
        self.settle_all(now_us);
        self.save_attendance(now_us);
    }

    /// The time at which [`Self::handle_timeout`] wants to be called, microseconds, and its reason.
    pub fn poll_timeout(&self) -> Option<(u64, &'static str)> {
        let lobbies = self.lobbies.poll_timeout().into_iter();
        lobbies
            .chain(self.groups.poll_timeout())
            .chain(self.episodes.poll_timeout())
            .chain(self.sessions.poll_timeout(self.now_us))
            .chain(self.unsaved.poll_timeout())
            .min()
    }

    /// Takes the next effect.
    pub fn poll_effect(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    /// Takes the next datagram for a page. It waits for no effect, and is dropped if the page is slow.
    pub fn poll_relay(&mut self) -> Option<(ConnId, ServerMessage)> {
        self.relays.pop_front()
    }

    fn handle_message(&mut self, now_us: u64, conn: ConnId, message: ClientMessage) {
        if let ClientMessage::Hello {
            entry,
            language,
            reads,
            key,
        } = message
        {
            return self.handle_hello(now_us, conn, entry, (language, reads), key);
        }
        // A superseded or refused page may still have something on the way.
        let Some(who) = self.sessions.find_by_conn(conn) else {
            return;
        };
        if is_sign_of_life(&message) {
            self.sessions.note_activity(now_us, who);
        }
        self.note_heard(now_us, who);
        match message {
            ClientMessage::Hello { .. } => {}
            ClientMessage::Clock { sent_us } => {
                self.send_message(
                    conn,
                    ServerMessage::Clock {
                        sent_us,
                        server_us: now_us,
                    },
                );
            }
            ClientMessage::StageDone {
                stage,
                answers,
                pages_ms,
            } => {
                self.handle_stage_done(now_us, who, stage, answers, pages_ms);
            }
            ClientMessage::Draft {
                number,
                stage,
                draft,
            } => self.handle_draft(now_us, who, number, stage, &draft),
            ClientMessage::Signal { to, data } => self.handle_signal(now_us, who, to, data),
            ClientMessage::Relay { to, bytes } => self.handle_relay(who, to, bytes),
            ClientMessage::Ready {
                era,
                links,
                rtt_us,
                loss_permille,
            } => {
                self.handle_links(now_us, who, era, &links);
                let said = Ready {
                    rtt_us,
                    loss_permille,
                };
                self.handle_ready(now_us, who, era, said);
            }
            ClientMessage::LinkChanged { era, seat, link } => {
                self.handle_link(now_us, who, era, seat, link)
            }
            ClientMessage::Upload(upload) => self.handle_upload(now_us, who, upload),
            ClientMessage::Leave => self.handle_leave(now_us, who),
            ClientMessage::Trouble { message } => {
                // Quoted: a page must not be able to write its own lines into the log.
                let said: String = message.chars().take(200).collect();
                if self.may_do(now_us, conn, LimitedAction::Log) {
                    tracing::warn!(?said, "a page failed");
                }
            }
            ClientMessage::Recount { era, recount } => self.handle_recount(who, era, recount),
            ClientMessage::Silent { era, seat, silent } => {
                self.handle_silent(now_us, who, era, seat, silent)
            }
            ClientMessage::Hidden { era, hidden } => self.handle_hidden(now_us, who, era, hidden),
            ClientMessage::Here => self.handle_here(now_us, who),
            ClientMessage::Choose(choice) => self.handle_choice(now_us, who, choice),
            ClientMessage::ViewTaken { era, number, size } => {
                self.handle_view_taken(now_us, who, era, (number, size));
            }
            ClientMessage::Point { era, number, at } => self.handle_point(who, era, number, at),
            ClientMessage::Unloading => self.handle_unloading(who),
            ClientMessage::TakeBack { era } => self.handle_take_back(now_us, who, era),
            ClientMessage::WriteToDesk { number, text } => {
                self.handle_write_to_desk(now_us, who, number, &text);
            }
            ClientMessage::ReadFromDesk { before } => {
                self.handle_read_from_desk(now_us, who, before);
            }
            ClientMessage::AnswerCheck { number, answer } => {
                self.handle_check_answer(now_us, who, number, &answer);
            }
            ClientMessage::Direct {
                era,
                seat,
                button,
                tick,
            } => self.handle_press(now_us, who, (era, seat, button), tick),
            ClientMessage::WriteToGroup {
                group_visit,
                number,
                sent_us,
                tick,
                text,
            } => {
                let sent = SentChatMessage {
                    group_visit,
                    number,
                    sent_us,
                    tick,
                    text,
                };
                self.handle_chat_message(now_us, who, sent);
            }
        }
    }

    /// True if the client of a connection may do something; it then counts as done.
    fn may_do(&mut self, now_us: u64, conn: ConnId, action: LimitedAction) -> bool {
        self.clients.take_token(&self.limits, now_us, conn, action)
    }

    fn send_message(&mut self, conn: ConnId, message: ServerMessage) {
        self.effects.push_back(Effect::Send(conn, message));
    }

    fn tell_session(&mut self, who: SessionId, message: ServerMessage) {
        if let Some(conn) = self.sessions[who].conn {
            self.send_message(conn, message);
        }
    }

    fn refuse_page(&mut self, conn: ConnId, why: Refusal) {
        self.send_message(conn, ServerMessage::Refused { why });
        self.effects.push_back(Effect::Close(conn));
    }

    fn stage_kind(&self, stage: u16) -> &StageKind {
        &self.study.timeline[usize::from(stage)].kind
    }

    fn random_u64(&mut self) -> u64 {
        let mut bytes = [0; 8];
        (self.random)(&mut bytes);
        u64::from_le_bytes(bytes)
    }

    /// A name of `letters` characters that people can read to each other: no I, L, O, U.
    fn random_name(&mut self, letters: usize) -> String {
        const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
        let mut bytes = vec![0; letters];
        (self.random)(&mut bytes);
        bytes
            .iter()
            .map(|byte| char::from(ALPHABET[usize::from(byte % 32)]))
            .collect()
    }

    /// A secret of 128 bits.
    fn random_token(&mut self) -> String {
        let mut bytes = [0; 16];
        (self.random)(&mut bytes);
        protocol::hash::to_hex(&bytes)
    }
}
