//! Groups and their people, and the waits before them.

use std::collections::BTreeMap;

use super::StudyStore;
use super::rows::{json, read_wait};
use crate::GONE;
use crate::Group;
use crate::Member;
use crate::StoreError;
use crate::Wait;
use crate::database::query;
use crate::gone_name;

impl StudyStore {
    /// Makes a group, or updates it. Its people stay; people who are gone stay gone.
    pub async fn save_group(&self, group: &Group) -> Result<(), StoreError> {
        let mut transaction = self.pool.begin_write().await?;
        let sql = "INSERT INTO groups (id, stage, draw, size, has_ai, talk, wait) VALUES (?, ?, ?, ?, ?, ?, ?) \
                   ON CONFLICT (id) DO UPDATE SET has_ai = iif(groups.has_ai > excluded.has_ai, groups.has_ai, excluded.has_ai), talk = excluded.talk, \
                   wait = excluded.wait";
        let pair = |(round, at_us): (u16, u64)| format!("[{round},{at_us}]");
        query(sql)
            .bind(&group.id)
            .bind(&group.stage)
            .bind(&group.draw)
            .bind(group.size)
            .bind(group.has_ai)
            .bind(group.chat.map(pair))
            .bind(group.wait.map(pair))
            .execute(&mut *transaction)
            .await?;
        for member in &group.members {
            let sql = "INSERT INTO members (group_id, seat, participant, gone, gone_at) VALUES (?1, ?2, ?3, ?4, \
                       iif(?4 IS NULL, NULL, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))) ON CONFLICT (group_id, seat) DO UPDATE SET \
                       gone = coalesce(members.gone, excluded.gone), gone_at = coalesce(members.gone_at, excluded.gone_at)";
            query(sql)
                .bind(&group.id)
                .bind(member.place)
                .bind(&member.participant)
                .bind(member.gone.map(gone_name))
                .execute(&mut *transaction)
                .await?;
        }
        transaction.commit().await
    }

    /// All groups, oldest first.
    pub async fn list_groups(&self) -> Result<Vec<Group>, StoreError> {
        // A folder that is only read may be older than the columns.
        let added = match self.version().await? {
            0..9 => "NULL AS talk, NULL AS wait",
            9..12 => "talk, NULL AS wait",
            _ => "talk, wait",
        };
        let sql = sqlx::AssertSqlSafe(format!(
            "SELECT id, stage, draw, size, has_ai, {added}, seat, participant, gone FROM groups \
             LEFT JOIN members ON group_id = id ORDER BY groups.rowid, seat"
        ));
        let rows = query(sql).fetch_all(&self.pool).await?;
        let mut groups: Vec<Group> = Vec::new();
        for row in &rows {
            let id: String = row.try_get("id")?;
            if groups.last().is_none_or(|group| group.id != id) {
                let talk: Option<&str> = row.try_get("talk")?;
                let wait: Option<&str> = row.try_get("wait")?;
                groups.push(Group {
                    id,
                    chat: talk.map(json).transpose()?,
                    wait: wait.map(json).transpose()?,
                    stage: row.try_get("stage")?,
                    draw: row.try_get("draw")?,
                    size: row.try_get("size")?,
                    has_ai: row.try_get("has_ai")?,
                    members: Vec::new(),
                });
            }
            let participant: Option<String> = row.try_get("participant")?;
            if let (Some(group), Some(participant)) = (groups.last_mut(), participant) {
                let gone: Option<&str> = row.try_get("gone")?;
                let known = gone.and_then(|name| GONE.iter().find(|(_, known)| *known == name));
                group.members.push(Member {
                    place: row.try_get("seat")?,
                    participant,
                    gone: known.map(|(gone, _)| *gone),
                });
            }
        }
        Ok(groups)
    }

    /// The groups that participants were in, by pseudonym, oldest first.
    pub async fn groups_of_participants(
        &self,
    ) -> Result<BTreeMap<String, Vec<String>>, StoreError> {
        let sql = "SELECT participant, group_id FROM members JOIN groups ON groups.id = group_id ORDER BY groups.rowid";
        let rows = query(sql).fetch_all(&self.pool).await?;
        let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for row in &rows {
            let group = row.try_get(1)?;
            groups.entry(row.try_get(0)?).or_default().push(group);
        }
        Ok(groups)
    }

    /// Begins a wait, or ends the one that began at the same time.
    pub async fn save_wait(&self, wait: &Wait) -> Result<(), StoreError> {
        let sql = "INSERT INTO waits (participant, stage, visit, joined_us, left_us, why, group_id, \
                   rtt_us, loss_permille) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (participant, joined_us) DO UPDATE SET \
                   left_us = excluded.left_us, why = excluded.why, group_id = excluded.group_id, \
                   rtt_us = excluded.rtt_us, loss_permille = excluded.loss_permille";
        query(sql)
            .bind(&wait.participant)
            .bind(&wait.stage)
            .bind(wait.visit)
            .bind(wait.joined_us.cast_signed())
            .bind(wait.left_us.map(u64::cast_signed))
            .bind(&wait.why)
            .bind(&wait.group)
            .bind(wait.rtt_us)
            .bind(wait.loss_permille)
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    /// Ends the waits that a stop of the server has ended, nobody knows when.
    pub async fn interrupt_waits(&self) -> Result<(), StoreError> {
        let sql = "UPDATE waits SET why = 'restart' WHERE why IS NULL";
        query(sql).execute(&self.pool).await?;
        Ok(())
    }

    /// All waits, oldest first.
    pub async fn list_waits(&self) -> Result<Vec<Wait>, StoreError> {
        // A folder that is only read may be older than the columns.
        let sql = match self.version().await? {
            0..11 => {
                "SELECT *, NULL AS rtt_us, NULL AS loss_permille FROM waits ORDER BY joined_us, participant"
            }
            _ => "SELECT * FROM waits ORDER BY joined_us, participant",
        };
        let rows = query(sql).fetch_all(&self.pool).await?;
        Ok(rows.iter().map(read_wait).collect::<Result<_, _>>()?)
    }
}
