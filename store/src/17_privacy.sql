-- Recruiters' identifiers, encrypted under a key that lies outside of the data folder: `lookup` is a hash of the identifier
-- under that key, `sealed` the rest. `identifier_key` names the key. The program moves the rows.
-- `withdrawn_seats`: the episodes whose file has nothing of a participant's page any more.

ALTER TABLE identifiers RENAME TO plain_identifiers;

CREATE TABLE identifiers (
    session TEXT PRIMARY KEY REFERENCES sessions (id),
    lookup TEXT NOT NULL UNIQUE,
    sealed BLOB NOT NULL
) STRICT;

CREATE TABLE identifier_key (
    id TEXT NOT NULL
) STRICT;

CREATE TABLE withdrawn_seats (
    episode TEXT NOT NULL,
    participant TEXT NOT NULL,
    PRIMARY KEY (episode, participant)
) STRICT;
