-- People, links, visits, groups, episodes and answers.
-- Times are ISO-8601 UTC with milliseconds; tokens are SHA-256, lower-case hex.

CREATE TABLE participants (
    pseudonym TEXT PRIMARY KEY,
    created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
) STRICT;

CREATE TABLE links (
    token_hash TEXT PRIMARY KEY,
    created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
) STRICT;

CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    participant TEXT NOT NULL UNIQUE REFERENCES participants (pseudonym),
    token_hash TEXT NOT NULL UNIQUE,
    link_hash TEXT UNIQUE REFERENCES links (token_hash),
    study TEXT NOT NULL,
    study_version TEXT NOT NULL,
    study_hash TEXT NOT NULL,
    position TEXT NOT NULL,
    outcome TEXT,
    created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    ended_at TEXT
) STRICT;

CREATE TABLE groups (
    id TEXT PRIMARY KEY,
    stage TEXT NOT NULL,
    created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
) STRICT;

CREATE TABLE members (
    group_id TEXT NOT NULL REFERENCES groups (id),
    seat INTEGER NOT NULL,
    participant TEXT NOT NULL REFERENCES participants (pseudonym),
    PRIMARY KEY (group_id, seat)
) STRICT;

CREATE TABLE episodes (
    id TEXT PRIMARY KEY,
    era INTEGER NOT NULL,
    group_id TEXT NOT NULL REFERENCES groups (id),
    stage TEXT NOT NULL,
    path TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'running' CHECK (state IN ('running', 'ended')),
    reason TEXT CHECK (reason IN ('played', 'partner_left', 'technical')),
    ticks INTEGER,
    score INTEGER,
    digest INTEGER,
    created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    ended_at TEXT
) STRICT;

CREATE TABLE answers (
    session TEXT NOT NULL REFERENCES sessions (id),
    stage TEXT NOT NULL,
    stage_index INTEGER NOT NULL,
    item TEXT NOT NULL,
    value TEXT NOT NULL,
    elapsed_ms INTEGER NOT NULL,
    at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    PRIMARY KEY (session, stage, item)
) STRICT;

CREATE TABLE counters (
    name TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT;
