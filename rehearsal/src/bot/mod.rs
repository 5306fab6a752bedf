//! One participant: a page as the browser's is, with a native peer in it, and a person in front of it.
//!
//! The page stores what the real one stores and sends what it sends, over a real WebSocket; only WebRTC is missing, so
//! that datagrams travel through the server. All times are the server's clock, which may run faster than real time.

mod draft;
mod episode;
mod mishap;
mod person;
mod stage;
mod talk;

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use peer::clock::Clock as Times;
use peer::{Now, Peer};
use policy::Partners;
use protocol::control::{ClientMessage, Entry, Refusal, ServerMessage};
use study::Study;
use study::assign::Rng;
use tokio::sync::watch;

use super::door::Door;
use super::fault::Fault;
use super::hands::{Hands, Native};
use super::record::{Phase, Shared};
use super::wire::{News, Wire};
use clock::Clock;
use draft::Drafts;
use episode::Late;
use stage::Stage;
use talk::Talking;

/// Pauses before the next attempt to connect, microseconds; the last one repeats.
const PAUSES_US: [u64; 6] = [250_000, 500_000, 1_000_000, 2_000_000, 3_000_000, 5_000_000];

/// A second, microseconds.
const S: u64 = 1_000_000;

/// The shortest time of the machine before a bot that waits in vain counts as stuck: the machine may only be slow.
const PATIENCE: Duration = Duration::from_secs(20);

/// The state that all bots share.
pub(super) struct Around {
    /// The study.
    pub(super) study: Arc<Study>,
    /// The AI partners of its episodes.
    pub(super) partners: Partners,
    /// The clock of server and bots.
    pub(super) clock: Clock,
    /// The address that the server listens on; `None` while it is down.
    pub(super) address: watch::Receiver<Option<String>>,
    /// Round trips to the server, microseconds of the machine.
    pub(super) round_trips: Arc<Mutex<Vec<u64>>>,
}

/// A bot that has not arrived yet.
#[derive(Clone, Debug)]
pub(super) struct Ticket {
    /// Its random numbers.
    pub(super) rng: Rng,
    /// How it enters.
    pub(super) door: Door,
    /// When it arrives, microseconds.
    pub(super) arrives_us: u64,
    /// Its fault.
    pub(super) fault: Option<Fault>,
    /// Its record.
    pub(super) record: Shared,
}

/// An expected event, and the time by which it is due.
struct Deadline {
    at_us: u64,
    since: Instant,
    what: String,
}

/// A participant.
pub(super) struct Bot {
    around: Rc<Around>,
    rng: Rng,
    door: Door,
    fault: Option<Fault>,
    record: Shared,
    deadline: Deadline,
    /// When the fault happens.
    mishap_us: Option<u64>,
    mishaps: u32,

    wire: Option<Wire>,
    is_welcome: bool,
    dial_us: Option<u64>,
    failures: usize,
    /// The page that another one has superseded, and since when.
    old: Option<(Wire, Instant)>,
    token: Option<String>,
    /// The ticket of the return from another site, until it has admitted the page.
    ticket: Option<String>,
    /// The zero of page clocks.
    opened_us: u64,
    times: Times,
    /// Requests for the time: when they were sent, by the clocks of page and machine.
    asked: VecDeque<(u64, u64)>,

    stage: Option<Stage>,
    since_us: u64,
    /// The person's next act on this stage, and its time.
    act: Option<(u64, person::Act)>,
    done: Option<ClientMessage>,
    is_done_sent: bool,
    drafts: Drafts,
    talking: Talking,
    /// The stage that waits until the outcome of an episode has been read, and until when.
    next: Option<Stage>,
    outcome_us: Option<u64>,

    peer: Option<Peer<Native>>,
    hands: Hands,
    late: Late,
    lobby_us: Option<u64>,
}

/// Makes a bot take part, from its arrival to its end.
pub(super) async fn take_part(around: Rc<Around>, ticket: Ticket) {
    let record = ticket.record.clone();
    around.clock.sleep_until(ticket.arrives_us).await;
    let mut bot = Bot::new(around, ticket);
    let end = bot.run().await;
    let mut record = record.lock();
    record.phase = match end {
        Ok(phase) => phase,
        Err(why) => Phase::Stuck(why),
    };
}

impl Bot {
    fn new(around: Rc<Around>, ticket: Ticket) -> Self {
        let now_us = around.clock.now_us();
        let Ticket {
            mut rng,
            door,
            fault,
            record,
            ..
        } = ticket;
        record.lock().phase = Phase::Here("coming in");
        let hands = Hands::new(Rng::of(rng.bits(), &[]));
        let late = Late::new(fault == Some(Fault::SlowNetwork));
        Self {
            around,
            rng,
            door,
            fault,
            record,
            deadline: Deadline {
                at_us: now_us + 60 * S,
                since: Instant::now(),
                what: "to be let in".to_owned(),
            },
            mishap_us: None,
            mishaps: 0,
            wire: None,
            is_welcome: false,
            dial_us: Some(now_us),
            failures: 0,
            old: None,
            token: None,
            ticket: None,
            opened_us: now_us - 5 * S,
            times: Times::default(),
            asked: VecDeque::new(),
            stage: None,
            since_us: now_us,
            act: None,
            done: None,
            is_done_sent: false,
            drafts: Drafts::default(),
            talking: Talking::default(),
            next: None,
            outcome_us: None,
            peer: None,
            hands,
            late,
            lobby_us: None,
        }
    }

    async fn run(&mut self) -> Result<Phase, String> {
        loop {
            if let Some(end) = self.tick()? {
                return Ok(end);
            }
            let wake_us = self.wake_us();
            let clock = self.around.clock.clone();
            tokio::select! {
                news = next(self.wire.as_mut()) => self.news(news)?,
                news = next(self.old.as_mut().map(|(wire, _)| wire)) => self.old_news(news)?,
                () = clock.sleep_until(wake_us) => {}
            }
        }
    }

    /// Does whatever is due. Returns the end, once it is reached.
    fn tick(&mut self) -> Result<Option<Phase>, String> {
        self.check()?;
        let now_us = self.now_us();
        if self.dial_us.is_some_and(|at_us| at_us <= now_us) {
            self.dial(now_us);
        }
        if self.is_welcome && self.times.ask(self.page_us(now_us)) {
            let sent_us = self.page_us(now_us);
            self.asked
                .push_back((sent_us, self.around.clock.machine_us()));
            self.say(ClientMessage::Clock { sent_us });
        }
        self.play(now_us);
        self.draft(now_us);
        self.talk(now_us);
        if self.mishap_us.take_if(|at_us| *at_us <= now_us).is_some()
            && let Some(end) = self.go_wrong(now_us)
        {
            return Ok(Some(end));
        }
        if self.outcome_us.is_some_and(|at_us| at_us <= now_us)
            && let Some(stage) = self.next.take()
        {
            self.outcome_us = None;
            self.leave_play();
            self.show(now_us, stage)?;
        }
        if let Some((_, act)) = self.act.take_if(|(at_us, _)| *at_us <= now_us) {
            return Ok(self.act(now_us, act));
        }
        Ok(None)
    }

    /// When something is due next.
    fn wake_us(&mut self) -> u64 {
        let now_us = self.now_us();
        let page = self.peer.is_some();
        let asks_us = match (self.is_welcome, self.times.is_set()) {
            (false, _) => 2 * S,
            (true, false) => 20_000,
            (true, true) if page => S / 4,
            (true, true) => S,
        };
        let act_us = self.act.as_ref().map(|(at_us, _)| *at_us);
        let outcome_us = self.outcome_us.filter(|_| self.next.is_some());
        let times = [
            self.dial_us,
            self.mishap_us,
            act_us,
            outcome_us,
            self.late.due_us(),
            self.drafts.due_us(),
            self.talking.due_us(),
        ];
        let due_us = times.into_iter().flatten().min().unwrap_or(u64::MAX);
        let due_us = due_us.min(now_us + asks_us).min(self.peer_due_us(now_us));
        due_us.max(now_us + 1_000)
    }

    /// Now, by the server's clock.
    fn now_us(&self) -> u64 {
        self.around.clock.now_us()
    }

    /// The clock of the page.
    fn page_us(&self, now_us: u64) -> u64 {
        now_us.saturating_sub(self.opened_us)
    }

    /// This moment on both clocks of the page.
    fn now(&mut self, now_us: u64) -> Now {
        let page_us = self.page_us(now_us);
        Now {
            page_us,
            server_us: self.times.server_us(page_us),
            is_set: self.times.is_set(),
        }
    }

    /// Expects something within `s` seconds.
    fn expect(&mut self, s: u64, what: &str) {
        self.deadline = Deadline {
            at_us: self.now_us() + s * S,
            since: Instant::now(),
            what: what.to_owned(),
        };
    }

    /// Fails if what is expected has not come.
    fn check(&mut self) -> Result<(), String> {
        let now_us = self.now_us();
        if self.around.address.borrow().is_none() {
            // Nobody is to blame while the server is down.
            self.deadline.at_us = self.deadline.at_us.max(now_us + 60 * S);
            self.deadline.since = Instant::now();
        }
        let Deadline { at_us, since, what } = &self.deadline;
        if now_us > *at_us && since.elapsed() > PATIENCE {
            return Err(format!("waited in vain {what}"));
        }
        match &self.old {
            Some((_, since)) if since.elapsed() > PATIENCE => {
                Err("the first tab was not told that a second one plays on".to_owned())
            }
            _ => Ok(()),
        }
    }

    fn say(&mut self, message: ClientMessage) {
        self.record
            .lock()
            .trace
            .said(self.around.clock.now_us(), &message);
        if let Some(wire) = &self.wire {
            wire.send(&message);
        }
    }

    fn note(&self, what: &str) {
        self.record.lock().trace.note(self.now_us(), what);
    }

    fn dial(&mut self, now_us: u64) {
        let address = self.around.address.borrow().clone();
        self.dial_us = None;
        match address {
            Some(address) => self.wire = Some(Wire::dial(&address)),
            None => self.lost(now_us),
        }
    }

    /// Handles the loss of a connection, or the failure to open one.
    fn lost(&mut self, now_us: u64) {
        self.wire = None;
        let pause_us = PAUSES_US[self.failures.min(PAUSES_US.len() - 1)];
        self.failures += 1;
        self.dial_us = Some(now_us + pause_us * (75 + self.rng.below(50) as u64) / 100);
        self.is_done_sent = false;
        self.asked.clear();
        // They were under way through it; over another connection they would arrive before its first message.
        self.late.clear();
        if std::mem::take(&mut self.is_welcome) {
            self.note("the connection is gone");
            self.with_peer(now_us, |peer, now| peer.handle_connection(now, false));
        }
    }

    fn news(&mut self, news: News) -> Result<(), String> {
        let now_us = self.now_us();
        match news {
            News::Open => {
                let playing = self.peer.as_ref().and_then(Peer::playing);
                let entry = match (&self.ticket, &self.token) {
                    (Some(ticket), _) => Entry::Return(ticket.clone()),
                    (None, Some(token)) => Entry::Resume {
                        token: token.clone(),
                        playing,
                    },
                    (None, None) => self.door.entry(),
                };
                let message = ClientMessage::hello(entry);
                // The token is a secret: the trace does not have it.
                self.note(if self.token.is_some() {
                    "> Hello again"
                } else {
                    "> Hello by a link"
                });
                if let Some(wire) = &self.wire {
                    wire.send(&message);
                }
            }
            News::Message(message) => {
                self.record.lock().trace.heard(now_us, &message);
                self.message(now_us, message)?;
            }
            News::Garbled(error) => {
                return Err(format!("a message that no page can read: {error}"));
            }
            News::Closed => self.lost(now_us),
        }
        Ok(())
    }

    fn message(&mut self, now_us: u64, message: ServerMessage) -> Result<(), String> {
        match message {
            ServerMessage::Welcome { session, .. } => {
                let mut record = self.record.lock();
                record.token = Some(session.clone());
                record.began_us.get_or_insert(now_us);
                drop(record);
                (self.token, self.ticket) = (Some(session), None);
                (self.is_welcome, self.failures) = (true, 0);
                self.with_peer(now_us, |peer, now| peer.handle_connection(now, true));
                if self.done == Some(ClientMessage::Leave) {
                    self.send_done();
                }
            }
            ServerMessage::Refused { why } => self.refused(now_us, why)?,
            ServerMessage::Superseded => {
                return Err("this page is superseded by none of ours".to_owned());
            }
            ServerMessage::Clock { sent_us, server_us } => {
                let page_us = self.page_us(now_us);
                self.times.answer(sent_us, server_us, page_us);
                self.round_trip(sent_us);
            }
            ServerMessage::Stage {
                index,
                count,
                id,
                view,
                draft,
                ..
            } => {
                let stage = Stage {
                    index,
                    count,
                    id,
                    view,
                };
                self.drafts.check(&stage, draft.as_ref())?;
                self.told(now_us, stage)?;
            }
            ServerMessage::DraftKept { number } => self.drafts.kept(number),
            ServerMessage::Waiting(waiting) => self.wait(waiting.ask),
            ServerMessage::Missing { .. } | ServerMessage::Signal { .. } => {}
            message if self.hears_talk(now_us, &message) => {}
            message => self.of_episode(now_us, message)?,
        }
        Ok(())
    }

    fn round_trip(&mut self, sent_us: u64) {
        let machine_us = self.around.clock.machine_us();
        while let Some((of_us, began_us)) = self.asked.pop_front() {
            if of_us == sent_us {
                let mut all = self
                    .around
                    .round_trips
                    .lock()
                    .unwrap_or_else(|all| all.into_inner());
                return all.push(machine_us - began_us);
            }
        }
    }

    fn refused(&mut self, now_us: u64, why: Refusal) -> Result<(), String> {
        match why {
            // The server comes back; the page keeps trying.
            Refusal::Stopping => Ok(()),
            // The session's link still leads to it.
            Refusal::UnknownLink if self.ticket.take().is_some() => Ok(()),
            Refusal::UnknownLink if self.token.take().is_some() => Ok(()),
            Refusal::Malformed | Refusal::OldPage
                if self.fault == Some(Fault::Malformed) && self.mishaps > 0 =>
            {
                self.note("the page is told that it cannot go on, and is loaded again");
                self.reload(now_us + 2 * S);
                Ok(())
            }
            why => Err(format!("refused: {why:?}")),
        }
    }

    /// Handles an event of the page that was superseded.
    fn old_news(&mut self, news: News) -> Result<(), String> {
        match news {
            News::Message(ServerMessage::Superseded) => {
                self.note("< Superseded, in the first tab");
                self.old = None;
            }
            News::Closed if self.around.address.borrow().is_some() && self.is_welcome => {
                return Err("the first tab was closed without being told why".to_owned());
            }
            News::Closed => self.old = None,
            News::Open | News::Message(_) | News::Garbled(_) => {}
        }
        Ok(())
    }
}

async fn next(wire: Option<&mut Wire>) -> News {
    match wire {
        Some(wire) => wire.next().await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use protocol::Seat;

    use super::*;
    use clock::Pace;

    /// A bot of the study that the rehearsals of the tests use, which has not arrived yet.
    fn bot(fault: Fault) -> Bot {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/rehearsal");
        let (study, _) = catalog::read_study(&folder).unwrap();
        let (_, clock) = Clock::paced(Pace::REAL);
        let (_, address) = watch::channel(None);
        let around = Around {
            study: Arc::new(study),
            partners: Partners::default(),
            clock,
            address,
            round_trips: Arc::default(),
        };
        let ticket = Ticket {
            rng: Rng::of(1, &[]),
            door: Door::Link("link".to_owned()),
            arrives_us: 0,
            fault: Some(fault),
            record: Shared::new(0, false, Some(fault)),
        };
        Bot::new(Rc::new(around), ticket)
    }

    #[test]
    fn what_is_late_when_the_connection_is_lost_is_not_said_before_hello_over_the_next_one() {
        let mut bot = bot(Fault::SlowNetwork);
        let now_us = bot.now_us();
        while bot.late.due_us().is_none() {
            let (from, bytes) = (Seat(1), vec![1]);
            let relayed = ServerMessage::Relay { from, bytes };
            bot.of_episode(now_us, relayed).unwrap();
        }
        bot.lost(now_us);
        assert_eq!(bot.late.due_us(), None);
    }
}
