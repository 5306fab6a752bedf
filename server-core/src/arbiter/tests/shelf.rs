//! The archive of an episode by the rules of the real one, but without a world: every input is 0, digests are right
//! unless they are [`WRONG`], and the world ends where the first page says that it has.

use study::SeatTotals;

use super::*;

/// A digest that no replica has.
pub(super) const WRONG: u64 = 666;

/// A seat as the archive knows it.
#[derive(Clone, Debug)]
pub(super) struct ShelfSeat {
    pub controller: Controller,
    pub life: Life,
    /// The first tick for which its own page has said nothing.
    pub said: Tick,
    /// The last request to its page to send its digests again, and the last one that it has followed.
    recheck: (u16, u16),
    diverged: bool,
}

/// The archive of an episode.
#[derive(Debug)]
pub(super) struct Shelf {
    pub header: Header,
    pub through: Tick,
    pub changes: Vec<Change>,
    pub seats: Vec<ShelfSeat>,
    pub notes: Vec<Record>,
    pub routes: Vec<Record>,
    pub ending: Option<Ending>,
    /// The work that was asked of a hosted world.
    pub hosted: Vec<HostWork>,
    /// The time that each step of it takes, microseconds.
    pub step_us: u64,
    /// The terminal tick.
    end: Option<Tick>,
}

impl Shelf {
    pub(super) fn new(header: Header) -> Self {
        let seat = |controller: &Controller| ShelfSeat {
            controller: controller.clone(),
            life: Life(0),
            said: Tick(0),
            recheck: (0, 0),
            diverged: false,
        };
        Self {
            seats: header.controllers.iter().map(seat).collect(),
            header,
            through: Tick(0),
            changes: Vec::new(),
            notes: Vec::new(),
            routes: Vec::new(),
            ending: None,
            hosted: Vec::new(),
            step_us: 0,
            end: None,
        }
    }

    /// The end; each seat has its number as score and half of that as reward.
    pub(super) fn end(&self) -> Option<EpisodeEnd> {
        let seats = 0..self.seats.len() as i64;
        let seats = SeatTotals {
            scores: seats.clone().collect(),
            rewards: seats.map(|seat| seat as f64 / 2.0).collect(),
        };
        self.ending.map(|ending| EpisodeEnd { ending, seats })
    }

    /// The end of each page's inputs so far.
    pub(super) fn own(&self) -> Vec<Tick> {
        self.seats.iter().map(|seat| seat.said).collect()
    }

    fn is_played(&self, seat: Seat) -> bool {
        self.seats[seat.index()].controller == Controller::Human
    }

    /// Plays the ticks for which every person's own page has said the input. Without people nothing moves.
    fn play(&mut self) {
        let people = self.seats.iter();
        let people = people.filter(|seat| seat.controller == Controller::Human);
        let least = people.map(|seat| seat.said).min();
        let through = least.into_iter().chain(self.end).min();
        self.through = self
            .through
            .max(through.filter(|_| least.is_some()).unwrap_or_default());
    }

    fn change(
        &mut self,
        seat: Seat,
        tick: Tick,
        controller: Controller,
        key: Option<[u8; 32]>,
    ) -> Change {
        let earlier = self.changes.iter().filter(|change| change.seat == seat);
        let earliest = earlier.map(|change| change.tick).max().unwrap_or_default();
        let tick = tick.max(earliest);
        let state = &mut self.seats[seat.index()];
        let is_human = |controller: &Controller| *controller == Controller::Human;
        assert!(
            !(is_human(&state.controller) && is_human(&controller)),
            "a person has it"
        );
        *state = ShelfSeat {
            controller: controller.clone(),
            life: state.life.next(),
            said: tick,
            recheck: (0, 0),
            diverged: false,
        };
        let change = Change {
            number: self.changes.len() as u16,
            seat,
            tick,
            controller,
            life: state.life,
            from: if key.is_some() { self.through } else { tick },
            inputs: Vec::new(),
            key,
        };
        self.changes.push(change.clone());
        self.play();
        change
    }

    fn append_upload(&mut self, seat: Seat, upload: &Upload) -> Appended {
        let state = &mut self.seats[seat.index()];
        let is_heard =
            state.controller == Controller::Human && state.life == upload.life && !state.diverged;
        let block = upload.block.as_ref().filter(|_| is_heard);
        if let Some(block) = block {
            if block.first > state.said {
                return Appended::Gap(state.said);
            }
            // Blocks that were sent over the connection before.
            if block.first == state.said {
                state.said.0 += block.inputs.len() as u32;
            }
        }
        let is_known = is_heard && upload.recheck >= state.recheck.0;
        if is_known {
            state.recheck.1 = upload.recheck;
        }
        if is_known && upload.digests.iter().any(|(_, digest)| *digest == WRONG) {
            state.diverged = state.recheck.0 > 0;
            state.recheck.0 = 1;
        }
        if let Some(end) = upload.ended.filter(|_| is_known) {
            self.end.get_or_insert(end);
        }
        self.play();
        let state = &self.seats[seat.index()];
        let (asked, heard) = state.recheck;
        Appended::Durable {
            through: self.through,
            own: state.said,
            over: self.end.is_some_and(|end| self.through >= end),
            last: upload.ended.is_some() && is_known,
            notes: 0,
            agreed: Tick(0),
            recheck: (heard < asked).then_some(asked),
            diverged: state.diverged,
        }
    }

    fn known_inputs(&self, seat: Seat) -> KnownInputs {
        let changes = self.changes.iter().rev();
        let first = changes
            .filter(|change| change.seat == seat)
            .map(|change| change.tick)
            .next()
            .unwrap_or_default();
        let state = &self.seats[seat.index()];
        KnownInputs {
            seat,
            life: state.life,
            first,
            inputs: vec![0; (state.said.0 - first.0) as usize],
        }
    }

    pub(super) fn perform(&mut self, era: Era, work: Work) -> Event {
        match work {
            Work::Open(_) => Event::Opened(era, true),
            Work::Append(seat, upload) => {
                Event::Appended(era, seat, self.append_upload(seat, &upload))
            }
            Work::Read { of, to } => Event::Inputs(era, to, vec![self.known_inputs(of)]),
            Work::Recount(..) => Event::Noted,
            Work::Recheck(seat) => {
                let others = (0..self.seats.len() as u8).map(Seat);
                let others = others.filter(|other| *other != seat && self.is_played(*other));
                let recheck = Recheck {
                    number: self.seats[seat.index()].recheck.0,
                    agreed: Tick(0),
                    inputs: others.map(|other| self.known_inputs(other)).collect(),
                };
                Event::Recheck(era, seat, recheck)
            }
            Work::Describe { number, seat, .. } => {
                let offered = |word: &str| OfferedDirective {
                    word: word.to_owned(),
                    means: word.to_owned(),
                    is_possible: true,
                };
                let directives = seat.map_or(Vec::new(), |_| vec![offered("fetch_plate")]);
                let described = Description {
                    tick: self.through,
                    text: "A kitchen.".to_owned(),
                    directives,
                };
                Event::Described(era, number, Some(Box::new(described)))
            }
            Work::Host(work) => Event::Hosted(era, self.host(work)),
            Work::Record(record) => self.record(era, record),
        }
    }

    /// A hosted world that ends with its tick 600.
    fn host(&mut self, work: HostWork) -> HostedReport {
        self.through.0 += u32::from(work.steps);
        let tick = self.through;
        let view = |order: &ViewOrder| {
            let view = HostView {
                tick,
                ..HostView::default()
            };
            (order.seat, view)
        };
        let report = HostedReport {
            played: tick,
            through: tick,
            own: self.own(),
            views: work.views.iter().map(view).collect(),
            points: work
                .points
                .iter()
                .map(|order| (order.seat, order.number, Some(order.at[0])))
                .collect(),
            over: tick.0 >= 600,
            took_us: self.step_us,
            failed: work.slow_step_us.is_some(),
            ..HostedReport::default()
        };
        self.hosted.push(work);
        report
    }

    fn record(&mut self, era: Era, work: RecordWork) -> Event {
        match work {
            RecordWork::End(reason) => {
                let (ticks, score, digest) = (self.through, 1, 2);
                let ending = Ending {
                    ticks,
                    reason,
                    score,
                    digest,
                };
                self.ending = Some(ending);
                Event::Ended(era, self.end())
            }
            RecordWork::Take { seat, controller } => {
                assert_ne!(controller, Controller::Human);
                assert!(self.is_played(seat));
                let cut = self.seats[seat.index()].said.max(self.through);
                Event::Changed(era, seat, Some(self.change(seat, cut, controller, None)))
            }
            RecordWork::Give {
                seat,
                controller,
                key,
                due,
            } => {
                let tick = match self.header.rules.turns {
                    true => self.through,
                    false => due.map_or(self.through, |due| {
                        Tick(due.max(self.through).0 + LEAD_S * HZ)
                    }),
                };
                let human = controller == Controller::Human;
                assert_eq!(key.is_some(), human, "people sign their inputs");
                let change = self.change(seat, tick, controller, key);
                let snapshot = Snapshot {
                    tick: self.through,
                    digest: 3,
                    state: vec![7; 300_000],
                    rewards: vec![1; 16],
                    partners: Vec::new(),
                };
                match human {
                    true => Event::Given(era, seat, Some(Box::new((change, snapshot)))),
                    false => Event::Changed(era, seat, Some(change)),
                }
            }
            RecordWork::Direct {
                seat,
                directive,
                due,
            } => {
                let directed = match directive.as_str() {
                    "fetch_plate" => {
                        let due = due.map_or(0, |due| due.0 + LEAD_S * HZ);
                        let tick = Tick(due.max(self.through.0));
                        let policy = format!("cook:{directive}");
                        let change = self.change(seat, tick, Controller::Ai { policy }, None);
                        Directed::Applied(Box::new(change))
                    }
                    _ => Directed::Refused("it cannot be done".to_owned()),
                };
                Event::Directed(era, seat, directed)
            }
            RecordWork::Note(note) => {
                match *note {
                    Record::Route { .. } => self.routes.push(*note),
                    note => self.notes.push(note),
                }
                Event::Noted
            }
        }
    }
}
