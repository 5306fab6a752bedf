-- Time on the pages of stages, and what became of items that have a right answer.

CREATE TABLE pages (
    session TEXT NOT NULL REFERENCES sessions (id),
    stage TEXT NOT NULL,
    stage_index INTEGER NOT NULL,
    visit INTEGER NOT NULL,
    page INTEGER NOT NULL,
    ms INTEGER NOT NULL,
    PRIMARY KEY (session, visit, page)
) STRICT;

ALTER TABLE answers ADD COLUMN correct INTEGER;

ALTER TABLE answers ADD COLUMN flag INTEGER NOT NULL DEFAULT 0;
