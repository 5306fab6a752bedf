//! Facts of a participant for formulas: answers, and episodes that are over.

use std::collections::BTreeMap;

use protocol::control::EndReason;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::formula::{Type, Types};
use crate::screening::Measured;

/// Facts of a participant for formulas.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ParticipantFacts {
    /// The last answers, by stage and item.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub answers: BTreeMap<String, BTreeMap<String, Value>>,
    /// The episodes of each env stage, in their order.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub episodes: BTreeMap<String, Vec<Episode>>,
    /// The place in the last group, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seat: Option<u8>,
    /// The measurements of device and connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub screening: Option<Box<Measured>>,
}

/// The kind of partners in the other seats of an episode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartnerKind {
    /// Nobody.
    #[default]
    None,
    /// People.
    Human,
    /// AI partners.
    Ai,
    /// Both, or one after the other.
    Mixed,
}

impl PartnerKind {
    /// With people, with AI partners, with both or with none.
    pub fn of(human: bool, ai: bool) -> Self {
        match (human, ai) {
            (false, false) => Self::None,
            (true, false) => Self::Human,
            (false, true) => Self::Ai,
            (true, true) => Self::Mixed,
        }
    }

    /// Returns its name in formulas and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Human => "human",
            Self::Ai => "ai",
            Self::Mixed => "mixed",
        }
    }
}

/// An episode that is over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Episode {
    /// The reason why it ended.
    pub reason: EndReason,
    /// The score of the group.
    pub score: i64,
    /// Ticks that were played.
    pub ticks: u32,
    /// The kind of partners in the other seats.
    #[serde(default)]
    pub partners: PartnerKind,
    /// Scores and rewards of the seats; empty in data from before this was kept.
    #[serde(default, skip_serializing_if = "SeatTotals::is_empty")]
    pub seats: SeatTotals,
    /// The participant's seat.
    #[serde(default)]
    pub seat: u8,
    /// True if it succeeded by the stage's own criterion; `None` if the stage has no criterion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub success: Option<bool>,
}

/// Scores and rewards of an episode, in order of the seats.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SeatTotals {
    /// The scores at the end.
    pub scores: Vec<i64>,
    /// The sums of the rewards.
    pub rewards: Vec<f64>,
}

impl SeatTotals {
    fn is_empty(&self) -> bool {
        self.scores.is_empty() && self.rewards.is_empty()
    }
}

impl Episode {
    /// One that never began, or of which nothing is known.
    pub fn unplayed_facts(reason: EndReason) -> Self {
        Self {
            reason,
            score: 0,
            ticks: 0,
            partners: PartnerKind::None,
            seats: SeatTotals::default(),
            seat: 0,
            success: None,
        }
    }

    /// The types of what formulas can ask of it; [`Self::value`] has the values.
    pub(crate) fn types() -> Types {
        let list = || Type::list(Type::Number);
        [
            ("score", Type::Number),
            ("own_score", Type::Number),
            ("scores", list()),
            ("own_reward", Type::Number),
            ("rewards", list()),
            ("ticks", Type::Number),
            ("success", Type::Bool),
            ("reason", Type::Text),
            ("partners", Type::Text),
        ]
        .map(|(name, of)| (name.to_owned(), of))
        .into()
    }

    /// Returns its facts for formulas. If seats have no separate scores, the seat's score is the group's.
    pub(crate) fn value(&self) -> formula::Value {
        let reason = match self.reason {
            EndReason::Played => "played",
            EndReason::PartnerLeft => "partner_left",
            EndReason::Technical => "technical",
        };
        // Scores are far below 2^53, above which a number would not be whole.
        #[allow(clippy::cast_precision_loss, reason = "see above")]
        let number = |score: i64| formula::Value::from(score as f64);
        let own = usize::from(self.seat);
        let SeatTotals { scores, rewards } = &self.seats;
        let own_score = scores.get(own).copied().unwrap_or(self.score);
        let own_reward = rewards.get(own).copied().unwrap_or_default();
        let scores: Vec<_> = scores.iter().copied().map(number).collect();
        [
            ("score", number(self.score)),
            ("own_score", number(own_score)),
            ("scores", scores.into()),
            ("own_reward", own_reward.into()),
            ("rewards", rewards.clone().into()),
            ("ticks", f64::from(self.ticks).into()),
            ("success", self.is_success().into()),
            ("reason", reason.into()),
            ("partners", self.partners.name().into()),
        ]
        .into()
    }

    /// Returns whether nothing of it was played.
    pub fn is_unplayed(&self) -> bool {
        self.reason != EndReason::Played && self.ticks == 0
    }

    /// Returns whether it was played to its end and succeeded: by the stage's criterion, or else with a score above 0.
    pub fn is_success(&self) -> bool {
        self.reason == EndReason::Played && self.success.unwrap_or(self.score > 0)
    }
}
