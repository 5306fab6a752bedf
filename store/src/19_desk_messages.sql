-- What participants and researchers wrote to each other, by participant in its order. `by` is the name of the researcher, empty
-- for a message of the participant; `audience` says for whom it was written. `read_us` is when the other side first read it.
-- A question that is to be answered in time has `within_s`; `choices` is a list, JSON.

CREATE TABLE desk_messages (
    participant TEXT NOT NULL REFERENCES participants (pseudonym),
    number INTEGER NOT NULL,
    by TEXT NOT NULL,
    audience TEXT NOT NULL,
    stage TEXT NOT NULL,
    visit INTEGER NOT NULL,
    episode TEXT,
    at_us INTEGER NOT NULL,
    text TEXT NOT NULL,
    read_us INTEGER,
    within_s INTEGER,
    choices TEXT,
    expected TEXT,
    answer TEXT,
    answered_us INTEGER,
    PRIMARY KEY (participant, number)
) STRICT;
