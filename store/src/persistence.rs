//! Stores the arbiter's changes in the database, and restores its state after a restart.

mod import;
mod restore;

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use archive::Fingerprint;
use protocol::control::Answer;
use serde::Serialize;
use server_core::arbiter::{
    Attendance, EpisodeRow, GroupRow, MessageRow, PlaceRow, WaitRow, Write,
};
use study::recruitment::Provider;
use study::{OnWithdraw, Outcome, Study};

use crate::Answers;
use crate::Intervention;
use crate::NewEpisode;
use crate::NewSession;
use crate::StoreError;
use crate::StoredPosition;
use crate::StudyStore;
use crate::data_folder::DataDir;
use crate::erasure::{erase_withdrawn_episodes, remove_files, withdraw_files};

/// The database, and the study whose sessions it keeps.
pub struct Persistence {
    store: StudyStore,
    data: PathBuf,
    study: Arc<Study>,
}

impl Persistence {
    /// Opens the database of a data folder.
    ///
    /// # Errors
    /// The database cannot be opened.
    pub async fn open(data: &DataDir, study: Arc<Study>) -> anyhow::Result<Self> {
        let store = StudyStore::open_for_server(data)
            .await
            .context("the database cannot be opened")?;
        Self::with_store(store, data, study).await
    }

    /// Opens the database of a rehearsal on a virtual clock, as [`StudyStore::open_rehearsed`] does, at a time of it,
    /// microseconds since the Unix epoch.
    ///
    /// # Errors
    /// The database cannot be opened.
    pub async fn open_rehearsed(
        data: &DataDir,
        study: Arc<Study>,
        now_us: u64,
    ) -> anyhow::Result<Self> {
        let store = StudyStore::open_rehearsed(data.path())
            .await
            .context("the database cannot be opened")?;
        store.tell_time(now_us).await?;
        Self::with_store(store, data, study).await
    }

    /// Opens the database of a data folder into which something is imported: rows have the times at which they were made
    /// elsewhere.
    ///
    /// # Errors
    /// The database cannot be opened.
    pub async fn open_for_import(data: &DataDir, study: Arc<Study>) -> anyhow::Result<Self> {
        let store = StudyStore::open_told(data.path())
            .await
            .context("the database cannot be opened")?;
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let now_us = now.unwrap_or_default().as_micros();
        store
            .tell_time(u64::try_from(now_us).unwrap_or(u64::MAX))
            .await?;
        Self::with_store(store, data, study).await
    }

    async fn with_store(
        store: StudyStore,
        data: &DataDir,
        study: Arc<Study>,
    ) -> anyhow::Result<Self> {
        store.keep_study(&study.hash, &study.canonical).await?;
        if study.recruitment.provider != Provider::None {
            // Better now than when the first person comes.
            store.ensure_key().await?;
        }
        let data = data.path().to_owned();
        let persistence = Self { store, data, study };
        // A crash may have come between a withdrawal and this.
        persistence.erase_withdrawn(false).await?;
        Ok(persistence)
    }

    /// Makes a change of a rehearsal durable at a time of its clock, microseconds since the Unix epoch.
    ///
    /// # Errors
    /// [`StoreError`]; nothing is then stored.
    pub async fn write_at(&self, now_us: u64, write: Write) -> Result<(), StoreError> {
        self.store.tell_time(now_us).await?;
        self.write(write).await
    }

    /// Closes the database.
    pub async fn close(self) {
        self.store.close().await;
    }

    /// Makes a change durable.
    ///
    /// # Errors
    /// [`StoreError`]; nothing is then stored.
    pub async fn write(&self, write: Write) -> Result<(), StoreError> {
        match write {
            Write::NewSession {
                number,
                participant,
                token,
                link,
                identity,
                progress,
                attendance,
                payment,
            } => {
                let study = &self.study;
                let new = NewSession {
                    number,
                    participant,
                    token,
                    link,
                    study: study.id.clone(),
                    study_version: study.version.clone(),
                    study_hash: study.hash.clone(),
                    identity,
                    place: place(&progress, attendance, payment),
                };
                self.store.create_session(&new).await
            }
            Write::Identity {
                participant,
                identity,
            } => self.store.set_identity(&participant, &identity).await,
            Write::Withdrawal {
                participant,
                receipt,
            } => {
                let group = self.study.keeping.on_withdraw == Some(OnWithdraw::EraseGroup);
                self.store
                    .record_withdrawal(&participant, &receipt, group)
                    .await?;
                self.erase_withdrawn(true).await
            }
            Write::Forget { participant } => self.store.forget_session(&participant).await,
            Write::Erase { participant } => self.erase(&participant).await,
            Write::Token { participant, token } => self.store.set_token(&participant, &token).await,
            Write::Reopen {
                participant,
                progress,
                attendance,
            } => {
                let place = place(&progress, attendance, None);
                self.store.reopen_session(&participant, &place).await
            }
            Write::Place {
                participant,
                progress,
                answers,
                attendance,
                payment,
            } => {
                let place = place(&progress, attendance, payment);
                let payment = place.payment.as_ref();
                let leaves = payment
                    .is_some_and(|it| matches!(it.outcome, Outcome::Withdrew | Outcome::LeftEarly));
                self.save_place(&participant, &place, answers).await?;
                match leaves {
                    // What they typed and did not send is gone from their place, and not yet from the log.
                    true => self.store.empty_log().await,
                    false => Ok(()),
                }
            }
            Write::Attendance {
                participant,
                attendance,
            } => self.store.save_attendance(&participant, attendance).await,
            Write::Episode(row) => self.store.create_episode(&self.episode(row)).await,
            Write::Wait(row) => self.store.save_wait(&self.wait(row)).await,
            Write::Message(row) => self.store.save_message(&self.message(row)).await,
            Write::ModelCall(row) => {
                let stage = self.stage_id(row.stage);
                self.store.save_model_call(&stage, &row).await
            }
            Write::Group(row) => self.store.save_group(&self.group(row)).await,
            Write::EpisodeEnded {
                episode,
                reason,
                ending,
            } => {
                let log = match ending {
                    Some(_) => self.read_fingerprint(&episode).await,
                    None => None,
                };
                self.store
                    .end_episode(&episode, reason, ending, log)
                    .await?;
                self.erase_withdrawn(true).await
            }
            Write::Recruitment(state) => self.store.set_recruitment(state).await,
            Write::Places(places) => self.store.set_places(&places).await,
            Write::Intervention {
                by,
                order,
                participant,
                detail,
            } => {
                let intervention = Intervention {
                    at: String::new(),
                    by,
                    order: order.to_owned(),
                    participant,
                    detail,
                };
                self.store.append_intervention(&intervention).await
            }
            Write::Correction {
                participant,
                payment,
            } => {
                // The driver asks for the result by `correct_payment`.
                self.correct_payment(&participant, &payment).await?;
                Ok(())
            }
            Write::DeskMessage(row) => {
                let stage = self.stage_id(row.stage);
                self.store.save_desk_message(&stage, &row).await
            }
            Write::ForgetDeskMessages { participant } => {
                self.store.forget_desk_messages(&participant).await
            }
            Write::DeskMessagesRead {
                participant,
                own,
                before,
                at_us,
            } => {
                let store = &self.store;
                (store.mark_desk_messages_read(&participant, own, before, at_us)).await
            }
            Write::CheckAnswer {
                participant,
                number,
                answer,
                at_us,
            } => {
                let store = &self.store;
                (store.save_check_answer(&participant, number, &answer, at_us)).await
            }
            Write::NextEra(era) => self.store.set_next_era(era).await,
            Write::Seed(seed) => self.store.set_seed(seed).await,
        }
    }

    /// The fingerprint of the log of an ended episode. Without one, the episode ends all the same, and the ledger lacks its
    /// log.
    async fn read_fingerprint(&self, episode: &str) -> Option<Fingerprint> {
        let path = archive::path(&self.data.join(archive::FOLDER), episode).ok()?;
        let work = move || std::fs::read(path).map(|bytes| Fingerprint::of(&bytes));
        let found = match tokio::task::spawn_blocking(work).await {
            Ok(Ok(Some(found))) => return Some(found),
            Ok(Ok(None)) => "it has no end".to_owned(),
            Ok(Err(error)) => error.to_string(),
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        };
        tracing::warn!(
            episode,
            found,
            "the log of an episode is not entered into the ledger"
        );
        None
    }

    /// Erases the recorded data of a participant. Files go first: after a crash, the database still knows what must be
    /// erased.
    async fn erase(&self, participant: &str) -> Result<(), StoreError> {
        let episodes = self.store.last_of(participant).await?;
        match remove_files(&self.data, &episodes).await {
            true => self.store.erase(participant, &episodes).await,
            false => Ok(()),
        }
    }

    /// Corrects a payment. Returns the stored payment if it is marked as paid, because it then does not change.
    ///
    /// # Errors
    /// [`StoreError`]; nothing is then stored.
    pub async fn correct_payment(
        &self,
        participant: &str,
        payment: &study::Payment,
    ) -> Result<Option<study::Payment>, StoreError> {
        if self.store.correct_payment(participant, payment).await? {
            return Ok(None);
        }
        let mut stored = self.store.list_payments().await?.into_iter();
        let stored = stored.find(|stored| stored.participant == participant);
        Ok(stored.map(|stored| stored.what))
    }

    /// Erases withdrawn data from files to which threads of episodes wrote before.
    ///
    /// # Errors
    /// [`StoreError`]; the next time tries again.
    pub async fn retry_withdrawals(&self) -> Result<(), StoreError> {
        self.erase_withdrawn(true).await
    }

    /// True if the database's log still has erased data, because another program read the database.
    pub fn has_erased_log(&self) -> bool {
        self.store.has_erased_log()
    }

    /// Empties the database's log, if it still has erased data and nobody reads the database any more.
    ///
    /// # Errors
    /// [`StoreError`]; the next time tries again.
    pub async fn empty_erased_log(&self) -> Result<(), StoreError> {
        match self.has_erased_log() {
            true => self.store.empty_log().await,
            false => Ok(()),
        }
    }

    /// Erases withdrawn data from the files of episodes; see [`withdraw_files`] for `waits`.
    async fn erase_withdrawn(&self, waits: bool) -> Result<(), StoreError> {
        erase_withdrawn_episodes(&self.store, &self.data).await?;
        // What cannot be done now is logged, and done by a later withdrawal, end of an episode, end of its repetition, or start.
        withdraw_files(&self.store, &self.data, waits).await?;
        Ok(())
    }

    async fn save_place(
        &self,
        participant: &str,
        place: &StoredPosition,
        answers: Option<server_core::arbiter::StageAnswers>,
    ) -> Result<(), StoreError> {
        let answers = answers.map(|given| self.answers(given));
        self.store
            .save_place(participant, place, answers.as_ref())
            .await
    }

    fn episode(&self, row: EpisodeRow) -> NewEpisode {
        let names = row.bindings.into_iter();
        let names = names.map(|(name, level)| (name, level.value));
        let bindings = names.collect::<serde_json::Map<_, _>>();
        NewEpisode {
            path: format!("episodes/{}.{}", row.episode, archive::EXTENSION),
            id: row.episode,
            era: row.era,
            group: row.group,
            stage: self.stage_id(row.stage),
            participants: row.participants,
            visits: row.visits,
            draw: json(&row.draw),
            bindings: json(&bindings),
        }
    }

    fn wait(&self, row: WaitRow) -> crate::Wait {
        let (at_us, why, group) = match row.end {
            Some(end) => (Some(end.at_us), Some(end.why), end.group),
            None => (None, None, None),
        };
        crate::Wait {
            participant: row.participant,
            stage: self.stage_id(row.stage),
            visit: row.visit,
            joined_us: row.since_us,
            left_us: at_us,
            why: why.map(|why| crate::waited_for(why).to_owned()),
            group,
            rtt_us: row.rtt_us,
            loss_permille: row.loss_permille,
        }
    }

    fn group(&self, row: GroupRow) -> crate::Group {
        let member = |(place, row): (u8, PlaceRow)| crate::Member {
            place,
            participant: row.participant,
            gone: row.gone,
        };
        crate::Group {
            id: row.id,
            stage: self.stage_id(row.stage),
            draw: json(&row.draw),
            size: row.places.len() as u8,
            has_ai: row.has_ai,
            chat: row.chat,
            wait: row.wait,
            members: (0..)
                .zip(row.places)
                .filter(|(_, row)| !row.participant.is_empty())
                .map(member)
                .collect(),
        }
    }

    fn message(&self, row: MessageRow) -> crate::Message {
        crate::Message {
            group: row.group,
            number: row.number,
            participant: row.participant,
            place: row.place.0,
            stage: self.stage_id(row.stage),
            visit: row.visit,
            group_visit: row.group_visit,
            turn: row.turn,
            episode: row.episode,
            tick: row.tick.map(|tick| tick.0),
            sent_us: row.sent_us,
            at_us: row.at_us,
            text: row.text,
            partner: row.partner,
        }
    }

    /// Returns answers as they are stored, with their marks; an unanswered item of attention is stored without a value.
    fn answers(&self, given: server_core::arbiter::StageAnswers) -> Answers {
        let stage = &self.study.timeline[usize::from(given.stage)];
        let marks = stage.kind.mark_answers(&given.answers);
        let mut answers = given.answers;
        for mark in &marks {
            if !answers.iter().any(|answer| answer.name == mark.item) {
                let (name, value) = (mark.item.clone(), "null".to_owned());
                answers.push(Answer { name, value });
            }
        }
        Answers {
            stage: stage.id.clone(),
            stage_index: given.stage,
            visit: given.visit,
            answers,
            marks,
            shown: given.shown,
            pages_ms: given.pages_ms,
        }
    }

    fn stage_id(&self, index: u16) -> String {
        self.study.timeline[usize::from(index)].id.clone()
    }
}

/// Returns the position of a session, as it is stored.
fn place(
    progress: &study::Progress,
    attendance: Attendance,
    payment: Option<Box<study::Payment>>,
) -> StoredPosition {
    StoredPosition {
        position: json(progress),
        spent_us: attendance.spent_us,
        seen_us: attendance.seen_us,
        acted_us: attendance.acted_us,
        payment: payment.map(|payment| *payment),
    }
}

/// Returns a position in the study, or a draw, as it is stored.
fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("places and draws are plain data")
}

#[cfg(test)]
mod tests;
