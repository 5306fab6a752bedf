//! One participant's route through the timeline: events in, the next visit or a refusal out. The value is serialisable;
//! the server stores it, so a reload continues at the same place. The draws for the participant are part of it, and
//! nothing is ever drawn again.

mod company;
mod entered;
mod event;
mod facts;
mod handle;
mod matching;
mod scope;
mod text_values;
mod view;
mod way_out;

use std::collections::{BTreeMap, BTreeSet};

use protocol::control::{Draft, Lack};
use serde::{Deserialize, Serialize};

use crate::assign::{Assignment, UnitAssignment};
use crate::outcome::Outcome;
use crate::screening::Measured;
use crate::stage::course::Seeding;
use crate::stage::env::Rest;
use crate::stage::{Stage, StageKind};
use crate::study::Study;
use crate::text;
use crate::timeline::route::{Visit, make_route};
use crate::timeline::tree::Bindings;

pub use crate::refusal::EventRefusal;
pub use company::Company;
pub use event::{ProgressEvent, ProgressStep};
pub use facts::{Episode, ParticipantFacts, PartnerKind, SeatTotals};

/// The position of a participant, and the draws for them. The position goes back only for another attempt at a quiz.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Progress {
    assignment: Assignment,
    /// Position in the route.
    at: u16,
    /// Index of the stage there.
    stage: u16,
    /// Visits before this one: not the position, as visits are passed over, and made again.
    visit: u16,
    /// Indices of the stages that were entered.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    entered: BTreeSet<u16>,
    /// Index of the stage at which the way was cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    cut_at: Option<u16>,
    /// The outcome that replaces the end stage's.
    cut: Option<Outcome>,
    /// The outcome that a person who withdrew would have had otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    otherwise: Option<Outcome>,
    /// True if the participant is back at a lobby because the page of a partner failed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    rematched: bool,
    /// Episodes of the current visit that are over, and how many of them succeeded.
    #[serde(skip_serializing_if = "is_none")]
    played: u16,
    #[serde(skip_serializing_if = "is_none")]
    successes: u16,
    /// True if the participant rests between two episodes.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    resting: bool,
    /// Attempts at a quiz that were not right, by its position.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    tries: BTreeMap<u16, u8>,
    /// The draft of the current visit.
    #[serde(skip_serializing_if = "Option::is_none")]
    draft: Option<Box<Draft>>,
    /// The mark of the person who may read the draft.
    #[serde(skip_serializing_if = "Option::is_none")]
    draft_reader: Option<String>,
    /// The visit of a page of another site that was begun last, and the ticket of its way back.
    #[serde(skip_serializing_if = "Option::is_none")]
    ticket: Option<(u16, String)>,
    /// The receipt of a person who withdrew their data.
    #[serde(skip_serializing_if = "Option::is_none")]
    receipt: Option<String>,
    /// The unmet requirements on device and connection at the last attempt.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    lacks: Vec<Lack>,
    /// The measurements of the screening, until they may be recorded: stored nowhere, and made again after a restart.
    #[serde(skip)]
    measured: Option<Box<Measured>>,
    /// The language that was chosen, where the study has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    language: Option<String>,
    facts: ParticipantFacts,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_none(number: &u16) -> bool {
    *number == 0
}

/// The position of a participant among the visits that a group makes together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupVisit {
    /// The seed of the draws for the group.
    pub group: u64,
    /// The number of these visits that lie behind the participant, made or passed over. So it is the number of the next
    /// or current visit, and the same for everybody in the group.
    pub number: u16,
    /// True if the participant is at that visit.
    pub is_here: bool,
}

impl Progress {
    /// Creates the progress at the first visit, with the draws for the participant.
    pub fn new(study: &Study, own: UnitAssignment) -> Self {
        let assignment = Assignment {
            own,
            groups: BTreeMap::new(),
        };
        let mut new = Self {
            assignment,
            ..Self::default()
        };
        new.enter(study, 0);
        new.visit = 0;
        new
    }

    /// The chosen language; `None` if the study has only one.
    pub fn chosen_language(&self) -> Option<&str> {
        self.language.as_deref()
    }

    /// The language in which the participant reads the study.
    pub fn language<'a>(&'a self, study: &'a Study) -> &'a str {
        let chosen = self.language.as_ref();
        let chosen = chosen.filter(|chosen| study.languages.contains(chosen));
        chosen.unwrap_or(&study.language)
    }

    /// The participant asks for a language, or reads some, best first, which counts as long as none is chosen. Whether
    /// another language is chosen now.
    pub fn choose_language(
        &mut self,
        study: &Study,
        asked: Option<&String>,
        reads: &[String],
    ) -> bool {
        let asked = text::best_language(
            &study.languages,
            asked.map(std::slice::from_ref).unwrap_or_default(),
        );
        let has_choice = self.language.is_some() || study.languages.is_empty();
        let first = (!has_choice)
            .then(|| text::best_language(&study.languages, reads).unwrap_or(&study.language));
        let Some(chosen) = asked.or(first) else {
            return false;
        };
        let before = self.language.replace(chosen.to_owned());
        before.as_deref() != Some(chosen)
    }

    /// The random assignment.
    pub fn assignment(&self) -> &Assignment {
        &self.assignment
    }

    /// The facts for formulas.
    pub fn facts(&self) -> &ParticipantFacts {
        &self.facts
    }

    /// The partners in the last episode that was played up to here.
    pub(crate) fn last_partners(&self, study: &Study) -> PartnerKind {
        let route = make_route(study, &self.assignment);
        let mut before = route.iter().take(usize::from(self.at) + 1).rev();
        let last = before.find_map(|visit| {
            let stage = study.timeline.get(usize::from(visit.stage))?;
            self.facts.episodes.get(&stage.id)?.last()
        });
        last.map_or(PartnerKind::None, |episode| episode.partners)
    }

    /// The orders that were drawn for the participant or the last group: names of levels by factor.
    pub(crate) fn orders(&self) -> impl Iterator<Item = (&String, &Vec<String>)> {
        let group = self.assignment.groups.values().next_back();
        let orders = group.into_iter().flat_map(|group| &group.orders);
        self.assignment.own.orders.iter().chain(orders)
    }

    /// Position in the route.
    pub fn position(&self) -> u16 {
        self.at
    }

    /// Visits before the current one. No two visits have the same number, also not two of the same stage.
    pub fn visit(&self) -> u16 {
        self.visit
    }

    /// Returns whether the first stage is passed.
    pub fn has_begun(&self) -> bool {
        self.visit > 0
    }

    /// Which episode of the current visit is played or comes next, from 0, and how many there are at most.
    pub fn episode(&self, study: &Study) -> (u16, u16) {
        match &self.stage(study).kind {
            StageKind::Env(env) => (self.played, env.course.limit()),
            _ => (0, 0),
        }
    }

    /// The number of episodes of the current visit that succeeded.
    pub fn successes(&self) -> u16 {
        self.successes
    }

    /// The rest that the participant takes between two episodes.
    pub fn rest<'a>(&self, study: &'a Study) -> Option<&'a Rest> {
        match &self.stage(study).kind {
            StageKind::Env(env) if self.resting => env.screen.rest.as_ref(),
            _ => None,
        }
    }

    /// Returns the seed of the next episode, if the study names its sources; `seed` is the seed of all draws.
    pub fn seed(&self, study: &Study, seed: u64) -> Option<u64> {
        let StageKind::Env(env) = &self.stage(study).kind else {
            return None;
        };
        let participant = self.assignment.own.seed;
        let group = self.assignment.groups.range(..self.at).next_back();
        env.course.seed(Seeding {
            study: seed,
            participant,
            group: group.map_or(participant, |(_, draw)| draw.seed),
            episode: self.played,
            names: &self.bindings(study),
        })
    }

    /// The draft of the current visit.
    pub fn draft(&self) -> Option<&Draft> {
        self.draft.as_deref()
    }

    /// The draft of the current visit, if it is for a reader with this mark.
    pub fn draft_for(&self, reader: &str) -> Option<&Draft> {
        let is_reader = self
            .draft_reader
            .as_deref()
            .is_none_or(|mark| mark == reader);
        self.draft().filter(|_| is_reader)
    }

    /// Says who may read the draft of the current visit, by a mark; everybody may before that.
    pub fn set_draft_reader(&mut self, reader: &str) {
        self.draft_reader = Some(reader.to_owned());
    }

    /// The mark of the person who may read the draft of the current visit; `None` if there is no draft, or everybody
    /// may read it.
    pub fn draft_reader(&self) -> Option<&str> {
        self.draft_reader
            .as_deref()
            .filter(|_| self.draft.is_some())
    }

    /// The ticket of the way back from a page of another site; also of a finished stage, so that the address keeps
    /// leading back.
    pub fn ticket(&self) -> Option<&str> {
        self.ticket.as_ref().map(|(_, ticket)| ticket.as_str())
    }

    /// Returns whether the current visit wants a ticket and has none.
    pub fn wants_ticket(&self, study: &Study) -> bool {
        let is_external = matches!(self.stage(study).kind, StageKind::External(_));
        is_external
            && self
                .ticket
                .as_ref()
                .is_none_or(|(visit, _)| *visit != self.visit)
    }

    /// Gives the current visit its ticket.
    pub fn set_ticket(&mut self, ticket: String) {
        self.ticket = Some((self.visit, ticket));
    }

    /// The receipt of a person who withdrew their data.
    pub fn receipt(&self) -> Option<&str> {
        self.receipt.as_deref()
    }

    /// The unmet requirements on device and connection at the last attempt.
    pub fn lacks(&self) -> &[Lack] {
        &self.lacks
    }

    /// Goes back to the screening if its measurements were not stored before the server stopped.
    pub fn restored(&mut self, study: &Study) {
        let is_lost = self.measured.is_none() && self.facts.screening.is_none();
        let is_under_way = self.at > 0 && self.outcome(study).is_none();
        if study.screening().is_some() && is_lost && is_under_way {
            self.enter(study, 0);
        }
    }

    /// The outcome that a person who withdrew would have had otherwise; `None` for others.
    pub fn outcome_otherwise(&self) -> Option<Outcome> {
        self.otherwise
    }

    /// Forgets the data of a person who has the receipt. Formulas then know nothing of them, so the payment must be
    /// computed before.
    pub fn withdraw_given(&mut self, receipt: &str) {
        self.receipt = Some(receipt.to_owned());
        self.facts.answers.clear();
        (self.facts.screening, self.measured) = (None, None);
    }

    /// Forgets all measurements, answers and episodes. The draws and the outcome stay.
    pub fn erase(&mut self) {
        (self.facts, self.measured) = (ParticipantFacts::default(), None);
        (self.draft, self.draft_reader, self.ticket) = (None, None, None);
    }

    /// Returns whether the current stage is there again because answers to a quiz were not right.
    pub fn is_again(&self) -> bool {
        self.lacks.is_empty() && self.tries.range(self.at..).next().is_some()
    }

    /// Length of the route, as far as it is drawn.
    pub fn count(&self, study: &Study) -> u16 {
        make_route(study, &self.assignment).len() as u16
    }

    /// Index of the current stage.
    pub fn index(&self) -> u16 {
        self.stage
    }

    /// The current stage. A position beyond the study, kept from another version of it, is its end.
    pub fn stage<'a>(&self, study: &'a Study) -> &'a Stage {
        study
            .timeline
            .get(usize::from(self.stage))
            .unwrap_or(study.last())
    }

    /// The values of names at the current visit.
    pub fn bindings(&self, study: &Study) -> Bindings {
        let route = make_route(study, &self.assignment);
        let visit = route.get(usize::from(self.at));
        visit.map_or_else(Bindings::new, |visit| Bindings::clone(&visit.bindings))
    }

    /// Returns whether a stage is still ahead, or is the current one.
    pub fn leads_to(&self, study: &Study, stage: u16) -> bool {
        let route = make_route(study, &self.assignment);
        let mut ahead = route.iter().skip(usize::from(self.at));
        self.outcome(study).is_none() && ahead.any(|visit| visit.stage == stage)
    }

    /// Returns the participant's position with the group of the last passed lobby; `None` before a lobby, in one, and
    /// after the end.
    pub fn group_visit(&self, study: &Study) -> Option<GroupVisit> {
        let route = make_route(study, &self.assignment);
        let is_lobby = |visit: &Visit<'_>| study.lobby(visit.stage).is_some();
        let here = usize::from(self.at);
        let passed = route.iter().take(here + 1).rposition(is_lobby)?;
        let group = self.assignment.groups.get(&(passed as u16))?;
        if passed == here || self.outcome(study).is_some() {
            return None;
        }
        let made = route[passed..here].iter();
        let made = made.filter(|visit| study.is_together(visit.stage)).count();
        Some(GroupVisit {
            group: group.seed,
            number: made as u16,
            is_here: study.is_together(self.stage),
        })
    }

    /// The outcome, once the participant is in an end stage.
    pub fn outcome(&self, study: &Study) -> Option<Outcome> {
        match &self.stage(study).kind {
            StageKind::End(end) => Some(self.cut.unwrap_or(end.outcome)),
            _ => None,
        }
    }
}
