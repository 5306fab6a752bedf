//! A replay: an episode simulated again, with everything that is shown of it.

use std::collections::{BTreeMap, BTreeSet};

use archive::{ReplayError, Replica, not_repeatable, open_past_episode, replay_from};
use env_core::draw::DrawList;
use env_core::shared::count_own_actions;
use env_core::{Action, World};
use protocol::control::EndReason;
use protocol::log::{Header, Log};
use protocol::{Controller, EnvWay, Seat};
use serde::Serialize;

use crate::advice::{Advice, Adviser, open_advisers, shorten_name};
use crate::notes::{SeatNotes, list_notes};
use crate::pictures::{PictureStream, PictureTable, encode_differences};
use crate::screens::{Confirmed, SeatFrames, rebuild_screens};

/// The choices of a request for a replay.
#[derive(Clone, Debug, Default)]
pub struct ReplayOptions {
    /// The heading; without one it is the title of the environment.
    pub name: Option<String>,
    /// The seats of people who withdrew their data: their frames, keys and notes are left out.
    pub left_out: BTreeSet<Seat>,
    /// The chat beside the episode, in its order; empty to leave it out.
    pub chat: Vec<ReplayChatMessage>,
    /// Policies whose choices are computed, beside the AI partners of the episode.
    pub advisers: Vec<Adviser>,
}

/// A chat message, without its writer's name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReplayChatMessage {
    /// The tick that the writer's page showed.
    pub tick: Option<u32>,
    /// The writer's seat.
    pub seat: Option<u8>,
    /// The text.
    pub text: String,
}

/// An episode as it is shown again. Its JSON is what the page reads.
#[derive(Debug, Serialize)]
pub struct Replay {
    name: String,
    facts: EpisodeFacts,
    actions: Vec<String>,
    noop: Action,
    event_kinds: Vec<String>,
    /// SVG documents by their index; those that are never shown are empty.
    sprites: Vec<String>,
    table: PictureTable,
    /// The confirmed picture of the whole world after 0, 1, 2, … ticks: its number less that of the one before.
    whole: Vec<i64>,
    /// Confirmed actions, `[tick, seat]`, row-major.
    rows: Vec<Action>,
    /// The score of the group, and of each seat, from a number of ticks on.
    scores: Vec<(u32, i64, Vec<i64>)>,
    /// The step of a tick, the seat, and what it earned there.
    rewards: Vec<(u32, usize, f32)>,
    events: Vec<ReplayEvent>,
    seats: Vec<SeatReplay>,
    chat: Vec<ReplayChatMessage>,
    advice: Vec<Advice>,
}

/// The facts above a replay. None of them is of a person, and none says when it was.
#[derive(Debug, Serialize)]
struct EpisodeFacts {
    study: String,
    study_version: String,
    stage: String,
    env: String,
    env_version: String,
    module: String,
    params: String,
    /// Hexadecimal.
    seed: String,
    is_hosted: bool,
    /// True if the world does not repeat itself, so that it is shown as pages were shown it.
    is_recorded: bool,
    is_turns: bool,
    tick_hz: u16,
    input_delay: u8,
    ticks: u32,
    /// The reason why it ended; `None` if the log ends before the episode does.
    ended: Option<&'static str>,
    score: i64,
}

/// An event of the environment: step, kind, seat, the seat to which it happened, amount.
#[derive(Debug, Serialize)]
struct ReplayEvent(u32, u16, u8, Option<u8>, f32);

/// A seat of a replay.
#[derive(Debug, Serialize)]
struct SeatReplay {
    /// Its controllers, each from a tick on.
    controllers: Vec<(u32, String)>,
    /// True if its person withdrew their data.
    is_withdrawn: bool,
    /// The confirmed pictures of the seat, as in [`Replay::whole`]; `None` if they are those of the whole world.
    pictures: Option<Vec<i64>>,
    frames: SeatFrames,
    #[serde(flatten)]
    notes: SeatNotes,
}

impl Replay {
    /// Computes the replay of an episode; `stored` reads modules and models by their SHA-256.
    ///
    /// # Errors
    /// [`ReplayError`] if the log cannot be simulated here, or comes out differently.
    pub fn compute_replay(
        log: &Log,
        stored: impl Fn(&str) -> std::io::Result<Vec<u8>> + Send + Clone + 'static,
        options: ReplayOptions,
    ) -> Result<Self, ReplayError> {
        let (mut replica, sprites) = open_past_episode(log, stored.clone())?;
        let advice = match replica.knows_observations() {
            true => open_advisers(log, &options.advisers, replica.spec(), &stored)?,
            false if options.advisers.is_empty() => Vec::new(),
            false => {
                let reason = "it does not repeat itself, and the log does not have every observation, so no policy can be asked";
                return Err(not_repeatable(&log.header, reason).into());
            }
        };
        let mut course = Course::new(log.count_seats(), advice);
        course.draw(replica.world());
        course.add_score(0, replica.score(), seat_scores(replica.world()));
        let replica = replay_from(replica, log, |row, replica| {
            course.rows.extend_from_slice(row);
            course.add_step(replica);
        })?;
        let frames = match log.header.way {
            EnvWay::Module => rebuild_screens(
                log,
                &replica,
                &course.confirmed,
                &mut course.table,
                &options.left_out,
                stored,
            )?,
            EnvWay::Host => Vec::new(),
        };
        let spec = replica.spec();
        let shown: BTreeSet<u16> = course.table.sprites().collect();
        let sprites = (0..)
            .zip(sprites)
            .map(|(index, sprite)| match shown.contains(&index) {
                true => sprite.svg,
                false => String::new(),
            });
        let seats = list_seats(
            log,
            &course,
            frames,
            list_notes(log, spec, &options.left_out),
            (&options, count_own_actions(spec)),
        );
        Ok(Self {
            name: options.name.unwrap_or_else(|| spec.title.clone()),
            facts: facts(log, replica.score(), replica.is_record()),
            actions: spec.actions.iter().map(|it| it.name.clone()).collect(),
            noop: spec.noop,
            event_kinds: spec.events.clone(),
            sprites: sprites.collect(),
            whole: encode_differences(&course.whole),
            table: course.table,
            rows: course.rows,
            scores: course.scores,
            rewards: course.rewards,
            events: course.events,
            seats,
            chat: options.chat,
            advice: course.advice,
        })
    }

    /// Ticks played.
    pub fn ticks(&self) -> u32 {
        self.facts.ticks
    }

    /// True if its log has an end.
    pub fn is_ended(&self) -> bool {
        self.facts.ended.is_some()
    }

    /// The heading.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// The name of a person in the list of controllers.
const PERSON: &str = "person";

/// Everything that is noted while an episode is simulated.
struct Course {
    table: PictureTable,
    list: DrawList,
    whole_stream: PictureStream,
    streams: Vec<PictureStream>,
    whole: Confirmed,
    confirmed: Vec<Confirmed>,
    /// The actions that the seats took, `[tick, seat]`.
    rows: Vec<u16>,
    scores: Vec<(u32, i64, Vec<i64>)>,
    rewards: Vec<(u32, usize, f32)>,
    events: Vec<ReplayEvent>,
    advice: Vec<Advice>,
    observation: Vec<f32>,
}

impl Course {
    fn new(seats: usize, advice: Vec<Advice>) -> Self {
        let mut streams = Vec::new();
        streams.resize_with(seats, PictureStream::default);
        Self {
            table: PictureTable::default(),
            list: DrawList::default(),
            whole_stream: PictureStream::default(),
            streams,
            whole: Vec::new(),
            confirmed: vec![Vec::new(); seats],
            rows: Vec::new(),
            scores: Vec::new(),
            rewards: Vec::new(),
            events: Vec::new(),
            advice,
            observation: Vec::new(),
        }
    }

    /// Draws the state as a whole and for each seat, and asks for advice.
    fn draw(&mut self, world: &mut dyn World) {
        for advice in &mut self.advice {
            advice.ask_policy(world, &mut self.observation);
        }
        world.draw(None, &mut self.list);
        let whole = self.table.add_picture(&mut self.whole_stream, &self.list);
        self.whole.push(whole);
        for (seat, stream) in self.streams.iter_mut().enumerate() {
            world.draw(Some(seat), &mut self.list);
            let picture = match self.whole_stream.is_shown(&self.list) {
                true => whole,
                false => self.table.add_picture(stream, &self.list),
            };
            self.confirmed[seat].push(picture);
        }
    }

    fn add_score(&mut self, ticks: u32, score: i64, seats: Vec<i64>) {
        let last = self.scores.last();
        if last.is_none_or(|(_, old, old_seats)| (*old, old_seats) != (score, &seats)) {
            self.scores.push((ticks, score, seats));
        }
    }

    fn add_step(&mut self, replica: &mut Replica) {
        let ticks = replica.ticks().0;
        let (step, outcome) = (ticks - 1, replica.outcome());
        let events = outcome.events.iter();
        let events = events.map(|it| ReplayEvent(step, it.kind, it.seat, it.to, it.value));
        self.events.extend(events);
        let earned = outcome.rewards.iter().enumerate();
        let earned = earned.filter(|(_, amount)| **amount != 0.0);
        self.rewards
            .extend(earned.map(|(seat, amount)| (step, seat, *amount)));
        let score = replica.score();
        let seats = seat_scores(replica.world());
        self.add_score(ticks, score, seats);
        self.draw(replica.world());
    }
}

/// The scores of the seats; empty if each is the group's.
fn seat_scores(world: &mut dyn World) -> Vec<i64> {
    let seats = usize::from(world.spec().seats);
    let (score, scores) = (world.score(), (0..seats).map(|seat| world.seat_score(seat)));
    let scores: Vec<i64> = scores.collect();
    match scores.iter().any(|own| *own != score) {
        true => scores,
        false => Vec::new(),
    }
}

fn facts(log: &Log, score: i64, is_recorded: bool) -> EpisodeFacts {
    let Header {
        study,
        study_version,
        stage,
        env,
        env_version,
        module,
        params,
        seed,
        tick_hz,
        input_delay,
        rules,
        way,
        ..
    } = log.header.clone();
    EpisodeFacts {
        study,
        study_version,
        stage,
        env,
        env_version,
        module,
        params,
        seed: format!("{seed:016x}"),
        is_hosted: way == EnvWay::Host,
        is_recorded,
        is_turns: rules.turns,
        tick_hz,
        input_delay,
        ticks: log.through.0,
        ended: log.ending.map(|ending| match ending.reason {
            EndReason::Played => "played",
            EndReason::PartnerLeft => "partner left",
            EndReason::Technical => "technical",
        }),
        score,
    }
}

fn list_seats(
    log: &Log,
    course: &Course,
    frames: Vec<SeatFrames>,
    notes: Vec<SeatNotes>,
    (options, own): (&ReplayOptions, usize),
) -> Vec<SeatReplay> {
    let frames = frames
        .into_iter()
        .chain(std::iter::repeat_with(SeatFrames::default));
    let seats = (0..).map(Seat).zip(notes).zip(frames);
    seats
        .map(|((seat, notes), frames)| {
            let confirmed = &course.confirmed[seat.index()];
            SeatReplay {
                controllers: controllers(log, seat, own),
                is_withdrawn: options.left_out.contains(&seat),
                pictures: (*confirmed != course.whole).then(|| encode_differences(confirmed)),
                frames,
                notes,
            }
        })
        .collect()
}

/// Lists the controllers of a seat, each from a tick on, including the AI partners with which a person shares the seat,
/// whose marks are the actions from `own` on. A model is named by its file and the start of its hash.
fn controllers(log: &Log, seat: Seat, own: usize) -> Vec<(u32, String)> {
    let name = |controller: &Controller| match controller {
        Controller::Human => PERSON.to_owned(),
        Controller::Vacant => "nobody".to_owned(),
        Controller::Ai { policy } => shorten_name(policy),
    };
    // If there are several changes at one tick, the last one counts.
    let mut known = BTreeMap::new();
    known.insert(0, name(&log.header.controllers[seat.index()]));
    let changes = log.changes().filter(|change| change.seat == seat);
    known.extend(changes.map(|change| (change.tick.0, name(&change.controller))));
    let Some(shared) = &log.header.shared else {
        return known.into_iter().collect();
    };
    let inputs = log.rows();
    let inputs = inputs.iter().skip(seat.index()).step_by(log.count_seats());
    let mut found: Vec<(u32, String)> = Vec::new();
    for (tick, input) in (0..).zip(inputs) {
        let controller = known.range(..=tick).next_back();
        let controller = controller.map_or("", |(_, name)| name.as_str());
        let mark = usize::from(*input).checked_sub(own);
        let partner = mark.and_then(|mark| shared.policies.get(mark));
        let who = match partner.filter(|_| controller == PERSON) {
            Some(policy) => format!("{} for the person", shorten_name(policy)),
            None => controller.to_owned(),
        };
        if found.last().is_none_or(|(_, last)| *last != who) {
            found.push((tick, who));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use archive::fixtures::{PERSON, header, no_modules, play_episode, two_pages};
    use protocol::Tick;
    use protocol::control::Upload;
    use protocol::log::{LogWriter, Record, read_log};
    use serde_json::Value;

    use super::*;
    use crate::write_page;

    /// An episode of two people who are far from each other.
    fn log() -> Log {
        let header = Header {
            input_delay: 0,
            ..header([PERSON, PERSON], 120)
        };
        let pages = two_pages(&header);
        let (mut writer, mut bytes) = LogWriter::begin(&header).unwrap();
        let own = |page: &Upload| page.block.as_ref().unwrap().inputs.clone();
        let inputs: Vec<Vec<u16>> = pages.iter().map(|page| own(&page.upload)).collect();
        let ticks = pages[0].upload.ended.unwrap().0 as usize;
        let rows = (0..ticks).flat_map(|tick| inputs.iter().map(move |own| own[tick]));
        let (first, rows) = (Tick(0), rows.collect());
        let mut records = vec![Record::Actions { first, rows }];
        for (seat, page) in (0..).map(Seat).zip(pages) {
            let (life, timing) = (protocol::Life(0), page.upload.timing.unwrap());
            records.push(Record::Timing { seat, life, timing });
        }
        for record in &records {
            writer.append(record, &mut bytes).unwrap();
        }
        read_log(&bytes).unwrap()
    }

    fn compute(options: ReplayOptions) -> (Replay, Value) {
        let replay = Replay::compute_replay(&log(), no_modules, options).unwrap();
        let json = serde_json::to_value(&replay).unwrap();
        (replay, json)
    }

    #[test]
    fn every_tick_has_its_picture_and_frames_differ_where_pages_guessed_wrong() {
        let (replay, json) = compute(ReplayOptions::default());
        assert_eq!(replay.ticks(), 120);
        assert_eq!(json["whole"].as_array().unwrap().len(), 121);
        assert_eq!(json["rows"].as_array().unwrap().len(), 240);
        for seat in json["seats"].as_array().unwrap() {
            let frames = seat["frames"]["picture"].as_array().unwrap();
            let wrong = frames.iter().filter(|picture| **picture != 0).count();
            assert!(
                (10..frames.len()).contains(&wrong),
                "{wrong} of {}",
                frames.len()
            );
            assert_eq!(seat["frames"]["fault"], Value::Null);
        }
    }

    #[test]
    fn no_page_names_a_participant_and_a_withdrawn_seat_shows_no_frames() {
        let (replay, json) = compute(ReplayOptions {
            left_out: BTreeSet::from([Seat(1)]),
            ..ReplayOptions::default()
        });
        let (text, page) = (json.to_string(), write_page(&[replay]));
        for named in ["P-A", "P-B", "G-1", "e-1", "1700000000"] {
            assert!(!text.contains(named) && !page.contains(named), "{named}");
        }
        assert_ne!(json["seats"][0]["frames"]["at_ms"], serde_json::json!([]));
        assert_eq!(json["seats"][1]["frames"]["at_ms"], serde_json::json!([]));
        assert_eq!(json["seats"][1]["is_withdrawn"], true);
    }

    #[test]
    fn the_chat_is_there_only_if_it_is_given() {
        let text = "see you at the pot".to_owned();
        let (tick, seat) = (Some(7), Some(1));
        let chat = vec![ReplayChatMessage { tick, seat, text }];
        let (_, with) = compute(ReplayOptions {
            chat,
            ..ReplayOptions::default()
        });
        assert_eq!(with["chat"][0]["text"], "see you at the pot");
        assert_eq!(
            compute(ReplayOptions::default()).1["chat"],
            serde_json::json!([])
        );
    }

    #[test]
    fn a_script_is_asked_at_every_tick_and_an_unknown_one_is_refused() {
        let ask = |name: &str| ReplayOptions {
            advisers: vec![Adviser {
                name: name.into(),
                model: None,
            }],
            ..ReplayOptions::default()
        };
        let (_, json) = compute(ask("cook"));
        let actions = json["actions"].as_array().unwrap().len();
        let answers = json["advice"][0]["seats"][1].as_array().unwrap();
        assert_eq!(answers.len(), 121 * actions);
        for shares in answers.chunks(actions) {
            let sure = shares.iter().filter(|share| **share == 100).count();
            assert_eq!(sure, 1, "{shares:?}");
        }
        let refused = Replay::compute_replay(&log(), no_modules, ask("chef")).unwrap_err();
        assert!(refused.to_string().contains("no policy `chef`"));
    }

    #[test]
    fn a_replay_of_actions_that_were_never_played_is_refused() {
        let mut log = log();
        log.records.push(Record::Digest {
            tick: Tick(3),
            seat: None,
            digest: 1,
        });
        let found = Replay::compute_replay(&log, no_modules, ReplayOptions::default());
        assert!(found.unwrap_err().to_string().starts_with("tick 3: digest"));
        assert_ne!(play_episode(&log.header).rows, log.rows());
    }
}
