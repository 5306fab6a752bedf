-- Who looked at what is not for everybody, such as recruiters' identifiers. Rows are only added.

CREATE TABLE audit (
    number INTEGER PRIMARY KEY,
    at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    command TEXT NOT NULL,
    action TEXT NOT NULL
) STRICT;
