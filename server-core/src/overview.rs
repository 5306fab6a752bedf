//! A researcher's view of a running study: plain data, made by [`crate::arbiter::Arbiter::make_overview`].
//!
//! People have their pseudonyms alone. Times are microseconds since the Unix epoch, amounts the smallest unit of the
//! currency.

use serde::Serialize;

use crate::desk::RecruitmentState;

/// A running study at one moment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StudyOverview {
    /// The time of this overview.
    pub at_us: u64,
    /// The study.
    pub study: StudyFacts,
    /// The state of recruitment.
    pub recruitment: RecruitmentState,
    /// Places, and how far they are taken.
    pub places: PlacesOverview,
    /// How many people came to each stage, in the order of the study file.
    pub stages: Vec<StageFunnel>,
    /// Everybody who waits for others, longest first.
    pub waiting: Vec<WaitingPerson>,
    /// Every episode that is not over.
    pub episodes: Vec<RunningEpisode>,
    /// How many sessions ended in which way.
    pub outcomes: Vec<OutcomeCount>,
    /// The payments.
    pub pay: PayOverview,
    /// How many people are in the study now, and how many of them have an open page.
    pub present: PresenceCount,
    /// The exchanges of participants and researchers, the one with the newest message first.
    pub exchanges: Vec<ExchangeOverview>,
    /// Sessions: all that are under way, then the latest that ended, up to a limit each.
    pub sessions: Vec<SessionOverview>,
    /// How many sessions there are in all.
    pub sessions_in_all: usize,
}

/// The study that runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StudyFacts {
    /// Its id.
    pub id: String,
    /// Its version.
    pub version: String,
    /// Its title.
    pub title: String,
    /// SHA-256 of its canonical form.
    pub hash: String,
    /// The outcomes with which a researcher may end a session.
    pub outcomes: Vec<&'static str>,
}

/// Places, and how far they are taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlacesOverview {
    /// `participant` or `group`: the unit of a place.
    pub unit: &'static str,
    /// How many units are wanted in all; `None` without a limit.
    pub wanted: Option<u32>,
    /// The number of them that are neither completed nor under way.
    pub left: Option<u32>,
    /// True if the study names a number for each treatment.
    pub is_per_treatment: bool,
    /// The treatments of the unit.
    pub cells: Vec<TreatmentCell>,
}

/// A treatment, and how far its places are taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TreatmentCell {
    /// Names of its levels, with slashes between; empty without factors.
    pub treatment: String,
    /// The number of its units that are wanted; `None` if it has no separate limit.
    pub wanted: Option<u32>,
    /// Units that completed the study.
    pub completed: u32,
    /// Units that may still do so.
    pub under_way: u32,
}

/// How many people came to a stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StageFunnel {
    /// Its id.
    pub stage: String,
    /// Its type, as in the study file.
    pub kind: &'static str,
    /// The people by treatment.
    pub people: Vec<StagePeople>,
}

/// The people of one treatment at a stage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StagePeople {
    /// The treatment, as far as it was drawn.
    pub treatment: String,
    /// Those who came to the stage.
    pub reached: u32,
    /// Those who are there now.
    pub here: u32,
    /// Those whose way was cut there.
    pub dropped: u32,
}

/// Somebody who waits for others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WaitingPerson {
    /// Pseudonym.
    pub participant: String,
    /// Id of the stage.
    pub stage: String,
    /// `lobby` for a group that is not made yet, `group` for the others of one.
    pub waits_for: &'static str,
    /// Since when.
    pub since_us: u64,
    /// The time at which the wait is up; `None` if nothing follows then.
    pub until_us: Option<u64>,
    /// `here`, `prompted` (asked for a sign of life), `asked` (for a choice), or `away`.
    pub state: &'static str,
    /// How many more people a group needs.
    pub more: u32,
    /// Pseudonyms of the members of the group who are missing.
    pub missing: Vec<String>,
    /// True if the wait can be made longer.
    pub may_wait_longer: bool,
    /// True if the person can continue with an AI partner.
    pub may_continue_alone: bool,
    /// The room of the lobby: the levels that its people share, with slashes between; empty where there is but one.
    pub room: String,
    /// The other rooms of the lobby to which the person can be moved, those with the most people first.
    pub rooms: Vec<RoomChoice>,
}

/// A room of a lobby to which somebody who waits can be moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RoomChoice {
    /// Its name.
    pub room: String,
    /// The people who wait in it.
    pub waiting: u32,
}

/// An episode that is not over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunningEpisode {
    /// Its id.
    pub episode: String,
    /// Id of its group.
    pub group: String,
    /// Id of its stage.
    pub stage: String,
    /// `linking`, `playing` or `ending`.
    pub phase: &'static str,
    /// When tick 0 was due; `None` before that is known.
    pub began_us: Option<u64>,
    /// Ticks that are stored.
    pub ticks: u32,
    /// Ticks a second; 0 for turns.
    pub tick_hz: u16,
    /// The input delay, ticks.
    pub input_delay: u8,
    /// True if the server steps the world.
    pub is_hosted: bool,
    /// Its seats.
    pub seats: Vec<SeatOverview>,
}

/// A seat of an episode.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SeatOverview {
    /// Its number, from 0.
    pub seat: u8,
    /// Pseudonym of its person; `None` for an AI partner.
    pub participant: Option<String>,
    /// Its controller: `person`, `vacant`, or the name of an AI partner.
    pub controller: String,
    /// `plays`, `away`, `hidden`, `returns`, `lost` or `linking`; empty for an AI partner.
    pub page: &'static str,
    /// The longest round trip to another page as its page last reported, microseconds.
    pub rtt_us: Option<u32>,
    /// The most packets that were lost on the way before the start, of a thousand.
    pub loss_permille: Option<u16>,
    /// Rollbacks that its page reported.
    pub rollbacks: u32,
    /// The most ticks that one of them simulated again.
    pub deepest_rollback: u8,
    /// How often its page held at the end of the prediction window.
    pub holds: u32,
    /// For how long in all, milliseconds.
    pub held_ms: u32,
    /// True if it can be given to an AI partner now.
    pub may_be_given: bool,
}

/// How many sessions of a treatment ended in one way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OutcomeCount {
    /// The outcome.
    pub outcome: &'static str,
    /// The treatment.
    pub treatment: String,
    /// How many.
    pub count: u32,
}

/// The payments.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PayOverview {
    /// The currency; `None` if the study pays nothing.
    pub currency: Option<String>,
    /// Digits behind the point of an amount.
    pub decimals: u8,
    /// Sessions with a payment above 0.
    pub sessions: u32,
    /// The sum of all payments so far.
    pub so_far: u64,
    /// The mean payment of those who completed; `None` before the first.
    pub mean_completed: Option<u64>,
    /// The sum if everybody under way completes.
    pub with_under_way: u64,
    /// The sum if all places are taken too; `None` without a limit of places.
    pub when_full: Option<u64>,
}

/// How many people are in the study now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PresenceCount {
    /// Sessions that have not ended, and of which a page is open or a stage is passed.
    pub under_way: u32,
    /// Those with an open page.
    pub connected: u32,
    /// Those who passed a stage, have no open page, and may come back.
    pub absent: u32,
}

/// The messages between a participant and the researchers, without their texts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExchangeOverview {
    /// Pseudonym.
    pub participant: String,
    /// How many messages there are.
    pub messages: u32,
    /// Those of the participant that no researcher has read.
    pub unread: u32,
    /// The arrival of the oldest of them; `None` if there is none.
    pub unread_since_us: Option<u64>,
    /// Those of the researchers that the participant has not read.
    pub unread_by_participant: u32,
    /// The arrival of the newest one.
    pub last_us: u64,
}

/// A session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SessionOverview {
    /// Pseudonym.
    pub participant: String,
    /// The treatment, as far as it was drawn.
    pub treatment: String,
    /// Id of the stage; once the way was cut, the stage at which.
    pub stage: String,
    /// Its outcome; `None` while it continues.
    pub outcome: Option<&'static str>,
    /// True if its page is open.
    pub is_connected: bool,
    /// The time at which its page was last there.
    pub seen_us: u64,
    /// Time that counts as worked, milliseconds.
    pub worked_ms: u64,
    /// Payment in total; `None` while it continues.
    pub total: Option<u64>,
    /// The bonus in it.
    pub bonus: Option<u64>,
}
