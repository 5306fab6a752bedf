//! Restores the state of the server from the data folder after a restart.

use std::collections::{BTreeSet, HashMap, HashSet};

use anyhow::Context as _;
use archive::{Episode, restore_episode};
use protocol::control::EndReason;
use protocol::{Era, Seat, Tick};
use server_core::arbiter::{
    Attendance, GroupRow, Identity, MessageRow, PlaceRow, Restored, RestoredSession,
};
use server_core::token::token_hash;
use study::{Outcome, Progress};
use tokio::runtime::Handle;

use super::{Persistence, place};
use crate::Session;
use crate::data_folder::DataDir;
use crate::participant_links::LinkKey;
use crate::servers;
use crate::study_version::{self, OnStudyChange};

impl Persistence {
    /// Reads the stored state. Episodes that were running are opened again, and their logs are returned;
    /// one whose file cannot be read ends as technical, with its file left for `coplay verify`, and one whose file has
    /// its end already is not written on.
    ///
    /// # Errors
    /// The database failed.
    pub async fn restore(
        &self,
        data: &DataDir,
        changed: OnStudyChange,
    ) -> anyhow::Result<(Restored, HashMap<Era, Episode>)> {
        let mut restored = Restored {
            next_era: self.store.next_era().await?.0,
            seed: self.store.seed().await?,
            recruitment: self.store.read_recruitment().await?,
            places: self.store.places().await?,
            ..Restored::default()
        };
        restored.links = self
            .store
            .list_links()
            .await?
            .into_iter()
            .map(|link| link.token_hash)
            .collect();
        let sessions = self.store.sessions().await?;
        self.check_study(&sessions)?;
        let stale = study_version::list_stale(&self.study, data, &sessions, changed)?;
        self.sessions(&mut restored, sessions, &stale).await?;
        self.store.interrupt_waits().await?;
        for group in self.store.list_groups().await? {
            restored.groups.extend(self.restored_group(group)?);
        }
        let messages = self.store.messages().await?.into_iter();
        restored.messages = messages.map(|said| self.restored_message(said)).collect();
        let desk_messages = self.store.desk_messages(None).await?.into_iter();
        restored.desk_messages = desk_messages.map(|message| message.row).collect();
        restored.model_calls = self.store.model_costs().await?;
        let logs = self.episodes(&mut restored, data).await?;
        // Others that take over later know then which versions of the study continue each other.
        servers::share_new_files(data).await?;
        Ok((restored, logs))
    }

    /// Resumes sessions; those of another version of the study end as technical.
    async fn sessions(
        &self,
        restored: &mut Restored,
        sessions: Vec<Session>,
        stale: &BTreeSet<String>,
    ) -> anyhow::Result<()> {
        let payments = self.store.list_payments().await?.into_iter();
        let mut payments: HashMap<String, study::Payment> = payments
            .map(|payment| (payment.participant, payment.what))
            .collect();
        let known = self.store.list_identifiers().await?.into_iter();
        let mut identities: HashMap<String, Identity> = known
            .map(|known| (known.pseudonym, known.identity))
            .collect();
        for session in sessions {
            let mut progress: Progress = serde_json::from_str(&session.position)
                .with_context(|| format!("the place of {} is damaged", session.participant))?;
            let is_open = session.outcome.is_none();
            let cut = match stale.contains(&session.participant) {
                true => Some(Outcome::Technical),
                // `coplay erase` knows no study, and so leaves the end to this.
                false => (session.erased_at.is_some() && is_open).then_some(Outcome::Withdrew),
            };
            if let Some(outcome) = cut {
                // An end is never refused.
                let _ = progress.handle(&self.study, study::ProgressEvent::Cut(outcome));
                let attendance = attendance(&session);
                let payment = progress.outcome(&self.study).map(|outcome| {
                    let seed = self.study.design.seed.or(restored.seed).unwrap_or_default();
                    let time_ms = attendance.spent_us / 1_000;
                    let number = session.number as u64;
                    study::Payment::of(&self.study, &progress, outcome, time_ms, seed, number)
                });
                let place = place(&progress, attendance, payment.clone().map(Box::new));
                self.save_place(&session.participant, &place, None).await?;
                payments.extend(payment.map(|payment| (session.participant.clone(), payment)));
            }
            let attendance = attendance(&session);
            let is_erased = session.erased_at.is_some();
            let (participant, token_hash, link_hash) =
                (session.participant, session.token_hash, session.link_hash);
            restored.sessions.push(RestoredSession {
                number: session.number,
                payment: payments.remove(&participant),
                identity: identities.remove(&participant),
                participant,
                token_hash,
                link_hash,
                progress,
                attendance,
                is_erased,
            });
        }
        Ok(())
    }

    /// Opens the episodes that were running; returns the logs of those that continue.
    async fn episodes(
        &self,
        restored: &mut Restored,
        data: &DataDir,
    ) -> anyhow::Result<HashMap<Era, Episode>> {
        let mut logs = HashMap::new();
        for row in self.store.running_episodes().await? {
            let path = data.path().join(&row.path);
            let (files, runtime) = (data.episode_files(), Handle::current());
            let read = tokio::task::spawn_blocking(move || files.recover(&path, &runtime)).await?;
            let found = read.map_err(anyhow::Error::from).and_then(|mut file| {
                let draw = serde_json::from_str(&row.draw).context("the draw is damaged")?;
                let episode = restore_episode(&self.study, row.era, row.visits, draw, &mut file)?;
                let file = episode.end.is_none().then_some(file);
                Ok((episode, file))
            });
            match found {
                Ok((episode, file)) => {
                    restored.episodes.push(episode);
                    logs.extend(file.map(|file| (row.era, file)));
                }
                Err(error) => {
                    tracing::error!(%error, episode = row.id, "a running episode cannot be taken up again");
                    self.store
                        .end_episode(&row.id, EndReason::Technical, None, None)
                        .await?;
                }
            }
        }
        Ok(logs)
    }

    /// A place only means something in its own study: another study needs another data folder.
    fn check_study(&self, sessions: &[Session]) -> anyhow::Result<()> {
        let own = &self.study;
        if let Some(other) = sessions.iter().find(|session| session.study != own.id) {
            anyhow::bail!(
                "the data folder holds sessions of the study `{}`, and this one is `{}`; name another folder with --data",
                other.study,
                own.id
            );
        }
        Ok(())
    }

    /// Issues participant links until `wanted` of them are not finished; returns their tokens.
    ///
    /// # Errors
    /// The secret of the data folder or the database failed.
    pub async fn restore_links(
        &self,
        data: &DataDir,
        restored: &mut Restored,
        wanted: usize,
    ) -> anyhow::Result<Vec<String>> {
        let key = LinkKey::open(data.path()).context("the secret of the participant links")?;
        let is_finished =
            |session: &&RestoredSession| session.progress.outcome(&self.study).is_some();
        let finished: HashSet<String> = restored
            .sessions
            .iter()
            .filter(is_finished)
            .filter_map(|session| session.link_hash.clone())
            .collect();
        let mut issued: HashSet<String> = restored.links.iter().cloned().collect();
        let mut open = Vec::new();
        for number in 0.. {
            let token = key.token(number);
            let hash = token_hash(&token);
            let is_new = issued.insert(hash.clone());
            if open.len() >= wanted && is_new {
                break;
            }
            if is_new {
                self.store.issue_link(&token).await?;
                restored.links.push(hash);
                open.push(token);
            } else if !finished.contains(&hash) {
                open.push(token);
            }
        }
        Ok(open)
    }

    /// A group as the arbiter has it; `None` if no lobby of this study made it, as for a person who plays alone.
    fn restored_group(&self, group: crate::Group) -> anyhow::Result<Option<GroupRow>> {
        let timeline = &self.study.timeline;
        let stage = timeline.iter().position(|stage| stage.id == group.stage);
        let stage = stage.and_then(|stage| u16::try_from(stage).ok());
        let Some(stage) = stage.filter(|stage| self.study.lobby(*stage).is_some()) else {
            return Ok(None);
        };
        let draw = serde_json::from_str(&group.draw);
        let draw = draw.with_context(|| format!("the draw of {} is damaged", group.id))?;
        let empty = PlaceRow {
            participant: String::new(),
            gone: None,
        };
        let mut places = vec![empty; usize::from(group.size)];
        for member in group.members {
            if let Some(place) = places.get_mut(usize::from(member.place)) {
                (place.participant, place.gone) = (member.participant, member.gone);
            }
        }
        Ok(Some(GroupRow {
            id: group.id,
            stage,
            draw,
            places,
            has_ai: group.has_ai,
            chat: group.chat,
            wait: group.wait,
        }))
    }

    /// A message as the arbiter has it, which needs its stage no longer.
    fn restored_message(&self, said: crate::StoredChatMessage) -> MessageRow {
        let message = said.message;
        let mut stages = (0..).zip(&self.study.timeline);
        let stage = stages.find(|(_, stage)| stage.id == message.stage);
        MessageRow {
            group: message.group,
            number: message.number,
            participant: message.participant,
            place: Seat(message.place),
            stage: stage.map_or(0, |(index, _)| index),
            visit: message.visit,
            group_visit: message.group_visit,
            turn: message.turn,
            episode: message.episode,
            tick: message.tick.map(Tick),
            sent_us: message.sent_us,
            at_us: message.at_us,
            text: message.text,
            partner: message.partner,
        }
    }
}

fn attendance(session: &Session) -> Attendance {
    Attendance {
        spent_us: session.spent_us,
        seen_us: session.seen_us,
        acted_us: session.acted_us,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use protocol::log::Header;
    use study::StageKind;

    use super::*;
    use crate::NewEpisode;
    use archive::fixtures::{PERSON, header, pages, play_episode};
    use protocol::Seat;

    #[tokio::test]
    async fn only_an_episode_that_goes_on_has_a_keeper_after_a_restart() {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/overcooked-dyad");
        let (study, _) = catalog::read_study(&dir).unwrap();
        let stage = study.timeline.iter();
        let stage = stage.map(|stage| (&stage.id, &stage.kind));
        let stage = stage.filter(|(_, kind)| matches!(kind, StageKind::Env(_)));
        let stage = stage.map(|(id, _)| id.clone()).next().unwrap();
        let home = tempfile::tempdir().unwrap();
        let data = DataDir::open(home.path()).unwrap();
        let memory = Persistence::open(&data, Arc::new(study)).await.unwrap();
        for (era, id) in [(3, "e-1"), (4, "e-2")] {
            let header = Header {
                episode: id.into(),
                stage: stage.clone(),
                ..header([PERSON, PERSON], 12)
            };
            let mut file = Episode::create(&data.episodes(), header.clone()).unwrap();
            let new = NewEpisode {
                id: id.into(),
                era: Era(era),
                group: header.group.clone(),
                stage: stage.clone(),
                path: format!("episodes/{id}.coplay"),
                participants: Vec::new(),
                visits: Vec::new(),
                draw: "{}".into(),
                bindings: "{}".into(),
            };
            memory.store.create_episode(&new).await.unwrap();
            // A crash came after the end was in the file, and before it was in the database.
            if id == "e-1" {
                for (seat, page) in (0..).map(Seat).zip(&mut pages(&header)) {
                    let upload = page.upload_part(&play_episode(&header), 0, 12);
                    file.append_upload(seat, &upload).unwrap();
                }
                file.end(EndReason::Played).unwrap();
            }
        }
        let (restored, logs) = memory.restore(&data, OnStudyChange::Refuse).await.unwrap();
        let ends = restored.episodes.iter();
        let ends: Vec<_> = ends
            .map(|episode| episode.end.as_ref().map(|end| end.ending.reason))
            .collect();
        assert_eq!(ends, [Some(EndReason::Played), None]);
        let eras: Vec<Era> = logs.keys().copied().collect();
        assert_eq!(eras, [Era(4)]);
        memory.close().await;
    }
}
