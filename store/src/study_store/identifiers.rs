//! Recruiters' identifiers, encrypted: nothing else in the data folder holds them, and no export has them unless it is
//! asked for.

use server_core::arbiter::Identity;

use super::StudyStore;
use super::ledger::append_identifier;
use super::rows::plain_identifier;
use crate::database::value::Row;
use crate::database::{Transaction, query};
use crate::identifier_key::{IdentifierKey, KeyPlace, SealedIdentifier};
use crate::{Identifier, KeyError, StoreError};

/// The first version of the database that has them encrypted.
pub(super) const FIRST: usize = 17;

impl StudyStore {
    /// Makes sure that identifiers can be stored: finds the key of the data folder, and makes one if it has none yet.
    ///
    /// # Errors
    /// [`StoreError::Key`], also if the key is missing; the database.
    pub async fn ensure_key(&self) -> Result<(), StoreError> {
        if let Some(key) = self.key.get() {
            return self.refuse_trial(key);
        }
        let mut transaction = self.pool.begin_write().await?;
        self.find_or_make_key(&mut transaction).await?;
        transaction.commit().await
    }

    /// The key of the data folder; a new one is noted in the database.
    async fn find_or_make_key(
        &self,
        transaction: &mut Transaction,
    ) -> Result<IdentifierKey, StoreError> {
        if let Some(key) = self.find_key(transaction).await? {
            self.refuse_trial(&key)?;
            return Ok(key);
        }
        let made = IdentifierKey::make_key(&self.place, &self.data)?;
        query("INSERT INTO identifier_key (id) VALUES (?)")
            .bind(made.id())
            .execute(&mut **transaction)
            .await?;
        Ok(made)
    }

    /// Refuses to protect anybody by the key that everybody knows.
    fn refuse_trial(&self, key: &IdentifierKey) -> Result<(), StoreError> {
        match key.is_trial() && self.place != KeyPlace::Trial {
            true => Err(KeyError::Trial(self.data.clone()).into()),
            false => Ok(()),
        }
    }

    /// Finds the key of the data folder; `None` if it has none yet.
    async fn find_key(
        &self,
        transaction: &mut Transaction,
    ) -> Result<Option<IdentifierKey>, StoreError> {
        if let Some(key) = self.key.get() {
            return Ok(Some(key.clone()));
        }
        let row = query("SELECT id FROM identifier_key LIMIT 1")
            .fetch_optional(&mut **transaction)
            .await?;
        let Some(row) = row else { return Ok(None) };
        let id: String = row.try_get("id")?;
        let key = IdentifierKey::find(&id, &self.place, &self.data)?;
        Ok(Some(self.key.get_or_init(|| key).clone()))
    }

    /// The name of the key of this data folder; `None` if it has none.
    pub async fn key_id(&self) -> Result<Option<String>, StoreError> {
        // A folder that is only read may be older than the table.
        if self.version().await? < FIRST {
            return Ok(None);
        }
        let row = query("SELECT id FROM identifier_key LIMIT 1")
            .fetch_optional(&self.pool)
            .await?;
        Ok(row.map(|row| row.try_get("id")).transpose()?)
    }

    /// Stores a recruiter's identifier, in place of an earlier one. Stores none for a person who is erased, or who
    /// withdrew and has no payment due.
    pub async fn set_identity(
        &self,
        participant: &str,
        identity: &Identity,
    ) -> Result<(), StoreError> {
        self.ensure_key().await?;
        let mut transaction = self.pool.begin_write().await?;
        self.keep_identity(&mut transaction, participant, identity)
            .await?;
        transaction.commit().await
    }

    /// The recruiters' identifiers, oldest session first.
    ///
    /// # Errors
    /// [`StoreError::Key`] if there are some and their key is missing; the database.
    pub async fn list_identifiers(&self) -> Result<Vec<Identifier>, StoreError> {
        let sql = "SELECT identifiers.*, sessions.participant AS pseudonym FROM identifiers \
                   JOIN sessions ON sessions.id = session ORDER BY sessions.rowid";
        let rows = query(sql).fetch_all(&self.pool).await?;
        // A folder that is only read may be older than their encryption.
        if self.version().await? < FIRST {
            let plain = rows.iter().map(plain_identifier);
            return Ok(plain.collect::<Result<_, _>>()?);
        }
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let mut transaction = self.pool.begin_read().await?;
        let key = self.find_key(&mut transaction).await?;
        transaction.rollback().await?;
        let key = key.ok_or(KeyError::Damaged)?;
        let open = |row: &Row| {
            let session: String = row.try_get("session")?;
            let sealed: Vec<u8> = row.try_get("sealed")?;
            let pseudonym = row.try_get("pseudonym")?;
            let identity = key.unseal_identity(&session, &sealed)?;
            Ok(Identifier {
                session,
                pseudonym,
                identity,
            })
        };
        rows.iter().map(open).collect()
    }

    /// Encrypts the identifier of a participant's session and stores it, in place of an earlier one; see
    /// [`Self::set_identity`].
    pub(super) async fn keep_identity(
        &self,
        transaction: &mut Transaction,
        participant: &str,
        identity: &Identity,
    ) -> Result<(), StoreError> {
        let sql = "SELECT id FROM sessions WHERE participant = ? AND erased_at IS NULL \
                   AND (id NOT IN (SELECT session FROM withdrawals) \
                   OR id IN (SELECT session FROM payments WHERE state = 'due'))";
        let row = query(sql)
            .bind(participant)
            .fetch_optional(&mut **transaction)
            .await?;
        let Some(row) = row else { return Ok(()) };
        let session: String = row.try_get("id")?;
        let key = self.find_or_make_key(transaction).await?;
        store_sealed(
            transaction,
            &session,
            &key.seal_identity(&session, identity)?,
        )
        .await?;
        append_identifier(transaction, participant).await
    }

    /// Encrypts the identifiers of a database that is older than [`FIRST`], and drops the plain ones.
    pub(super) async fn seal_plain_rows(
        &self,
        transaction: &mut Transaction,
    ) -> Result<(), StoreError> {
        let sql = "SELECT plain_identifiers.*, sessions.participant AS pseudonym FROM plain_identifiers \
                   JOIN sessions ON sessions.id = session ORDER BY sessions.rowid";
        for row in query(sql).fetch_all(&mut **transaction).await? {
            let plain = plain_identifier(&row)?;
            self.keep_identity(transaction, &plain.pseudonym, &plain.identity)
                .await?;
        }
        query("DROP TABLE plain_identifiers")
            .execute(&mut **transaction)
            .await?;
        Ok(())
    }
}

async fn store_sealed(
    transaction: &mut Transaction,
    session: &str,
    stored: &SealedIdentifier,
) -> Result<(), StoreError> {
    let sql = "INSERT INTO identifiers (session, lookup, sealed) VALUES (?, ?, ?) ON CONFLICT (session) DO UPDATE SET \
               lookup = excluded.lookup, sealed = excluded.sealed";
    query(sql)
        .bind(session)
        .bind(&stored.lookup)
        .bind(&stored.sealed)
        .execute(&mut **transaction)
        .await?;
    Ok(())
}
