-- What the people of a group wrote to each other, in its order. `round` is the visit among those that the group makes together,
-- `turn` counts the messages of a person there; `sent_us` is what the page says, `at_us` when it came. `talk` says since when
-- a group is at a chat.

CREATE TABLE messages (
    group_id TEXT NOT NULL REFERENCES groups (id),
    number INTEGER NOT NULL,
    participant TEXT NOT NULL REFERENCES participants (pseudonym),
    place INTEGER NOT NULL,
    stage TEXT NOT NULL,
    visit INTEGER NOT NULL,
    round INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    episode TEXT,
    tick INTEGER,
    sent_us INTEGER NOT NULL,
    at_us INTEGER NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (group_id, number)
) STRICT;

ALTER TABLE groups ADD COLUMN talk TEXT;
