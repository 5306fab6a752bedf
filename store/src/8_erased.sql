-- Sessions of which everything but outcome, treatment and pay was erased, when the study said so.
-- That is counted from when somebody was last seen; of the oldest sessions nothing but their beginning is known.

ALTER TABLE sessions ADD COLUMN erased_at TEXT;

UPDATE sessions SET seen_us = unixepoch(created_at) * 1000000 WHERE seen_us = 0;
