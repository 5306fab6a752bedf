-- Groups stay together over the stages that they play, and who plays in an episode is kept with the step of their way.
-- `size` counts the places of a group, those of AI partners too; `gone` says why somebody plays no more with it.

ALTER TABLE groups ADD COLUMN size INTEGER NOT NULL DEFAULT 0;

ALTER TABLE groups ADD COLUMN has_ai INTEGER NOT NULL DEFAULT 0;

UPDATE groups SET size = coalesce((SELECT max(seat) + 1 FROM members WHERE group_id = id), 0);

ALTER TABLE members ADD COLUMN gone TEXT CHECK (gone IN ('left', 'away', 'late'));

ALTER TABLE members ADD COLUMN gone_at TEXT;

CREATE TABLE players (
    episode TEXT NOT NULL REFERENCES episodes (id),
    seat INTEGER NOT NULL,
    participant TEXT NOT NULL REFERENCES participants (pseudonym),
    visit INTEGER NOT NULL,
    PRIMARY KEY (episode, seat)
) STRICT;
