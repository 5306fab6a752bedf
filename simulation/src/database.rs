//! The server's database: the durable half of the arbiter, from which it begins again after a restart.

use archive::Episode;
use protocol::control::Answer;
use server_core::arbiter::{
    Attendance, EpisodeRow, GroupRow, MessageRow, ModelCallCost, ModelCallRow, Restored,
    RestoredSession, Write,
};
use server_core::desk::RecruitmentState;
use server_core::token::token_hash;
use study::{Outcome, Payment, Progress, Study};

use crate::fault_injection::FaultInjection;

/// A session.
#[derive(Clone, Debug)]
struct Row {
    number: usize,
    participant: String,
    token_hash: String,
    link_hash: Option<String>,
    progress: Progress,
    attendance: Attendance,
    payment: Option<Payment>,
}

/// The tables.
#[derive(Clone, Debug, Default)]
pub struct Database {
    sessions: Vec<Row>,
    groups: Vec<GroupRow>,
    messages: Vec<MessageRow>,
    model_calls: Vec<ModelCallRow>,
    /// The answers that were given, by participant and visit.
    answers: Vec<(String, u16, Vec<Answer>)>,
    /// Drafts are lost, although the arbiter hears that they are stored.
    loses_drafts: bool,
    /// Payments are stored as nothing, although the arbiter hears that they are stored.
    loses_pay: bool,
    /// Episodes, and whether they are running.
    episodes: Vec<(EpisodeRow, bool)>,
    next_era: u16,
    seed: Option<u64>,
    recruitment: RecruitmentState,
    places: Vec<u32>,
}

impl Database {
    /// Empty tables, which lose on purpose what is injected.
    pub fn new(injected: FaultInjection) -> Self {
        Self {
            loses_drafts: injected.lose_drafts,
            loses_pay: injected.lose_pay,
            ..Self::default()
        }
    }

    /// The answers, by participant and visit, in order of arrival.
    pub fn answers(&self) -> &[(String, u16, Vec<Answer>)] {
        &self.answers
    }

    /// The messages that people wrote to their groups.
    pub fn messages(&self) -> &[MessageRow] {
        &self.messages
    }

    /// The participant to whom a token leads back.
    pub fn find_participant(&self, token: &str) -> Option<&str> {
        let hash = token_hash(token);
        let mut sessions = self.sessions.iter();
        let row = sessions.find(|row| row.token_hash == hash)?;
        Some(&row.participant)
    }

    /// Judges the pay of everybody except the participant whose page is dishonest: the study pays for every outcome
    /// except that of people who leave on purpose, and that of a failed page.
    ///
    /// # Errors
    /// Somebody who did not leave gets nothing; or somebody's page counts as failed, although `may_fail` says that only
    /// a lie can be the reason.
    pub fn judge_pay(&self, liar: Option<&str>, may_fail: bool) -> Result<(), String> {
        let honest = (self.sessions.iter()).filter(|row| liar != Some(row.participant.as_str()));
        for (row, payment) in honest.filter_map(|row| Some((row, row.payment.as_ref()?))) {
            let is_due = match payment.outcome {
                Outcome::LeftEarly => false,
                Outcome::PageFailed => !may_fail,
                _ => true,
            };
            if is_due && payment.total == 0 {
                let outcome = payment.outcome;
                return Err(format!(
                    "blame: {} goes without pay, as {outcome}",
                    row.participant
                ));
            }
        }
        Ok(())
    }

    /// Carries a write out.
    ///
    /// # Errors
    /// It names a missing row, or makes an existing one.
    pub fn write(&mut self, write: Write) -> Result<(), String> {
        match write {
            Write::NewSession {
                number,
                participant,
                token,
                link,
                progress,
                attendance,
                payment,
                ..
            } => {
                if self.session(&participant).is_ok() {
                    return Err(format!("a second session of {participant}"));
                }
                self.sessions.push(Row {
                    number,
                    participant,
                    token_hash: token_hash(&token),
                    link_hash: link.as_deref().map(token_hash),
                    progress,
                    attendance,
                    payment: payment.map(|payment| *payment),
                });
            }
            Write::Forget { participant } => {
                self.session(&participant)?;
                (self.sessions).retain(|row| row.participant != participant);
            }
            Write::Token { participant, token } => {
                self.session(&participant)?.token_hash = token_hash(&token);
            }
            Write::Place { progress, .. } if self.loses_drafts && progress.draft().is_some() => {}
            Write::Place {
                participant,
                progress,
                attendance,
                payment,
                answers,
            } => {
                if let Some(given) = answers {
                    let given = (participant.clone(), given.visit, given.answers);
                    self.answers.push(given);
                }
                let loses_pay = self.loses_pay;
                let row = self.session(&participant)?;
                (row.progress, row.attendance) = (progress, attendance);
                row.payment = row.payment.take().or(payment.map(|payment| *payment));
                if let Some(payment) = row.payment.as_mut().filter(|_| loses_pay) {
                    payment.total = 0;
                }
            }
            Write::Reopen {
                participant,
                progress,
                attendance,
            } => {
                let row = self.session(&participant)?;
                (row.progress, row.attendance, row.payment) = (progress, attendance, None);
            }
            Write::Attendance {
                participant,
                attendance,
            } => self.session(&participant)?.attendance = attendance,
            // Nothing is taken up from these.
            Write::Wait(_) => {}
            Write::Group(row) => match self.groups.iter_mut().find(|known| known.id == row.id) {
                Some(known) => *known = row,
                None => self.groups.push(row),
            },
            Write::Message(row) => self.messages.push(row),
            Write::ModelCall(row) => {
                let is_it = |known: &ModelCallRow| {
                    (&known.episode, known.number) == (&row.episode, row.number)
                };
                self.model_calls.retain(|known| !is_it(known));
                self.model_calls.push(*row);
            }
            Write::Episode(row) => self.episodes.push((row, true)),
            Write::EpisodeEnded { episode, .. } => {
                let found = self
                    .episodes
                    .iter_mut()
                    .find(|(row, _)| row.episode == episode);
                found.ok_or_else(|| format!("no episode {episode}"))?.1 = false;
            }
            Write::Identity { .. } | Write::Withdrawal { .. } | Write::Erase { .. } => {}
            Write::Recruitment(state) => self.recruitment = state,
            Write::Places(places) => self.places = places,
            Write::Intervention { .. } => {}
            // Its people write to nobody.
            Write::DeskMessage(_)
            | Write::ForgetDeskMessages { .. }
            | Write::DeskMessagesRead { .. }
            | Write::CheckAnswer { .. } => {}
            Write::Correction {
                participant,
                payment,
            } => self.session(&participant)?.payment = Some(*payment),
            Write::NextEra(era) => self.next_era = era.0,
            Write::Seed(seed) => self.seed = Some(seed),
        }
        Ok(())
    }

    fn session(&mut self, participant: &str) -> Result<&mut Row, String> {
        let found = self
            .sessions
            .iter_mut()
            .find(|row| row.participant == participant);
        found.ok_or_else(|| format!("no session of {participant}"))
    }

    /// The episodes that are running, in the order of their beginning.
    pub fn running(&self) -> Vec<EpisodeRow> {
        let running = self.episodes.iter().filter(|(_, running)| *running);
        running.map(|(row, _)| row.clone()).collect()
    }

    /// The state that the arbiter begins with, given the files of the running episodes.
    ///
    /// # Errors
    /// An episode cannot be taken up again.
    pub fn restore(
        &self,
        study: &Study,
        episodes: &mut [(EpisodeRow, Episode)],
    ) -> Result<Restored, String> {
        let sessions = self.sessions.iter().cloned().map(|row| RestoredSession {
            number: row.number,
            participant: row.participant,
            token_hash: row.token_hash,
            link_hash: row.link_hash,
            progress: row.progress,
            attendance: row.attendance,
            payment: row.payment,
            // Its people come by the open door.
            identity: None,
            // No study of the simulation limits the time for which it is kept.
            is_erased: false,
        });
        let mut restored = Restored {
            next_era: self.next_era,
            seed: self.seed,
            recruitment: self.recruitment,
            places: self.places.clone(),
            sessions: sessions.collect(),
            groups: self.groups.clone(),
            messages: self.messages.clone(),
            model_calls: self.model_calls.iter().map(cost_of).collect(),
            ..Restored::default()
        };
        for (row, file) in episodes {
            let running = archive::restore_episode(
                study,
                row.era,
                row.visits.clone(),
                row.draw.clone(),
                file,
            );
            restored
                .episodes
                .push(running.map_err(|error| format!("{}: {error}", row.episode))?);
        }
        Ok(restored)
    }
}

fn cost_of(row: &ModelCallRow) -> ModelCallCost {
    ModelCallCost {
        is_press: ModelCallCost::is_press(&row.asked_for),
        episode: row.episode.clone(),
        number: row.number,
        participant: row.participant.clone(),
        partner: row.partner.clone(),
        cost_micro: row.cost_micro,
        asked_us: row.asked_us,
    }
}
