-- How long people have been there, what they are paid, who they are to the provider, and what names stood for in an
-- episode. Amounts are in the smallest unit of their currency. A session is paid once: it has one row.

ALTER TABLE sessions ADD COLUMN spent_us INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN seen_us INTEGER NOT NULL DEFAULT 0;
ALTER TABLE episodes ADD COLUMN bindings TEXT NOT NULL DEFAULT '{}';

CREATE TABLE payments (
    session TEXT PRIMARY KEY REFERENCES sessions (id),
    outcome TEXT NOT NULL,
    deed TEXT NOT NULL,
    code TEXT,
    receipt TEXT NOT NULL,
    currency TEXT,
    time_ms INTEGER NOT NULL,
    base INTEGER NOT NULL,
    bonus INTEGER NOT NULL,
    time INTEGER NOT NULL,
    total INTEGER NOT NULL,
    extra INTEGER NOT NULL,
    note TEXT,
    state TEXT NOT NULL CHECK (state IN ('due', 'paid', 'skipped')),
    at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    paid_at TEXT
) STRICT;

-- The studies in canonical form, by their hash.
CREATE TABLE studies (
    hash TEXT PRIMARY KEY,
    canonical TEXT NOT NULL,
    at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
) STRICT;

-- Whom a provider calls how. Nothing else holds this, and no export has it.
CREATE TABLE identifiers (
    session TEXT PRIMARY KEY REFERENCES sessions (id),
    provider TEXT NOT NULL,
    participant TEXT NOT NULL UNIQUE,
    parameters TEXT NOT NULL
) STRICT;
