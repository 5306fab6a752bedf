//! Episodes, whose steps are in separate files.

use archive::Fingerprint;
use protocol::control::EndReason;
use protocol::log::Ending;

use super::StudyStore;
use super::ledger_logs::append_log;
use super::rows::episode;
use crate::Episode;
use crate::NewEpisode;
use crate::StoreError;
use crate::database::query;
use crate::known_logs::LogEntry;
use crate::reason_name;

/// Episodes with the draws for their group, and the visits and people of their seats as JSON.
const EPISODES: &str = "SELECT episodes.*, draw, (SELECT study FROM members JOIN sessions USING (participant) \
                        WHERE members.group_id = groups.id ORDER BY seat LIMIT 1) AS study, (SELECT study_version FROM members \
                        JOIN sessions USING (participant) WHERE members.group_id = groups.id ORDER BY seat LIMIT 1) AS study_version, (SELECT json_group_object(seat, visit) FROM players \
                        WHERE players.episode = episodes.id) AS visits, (SELECT json_group_object(seat, participant) FROM players \
                        WHERE players.episode = episodes.id) AS participants FROM episodes JOIN groups ON groups.id = group_id";

impl StudyStore {
    /// Makes a running episode, its group and the group's members; an existing group stays as it is.
    pub async fn create_episode(&self, new: &NewEpisode) -> Result<(), StoreError> {
        let mut transaction = self.pool.begin_write().await?;
        let people = || {
            let seats = (0_u8..).zip(&new.participants);
            seats.filter(|(_, participant)| !participant.is_empty())
        };
        // Everything of a group that a lobby made is there already.
        let sql =
            "INSERT INTO groups (id, stage, draw, size) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING";
        let made = query(sql)
            .bind(&new.group)
            .bind(&new.stage)
            .bind(&new.draw)
            .bind(people().count() as u8)
            .execute(&mut *transaction)
            .await?;
        if made.rows_affected() > 0 {
            for (place, (_, participant)) in (0_u8..).zip(people()) {
                let sql = "INSERT INTO members (group_id, seat, participant) VALUES (?, ?, ?)";
                query(sql)
                    .bind(&new.group)
                    .bind(place)
                    .bind(participant)
                    .execute(&mut *transaction)
                    .await?;
            }
        }
        let sql = "INSERT INTO episodes (id, era, group_id, stage, path, bindings) VALUES (?, ?, ?, ?, ?, ?)";
        query(sql)
            .bind(&new.id)
            .bind(new.era.0)
            .bind(&new.group)
            .bind(&new.stage)
            .bind(&new.path)
            .bind(&new.bindings)
            .execute(&mut *transaction)
            .await?;
        for (seat, participant) in people() {
            let Some(visit) = new.visits.get(usize::from(seat)) else {
                continue;
            };
            let sql = "INSERT INTO players (episode, seat, participant, visit) VALUES (?, ?, ?, ?)";
            query(sql)
                .bind(&new.id)
                .bind(seat)
                .bind(participant)
                .bind(visit)
                .execute(&mut *transaction)
                .await?;
        }
        transaction.commit().await
    }

    /// Ends an episode, and enters its log into the ledger, if that has its end; the first end stands.
    pub async fn end_episode(
        &self,
        id: &str,
        reason: EndReason,
        ending: Option<Ending>,
        log: Option<Fingerprint>,
    ) -> Result<(), StoreError> {
        let mut transaction = self.pool.begin_write().await?;
        let row = query("SELECT state FROM episodes WHERE id = ?")
            .bind(id)
            .fetch_optional(&mut *transaction)
            .await?;
        let state: String = row
            .ok_or(StoreError::Unknown("episode"))?
            .try_get("state")?;
        // A second end changes nothing, and is no error.
        let sql = "UPDATE episodes SET state = 'ended', \
                   ended_at = coalesce(ended_at, strftime('%Y-%m-%dT%H:%M:%fZ', 'now')), \
                   reason = iif(state = 'ended', reason, ?), ticks = iif(state = 'ended', ticks, ?), \
                   score = iif(state = 'ended', score, ?), digest = iif(state = 'ended', digest, ?) WHERE id = ?";
        query(sql)
            .bind(reason_name(reason))
            .bind(ending.map(|ending| ending.ticks.0))
            .bind(ending.map(|ending| ending.score))
            .bind(ending.map(|ending| ending.digest.cast_signed()))
            .bind(id)
            .execute(&mut *transaction)
            .await?;
        if let Some(log) = log.filter(|_| state == "running") {
            append_log(&mut transaction, id, &LogEntry::Log(log)).await?;
        }
        transaction.commit().await
    }

    /// All episodes, oldest first.
    pub async fn episodes(&self) -> Result<Vec<Episode>, StoreError> {
        let sql = format!("{EPISODES} ORDER BY episodes.rowid");
        let rows = query(sqlx::AssertSqlSafe(sql))
            .fetch_all(&self.pool)
            .await?;
        Ok(rows.iter().map(episode).collect::<Result<_, _>>()?)
    }

    /// Episodes without an end, oldest first.
    pub async fn running_episodes(&self) -> Result<Vec<Episode>, StoreError> {
        let sql = format!("{EPISODES} WHERE state = 'running' ORDER BY episodes.rowid");
        let rows = query(sqlx::AssertSqlSafe(sql))
            .fetch_all(&self.pool)
            .await?;
        Ok(rows.iter().map(episode).collect::<Result<_, _>>()?)
    }

    /// Lists the ended episodes of a stage that the person of a session played at their last visit to it, oldest first,
    /// each with their seat; empty if there is no such session.
    pub async fn list_last_episodes(
        &self,
        token_hash: &str,
        stage: &str,
    ) -> Result<Vec<(String, u8)>, StoreError> {
        let sql = "SELECT players.episode, players.seat FROM sessions JOIN players USING (participant) \
                   JOIN episodes ON episodes.id = players.episode \
                   WHERE token_hash = ?1 AND episodes.stage = ?2 AND episodes.state = 'ended' AND players.visit = \
                   (SELECT max(visit) FROM players AS other JOIN episodes AS played ON played.id = other.episode \
                   WHERE other.participant = players.participant AND played.stage = ?2 AND played.state = 'ended') \
                   ORDER BY episodes.rowid";
        let rows = query(sql)
            .bind(token_hash)
            .bind(stage)
            .fetch_all(&self.pool)
            .await?;
        let all = rows
            .iter()
            .map(|row| Ok((row.try_get(0)?, row.try_get(1)?)));
        Ok(all.collect::<Result<_, sqlx::Error>>()?)
    }
}
