-- Participants who withdrew what was recorded of them: `own` for their own part of what they played with others,
-- `group` for all of it.

CREATE TABLE withdrawals (
    session TEXT PRIMARY KEY REFERENCES sessions (id),
    receipt TEXT NOT NULL UNIQUE,
    scope TEXT NOT NULL CHECK (scope IN ('own', 'group')),
    at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
) STRICT;
