-- A stage can be visited more than once, and what was drawn for a group is kept.
-- Studies were walked stage by stage until now, so the index of a stage was the number of its visit.

CREATE TABLE answers_by_visit (
    session TEXT NOT NULL REFERENCES sessions (id),
    stage TEXT NOT NULL,
    stage_index INTEGER NOT NULL,
    visit INTEGER NOT NULL,
    item TEXT NOT NULL,
    value TEXT NOT NULL,
    elapsed_ms INTEGER NOT NULL,
    at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    PRIMARY KEY (session, visit, item)
) STRICT;

INSERT INTO answers_by_visit (session, stage, stage_index, visit, item, value, elapsed_ms, at)
SELECT session, stage, stage_index, stage_index, item, value, elapsed_ms, at FROM answers ORDER BY rowid;

DROP TABLE answers;

ALTER TABLE answers_by_visit RENAME TO answers;

ALTER TABLE groups ADD COLUMN draw TEXT NOT NULL DEFAULT '{}';

UPDATE sessions SET position = json_set(
    position, '$.at', json_extract(position, '$.stage'), '$.visit', json_extract(position, '$.stage')
);
