//! The meaning of one seed: the study, the people, their machines, the network, and what goes wrong when.

use std::collections::BTreeMap;

use crate::lie::{Liar, Lie};
use crate::network_conditions::{Conditions, End, Partition};
use crate::rng::SeededRng;
use crate::study_draw::StudyDraw;

/// A person and their machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// The time at which they open the study, microseconds.
    pub arrives_us: u64,
    /// The time of their clock at the start, microseconds.
    pub clock_us: u64,
    /// The rate error of their clock, parts in a million; positive if it is fast.
    pub drift_ppm: i64,
    /// The time in which their machine simulates a tick, microseconds.
    pub tick_us: u64,
    /// The longest pause between two actions, microseconds.
    pub acts_us: u64,
    /// True if their network lets data channels through.
    pub direct: bool,
    /// Time between two frames of their screen, microseconds; now and then if none.
    pub frame_us: Option<u64>,
}

/// Something that goes wrong, or that people do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The page announces its end, dies, and a new one is there soon.
    Reload {
        /// The person.
        person: usize,
        /// True if the farewell is sent.
        farewell: bool,
        /// How long there is no page, microseconds.
        away_us: u64,
    },
    /// The machine dies; perhaps it comes back.
    Crash {
        /// The person.
        person: usize,
        /// True if the server learns that the connection is gone.
        told: bool,
        /// How long there is no page, microseconds; `None` if permanently.
        away_us: Option<u64>,
    },
    /// A second page of the same session opens.
    SecondTab {
        /// The person.
        person: usize,
    },
    /// The page does nothing for a while.
    Freeze {
        /// The person.
        person: usize,
        /// How long, microseconds.
        for_us: u64,
    },
    /// The page is out of sight for a while.
    Hide {
        /// The person.
        person: usize,
        /// How long, microseconds.
        for_us: u64,
    },
    /// The connection to the server breaks.
    DropSocket {
        /// The person.
        person: usize,
    },
    /// All data channels of a person break.
    DropChannels {
        /// The person.
        person: usize,
    },
    /// The participant withdraws.
    Leave {
        /// The person.
        person: usize,
    },
    /// The server dies, and is there again later.
    Restart {
        /// For how long it is away, microseconds.
        away_us: u64,
    },
}

/// The victim of a death in the middle of a run, for [`Scenario::kill`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Victim {
    /// The page of this person, which is opened again.
    Person(usize),
    /// The page of this person, which never comes back.
    ForGood(usize),
    /// The server, which starts again.
    Server,
}

/// One run.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// From which everything is drawn.
    pub seed: u64,
    /// The study.
    pub terms: StudyDraw,
    /// The people.
    pub people: Vec<Person>,
    /// The ways between ends.
    pub ways: BTreeMap<(End, End), Conditions>,
    /// The partitions of the network.
    pub partitions: Vec<Partition>,
    /// The faults, with their times, microseconds.
    pub faults: Vec<(u64, Fault)>,
    /// From then on nothing goes wrong any more, microseconds.
    pub heals_us: u64,
    /// The victim that dies right after the message of this number.
    pub kill: Option<(u64, Victim)>,
    /// The page that is dishonest, if one is.
    pub liar: Option<Liar>,
    /// How long after their start people must have found one pace, microseconds: from then on nobody is more than two
    /// ticks ahead of another.
    pub even_us: Option<u64>,
}

/// The severity of a seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mood {
    Calm,
    Network,
    Everything,
}

impl Scenario {
    /// The run of a seed, of two to eight seats.
    pub fn new(seed: u64) -> Self {
        Self::drawn(seed, |terms| {
            let together = &mut SeededRng::new(seed, "turns together");
            terms.slow_down(&mut SeededRng::new(seed, "turns"), together);
            terms.fill_pages(&mut SeededRng::new(seed, "pages"));
        })
    }

    /// Draws the run of a seed in which people share their seats with AI partners; in one of four, a page is dishonest.
    pub fn shared(seed: u64) -> Self {
        let mut rng = SeededRng::new(seed, "shared seats");
        if rng.one_in(4) {
            let mut scenario = Self::lying(seed);
            scenario.terms.share(&mut rng);
            return scenario;
        }
        Self::drawn(seed, |terms| {
            let together = &mut SeededRng::new(seed, "turns together");
            terms.slow_down(&mut SeededRng::new(seed, "turns"), together);
            terms.fill_pages(&mut SeededRng::new(seed, "pages"));
            terms.share(&mut rng);
        })
    }

    /// The run of a seed with this many seats instead.
    pub fn seated(seed: u64, seats: u8) -> Self {
        let mut scenario = Self::drawn(seed, |terms| {
            (terms.kitchen, terms.policy, terms.seats) = (false, "random", seats);
        });
        scenario.has_screens();
        scenario
    }

    fn drawn(seed: u64, settle: impl FnOnce(&mut StudyDraw)) -> Self {
        let mut rng = SeededRng::new(seed, "scenario");
        let mood = match rng.draw_below(10) {
            0 => Mood::Calm,
            1 | 2 => Mood::Network,
            _ => Mood::Everything,
        };
        let mut terms = StudyDraw::new(&mut rng);
        terms.vary_terms(&mut SeededRng::new(seed, "rules"));
        settle(&mut terms);
        let count = people(&mut rng, usize::from(terms.seats));
        let people: Vec<Person> = (0..count).map(|_| person(&mut rng, mood, &terms)).collect();
        let round_us = u64::from(terms.episodes) * (8_000_000 + terms.playing_us());
        // Half of it, as people are seldom that slow.
        let rounds_us = u64::from(terms.rounds) * (round_us + terms.pages.lasts_us() / 2);
        let heals_us = 2_000_000 + rounds_us + rng.draw_below(3_000_000);
        let ways = ways(&mut rng, mood, count);
        let (mut partitions, mut faults) = (Vec::new(), Vec::new());
        if mood != Mood::Calm {
            for _ in 0..rng.draw_below(4) {
                partitions.extend(partition(&mut rng, count, heals_us));
            }
        }
        if mood == Mood::Everything {
            for _ in 0..1 + rng.draw_below(6) {
                let at_us = rng.draw_between(1_000_000, heals_us);
                faults.push((at_us, fault(&mut rng, count)));
            }
        }
        faults.sort_by_key(|&(at_us, _)| at_us);
        Self {
            seed,
            terms,
            people,
            ways,
            partitions,
            faults,
            heals_us,
            kill: None,
            liar: None,
            even_us: None,
        }
    }

    /// Two people on a good network in a short episode, in which nothing goes wrong except one death.
    pub fn calm(seed: u64, kill: Option<(u64, Victim)>) -> Self {
        let mut rng = SeededRng::new(seed, "calm");
        let terms = StudyDraw::draw_short(&mut rng);
        Self::short(seed, rng, terms, Mood::Calm, kill)
    }

    /// Three to eight people on bad networks in a short episode, in which nothing else goes wrong except one death.
    pub fn crowd(seed: u64, kill: Option<(u64, Victim)>) -> Self {
        let mut rng = SeededRng::new(seed, "crowd");
        let mut terms = StudyDraw::draw_short(&mut rng);
        terms.seats = rng.draw_between(3, 8) as u8;
        terms.then = rng.draw_item(&["bot", "bot", "partner_left", "technical"]);
        let mut scenario = Self::short(seed, rng, terms, Mood::Network, kill);
        scenario.has_screens();
        scenario
    }

    fn short(
        seed: u64,
        mut rng: SeededRng,
        terms: StudyDraw,
        mood: Mood,
        kill: Option<(u64, Victim)>,
    ) -> Self {
        let people: Vec<Person> = (0..usize::from(terms.seats))
            .map(|_| person(&mut rng, mood, &terms))
            .collect();
        let ways = ways(&mut rng, mood, people.len());
        let heals_us = 10_000_000 + terms.playing_us();
        Self {
            seed,
            terms,
            people,
            ways,
            partitions: Vec::new(),
            faults: Vec::new(),
            heals_us,
            kill,
            liar: None,
            even_us: None,
        }
    }
}

impl Scenario {
    /// Two to four people on a good network, one of whose pages is dishonest; in half of the runs the server dies once or twice.
    pub fn lying(seed: u64) -> Self {
        let mut rng = SeededRng::new(seed, "calm");
        let mut terms = StudyDraw::draw_short(&mut rng);
        terms.seats = SeededRng::new(seed, "liar's seats").draw_item(&[2, 2, 3, 4]);
        let mut scenario = Self::short(seed, rng, terms, Mood::Calm, None);
        let mut rng = SeededRng::new(seed, "liar");
        let (people, horizon) = (scenario.people.len(), scenario.terms.horizon);
        let liar = Liar::draw(&mut rng, people, horizon);
        if matches!(liar.lie, Lie::ComesAndGoes | Lie::PausesAndSeals) {
            // Long enough to come back several times.
            scenario.terms.horizon = 100;
            scenario.heals_us += 8_000_000;
        }
        scenario.liar = Some(liar);
        let mut rng = SeededRng::new(seed, "outages");
        for _ in 0..rng.draw_item(&[0, 0, 1, 2]) {
            let at_us = rng.draw_between(3_000_000, 14_000_000);
            let away_us = rng.draw_between(50_000, 6_000_000);
            scenario.faults.push((at_us, Fault::Restart { away_us }));
        }
        // A page that keeps others waiting is missed after a while, and comes back, again and again.
        scenario.heals_us += 60_000_000;
        scenario.has_screens();
        scenario
    }

    /// Two people, one of whose machines is 10 to 30 % too slow.
    pub fn slow(seed: u64) -> Self {
        let mut scenario = Self::calm(seed, None);
        let mut rng = SeededRng::new(seed, "slow");
        let tick_hz = rng.draw_item(&[20, 30, 60]);
        (scenario.terms.tick_hz, scenario.terms.window) = (tick_hz, 16);
        scenario.terms.horizon = 12 * u32::from(tick_hz);
        let slower = rng.draw_between(110, 130);
        scenario.people[0].tick_us = 1_000_000 / u64::from(tick_hz) * slower / 100;
        scenario.heals_us = 40_000_000;
        scenario.even_us = Some(3_000_000);
        // Ways that take longer there than back show as clocks that are wrong, which is not what this is about.
        let way = Conditions {
            delay_us: rng.draw_between(1_000, 40_000),
            jitter_us: 2_000,
            ..Conditions::default()
        };
        scenario.ways.values_mut().for_each(|other| *other = way);
        scenario.has_screens();
        scenario
    }

    /// Everybody has a screen of 60 Hz.
    fn has_screens(&mut self) {
        let people = self.people.iter_mut();
        people.for_each(|person| person.frame_us = Some(16_667));
    }

    /// Two people; one of them reloads while the other continues without the server: the seat is given back at a tick
    /// that only the lease keeps from being confirmed.
    pub fn leased(seed: u64) -> Self {
        let mut scenario = Self::calm(seed, None);
        scenario.terms.horizon = 200;
        scenario.terms.meanwhile = "stand";
        scenario.terms.then = "bot";
        scenario.terms.grace_s = 20;
        scenario.heals_us = 30_000_000;
        let mut rng = SeededRng::new(seed, "leased");
        let at_us = rng.draw_between(8_000_000, 11_000_000);
        let away_us = rng.draw_between(3_500_000, 5_000_000);
        scenario.faults.push((
            at_us,
            Fault::Reload {
                person: 1,
                farewell: true,
                away_us,
            },
        ));
        // Long enough for the seat to be given back meanwhile, and too short for the other to count as gone.
        let (from_us, to_us) = (at_us + 1_000_000, at_us + away_us + 1_400_000);
        let (one, server) = (End::Person(0), End::Server);
        scenario.partitions = [(one, server), (server, one)]
            .map(|(from, to)| Partition {
                from,
                to,
                from_us,
                to_us,
            })
            .into();
        scenario
    }
}

/// How many people come: all seats in most runs, one at least.
fn people(rng: &mut SeededRng, seats: usize) -> usize {
    match rng.draw_below(4) {
        0 => 1 + rng.draw_below(seats as u64) as usize,
        _ => seats,
    }
}

fn person(rng: &mut SeededRng, mood: Mood, terms: &StudyDraw) -> Person {
    let calm = mood == Mood::Calm;
    let drift_ppm = match rng.draw_below(4) {
        _ if calm => rng.draw_below(100) as i64 - 50,
        0 => rng.draw_below(100_001) as i64 - 50_000,
        _ => rng.draw_below(200) as i64 - 100,
    };
    let period_us = 1_000_000 / u64::from(terms.tick_hz);
    let tick_us = match rng.draw_below(8) {
        0 if !calm => period_us * rng.draw_between(50, 130) / 100,
        _ => rng.draw_below(300),
    };
    Person {
        arrives_us: rng.draw_below(2_000_000),
        clock_us: 1_000_000_000 + rng.draw_below(4_000_000_000),
        drift_ppm,
        tick_us,
        acts_us: rng.draw_item(&[100_000, 300_000, 1_000_000]),
        direct: calm || !rng.one_in(6),
        frame_us: None,
    }
}

fn conditions(rng: &mut SeededRng, mood: Mood) -> Conditions {
    let good = Conditions {
        delay_us: 1_000 + rng.draw_below(30_000),
        jitter_us: 2_000,
        ..Conditions::default()
    };
    match rng.draw_below(4) {
        _ if mood == Mood::Calm => good,
        0 => good,
        1 => Conditions {
            delay_us: 30_000,
            jitter_us: 10_000,
            loss: 100,
            double: 10,
            burst: (0, 0),
        },
        2 => Conditions {
            delay_us: 80_000,
            jitter_us: 60_000,
            loss: 500,
            double: 300,
            burst: (50, 2_000),
        },
        _ => Conditions {
            delay_us: rng.draw_below(150_000),
            jitter_us: rng.draw_below(150_000),
            loss: rng.draw_below(3_000) as u32,
            double: rng.draw_below(2_000) as u32,
            burst: (
                rng.draw_below(150) as u32,
                300 + rng.draw_below(2_000) as u32,
            ),
        },
    }
}

/// Each way by itself, so that there and back differ.
fn ways(rng: &mut SeededRng, mood: Mood, people: usize) -> BTreeMap<(End, End), Conditions> {
    let ends: Vec<End> = (0..people).map(End::Person).chain([End::Server]).collect();
    let all = conditions(rng, mood);
    let mut ways = BTreeMap::new();
    for &from in &ends {
        for &to in ends.iter().filter(|&&to| to != from) {
            let is_own = rng.one_in(4);
            let own = if is_own { conditions(rng, mood) } else { all };
            let server = from == End::Server || to == End::Server;
            ways.insert(
                (from, to),
                Conditions {
                    delay_us: if server {
                        own.delay_us.min(100_000)
                    } else {
                        own.delay_us
                    },
                    loss: if server { own.loss.min(300) } else { own.loss },
                    ..own
                },
            );
        }
    }
    ways
}

/// A partition of one way, both ways, or of a person from everybody.
fn partition(rng: &mut SeededRng, people: usize, heals_us: u64) -> Vec<Partition> {
    let from_us = rng.draw_between(1_000_000, heals_us);
    let longest_us = if rng.one_in(4) { 12_000_000 } else { 3_000_000 };
    let to_us = (from_us + rng.draw_between(100_000, longest_us)).min(heals_us);
    let cut = |from, to| Partition {
        from,
        to,
        from_us,
        to_us,
    };
    let one = End::Person(rng.draw_below(people as u64) as usize);
    let other = End::Person(rng.draw_below(people as u64) as usize);
    match rng.draw_below(5) {
        0 => vec![cut(one, End::Server), cut(End::Server, one)],
        1 => vec![cut(one, other)],
        2 => vec![cut(one, other), cut(other, one)],
        3 => vec![cut(End::Server, one)],
        _ => {
            let ends = (0..people).map(End::Person).chain([End::Server]);
            ends.flat_map(|end| [cut(one, end), cut(end, one)])
                .collect()
        }
    }
}

fn fault(rng: &mut SeededRng, people: usize) -> Fault {
    let person = rng.draw_below(people as u64) as usize;
    match rng.draw_below(24) {
        0..=5 => Fault::Reload {
            person,
            farewell: !rng.one_in(4),
            away_us: rng.draw_between(100_000, 3_000_000),
        },
        6..=8 => Fault::Crash {
            person,
            told: rng.one_in(2),
            away_us: (!rng.one_in(4)).then(|| rng.draw_between(500_000, 9_000_000)),
        },
        9 | 10 => Fault::SecondTab { person },
        11..=13 => Fault::Freeze {
            person,
            for_us: rng.draw_between(50_000, 5_000_000),
        },
        14..=16 => Fault::Hide {
            person,
            for_us: rng.draw_between(200_000, 9_000_000),
        },
        17..=19 => Fault::DropSocket { person },
        20 => Fault::DropChannels { person },
        21 if rng.one_in(2) => Fault::Leave { person },
        _ => Fault::Restart {
            away_us: rng.draw_between(50_000, 6_000_000),
        },
    }
}
