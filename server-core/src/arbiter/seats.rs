//! The seats of a running episode: their controllers, their pages, and which pages hear each other.
//!
//! The next step follows from this state and the time alone, so nothing is forgotten when pages, the archive or the
//! server fail in between. It must not know of sessions, connections and messages.

use protocol::change::{Change, LEAD_S, Presence};
use protocol::log::Header;
use protocol::{Controller, Life, Seat, Tick};
use study::disconnect::Then;

use super::absence_rules::AbsenceRules;
use super::lag::Lag;
use super::seat_transfer::Step;

/// Now, and how far the episode is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub now_us: u64,
    /// Ticks that are durable.
    pub through: Tick,
    /// The time at which they last grew, or that of tick 0.
    pub moved_us: u64,
}

/// The state of a person's page in the episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Page {
    /// Not connected.
    Away,
    /// Plays in the seat's present life.
    Plays,
    /// Has lost the seat, and does not ask for it.
    Lost,
    /// Wants the seat; the plan is not sent yet.
    Waiting,
    /// Has the plan, and loads.
    Loading,
    /// Is ready for the seat.
    Ready,
}

/// A seat.
#[derive(Clone, Debug)]
pub(super) struct SeatState {
    /// True if a person has had it from the start.
    pub person: bool,
    /// True if that person left on purpose.
    pub left: bool,
    pub controller: Controller,
    pub life: Life,
    /// From when on it is played so.
    pub since: Tick,
    /// The number of times that its person got it back.
    pub returns: u32,
    pub page: Page,
    pub unloading: bool,
    pub hidden_us: Option<u64>,
    /// The first tick for which its page has not said its input, as far as durable.
    pub own: Tick,
    /// The time at which that last grew.
    pub said_us: u64,
    /// How long it has kept others waiting.
    pub lag: Lag,
    /// True for each other seat that its page does not hear.
    pub deaf_to: Vec<bool>,
    /// The time at which its page last sent anything.
    pub heard_us: u64,
    /// The last request to its page to send its digests again, over this connection.
    pub recheck: Option<u16>,
    /// How often pages of this seat said that somebody sent them something else than the server.
    pub recounts: usize,
    /// Until when its page gets the inputs of the others from the server.
    pub helped_until_us: u64,
    /// True if its page does not hear somebody and is not helped yet.
    pub asks_help: bool,
    /// Until when its page has time to be heard.
    pub begins_us: u64,
    /// Until when the person may be away, while they are.
    pub gone: Option<u64>,
    /// The last absence: the durable ticks when it began, and until when it was granted.
    granted: Option<(Tick, u64)>,
    /// The durable ticks when its page asked for the seat, and until when the first such page had time to load.
    asked: Option<(Tick, u64)>,
    /// The study's consequence of the absence, once its time was up.
    pub verdict: Option<Then>,
    /// True if its page must not play on: it differs from the replica.
    pub doomed: bool,
    /// The presence that the others know.
    pub told: Presence,
    /// The public key of the page of its present life.
    pub key: [u8; 32],
}

/// The seats of an episode.
#[derive(Clone, Debug)]
pub(super) struct Seats {
    pub(super) rules: AbsenceRules,
    pub list: Vec<SeatState>,
    pub changes: Vec<Change>,
    pub(super) step: Option<Step>,
}

impl Seats {
    /// At the start: every person's page plays.
    pub(super) fn new(rules: AbsenceRules, controllers: &[Controller]) -> Self {
        let seat = |controller: &Controller| {
            let person = *controller == Controller::Human;
            SeatState {
                person,
                left: false,
                controller: controller.clone(),
                life: Life::default(),
                since: Tick(0),
                returns: 0,
                page: if person { Page::Plays } else { Page::Away },
                unloading: false,
                hidden_us: None,
                own: Tick(0),
                said_us: 0,
                lag: Lag::default(),
                deaf_to: vec![false; controllers.len()],
                heard_us: 0,
                recheck: None,
                recounts: 0,
                helped_until_us: 0,
                asks_help: false,
                begins_us: 0,
                gone: None,
                granted: None,
                asked: None,
                verdict: None,
                doomed: false,
                told: Presence::Here,
                key: [0; 32],
            }
        };
        let list = controllers.iter().map(seat).collect();
        let (changes, step) = (Vec::new(), None);
        Self {
            rules,
            list,
            changes,
            step,
        }
    }

    /// The seats from a file: every page is away, and may come back until then.
    pub(super) fn restored(
        rules: AbsenceRules,
        header: &Header,
        changes: Vec<Change>,
        until_us: u64,
        through: Tick,
    ) -> Self {
        let mut seats = Self::new(rules, &header.controllers);
        for state in seats.list.iter_mut().filter(|state| state.person) {
            state.page = Page::Away;
            state.gone = Some(until_us);
            state.granted = Some((through, until_us));
        }
        seats.set_keys(&header.keys);
        changes.into_iter().for_each(|change| seats.note(change));
        // An AI partner that plays permanently stays, in whichever half the others come back.
        let tick_us = 1_000_000 / u64::from(header.tick_hz.max(1));
        for index in 0..seats.list.len() {
            if seats.is_for_good(index, through, tick_us) {
                seats.list[index].verdict = Some(Then::Bot);
            }
        }
        seats
    }

    /// True if an AI partner has a seat permanently, not only until its person comes back: by its controller, and by
    /// the time for which it has had the seat.
    fn is_for_good(&self, index: usize, through: Tick, tick_us: u64) -> bool {
        let (state, rules) = (&self.list[index], &self.rules);
        let partner = rules.partner_controller();
        if !state.person || state.controller != partner || partner == Controller::Vacant {
            return false;
        }
        let grace = u32::try_from(rules.grace_us.div_ceil(tick_us)).unwrap_or(u32::MAX);
        let over = Tick(state.since.0.saturating_add(grace));
        rules.meanwhile_controller() != partner
            || over <= through && rules.consequence_at(over) == Then::Bot
    }

    /// Nobody is silent before tick 0.
    pub(super) fn begin_at(&mut self, t0_us: u64) {
        self.list
            .iter_mut()
            .for_each(|state| state.begins_us = t0_us);
    }

    /// The keys of the pages that play from the start.
    pub(super) fn set_keys(&mut self, keys: &[[u8; 32]]) {
        for (state, key) in self.list.iter_mut().zip(keys) {
            state.key = *key;
        }
    }

    /// Applies a change.
    fn note(&mut self, change: Change) {
        if let Some(state) = self.list.get_mut(change.seat.index()) {
            state.controller = change.controller.clone();
            state.life = change.life;
            state.since = change.tick;
            state.returns += u32::from(change.controller == Controller::Human);
            (state.own, state.recheck, state.lag) = (change.tick, None, Lag::default());
            state.key = change.key.unwrap_or_default();
        }
        self.changes.push(change);
    }

    /// An AI partner follows a directive: nothing else of its seat or of others changes.
    pub(super) fn handle_directive(&mut self, change: Change) {
        self.note(change);
    }

    pub(super) fn all_seats(&self) -> impl Iterator<Item = (Seat, &SeatState)> {
        (0..).map(Seat).zip(&self.list)
    }

    /// People who may play: those who did not leave on purpose.
    pub(super) fn people(&self) -> impl Iterator<Item = (Seat, &SeatState)> {
        self.all_seats()
            .filter(|(_, state)| state.person && !state.left)
    }

    /// The seats that people play.
    pub(super) fn playing(&self) -> impl Iterator<Item = Seat> + '_ {
        let people = self.people();
        let humans = people.filter(|(_, state)| state.controller == Controller::Human);
        humans.map(|(seat, _)| seat)
    }

    /// True if the page of a seat plays it, and can be trusted.
    pub(super) fn is_live(&self, seat: Seat) -> bool {
        let state = &self.list[seat.index()];
        state.page == Page::Plays && !state.doomed
    }

    /// The other seats whose page plays.
    pub(super) fn others_live(&self, seat: Seat) -> impl Iterator<Item = Seat> + '_ {
        let others = self.people().map(|(other, _)| other);
        others.filter(move |other| *other != seat && self.is_live(*other))
    }

    pub(super) fn is_watched(&self, seat: Seat) -> bool {
        self.others_live(seat).next().is_some()
    }

    /// Updates who is gone, the time granted to them, and the consequence if that time is up.
    pub(super) fn handle_timeout(&mut self, at: Moment) {
        for index in 0..self.list.len() {
            if self.list[index].person {
                self.update_seat(at, Seat(index as u8));
            }
        }
    }

    fn update_seat(&mut self, at: Moment, seat: Seat) {
        let missed = self.is_missed(at, seat);
        let dropped = self.is_dropped(at.now_us, seat);
        let then = self.rules.consequence_at(at.through);
        let grace_us = self.rules.grace_us;
        let state = &mut self.list[seat.index()];
        if !missed {
            state.gone = None;
        } else if state.gone.is_none() {
            // People who come and go get no more time while nothing moves.
            let again = state.granted.filter(|(when, _)| *when == at.through);
            let until_us = again.map_or(at.now_us + grace_us, |(_, until_us)| until_us);
            state.gone = Some(if dropped { at.now_us } else { until_us });
            state.granted = Some((at.through, until_us));
        }
        if state.left || dropped || state.is_overdue(at.now_us) {
            state.verdict.get_or_insert(then);
        } else if !missed {
            state.verdict = None;
        }
        let slow = matches!(state.page, Page::Waiting | Page::Loading);
        if slow && state.is_overdue(at.now_us) {
            state.page = Page::Lost;
        }
    }

    /// True if a page is hidden for longer than the study allows, and somebody waits for it.
    fn is_dropped(&self, now_us: u64, seat: Seat) -> bool {
        let hidden_us = self.list[seat.index()].hidden_us;
        let up = |since| since + self.rules.drop_us <= now_us;
        hidden_us.is_some_and(up) && self.is_watched(seat)
    }

    /// True if nobody's page is there and everybody's time is up.
    pub(super) fn is_abandoned(&self, now_us: u64) -> bool {
        self.people()
            .all(|(_, state)| state.page == Page::Away && state.is_overdue(now_us))
    }

    /// Until when somebody may be away although nothing moves: repeated requests for the seat do not prolong it.
    pub(super) fn granted_until(&self) -> Option<u64> {
        let until = |(_, state): (Seat, &SeatState)| {
            let first = state.granted.max(state.asked);
            state.gone.min(first.map(|(_, until_us)| until_us))
        };
        self.people().filter_map(until).max()
    }

    /// The presence of a person, if it is new, and when the study's consequence is due, microseconds.
    pub(super) fn poll_presence(
        &mut self,
        at: Moment,
        seat: Seat,
    ) -> Option<(Presence, Option<u64>)> {
        let state = self.list.get(seat.index())?;
        let now = self.presence_of(at, seat);
        let is_news = state.person && state.told != now.0;
        is_news.then(|| {
            self.list[seat.index()].told = now.0;
            now
        })
    }

    /// The presence of a person, and when the study's consequence is due, microseconds.
    pub(super) fn presence_of(&self, at: Moment, seat: Seat) -> (Presence, Option<u64>) {
        let state = &self.list[seat.index()];
        let shown = |since: &u64| since + self.rules.warn_us <= at.now_us;
        match (state.page, state.gone, state.hidden_us.filter(shown)) {
            _ if state.left => (Presence::Gone, None),
            (Page::Waiting | Page::Loading | Page::Ready, ..) => (Presence::Returning, None),
            (_, Some(until_us), _) => {
                let then = self.rules.consequence_at(at.through);
                let changes =
                    then != Then::Bot || state.controller != self.rules.partner_controller();
                let awaited = changes && state.verdict.is_none();
                (Presence::Gone, awaited.then_some(until_us))
            }
            (.., Some(since_us)) => (Presence::Hidden, Some(since_us + self.rules.drop_us)),
            _ => (Presence::Here, None),
        }
    }

    /// Takes a change that is durable.
    pub(super) fn handle_change(&mut self, now_us: u64, change: Change) {
        let (seat, human) = (change.seat, change.controller == Controller::Human);
        self.step = None;
        self.note(change);
        let Some(state) = self.list.get_mut(seat.index()) else {
            return;
        };
        state.unloading = false;
        // A page that is gone before it had the seat loses it again.
        state.doomed = human && state.page != Page::Ready;
        match state.page {
            Page::Plays if !human => state.page = Page::Lost,
            Page::Ready if human => {
                (state.page, state.gone, state.hidden_us) = (Page::Plays, None, None);
                // It needs a moment until the others hear it.
                state.begins_us = now_us + u64::from(LEAD_S) * 1_000_000;
                state.begin_hearing();
            }
            _ => {}
        }
        // The others start to listen again.
        for other in &mut self.list {
            other.deaf_to[seat.index()] = false;
        }
    }

    /// The page with a key connects to its seat. Whether it still plays the seat's present life, and may.
    pub(super) fn handle_page(
        &mut self,
        at: Moment,
        seat: Seat,
        life: Option<Life>,
        key: [u8; 32],
    ) -> bool {
        let silent_us = self
            .silent_since(seat)
            .map(|since_us| at.now_us.saturating_sub(since_us));
        let state = &mut self.list[seat.index()];
        // Over a new connection, a page reports again whom it does not hear, and whether it is hidden.
        (state.unloading, state.hidden_us, state.recheck) = (false, None, None);
        state.begin_hearing();
        let is_same = life == Some(state.life) && key == state.key;
        let holds = is_same && state.controller == Controller::Human;
        if !holds || state.doomed {
            self.handle_take_back(at, seat);
            return false;
        }
        (state.page, state.heard_us) = (Page::Plays, at.now_us);
        if state.lag.is_excused(silent_us.unwrap_or(0)) {
            state.begins_us = at.now_us;
        }
        true
    }

    /// A page wants its seat back. It has its time to load, even if the grace is over before.
    pub(super) fn handle_take_back(&mut self, at: Moment, seat: Seat) {
        let ready_us = at.now_us + self.rules.ready_us;
        let state = &mut self.list[seat.index()];
        // The plan that it gets has everything.
        (state.page, state.hidden_us) = (Page::Waiting, None);
        state.gone = Some(state.gone.unwrap_or(0).max(ready_us));
        let first = state.asked.filter(|(when, _)| *when == at.through);
        state.asked = first.or(Some((at.through, ready_us)));
    }

    /// The connection of a page is gone. The page reports its state again when it comes back.
    pub(super) fn handle_away(&mut self, seat: Seat) {
        let state = &mut self.list[seat.index()];
        (state.page, state.hidden_us) = (Page::Away, None);
    }

    /// Handles that the page of a seat has loaded. A seat that was given up starts again.
    pub(super) fn handle_ready(&mut self, at: Moment, seat: Seat) {
        let state = &mut self.list[seat.index()];
        match state.page {
            Page::Loading => state.page = Page::Ready,
            Page::Lost => self.handle_take_back(at, seat),
            Page::Away | Page::Plays | Page::Waiting | Page::Ready => {}
        }
    }

    /// Lets the AI partner of the stage play a seat permanently, whatever the stage says about people who stay away.
    /// Its person leaves the seat right after.
    pub(super) fn give_to_partner(&mut self, seat: Seat) {
        self.list[seat.index()].verdict = Some(Then::Bot);
    }

    /// A person leaves on purpose.
    pub(super) fn handle_left(&mut self, seat: Seat) {
        self.handle_away(seat);
        self.list[seat.index()].left = true;
    }

    /// Returns the time of the next decision if nothing comes in, microseconds, and its reason. Everything that was due
    /// by now is done.
    pub(super) fn poll_timeout(&self, at: Moment) -> Option<(u64, &'static str)> {
        let rules = &self.rules;
        let mut all = Vec::new();
        for (seat, state) in self.people() {
            let (silent_us, helped_us) = (self.is_silent_at(seat), self.is_helped_at(seat));
            let warned_us = state.hidden_us.map(|since| since + rules.warn_us);
            let dropped_us = state.hidden_us.map(|since| since + rules.drop_us);
            let is_away = state.page == Page::Away;
            let still_us = is_away.then(|| self.stands_still_at(at.moved_us, seat));
            let unheard_us = self.is_unheard_at(seat).filter(|_| is_away);
            all.extend([
                (state.gone, "end of an absence"),
                (silent_us, "silence of a page"),
                (helped_us, "help for a page"),
                (warned_us, "warning of a hidden page"),
                (dropped_us, "drop of a hidden page"),
                (still_us, "no progress without a page"),
                (unheard_us, "a page that nobody hears"),
            ]);
        }
        all.into_iter()
            .filter_map(|(at_us, reason)| Some((at_us?, reason)))
            .filter(|(at_us, _)| *at_us > at.now_us)
            .min()
    }
}

impl SeatState {
    /// Its page begins to hear the others, over a new connection or in a new life.
    fn begin_hearing(&mut self) {
        self.deaf_to.fill(false);
        (self.helped_until_us, self.asks_help) = (0, false);
    }

    fn is_overdue(&self, now_us: u64) -> bool {
        self.gone.is_some_and(|until_us| until_us <= now_us)
    }
}
