-- Every wait in a lobby. Times are microseconds since the Unix epoch; `left_us` stays empty if the server died meanwhile.

CREATE TABLE waits (
    participant TEXT NOT NULL REFERENCES participants (pseudonym),
    stage TEXT NOT NULL,
    visit INTEGER NOT NULL,
    joined_us INTEGER NOT NULL,
    left_us INTEGER,
    why TEXT,
    group_id TEXT,
    PRIMARY KEY (participant, joined_us)
) STRICT;
