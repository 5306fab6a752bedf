-- The tables of logs in an object store, which only a database that several servers share has.

-- The object store of the study, s3://BUCKET/PREFIX, once one is chosen.
CREATE TABLE object_store (
    id BIGINT PRIMARY KEY CHECK (id = 1),
    address TEXT NOT NULL
);

-- The logs that lie there, each by its path in a data folder: the name of its object below the prefix, its bytes and their
-- SHA-256. What was appended since is in episode_parts.
CREATE TABLE episode_objects (
    path TEXT PRIMARY KEY,
    object TEXT NOT NULL,
    length BIGINT NOT NULL,
    sha256 TEXT NOT NULL
);

-- Objects that no log has any more, and that are still to be deleted.
CREATE TABLE object_leftovers (object TEXT PRIMARY KEY);

CREATE TRIGGER note_leftover AFTER DELETE OR UPDATE OF object ON episode_objects
    FOR EACH ROW EXECUTE FUNCTION note_leftover();
