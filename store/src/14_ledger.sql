-- What was stored of payments, in its order: each entry has a SHA-256 over itself and the one before. An empty hash is
-- that of a payment which is older than this table.

CREATE TABLE ledger (
    number INTEGER PRIMARY KEY,
    participant TEXT NOT NULL,
    entry TEXT NOT NULL,
    chain TEXT NOT NULL
) STRICT;

INSERT INTO ledger (number, participant, entry, chain)
SELECT row_number() OVER (ORDER BY payments.rowid), participant, 'earlier', ''
FROM payments JOIN sessions ON sessions.id = payments.session;
