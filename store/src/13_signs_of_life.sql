-- When a participant last gave a sign of life, microseconds since the Unix epoch: until then the time of the visit is counted.

ALTER TABLE sessions ADD COLUMN acted_us INTEGER NOT NULL DEFAULT 0;

UPDATE sessions SET acted_us = seen_us;
