-- From this version on, the ledger also has the length and the SHA-256 of the log of each episode at its end, and that a log
-- was erased. Such an entry names the episode where others name a participant, and begins with 'log'. Programs of earlier
-- versions would take it for a payment.

CREATE INDEX IF NOT EXISTS ledger_participants ON ledger (participant);
