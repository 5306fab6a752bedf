-- The visit for which a group waited last and until when at most, [number, microseconds since the Unix epoch].

ALTER TABLE groups ADD COLUMN wait TEXT;
